"""The program verify.py, which is in the folder of every lock: it checks a machine and environment.

`resolver/report/verify.py` joins these modules, some others (`MODULES` there) and the data of the
lock into one file. So they use only the standard library and each other. Their syntax is that of
Python 3.7, so that this Python can print an error that says that it is too old. `ascend-lock init`
uses some of the checks as well.

Each check returns a `Group` with its findings. Words used here: a distribution is a project that is
installed; it is locked if the lock has a pin for it. The owner of a file is the distribution or
conda package whose installer lists the file, for example in RECORD.
"""
