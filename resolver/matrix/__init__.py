"""The TOML that people write: its shape, its loading, its meaning. Only this package knows TOML."""
