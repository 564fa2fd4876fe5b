"""All that is specific to Huawei Ascend: names, versions, and checks of a machine.

No other package contains the vendor's names. docs/vendors.md says how to add another vendor.
"""
