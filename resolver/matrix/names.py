"""Which stacks exist, without reading them."""

from __future__ import annotations

from pathlib import Path


def stack_names(matrices: Path) -> list[str]:
    """The names of the stacks in `matrices`, sorted."""
    return sorted(path.stem for path in (matrices / "stacks").glob("*.toml") if not path.is_dir())
