"""The network: requests, and pages and files that are asked for."""

import sys

# httpx imports its own command, and with that click, pygments and rich, wherever they are installed.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
