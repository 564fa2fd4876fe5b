"""Make facts from tables of upstream, for the command `facts import`.

`tables` reads which tables there are, `collect` reads their rows with the `parsers`, `facts` makes
facts and images from the rows, and `generated` writes them and says what changed.
"""
