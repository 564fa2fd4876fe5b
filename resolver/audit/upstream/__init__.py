"""Facts made from tables of upstream.

`tables` says which tables there are, `collect` reads their rows with the `parsers`, `facts` makes
facts and images of the rows, and `generated` compares these with the files that there are.
"""
