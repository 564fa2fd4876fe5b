"""JSON schemas, as the tests read them."""

from __future__ import annotations

from typing import Any


def strict(schema: Any) -> Any:
    """The same schema, in which a key that it does not name is a fault."""
    if isinstance(schema, dict):
        closed = {"additionalProperties": False} if "properties" in schema else {}
        return {**closed, **{key: strict(one) for key, one in schema.items()}}
    return [strict(one) for one in schema] if isinstance(schema, list) else schema
