"""Make a lock of a resolution, and read, compare, write and bundle locks.

`report` makes documents and scripts of a lock; nothing is rendered here.
"""
