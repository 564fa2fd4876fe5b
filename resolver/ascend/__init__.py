"""What is particular to Ascend: versions of its software, machines, images and activation.

No other package knows the vendor. docs/vendors.md says how one adds another.
"""
