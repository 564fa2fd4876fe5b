"""Compare facts and locks with what upstream and the indexes say today.

The commands `check`, `facts check`, `facts import`, `scan` and `matrix show` use it.
"""
