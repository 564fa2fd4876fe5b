"""Hypothesis: the same examples in every run, or as many fresh ones as ASCEND_LOCK_EXAMPLES says."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_MORE = os.environ.get("ASCEND_LOCK_EXAMPLES")

settings.register_profile(
    "ascend-lock",
    max_examples=int(_MORE or 150),
    derandomize=not _MORE,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("ascend-lock")
