"""The install.sh at the top of a bundle, which installs one of its locks from the bundle."""

from __future__ import annotations

from collections.abc import Sequence

from resolver.lock.bundle import Served
from resolver.render.script import FILE
from resolver.render.template import environment


def bundle_script(locks: Sequence[Served]) -> dict[str, str]:
    """Its path and text."""
    return {FILE: environment().get_template("bundle.sh.j2").render(locks=locks)}
