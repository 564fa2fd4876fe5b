"""Check whether the sources that a fact cites say what it states, for `facts check --sources`.

A fact is about releases, and makes claims: values that go with these releases, such as a version of
another project. Each value must be found near each release: in the same row of a table, in the same
section, or a few lines away. A file that belongs to the release (in its archive, or at its tag)
only needs to have the value.

Two references can prove a claim together in two cases: both cite the same commit or archive; or one
version is found near the release in one, and near the value in the other.

A reference may also quote its source. If only quotes were found, a person must judge whether the
fact follows from them: the result is QUOTED.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Final

import msgspec

from resolver.audit.cited import Library, NotOpened, Opened, Outcome, Unread, Wrong
from resolver.audit.passages import Found, Text, find, places_about
from resolver.audit.source_claims import Claim, Release, Value, claims_of, releases_of
from resolver.audit.version_words import same_version, versions_in
from resolver.model import text as texts
from resolver.model.fact import Fact
from resolver.model.message import Message, message
from resolver.model.source import Reference

# A version links two references only if it has at least so many dots: a shorter one may be
# anything.
_DOTS_OF_A_LINK: Final = 2


class Said(Enum):
    """What one reference, or all references together, say about a fact."""

    # It contradicts the fact, or has nothing of what the fact states.
    FALSE = "false"
    # It was not opened.
    UNREAD = "unread"
    # It has the text that is quoted. A person must judge whether the fact follows from it.
    QUOTED = "quoted"
    # It has what the fact states.
    STATED = "stated"


class CheckedReference(msgspec.Struct, frozen=True):
    """A reference, and what it says about its fact."""

    # The reference.
    reference: Reference
    # What it says about the fact.
    said: Said
    # Why it is false, or could not be opened; None otherwise.
    why: Message | None = None
    # What kept it from being opened; None if it was.
    unread: Unread | None = None


class CheckedSource(msgspec.Struct, frozen=True):
    """The references of a fact, and what they say about it together."""

    # The references, in the order of the fact.
    references: tuple[CheckedReference, ...]
    # What they say together.
    said: Said
    # The statements of the fact that no reference has.
    missing: tuple[Message, ...] = ()


def check_source(fact: Fact, library: Library) -> CheckedSource:
    """Return what the sources of a fact say about it.

    A reference that cannot be opened is a result, never an error.
    """
    outcomes = [library.open(reference) for reference in fact.source.references]
    evidence = _Evidence(
        opened=[outcome for outcome in outcomes if isinstance(outcome, Opened)],
        releases=releases_of(fact),
        claims=claims_of(fact),
    )
    checked = []
    for reference, outcome in zip(fact.source.references, outcomes, strict=True):
        checked.append(_checked(reference, outcome, evidence))
    missing = tuple(evidence.missing()) if evidence.opened else ()
    said = _said_together(checked, evidence, missing)
    if said in (Said.QUOTED, Said.STATED):
        missing = ()
    return CheckedSource(tuple(checked), said, missing)


def _said_together(
    checked: Sequence[CheckedReference], evidence: _Evidence, missing: Sequence[Message]
) -> Said:
    """Return what all references of a fact say together.

    `missing` are the statements of the fact that no reference has.
    """
    said = {reference.said for reference in checked}
    is_contradicted = any(lacking.code.startswith("sources.instead") for lacking in missing)
    if Said.FALSE in said or is_contradicted:
        return Said.FALSE
    if not evidence.opened:
        return Said.UNREAD
    if missing and Said.UNREAD in said:
        return Said.UNREAD
    if not evidence.has_quotes:
        return Said.FALSE if missing else Said.STATED
    if missing or not evidence.claims:
        return Said.QUOTED
    return Said.STATED


def _checked(reference: Reference, outcome: Outcome, evidence: _Evidence) -> CheckedReference:
    """Return what one reference says about its fact."""
    match outcome:
        case Wrong():
            return CheckedReference(reference, Said.FALSE, outcome.message)
        case NotOpened():
            return CheckedReference(reference, Said.UNREAD, outcome.why, outcome.kind)
        case Opened():
            wrong = _wrong_quote(outcome)
            if wrong is not None:
                return CheckedReference(reference, Said.FALSE, wrong)
            if outcome.passage.quotes:
                return CheckedReference(reference, Said.QUOTED)
            if evidence.has_something(outcome):
                return CheckedReference(reference, Said.STATED)
            return CheckedReference(reference, Said.FALSE, evidence.nothing_in(outcome))


def _excerpt(outcome: Opened) -> str:
    """Return the beginning of the cited lines; empty if the reference cites no text."""
    return "" if outcome.text is None else outcome.text.excerpt(outcome.region)


def _wrong_quote(outcome: Opened) -> Message | None:
    """Return a message about the first quote that is wrong; None if all quotes are right.

    A quote is wrong if its text is not there, or if it is there but is cited as absent.
    """
    text = outcome.text
    if text is None:
        return None
    for quote in outcome.passage.quotes:
        place = outcome.region if quote.is_absent else text.whole(outcome.region)
        is_there = _has_quote(text, outcome, place, quote.text)
        if is_there == quote.is_absent:
            code = "sources.quote-there" if is_there else "sources.quote-missing"
            return message(code, quote=quote.text, there=text.excerpt(outcome.region))
    return None


def _has_quote(text: Text, outcome: Opened, place: range, quote: str) -> bool:
    """Return whether lines of a text have a quote. Line breaks and spaces do not matter."""
    cites_whole_file = outcome.passage.lines is None
    if cites_whole_file and quote in text.content:
        return True
    return _on_one_line(quote) in _on_one_line(text.joined(place))


def _on_one_line(text: str) -> str:
    """Return a text with single spaces in place of all white space."""
    return " ".join(text.split())


class _Evidence:
    """What the references that could be opened have of the releases and claims of a fact."""

    def __init__(
        self, opened: Sequence[Opened], releases: Sequence[Release], claims: Sequence[Claim]
    ) -> None:
        self.opened = opened
        self.releases = releases
        self.claims = claims
        self._named_places: dict[tuple[Opened, Release], list[range]] = {}

    @property
    def has_quotes(self) -> bool:
        """Return whether any of the references quotes something."""
        return any(outcome.passage.quotes for outcome in self.opened)

    def has_something(self, outcome: Opened) -> bool:
        """Return whether a reference has at least one release or value that the fact states."""
        text = outcome.text
        if text is None:
            if not self.releases:
                return True
            return any(self._is_of_release(outcome, release) for release in self.releases)
        if any(self._places_naming(outcome, release) for release in self.releases):
            return True
        place = text.whole(outcome.region)
        for claim in self.claims:
            for value in claim.values:
                if find(text, place, value.names, value.wanted).is_there:
                    return True
        return False

    def nothing_in(self, outcome: Opened) -> Message:
        """Return the message that a reference has nothing of what the fact states."""
        wanted = [str(statement) for statement in (*self.releases, *self.claims)]
        if not wanted:
            return message("sources.nothing-to-find")
        each_once = ", ".join(dict.fromkeys(wanted))
        return message("sources.irrelevant", wanted=each_once, there=_excerpt(outcome))

    def missing(self) -> Iterator[Message]:
        """Yield a message for each statement of the fact that no reference has."""
        for release in self.releases:
            if not any(self._is_about(outcome, release) for outcome in self.opened):
                yield message("sources.no-release", wanted=str(release), there=self._all_excerpts())
        for claim in self.claims:
            yield from self._missing_of(claim)

    def _missing_of(self, claim: Claim) -> Iterator[Message]:
        """Yield what is missing for a claim.

        That is each release for which no value of the claim is found; and, of several values, each
        one that is found for no release.
        """
        releases: list[Release | None] = list(self.releases) or [None]
        for release in releases:
            found = [self._find(release, value) for value in claim.values]
            if not any(result.is_there for result in found):
                instead = [result.instead for result in found if result.instead]
                yield self._lacking(release, str(claim), instead[0] if instead else "")
        if len(claim.values) == 1:
            return
        for value in claim.values:
            if not any(self._find(release, value).is_there for release in releases):
                yield self._lacking(None, str(value))

    def _lacking(self, release: Release | None, wanted: str, instead: str = "") -> Message:
        """Return the message that `wanted` is not found, for a release if one is given.

        `instead` is the version that was found in its place; empty if there is none.
        """
        code = "sources.lacks"
        values = {}
        if release is not None:
            values["about"] = str(release)
        values["wanted"] = wanted
        values["there"] = self._excerpt_about(release)
        if instead:
            code = "sources.instead"
            values["instead"] = instead
        if release is not None:
            code = f"{code}-of"
        return message(code, **values)

    def _excerpt_about(self, release: Release | None) -> str:
        """Return the beginning of the first place about a release, or else of all cited lines."""
        for outcome in self.opened:
            places = self._places_for(outcome, release)
            if outcome.text is not None and places:
                return outcome.text.excerpt(places[0])
        return self._all_excerpts()

    def _all_excerpts(self) -> str:
        """Return the beginning of the cited lines of each reference."""
        excerpts = [_excerpt(outcome) for outcome in self.opened]
        return " / ".join(excerpt for excerpt in excerpts if excerpt)

    # --- where a release is

    def _is_about(self, outcome: Opened, release: Release) -> bool:
        """Return whether a reference belongs to a release or names it."""
        if self._is_of_release(outcome, release):
            return True
        return bool(self._places_naming(outcome, release))

    def _is_of_release(self, outcome: Opened, release: Release) -> bool:
        """Return whether a reference belongs to a release.

        It does if it is a file or a tag of the release, or an index page that lists the release.
        """
        if outcome.releases is None:
            return False
        project, versions = outcome.releases
        if project != texts.name(release.names[0]):
            return False
        return any(release.specifiers.filter(versions, prereleases=True))

    def _places_naming(self, outcome: Opened, release: Release) -> list[range]:
        """Return the places in a reference's text that name a release."""
        if outcome.text is None:
            return []
        key = (outcome, release)
        if key not in self._named_places:
            self._named_places[key] = places_about(
                outcome.text, outcome.region, release.names, release.wanted
            )
        return self._named_places[key]

    def _places_for(self, outcome: Opened, release: Release | None) -> list[range]:
        """Return the places in a reference's text where the values of a release may be.

        It is the whole cited region if the reference belongs to the release, or if another
        reference to the same commit or archive names the release.
        """
        if outcome.text is None:
            return []
        whole = outcome.text.whole(outcome.region)
        if release is None or self._is_of_release(outcome, release):
            return [whole]
        places = self._places_naming(outcome, release)
        if not places and self._is_named_beside(outcome, release):
            return [whole]
        return places

    def _is_named_beside(self, outcome: Opened, release: Release) -> bool:
        """Return whether another reference to the same commit or archive names the release."""
        for other in self.opened:
            has_same_origin = other.origin == outcome.origin and other is not outcome
            if has_same_origin and self._places_naming(other, release):
                return True
        return False

    # --- where a value is

    def _find(self, release: Release | None, value: Value) -> Found:
        """Return whether a value is near a release, in one reference or through a link of two.

        Without a release, the value may be anywhere.
        """
        instead = ""
        for outcome in self.opened:
            if self._is_value(outcome, release, value):
                return Found(True)
            if outcome.text is None:
                continue
            for place in self._places_for(outcome, release):
                found = find(outcome.text, place, value.names, value.wanted)
                if found.is_there:
                    return found
                # A reference with quotes is cited for these, not for the values near them.
                if not outcome.passage.quotes:
                    instead = instead or found.instead
        if release is not None and self._is_linked(release, value):
            return Found(True)
        return Found(False, instead)

    def _is_value(self, outcome: Opened, release: Release | None, value: Value) -> bool:
        """Return whether a reference is itself a file or tag of the version that a claim wants.

        If a release is given, the reference must also name its project.
        """
        if value.wanted is None or outcome.releases is None or outcome.text is None:
            return False
        project, versions = outcome.releases
        if not any(value.wanted.is_met_by(str(version)) for version in versions):
            return False
        if all(texts.name(name) != project for name in value.names):
            return False
        if release is None:
            return True
        place = outcome.text.whole(outcome.region)
        return find(outcome.text, place, release.names, None).is_there

    def _is_linked(self, release: Release, value: Value) -> bool:
        """Return whether two references prove a value together, through a version that both have.

        The version is near the release in one reference, and near the value in the other.
        """
        for outcome in self.opened:
            links: set[str] = set()
            for other in self.opened:
                if other is not outcome:
                    links.update(self._versions_beside(other, release))
            if links and _has_beside(outcome, value, links):
                return True
        return False

    def _versions_beside(self, outcome: Opened, release: Release) -> Iterator[str]:
        """Yield the versions near a release that can link two references."""
        if outcome.text is None:
            return
        for place in self._places_naming(outcome, release):
            for version in versions_in(outcome.text.joined(place)):
                is_distinct = version.count(".") >= _DOTS_OF_A_LINK
                if is_distinct and not release.wanted.is_met_by(version):
                    yield version


def _has_beside(outcome: Opened, value: Value, links: Iterable[str]) -> bool:
    """Return whether a reference has a value, and near it one of the versions `links`."""
    text = outcome.text
    if text is None or text.is_binary or value.wanted is None:
        return False
    for number in outcome.region:
        if not value.wanted.is_in(text.line(number)):
            continue
        place = text.around(number, range(number, number + 1))
        if not find(text, place, value.names, value.wanted).is_there:
            continue
        for version in versions_in(text.joined(place)):
            if any(same_version(version, link) for link in links):
                return True
    return False
