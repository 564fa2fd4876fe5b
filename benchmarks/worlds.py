"""Made-up package indexes of any size: the same family and size give the same bytes.

Numbers of releases, files and bytes of metadata are those of real projects (quantiles of the 218
projects that `verl-qwen3.5` asks for, and of what is installed to develop this one).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import isqrt
from random import Random

RELEASES = (3, 6, 13, 16, 21, 24, 29, 35, 39, 42, 52, 58, 64, 69, 83, 92, 108, 140, 165, 275, 400)
METADATA = (1_658, 2_393, 2_871, 4_271, 5_742, 7_341, 8_754, 14_716, 30_000)
# The share of projects with many wheels a release; it makes 2.5 files a release on average.
_COMPILED = 0.08
_PLATFORMS = (
    "cp310-cp310-manylinux_2_17_x86_64",
    "cp310-cp310-manylinux_2_17_aarch64",
    "cp311-cp311-manylinux_2_17_x86_64",
    "cp311-cp311-manylinux_2_17_aarch64",
    "cp311-cp311-macosx_11_0_arm64",
    "cp311-cp311-win_amd64",
    "cp312-cp312-manylinux_2_17_aarch64",
)
_LINE = (
    b"What this is good for is told in many words, "
    b"with badges, tables and examples, as everywhere.\n"
)
_TEXT = _LINE * 400


def version(number: int) -> str:
    """Return the version of a project's release; the number of the oldest one is 0."""
    return f"{1 + number // 20}.{number % 20}.0"


@dataclass(frozen=True)
class Project:
    """A project on the index."""

    name: str
    # What each release needs, the oldest first.
    requires: Sequence[tuple[str, ...]]
    # Whether each release has wheels for several platforms.
    compiled: bool
    # The bytes of its description.
    described: int

    def wheels(self, number: int) -> list[str]:
        """Return the names of a release's wheels."""
        stem = f"{self.name.replace('-', '_')}-{version(number)}"
        tags = _PLATFORMS if self.compiled else ("py3-none-any",)
        return [f"{stem}-{tag}.whl" for tag in tags]

    def metadata(self, number: int) -> bytes:
        """Return the METADATA of a release's wheels."""
        lines = [
            "Metadata-Version: 2.1",
            f"Name: {self.name}",
            f"Version: {version(number)}",
            "Requires-Python: >=3.8",
        ]
        lines += [f"Requires-Dist: {line}" for line in self.requires[number]]
        head = "\n".join(lines) + "\n\n"
        return head.encode() + _TEXT[: self.described]

    def page(self) -> bytes:
        """Return the page of the project (PEP 691, 700, 714)."""
        files = []
        for number in range(len(self.requires)):
            core = {"sha256": sha256(self.metadata(number)).hexdigest()}
            archive = f"{self.name.replace('-', '_')}-{version(number)}.tar.gz"
            for filename in (*self.wheels(number), archive):
                digest = sha256(filename.encode()).hexdigest()
                files.append(
                    {
                        "filename": filename,
                        "url": f"/files/{digest[:2]}/{digest[2:4]}/{digest[4:]}/{filename}",
                        "hashes": {"sha256": digest},
                        "requires-python": ">=3.8",
                        "size": 10_000 + int(digest[:4], 16),
                        "upload-time": f"{2016 + number // 40:04}-01-01T00:00:00.000000Z",
                        "yanked": False,
                        "core-metadata": core if filename.endswith(".whl") else False,
                    }
                )
        versions = [version(number) for number in range(len(self.requires))]
        return json.dumps(
            {
                "meta": {"api-version": "1.1"},
                "name": self.name,
                "versions": versions,
                "files": files,
            }
        ).encode()


@dataclass(frozen=True)
class World:
    """An index and what a stack requires from it."""

    requires: tuple[str, ...]
    # The projects of the index by name.
    projects: dict[str, Project]


class _Maker:
    """Makes projects with realistic numbers of everything, and names in no order."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)
        self.projects: dict[str, Project] = {}
        self._names = 0

    def name(self, kind: str) -> str:
        """Return a new name."""
        self._names += 1
        return f"{self.random.choice('abcdefghijklmnopqrstuvwxyz')}{kind}-{self._names}"

    def releases(self) -> int:
        """Draw a number of releases, between the quantiles of real ones."""
        quantile = self.random.random() * (len(RELEASES) - 1)
        low = RELEASES[int(quantile)]
        high = RELEASES[int(quantile) + 1]
        return low + int((high - low) * (quantile % 1))

    def add(self, name: str, requires: Sequence[tuple[str, ...]]) -> str:
        """Add a project and return its name."""
        compiled = self.random.random() < _COMPILED
        self.projects[name] = Project(name, requires, compiled, self.random.choice(METADATA))
        return name

    def bound(self, name: str, number: int, of: int) -> str:
        """Return a requirement on `name` of release `number` of `of`.

        Its lower bound is about as old as that release; some have an upper bound, too.
        """
        count = len(self.projects[name].requires)
        low = int(count * 0.3 * number / of)
        high = max(int(count * (0.6 + 0.4 * number / of)), low + 1)
        upper = f",<{version(high)}" if self.random.random() < 0.2 and high < count else ""
        return f"{name}>={version(low)}{upper}"

    def layers(self, size: int, width: int, each: int, last: Sequence[str] = ()) -> list[str]:
        """Make layers of projects that each need `each` of the next layer.

        The projects of the last layer need `last`. Returns the names of the first layer.
        """
        below: list[str] = []
        for layer_width in (size % width, *[width] * (size // width)):
            layer = []
            for position in range(layer_width):
                count = self.releases()
                if below:
                    rows = self._requirements(below, position, each, count)
                else:
                    rows = [tuple(last[position::layer_width])] * count
                layer.append(self.add(self.name("p"), rows))
            below = layer or below
        return below

    def _requirements(
        self, below: Sequence[str], position: int, each: int, count: int
    ) -> list[tuple[str, ...]]:
        """Return what each of `count` releases needs of the layer below."""
        # The first is by position, so that each project below is needed.
        needed = [below[position % len(below)]]
        needed += self.random.sample(below, min(each - 1, len(below)))
        names = dict.fromkeys(needed)
        return [tuple(self.bound(name, number, count) for name in names) for number in range(count)]

    def world(self, *requires: str) -> World:
        """Return the index of the projects that were added."""
        return World(requires, self.projects)


def chains(size: int) -> World:
    """As many chains as each is long: each project needs one other."""
    maker = _Maker(f"chains {size}")
    return maker.world(*maker.layers(size, isqrt(size), 1))


def diamonds(size: int) -> World:
    """Layers: each project needs three of the next, one bound in five has an upper end."""
    maker = _Maker(f"diamonds {size}")
    return maker.world(*maker.layers(size, isqrt(size), 3))


def late(size: int) -> World:
    """Diamonds, and below them conflicts that show late: like boto3, botocore, urllib3 and who
    wants new urllib3.

    The stack asks for boto. boto k needs core k, core k needs old url from 20 on; late needs new
    url from 5 on, and is met at the bottom.
    """
    maker = _Maker(f"late {size}")
    asked, bottom = [], []
    for _ in range(size // 20):
        url = maker.add(maker.name("url"), [()] * 60)
        core = maker.name("core")
        maker.add(core, [(url,)] * 20 + [(f"{url}<{version(40)}",)] * 180)
        boto = maker.name("boto")
        maker.add(boto, [(f"{core}>={version(k)},<{version(k + 1)}",) for k in range(200)])
        want = maker.name("late")
        maker.add(want, [(url,)] * 5 + [(f"{url}>={version(45)}",)] * 25)
        asked.append(boto)
        bottom.append(want)
    rest = size - len(maker.projects)
    return maker.world(*asked, *maker.layers(rest, isqrt(rest), 3, bottom))


def runs(size: int) -> World:
    """Diamonds, and below them two projects with long runs of releases of the same requirements,
    which clash.

    Each release of one needs old base; all but the oldest of the other need new base.
    """
    maker = _Maker(f"runs {size}")
    bottom = []
    for _ in range(size // 20):
        base = maker.add(maker.name("base"), [()] * 40)
        one, other = maker.name("one"), maker.name("other")
        maker.add(one, [(f"{base}<{version(10)}",)] * 300)
        maker.add(other, [(base,)] * 10 + [(f"{base}>={version(10)}",)] * 290)
        bottom += [one, other]
    rest = size - len(maker.projects)
    return maker.world(*maker.layers(rest, isqrt(rest), 3, bottom))


def formulas(size: int) -> World:
    """3-SAT with 3.2 clauses a variable and a solution: a clause has a release for each literal
    that may meet it.
    """
    maker = _Maker(f"formulas {size}")
    variables = [maker.add(maker.name("x"), [(), ()]) for _ in range(max(int(size / 4.2), 3))]
    truth = {name: maker.random.randrange(2) for name in variables}
    clauses = []
    while len(maker.projects) < size:
        three = [(name, maker.random.randrange(2)) for name in maker.random.sample(variables, 3)]
        if any(truth[name] == value for name, value in three):
            rows = [(f"{name}=={version(value)}",) for name, value in three]
            clauses.append(maker.add(maker.name("c"), rows))
    return maker.world(*clauses)


FAMILIES: dict[str, Callable[[int], World]] = {
    "chains": chains,
    "diamonds": diamonds,
    "late": late,
    "runs": runs,
    "formulas": formulas,
}
