"""Is this machine and environment what a lock says: the program that lies in every lock's folder as verify.py.

These modules are never imported by the rest of the project: `report/verify.py` joins their text,
that of `model/system.py` and the lock's data to one file. So they use the standard library and
each other alone, and parse on Python 3.7, which is told that it is too old.
"""
