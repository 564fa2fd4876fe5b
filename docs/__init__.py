"""The documentation; `docs.site` builds it."""
