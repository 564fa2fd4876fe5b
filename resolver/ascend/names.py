"""Names that Ascend's software has: components, and projects that run on NPUs with a plugin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# The components that `checks` finds on a machine, and `activate.sh` activates: the toolkit, the
# driver with its firmware, and the family of the chip.
TOOLKIT: Final = "cann"
DRIVER: Final = "hdk"
CHIP: Final = "soc"
COMPONENTS: Final = (TOOLKIT, DRIVER, CHIP)
# The components as people write them.
TITLES: Final[Mapping[str, str]] = {TOOLKIT: "CANN", DRIVER: "HDK", CHIP: "SoC"}
# The key for `device` in locks of format 2.
FORMER_DEVICE: Final = "npu"
# Projects that run on NPUs only with a plugin, and the plugin.
PLUGINS: Final[Mapping[str, str]] = {"torch": "torch-npu", "vllm": "vllm-ascend"}
