"""Find a way out of several conflicts at once: lines in them get other versions together.

A requirements file from another machine may pin many releases that do not exist for the target.
There are more sets of changes than can be tried one by one. So the lines of a conflict lose their
versions, and the stack is solved again, near the releases that they pinned. The same is done with
the lines of the next conflict, until there is a solution. Then each line that can have its versions
back gets them. `repairs` calls this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from msgspec.structs import replace
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.explain import costs
from resolver.explain.changed_stack import ChangedStack
from resolver.explain.changes import Changes
from resolver.explain.paired_lines import without_versions
from resolver.explain.proposals import Proposals
from resolver.explain.trials import SHARE, Answer, Trials
from resolver.model.constraint import VERSION_PART, Constraint, StackLine
from resolver.model.dependency import Candidate
from resolver.model.edit import Edit, Edits, SetLine
from resolver.model.package import Package
from resolver.model.problem import RootRequirement
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.resolve.clauses import Clauses
from resolver.resolve.refutation import Refutation

# After so many conflicts, no more lines are loosened.
_CONFLICTS = 40
# For so many archives of a project, a fact states what they need. Further ones of the project would
# be in the way for the same reason.
_ARCHIVES = 3


class Loosening:
    """The lines of one refuted stack that have lost their versions, or are dropped."""

    def __init__(
        self,
        clauses: Clauses,
        trials: Trials,
        changes: Changes,
        *,
        kept: Collection[str] = (),
    ) -> None:
        """Begin with a refuted stack. Lines about the projects in `kept` stay as they are."""
        self._kept = kept
        self._clauses = clauses
        self._trials = trials
        self._changes = changes
        self._roots = trials.problem.stack.requirements
        # The projects that others need on the target, according to grave warnings, such as a
        # plugin.
        self._partners = costs.partners(trials.problem.facts)
        # The lines that have lost their versions, the lines that are dropped, and the new facts
        # about archives.
        self._loose: list[RootRequirement] = []
        self._dropped: list[RootRequirement] = []
        self._stated: list[ChangedStack] = []

    def changed_stack(self) -> ChangedStack | None:
        """Return the stack with other versions of the lines in its conflicts.

        A line for which no version helps is dropped. None if the stack has no solution even so, or
        if time is up.
        """
        answer = self._lock()
        for _ in range(_CONFLICTS):
            if not isinstance(answer, Refutation) or not self._loosen(answer):
                break
            answer = self._lock()
        if not isinstance(answer, Resolution):
            return None
        return self._as_changes(self._with_lines_put_back(answer))

    def _lock(self) -> Answer:
        """Solve the stack with the changes so far, near the versions that its lines name."""
        return self._trials.solve_near(self._edits(), self._preferred(), SHARE)

    def _edits(self) -> Edits:
        """Return the edits that make the changes so far."""
        edits: list[Edit] = []
        for stack in self._stated:
            edits += stack.edits
        edits += [SetLine(root.number, without_versions(root)) for root in self._loose]
        edits += [SetLine(root.number, "") for root in self._dropped]
        return tuple(edits)

    def _preferred(self) -> dict[NormalizedName, Version]:
        """Return the version that each line names, by project."""
        preferred = {}
        for root in self._roots:
            if isinstance(root.need, Requirement):
                version = _named_version(root.need)
                if version is not None:
                    preferred[root.need.name] = version
        return preferred

    # --- what a conflict takes

    def _loosen(self, refutation: Refutation) -> bool:
        """Change the stack because of one conflict.

        All its lines lose their versions. If none has versions, a fact states what an archive
        needs. If no archive needs one, its last line is dropped. Return False if none of this is
        possible, or no line of the original stack would be left.
        """
        involved = list(self._involved(refutation.core))
        versioned = [root for root in involved if root not in self._loose and _has_version(root)]
        if versioned:
            self._loose += versioned
            return True
        stated = self._facts_for_archives(refutation)
        if stated is not None:
            self._stated.append(stated)
            return True
        droppable = [root for root in involved if _project(root) not in self._partners]
        if not droppable:
            return False
        self._drop(droppable[-1])
        return self._changes.keeps_a_line([root.origin for root in self._dropped])

    def _involved(self, core: Sequence[Constraint]) -> Iterator[RootRequirement]:
        """Yield the lines that a core is about, whether they have lost their versions or not.

        Lines that are dropped or kept are left out.
        """
        texts = {line.text for line in core if isinstance(line, StackLine)}
        for root in self._roots:
            written = without_versions(root) if root in self._loose else root.origin.text
            is_fixed = root in self._dropped or _project(root) in self._kept
            if written in texts and not is_fixed:
                yield root

    def _facts_for_archives(self, refutation: Refutation) -> ChangedStack | None:
        """Return the stack with a further fact about an archive in a core; None without one."""
        known = set(chain.from_iterable(stack.changes for stack in self._stated))
        stated = Counter(change.subject for change in known)
        clauses = refutation.clauses
        trials = self._trials.after_further(self._edits(), clauses.universe)
        proposals = Proposals(clauses, trials, Changes(clauses, trials))
        for stack in proposals.facts_for_archives(refutation.core):
            is_new = known.isdisjoint(stack.changes)
            if is_new and stated[stack.changes[0].subject] < _ARCHIVES:
                return stack
        return None

    def _drop(self, root: RootRequirement) -> None:
        """Drop a line, which may have lost its versions before."""
        if root in self._loose:
            self._loose.remove(root)
        self._dropped.append(root)

    # --- what a lock does without

    def _with_lines_put_back(self, resolution: Resolution) -> Resolution:
        """Give lines back what they lost where the stack still has a solution.

        Return the last solution.
        """
        self._loose = [root for root in self._loose if not resolution.meets(root.need)]
        for root in (*self._dropped, *self._loose):
            if root not in self._dropped and root not in self._loose:
                # The last solution meets this line as it was.
                continue
            loose, dropped = self._loose, self._dropped
            self._loose = [other for other in loose if other is not root]
            self._dropped = [other for other in dropped if other is not root]
            answer = self._lock()
            if isinstance(answer, Resolution):
                resolution = answer
                self._loose = [other for other in self._loose if not answer.meets(other.need)]
            else:
                self._loose, self._dropped = loose, dropped
        return resolution

    def _as_changes(self, resolution: Resolution) -> ChangedStack:
        """Return the changes that give each changed line the release that it has in a solution."""
        choice: dict[Constraint, Candidate] = {}
        for root in self._loose:
            pin = resolution.pin(_project(root))
            # A line whose marker is false is in no conflict, so it was not loosened.
            assert pin is not None  # noqa: S101
            part = replace(root.origin, part=VERSION_PART)
            choice[part] = self._clauses.universe.candidate_for(Package(pin.name), pin.release)
        dropped = [root.origin for root in self._dropped]
        changed = self._changes.apply([*choice, *dropped], choice)
        for stack in self._stated:
            changed = changed.then(stack)
        return changed.without(changed.idle(resolution))


def _has_version(root: RootRequirement) -> bool:
    """Return whether a line restricts the versions of a project from an index."""
    need = root.need
    return isinstance(need, Requirement) and bool(need.specifier) and not need.url


def _project(root: RootRequirement) -> str:
    """Return the project of a line; empty for a line about a component."""
    return root.need.name if isinstance(root.need, Requirement) else ""


def _named_version(need: Requirement) -> Version | None:
    """Return a version that a requirement names, as a pin or as a bound; None if it names none."""
    for specifier in need.specifier:
        if specifier.operator not in ("!=", "==="):
            return Version(specifier.version.removesuffix(".*"))
    return None
