"""Whether the sources of a fact say what the fact states.

A fact is about releases, and claims values that go with them. Each value must be found near each
release: in the same row of a table, in the same section, or a few lines away. A file of the release
itself (in its archive, or at its tag) needs to have only the value.

Two references may share the work if they cite the same commit or archive, or if one version links
them: it stands beside the release in one, and beside the value in the other.

What no version can show may be quoted. A fact of which only the quotes are found gets an outcome of
its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Final

import msgspec

from resolver.audit.cited import Library, NotOpened, Opened, Unread, Wrong
from resolver.audit.passages import Anchors, Found, Text, find
from resolver.audit.source_claims import Claim, Release, Value, claims_of, releases_of
from resolver.audit.version_words import same_version, versions_in
from resolver.model import text as texts
from resolver.model.fact import Fact
from resolver.model.message import Message, message
from resolver.model.source import Reference, References

# A version that only one series has: two references that share it are about the same.
_DISTINCT: Final = 2


class Said(Enum):
    """What a reference, or all of a fact's, are worth."""

    # It says otherwise, or nothing of what the fact states.
    FALSE = "false"
    # It was not opened.
    UNREAD = "unread"
    # It has what it quotes; that the fact follows from that is for people to judge.
    QUOTED = "quoted"
    # It has what the fact states.
    STATED = "stated"


class CheckedReference(msgspec.Struct, frozen=True):
    """How far one reference bears out a fact."""

    reference: Reference
    said: Said
    # Why it is false, or could not be opened; None otherwise.
    why: Message | None = None
    # What kept it from being opened; None if it was.
    unread: Unread | None = None


class CheckedSource(msgspec.Struct, frozen=True):
    """How far all references of a fact together bear it out."""

    references: tuple[CheckedReference, ...]
    said: Said
    # The statements of the fact that no reference has.
    missing: tuple[Message, ...] = ()


def check_source(fact: Fact, library: Library) -> CheckedSource:
    """Return whether the sources of a fact say what it states.

    Never raises for what is elsewhere.
    """
    return check_statement(fact.source, releases_of(fact), claims_of(fact), library)


def check_statement(
    source: References, releases: Sequence[Release], claims: Sequence[Claim], library: Library
) -> CheckedSource:
    """Return whether a source says that these claims hold for these releases."""
    outcomes = [(reference, library.open(reference)) for reference in source.references]
    opened = [outcome for _, outcome in outcomes if isinstance(outcome, Opened)]
    evidence = _Evidence(opened, releases)
    checked = tuple(
        _checked(reference, outcome, evidence, claims) for reference, outcome in outcomes
    )
    missing = tuple(evidence.missing(claims)) if opened else ()
    said = _said(checked, evidence, missing, claims)
    return CheckedSource(
        checked, said, missing if said is Said.FALSE or said is Said.UNREAD else ()
    )


def _said(
    checked: Sequence[CheckedReference],
    evidence: _Evidence,
    missing: Sequence[Message],
    claims: Sequence[Claim],
) -> Said:
    """Return what all references are worth."""
    worth = {reference.said for reference in checked}
    contradicted = any(one.code.startswith("sources.instead") for one in missing)
    if Said.FALSE in worth or contradicted:
        return Said.FALSE
    if not evidence.opened or (missing and Said.UNREAD in worth):
        return Said.UNREAD
    if missing:
        return Said.QUOTED if evidence.has_quotes else Said.FALSE
    return Said.STATED if claims or not evidence.has_quotes else Said.QUOTED


def _checked(
    reference: Reference,
    outcome: Opened | NotOpened | Wrong,
    evidence: _Evidence,
    claims: Sequence[Claim],
) -> CheckedReference:
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
            if evidence.has_something(outcome, claims):
                return CheckedReference(reference, Said.STATED)
            return CheckedReference(
                reference, Said.FALSE, _nothing_there(outcome, evidence.releases, claims)
            )


def _nothing_there(
    outcome: Opened, releases: Sequence[Release], claims: Sequence[Claim]
) -> Message:
    wanted = ", ".join(dict.fromkeys(map(str, [*releases, *claims])))
    if not wanted:
        return message("sources.nothing-to-find")
    return message("sources.irrelevant", wanted=wanted, there=_shown(outcome))


def _shown(outcome: Opened) -> str:
    """Return the beginning of what is cited."""
    return "" if outcome.text is None else outcome.text.excerpt(outcome.region)


def _wrong_quote(outcome: Opened) -> Message | None:
    """Return that a quote is not where it should be, or is where it should not; None if all are right."""
    text = outcome.text
    if text is None:
        return None
    for quote in outcome.passage.quotes:
        near = outcome.region if quote.is_absent else text.whole(outcome.region)
        is_there = _has_quote(text, outcome, near, quote.text)
        if is_there == quote.is_absent:
            code = "sources.quote-there" if is_there else "sources.quote-missing"
            return message(code, quote=quote.text, there=text.excerpt(outcome.region))
    return None


def _has_quote(text: Text, outcome: Opened, near: range, quote: str) -> bool:
    """Return whether these lines have a quote, in whatever way it is broken into lines."""
    if outcome.passage.lines is None and quote in text.content:
        return True
    return _joined([quote]) in _joined(text.line(number) for number in near)


def _joined(lines: Iterable[str]) -> str:
    return " ".join(" ".join(lines).split())


class _Evidence:
    """What the opened references of a fact have of it."""

    def __init__(self, opened: Sequence[Opened], releases: Sequence[Release]) -> None:
        self.opened = opened
        self.releases = releases
        self._places: dict[tuple[int, Release | None], list[range]] = {}

    @property
    def has_quotes(self) -> bool:
        """Whether a reference quotes something; it is false if that is not there."""
        return any(outcome.passage.quotes for outcome in self.opened)

    def has_something(self, outcome: Opened, claims: Sequence[Claim]) -> bool:
        """Return whether a reference has anything of what the fact states."""
        text = outcome.text
        if text is None:
            return not self.releases or any(
                self._is_established(outcome, release) for release in self.releases
            )
        if any(self._literal_places(outcome, release) for release in self.releases):
            return True
        place = text.whole(outcome.region)
        values = (value for claim in claims for value in claim.values)
        return any(find(text, place, value.names, value.wanted).is_there for value in values)

    def missing(self, claims: Sequence[Claim]) -> Iterator[Message]:
        """Yield what no reference has."""
        subjects: list[Release | None] = list(self.releases) or [None]
        for release in self.releases:
            if not any(self._is_about(outcome, release) for outcome in self.opened):
                yield message("sources.no-release", wanted=str(release), there=self._all_shown())
        for claim in claims:
            for subject in subjects:
                found = [self._find(subject, value) for value in claim.values]
                if not any(one.is_there for one in found):
                    yield self._lacking(
                        subject, str(claim), [one.instead for one in found if one.instead]
                    )
            for value in claim.values if len(claim.values) > 1 else ():
                if not any(self._find(subject, value).is_there for subject in subjects):
                    yield self._lacking(None, str(value), [])

    def _lacking(self, release: Release | None, wanted: str, instead: Sequence[str]) -> Message:
        values = {"wanted": wanted, "there": self._shown(release)}
        if instead:
            values["instead"] = instead[0]
        code = "instead" if instead else "lacks"
        if release is None:
            return message(f"sources.{code}", **values)
        return message(f"sources.{code}-of", about=str(release), **values)

    def _shown(self, release: Release | None) -> str:
        """Return the first place about a release, or all that is cited if there is none."""
        for outcome in self.opened:
            places = self._all_places(outcome, release)
            if outcome.text is not None and places:
                return outcome.text.excerpt(places[0])
        return self._all_shown()

    def _all_shown(self) -> str:
        return " / ".join(filter(None, map(_shown, self.opened)))

    # --- where a release is

    def _is_about(self, outcome: Opened, release: Release) -> bool:
        return self._is_established(outcome, release) or bool(
            self._literal_places(outcome, release)
        )

    def _is_established(self, outcome: Opened, release: Release) -> bool:
        """Return whether a reference is itself of the release: its archive, its tag, or a list that has it."""
        project = texts.name(release.names[0])
        if outcome.listed is not None:
            name, versions = outcome.listed
            return name == project and any(release.specifiers.filter(versions, prereleases=True))
        if outcome.release is None or outcome.release[0] != project:
            return False
        return release.specifiers.contains(outcome.release[1], prereleases=True)

    def _literal_places(self, outcome: Opened, release: Release) -> list[range]:
        """Return the places of a text that name the release."""
        if outcome.text is None:
            return []
        key = (id(outcome), release)
        if key not in self._places:
            self._places[key] = Anchors(
                outcome.text, outcome.region, release.names, release.wanted
            ).places
        return self._places[key]

    def _all_places(self, outcome: Opened, release: Release | None) -> list[range]:
        """Return the places of a text that are about the release."""
        if outcome.text is None:
            return []
        if release is None or self._is_established(outcome, release):
            return [outcome.text.whole(outcome.region)]
        return self._literal_places(outcome, release) or self._places_beside(
            outcome, outcome.text, release
        )

    def _places_beside(self, outcome: Opened, text: Text, release: Release) -> list[range]:
        """Return the cited lines of a file if another one of the same commit or archive names the release."""
        siblings = [
            other
            for other in self.opened
            if other.origin == outcome.origin and other is not outcome
        ]
        is_named = any(self._literal_places(other, release) for other in siblings)
        return [text.whole(outcome.region)] if is_named else []

    # --- where a value is

    def _find(self, release: Release | None, value: Value) -> Found:
        """Return whether a value is near a release in some reference, or is led to from there."""
        instead = ""
        for outcome in self.opened:
            if self._is_itself(outcome, release, value):
                return Found(True)
            for place in self._all_places(outcome, release):
                found = (
                    find(outcome.text, place, value.names, value.wanted)
                    if outcome.text
                    else Found(False)
                )
                if found.is_there:
                    return found
                if not outcome.passage.quotes:  # which is then what the reference is cited for
                    instead = instead or found.instead
        if release is not None and self._is_led_to(release, value):
            return Found(True)
        return Found(False, instead)

    def _is_itself(self, outcome: Opened, release: Release | None, value: Value) -> bool:
        """Return whether a reference is the archive, or at the tag, of the very version that is wanted of a project."""
        if value.wanted is None or outcome.release is None or outcome.text is None:
            return False
        project, version = outcome.release
        is_wanted = project in [
            texts.name(name) for name in value.names
        ] and value.wanted.is_met_by(str(version))
        names = release.names if release is not None else ()
        return is_wanted and (
            not names
            or find(outcome.text, outcome.text.whole(outcome.region), names, None).is_there
        )

    def _is_led_to(self, release: Release, value: Value) -> bool:
        """Return whether a reference has the value beside a version that another one has beside the release."""
        for outcome in self.opened:
            others = [other for other in self.opened if other is not outcome]
            links = {token for other in others for token in self._versions_beside(other, release)}
            for place in self._places_of(outcome, value) if links else ():
                tokens = versions_in(_place_text(outcome.text, place))
                if any(same_version(token, link) for token in tokens for link in links):
                    return True
        return False

    def _versions_beside(self, outcome: Opened, release: Release) -> Iterator[str]:
        """Yield the distinct versions that a reference has beside a release, other than the release itself."""
        for place in self._literal_places(outcome, release):
            for token in versions_in(_place_text(outcome.text, place)):
                if token.count(".") >= _DISTINCT and not release.wanted.is_met_by(token):
                    yield token

    def _places_of(self, outcome: Opened, value: Value) -> Iterator[range]:
        text = outcome.text
        for number in outcome.region if text is not None and not text.is_binary else ():
            if text is None or value.wanted is None:
                return
            if any(value.wanted.is_met_by(token) for token in versions_in(text.line(number))):
                place = text.around(number, range(number, number + 1))
                if find(text, place, value.names, value.wanted).is_there:
                    yield place


def _place_text(text: Text | None, place: range) -> str:
    return "" if text is None else "\n".join(text.line(number) for number in place)
