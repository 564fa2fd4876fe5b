"""`conflict.html`: an explanation as one page without network access or scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from resolver.i18n import translate
from resolver.model.explanation import Explanation, Fix
from resolver.model.text import Language
from resolver.report.explanation import changes, sentences
from resolver.report.explanation.diff import change_diff, safe_lines
from resolver.report.explanation.json import explanation_json
from resolver.report.explanation.places import cited
from resolver.report.template import environment
from resolver.report.text import one_line

FILE = "conflict.html"
_LANGUAGES = {"en": "en", "zh": "zh-Hans"}


def explanation_html(explanation: Explanation, language: Language = "en") -> str:
    """The text of conflict.html. Links to the matrices are relative to locks/<stack>/<target>/."""
    problem = explanation.problem
    told = replace(explanation, contradictions=sentences.shown(explanation.contradictions))
    return (
        environment()
        .overlay(autoescape=True, finalize=None)
        .get_template("conflict.html.j2")
        .render(
            view=_one_lined(explanation_json(told, language)),
            details=[_details(fix, language) for fix in explanation.fixes],
            missing=sentences.missing_sentence(explanation.missing, language) if explanation.missing else "",
            title=one_line(sentences.title(problem, explanation.awaited, language)),
            verdict=list(map(one_line, sentences.verdict(problem, explanation.awaited, language))),
            way_zero=one_line(sentences.way_zero(explanation.awaited, language)) if explanation.awaited else "",
            hint=one_line(changes.apply_hint(explanation, language)) if explanation.fixes else "",
            translate=lambda code, *count, **values: translate(code, language, *count, **values),
            language=language,
            lang=_LANGUAGES[language],
            cited=cited,
        )
    )


def _details(fix: Fix, language: Language) -> Mapping[str, Any]:
    """What the block of a fix shows beyond its JSON; code keeps its line breaks."""
    return {
        "summary": one_line(changes.changes_sentence(fix.changes, language)),
        "changes": [one_line(told) for told in changes.change_sentences(fix.changes, language)],
        "risk": changes.risk_sentence(fix, language),
        "diffs": [diff for change in fix.changes if (diff := change_diff(change))],
        "environments": [
            one_line(changes.requires_sentence(fix, environment, language)) for environment in fix.environments
        ],
        "files": [(one_line(name), "\n".join(safe_lines(text))) for name, text in fix.files],
    }


def _one_lined(value: Any) -> Any:
    """All texts on one line each, without control characters and bidirectional marks."""
    match value:
        case str():
            return one_line(value)
        case dict():
            return {key: _one_lined(one) for key, one in value.items()}
        case list() | tuple():
            return [_one_lined(one) for one in value]
        case _:
            return value
