"""The TOML that people write: schema, loading, meaning. No other package reads TOML written by people."""
