"""Facts made from tables of upstream: `tables` says which, `parsers` read them, `facts` makes rows of what they say."""
