"""Settings for every test, independent of the shell that started the run.

Hypothesis: the same examples in every run, or as many fresh ones as ASCEND_LOCK_EXAMPLES says.
Signals: a run started by nohup, or in the background of a script, continues to ignore them, but
processes started by tests do not.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.hostile.certificates import make_authority
from tests.loopback import LoopbackIndex

_MORE = os.environ.get("ASCEND_LOCK_EXAMPLES")

settings.register_profile(
    "ascend-lock",
    max_examples=int(_MORE or 75),
    derandomize=not _MORE,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("ascend-lock")

# pytest-xdist sets it for its workers, and output would be as wide as that.
os.environ.pop("COLUMNS", None)

for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        # Unlike SIG_IGN, a function does not survive an exec.
        signal.signal(_number, lambda *_: None)


@pytest.fixture
def index() -> Iterator[LoopbackIndex]:
    """Serve an index on loopback, new for each test."""
    with LoopbackIndex() as served:
        yield served


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the certificate of an authority that nobody trusts by itself."""
    return make_authority(tmp_path_factory.mktemp("authority"))


def pytest_collection_finish() -> None:
    """Keep what was collected from garbage collection: it takes a quarter less time.

    The rest is collected seldom, as the program runs without collection.

    Nor often in the rest, as the program runs without collection.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
