"""The program that is in every lock's folder as verify.py: it checks a machine and environment against the lock.

`report/verify.py` joins the text of these modules, that of `model/system.py` and the lock's data to
one file. So they use the standard library and each other alone, and parse on Python 3.7, so that an
error can say it is too old. `init` uses the checks as well.
"""
