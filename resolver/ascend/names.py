"""The names of Ascend's software: components, and projects that run on NPUs with a plugin."""

from __future__ import annotations

import re

# The components that `checks` can find on a machine: the toolkit, the driver with its firmware, and
# the family of the chip.
TOOLKIT = "cann"
DRIVER = "hdk"
CHIP = "soc"
COMPONENTS = (TOOLKIT, DRIVER, CHIP)
# If this module can be imported, CANN and a driver are installed and active.
DEVICE_MODULE = "torch_npu"
# The plugin of torch. Facts about it say which driver each CANN requires.
TORCH_PLUGIN = "torch-npu"
# The codes of findings of `checks` and `network` that are only warnings.
WARNING_CODES = (
    "cann-file-unreadable",
    "cann-half-active",
    "hdk-file-unreadable",
    "hdk-not-running",
    "hdk-unmet",
    "network-unread",
    "network-unseen",
    "npu-absent",
    "soc-mixed",
    "soc-unknown",
    "soc-unnamed",
)
# The codes of findings about a chip that is not known: for example, because an image is built on a
# machine without NPU.
UNSEEN_CODES = ("soc-unknown", "soc-unnamed")
# The titles of the components in messages.
TITLES = {TOOLKIT: "CANN", DRIVER: "HDK", CHIP: "SoC"}
# Other names that documents use for a project or a component.
ALIASES = {
    TORCH_PLUGIN: ("torchnpu",),
    DRIVER: ("driver", "firmware", "software version", "驱动", "固件"),
}
# The prefix by which a claim about a document names a family of chips: `soc:A2`.
CHIP_CLAIM = f"{CHIP}:"
# How documents spell each family, as regular expressions.
CHIP_SPELLINGS = {
    "A2": r"(?<![A-Za-z0-9])A2(?![A-Za-z0-9])|910B",
    "A3": r"(?<![A-Za-z0-9])A3(?![A-Za-z0-9])|910_93|910C",
    "A5": r"(?<![A-Za-z0-9])A5(?![A-Za-z0-9])|(?<![0-9])950(?![0-9])",
    "310P": r"310P",
}
# Longer titles of the components for an SBOM, whose readers may not know the vendor.
FULL_TITLES = {
    TOOLKIT: "CANN",
    DRIVER: "Ascend HDK",
    CHIP: "Ascend SoC family",
}
SUPPLIER = "Huawei"
# The name of the key `device` in locks of format 2.
FORMER_DEVICE = "npu"
# The project whose releases `matrix` and `pairs` list.
VLLM_PLUGIN = "vllm-ascend"
# Each release of VLLM_PLUGIN needs a certain release of each of these projects.
PARTNERS = ("vllm", "torch", TORCH_PLUGIN, "triton-ascend")
# Projects whose metadata does not say which CANN and which other projects they need.
NEEDING_FACTS = (TORCH_PLUGIN, VLLM_PLUGIN)
# The plugin of each project that runs on NPUs only with a plugin.
PLUGINS = {"torch": TORCH_PLUGIN, "vllm": VLLM_PLUGIN}
# The number of the build, which follows the release in a version of CANN.
_BUILD = re.compile(r"\.B\d+\Z", re.IGNORECASE)


def release_of(version: str) -> str:
    """Return a version of CANN without the number of the build: 8.5.0 for 8.5.0.B160."""
    return _BUILD.sub("", version)
