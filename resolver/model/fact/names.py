"""`names`: releases on an index that belong to another project, and names that no index has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from resolver.model.component import Value
from resolver.model.fact.base import ExclusionFact, Need
from resolver.model.requirement import Requirement
from resolver.model.text import Text

# The operators of PEP 440 that name a version or a lower bound.
_LOWER_BOUNDS: Final = ("==", "===", ">=", ">", "~=")


class Names(ExclusionFact, frozen=True, kw_only=True):
    """Releases of `package` on one index that must not be used.

    They are not what people mean by the name, such as another project or builds for CUDA. Without
    such releases, the fact says where a project is from that no index has.
    """

    # The name of the index with these releases.
    index: Text = "pypi"
    # The fact holds only for targets that state this component; empty for all targets.
    component: Text = ""
    # Exceptions: the fact does not hold if a line of the stack asks for one of these releases.
    unless_asked: tuple[Requirement, ...] = ()

    def applies_on(self, system: Mapping[str, Value], needs: Iterable[Need]) -> bool:
        """Return whether the target states the component, and no line asks for an exception."""
        if self.component and self.component not in system:
            return False
        lines = [need for need in needs if isinstance(need, Requirement)]
        return not any(self._is_asked_for(line) for line in lines)

    def _is_asked_for(self, line: Requirement) -> bool:
        """Return whether a line of the stack asks for one of the exceptions in `unless_asked`."""
        return any(_asks_for(line, exception) for exception in self.unless_asked)


def _asks_for(line: Requirement, exception: Requirement) -> bool:
    """Return whether a line of the stack asks for an exception.

    It does if it requires the same project, and names a version or a lower bound that the exception
    admits. If the exception has no versions, every line about the project asks for it.
    """
    if line.name != exception.name:
        return False
    if not str(exception.specifier):
        return True
    for specifier in line.specifier:
        if specifier.operator not in _LOWER_BOUNDS:
            continue
        version = specifier.version.removesuffix(".*")
        if exception.specifier.contains(version, prereleases=True):
            return True
    return False
