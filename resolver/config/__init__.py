"""The TOML that people write: schema, loading, meaning; and what they have in files of other tools.

No other package reads either.
"""
