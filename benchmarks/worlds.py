"""Package indexes that never were, of any size: the same family and size give the same bytes.

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
_COMPILED = 0.08  # share of projects with many wheels a release: 2.5 files a release on the average
_PLATFORMS = (
    "cp310-cp310-manylinux_2_17_x86_64",
    "cp310-cp310-manylinux_2_17_aarch64",
    "cp311-cp311-manylinux_2_17_x86_64",
    "cp311-cp311-manylinux_2_17_aarch64",
    "cp311-cp311-macosx_11_0_arm64",
    "cp311-cp311-win_amd64",
    "cp312-cp312-manylinux_2_17_aarch64",
)
_TEXT = (
    b"What this is good for is told in many words, with badges, tables and examples, as everywhere.\n"
    * 400
)


def version(number: int) -> str:
    """The version of a project's release, the oldest being 0."""
    return f"{1 + number // 20}.{number % 20}.0"


@dataclass(frozen=True)
class Project:
    """A project on the index. `requires` has what each release needs, the oldest first."""

    name: str
    requires: Sequence[tuple[str, ...]]
    compiled: bool
    described: int

    def wheels(self, number: int) -> list[str]:
        """The names of a release's wheels."""
        stem = f"{self.name.replace('-', '_')}-{version(number)}"
        tags = _PLATFORMS if self.compiled else ("py3-none-any",)
        return [f"{stem}-{tag}.whl" for tag in tags]

    def metadata(self, number: int) -> bytes:
        """The METADATA of a release's wheels."""
        needs = "".join(f"Requires-Dist: {line}\n" for line in self.requires[number])
        head = f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {version(number)}\nRequires-Python: >=3.8\n{needs}\n"
        return head.encode() + _TEXT[: self.described]

    def page(self) -> bytes:
        """The page of the project (PEP 691, 700, 714)."""
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
    """What is asked for, and the index that it is asked of."""

    requires: tuple[str, ...]
    projects: dict[str, Project]


class _Maker:
    """Projects with real numbers of everything, and names in no order."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)
        self.projects: dict[str, Project] = {}
        self._names = 0

    def name(self, kind: str) -> str:
        self._names += 1
        return f"{self.random.choice('abcdefghijklmnopqrstuvwxyz')}{kind}-{self._names}"

    def releases(self) -> int:
        at = self.random.random() * (len(RELEASES) - 1)
        low = RELEASES[int(at)]
        return low + int((RELEASES[int(at) + 1] - low) * (at % 1))

    def add(self, name: str, requires: Sequence[tuple[str, ...]]) -> str:
        compiled = self.random.random() < _COMPILED
        self.projects[name] = Project(name, requires, compiled, self.random.choice(METADATA))
        return name

    def bound(self, name: str, number: int, of: int) -> str:
        """At least a release of `name` as old as the one that asks; of some also less than a newer one."""
        count = len(self.projects[name].requires)
        low = int(count * 0.3 * number / of)
        high = max(int(count * (0.6 + 0.4 * number / of)), low + 1)
        upper = f",<{version(high)}" if self.random.random() < 0.2 and high < count else ""
        return f"{name}>={version(low)}{upper}"

    def layers(self, size: int, width: int, each: int, last: Sequence[str] = ()) -> list[str]:
        """Layers of projects that each need some of the next; the last needs `last`.

        The names of the first.
        """
        below: list[str] = []
        for wide in (size % width, *[width] * (size // width)):
            layer = []
            for at in range(wide):
                count = self.releases()
                if below:  # the first of them so that each is needed by some
                    more = self.random.sample(below, min(each - 1, len(below)))
                    among = dict.fromkeys((below[at % len(below)], *more))
                    rows = [
                        tuple(self.bound(one, number, count) for one in among)
                        for number in range(count)
                    ]
                else:
                    rows = [tuple(last[at::wide])] * count
                layer.append(self.add(self.name("p"), rows))
            below = layer or below
        return below

    def world(self, *requires: str) -> World:
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
    """Diamonds, and below them conflicts that show late: like boto3, botocore, urllib3 and who wants new urllib3.

    The stack asks for boto. boto k needs core k, core k needs old url from 20 on; late needs new
    url from 5 on, and is met at the bottom.
    """
    maker = _Maker(f"late {size}")
    asked, bottom = [], []
    for _ in range(size // 20):
        url = maker.add(maker.name("url"), [()] * 60)
        core = maker.name("core")
        maker.add(core, [(f"{url}<{version(40)}",) if k >= 20 else (url,) for k in range(200)])
        boto = maker.name("boto")
        maker.add(boto, [(f"{core}>={version(k)},<{version(k + 1)}",) for k in range(200)])
        want = maker.name("late")
        maker.add(want, [(f"{url}>={version(45)}",) if k >= 5 else (url,) for k in range(30)])
        asked.append(boto)
        bottom.append(want)
    rest = size - len(maker.projects)
    return maker.world(*asked, *maker.layers(rest, isqrt(rest), 3, bottom))


def runs(size: int) -> World:
    """Diamonds, and below them two projects with long runs of releases of the same requirements, which clash.

    Each release of one needs old base; all but the oldest of the other need new base.
    """
    maker = _Maker(f"runs {size}")
    bottom = []
    for _ in range(size // 20):
        base = maker.add(maker.name("base"), [()] * 40)
        one, other = maker.name("one"), maker.name("other")
        maker.add(one, [(f"{base}<{version(10)}",)] * 300)
        maker.add(other, [(f"{base}>={version(10)}",) if k >= 10 else (base,) for k in range(300)])
        bottom += [one, other]
    rest = size - len(maker.projects)
    return maker.world(*maker.layers(rest, isqrt(rest), 3, bottom))


def formulas(size: int) -> World:
    """3-SAT with 3.2 clauses a variable and a solution: a clause has a release for each literal that may meet it."""
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
