"""What holds for every test, whatever the shell that began the run.

Hypothesis: the same examples in every run, or as many fresh ones as ASCEND_LOCK_EXAMPLES says. Signals: a run that was
begun by nohup, or in the background of a script, goes on ignoring them, and what the tests start does not.
"""

from __future__ import annotations

import os
import signal

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

for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)  # unlike SIG_IGN, it does not outlast an exec
