"""Names that Ascend's software has: components, and projects that run on NPUs with a plugin."""

from __future__ import annotations

import re

# The components that `checks` finds on a machine, and `activate.sh` activates: the toolkit, the
# driver with its firmware, and the family of the chip.
TOOLKIT = "cann"
DRIVER = "hdk"
CHIP = "soc"
COMPONENTS = (TOOLKIT, DRIVER, CHIP)
# Where this module can be imported, there is CANN and a driver.
DEVICE_MODULE = "torch_npu"
# The plugin of torch, whose facts say which driver each CANN asks for.
TORCH_PLUGIN = "torch-npu"
# Findings of `checks` that are warnings.
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
# Findings about a chip of which nothing is known, as where an image is built.
UNSEEN_CODES = ("soc-unknown", "soc-unnamed")
# The components as people write them.
TITLES = {TOOLKIT: "CANN", DRIVER: "HDK", CHIP: "SoC"}
# Other names under which documents speak of a project or a component.
ALIASES = {
    TORCH_PLUGIN: ("torchnpu",),
    DRIVER: ("driver", "firmware", "software version", "驱动", "固件"),
}
# How documents write the families of chips, as regular expressions. A claim about a document names
# a family after this prefix: `soc:A2`.
CHIP_CLAIM = f"{CHIP}:"
CHIP_SPELLINGS = {
    "A2": r"(?<![A-Za-z0-9])A2(?![A-Za-z0-9])|910B",
    "A3": r"(?<![A-Za-z0-9])A3(?![A-Za-z0-9])|910_93|910C",
    "A5": r"(?<![A-Za-z0-9])A5(?![A-Za-z0-9])|(?<![0-9])950(?![0-9])",
    "310P": r"310P",
}
# Longer titles of components, for an SBOM, whose readers may not know the vendor.
FULL_TITLES = {
    TOOLKIT: "CANN",
    DRIVER: "Ascend HDK",
    CHIP: "Ascend SoC family",
}
SUPPLIER = "Huawei"
# The key for `device` in locks of format 2.
FORMER_DEVICE = "npu"
# The project whose releases the matrix and `pairs` list, and the projects that each is paired with.
VLLM_PLUGIN = "vllm-ascend"
PARTNERS = ("vllm", "torch", TORCH_PLUGIN, "triton-ascend")
# Projects whose metadata says nothing of CANN, nor of what to install with them.
NEEDING_FACTS = (TORCH_PLUGIN, VLLM_PLUGIN)
# Projects that run on NPUs only with a plugin, and the plugin.
PLUGINS = {"torch": TORCH_PLUGIN, "vllm": VLLM_PLUGIN}
# What follows the release in the version of a build of CANN.
_BUILD = re.compile(r"\.B\d+\Z", re.IGNORECASE)


def release_of(version: str) -> str:
    """Return the release of CANN that a version is, or is a build of: 8.5.0 for 8.5.0.B160."""
    return _BUILD.sub("", version)
