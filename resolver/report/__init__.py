"""Render locks and explanations as files for pip, bash and people.

The functions read no clock and no environment: the same lock gives the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from resolver.model.lock import Lock


def render(lock: Lock) -> dict[str, str]:
    """Return all files of a lock's folder: relative path -> text.

    They are in the order in which people read them.
    """
    # Only commands that write locks need these modules.
    from resolver.lock import file
    from resolver.report import report, requirements, script, verify

    files = {
        file.NAME: file.dump(lock),
        requirements.FILE: requirements.requirements(lock),
        requirements.NO_DEPS_FILE: requirements.no_deps(lock),
        **requirements.build_requirements(lock),
        script.FILE: script.script(lock),
        script.ACTIVATION_FILE: script.activation(lock),
        verify.FILE: verify.verify(lock),
        **report.reports(lock),
        **script.stage_texts(lock),
    }
    return {name: text for name, text in files.items() if text is not None}
