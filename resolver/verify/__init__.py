"""verify.py, the program in every lock's folder: it checks a machine and environment.

`resolver/report/verify.py` joins these modules, `resolver/pip.py`, `resolver/model/system.py` and
the lock's data to one file. So they use only the standard library and each other. They parse on
Python 3.7, so that an error can say that it is too old. `init` uses the checks as well.
"""
