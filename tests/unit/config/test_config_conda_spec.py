"""The forms of conda's package match specifications, as requirements of pip."""

from __future__ import annotations

import time

import pytest

from resolver.config.requirement_files.conda_spec import conda_spec, take_conda
from resolver.config.requirement_files.file_requirements import FileRequirements


@pytest.mark.parametrize(
    ("text", "name", "specifier"),
    [
        # of the documentation: "Package search and install specifications"
        ("numpy=1.17.*", "numpy", "==1.17.*"),
        ("numpy>1.17,<1.19.2", "numpy", ">1.17,<1.19.2"),
        ("numpy 1.17.3 py38*", "numpy", "==1.17.3"),
        ("conda-forge::numpy=1.17.3[subdir=linux-64, build=py38*]", "numpy", "==1.17.3"),
        ("numpy 1.17.3[version=1.19.2]", "numpy", "==1.19.2"),
        ("conda-forge/linux-64::numpy 1.17.5 py38h95a1406_0", "numpy", "==1.17.5"),
        ("numpy[channel=conda-forge, subdir=linux-64, version=1.17.*]", "numpy", "==1.17.*"),
        # a single `=` is a prefix, unless the version is a whole one
        ("numpy=1.26", "numpy", "==1.26.*"),
        ("numpy=1", "numpy", "==1.*"),
        ("pytorch=2.5.1", "pytorch", "==2.5.1"),
        ("torchvision=0.20=py310_cu124", "torchvision", "==0.20"),
        ("numpy=1.26b1", "numpy", "==1.26b1"),
        ("numpy=1.26rc1=py310_0", "numpy", "==1.26rc1"),
        ("numpy=1.26.post1", "numpy", "==1.26.post1"),
        ("numpy=1.26.dev2", "numpy", "==1.26.dev2"),
        ("pytorch=2.5+cpu", "pytorch", "==2.5+cpu"),
        ("numpy=1.26*=py310_0", "numpy", "==1.26.*"),
        ("numpy==1.26", "numpy", "==1.26"),
        ("numpy==1.26=py310_0", "numpy", "==1.26"),
        ("numpy 1.26", "numpy", "==1.26"),
        ("numpy = 1.26", "numpy", "==1.26.*"),
        ("pandas 2.1.*", "pandas", "==2.1.*"),
        ("pandas=2.1*", "pandas", "==2.1.*"),
        ("pandas!=2.1.*", "pandas", "!=2.1.*"),
        ("scipy >=1.10, <2", "scipy", ">=1.10,<2"),
        ("scipy >=1.10,<2.0a0 py310*", "scipy", ">=1.10,<2.0a0"),
        ("scipy~=1.10", "scipy", "~=1.10"),
        ("tqdm[version='>=4.60,<5']", "tqdm", ">=4.60,<5"),
        ("tqdm[version=\">=4.60\", build='py_0']", "tqdm", ">=4.60"),
        ("pytorch=*=*cuda*", "pytorch", ""),
        ("Pytorch *", "pytorch", ""),
        ("_libgcc_mutex=0.1=main", "_libgcc_mutex", "==0.1"),
    ],
)
def test_conda_spec_is_a_requirement(text: str, name: str, specifier: str) -> None:
    spec = conda_spec(text, "e.yml:1")
    assert spec is not None
    assert (spec.name, spec.specifier, spec.is_public) == (name, specifier, True)


@pytest.mark.parametrize(
    "text",
    [
        *("", "=1", "numpy[version]", "numpy[version='1]", "numpy 1.2 hunter2@host"),
        *("https://u:hunter2@h::numpy", "n" * 200 + "!", "numpy[version='1', x", "-nothing"),
        *("numpy/hunter2", "numpy: hunter2"),
    ],
)
def test_conda_spec_of_another_form_is_none(text: str) -> None:
    assert conda_spec(text, "e.yml:1") is None


@pytest.mark.parametrize(
    "text",
    [
        *("numpy=1.2|1.3", "numpy>=1.2.*", "numpy=hunter2", "numpy<", "numpy=1.2,", "numpy 9e h0"),
        *("numpy=1.26b1*", "numpy!=1.26b1.*", "numpy~=1", "numpy>=1.2+cpu"),
    ],
)
def test_conda_spec_without_versions_of_pip(text: str) -> None:
    spec = conda_spec(text, "e.yml:1")
    assert spec is not None
    assert (spec.name, spec.specifier, spec.shown) == ("numpy", None, "numpy")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mine::numpy=1.26=hunter2", "numpy=1.26"),
        ("hunter2/noarch::numpy", "numpy"),
        ("numpy[channel=hunter2,version='>=1']", "numpy>=1"),
    ],
)
def test_conda_spec_shows_no_channel_and_build(text: str, shown: str) -> None:
    spec = conda_spec(text, "e.yml:1")
    assert spec is not None
    assert (spec.shown, spec.is_public) == (shown, False)


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("python=3.10.14=h955ad1f_1", "3.10"),
        ("python=3.12", "3.12"),
        ("conda-forge::python 3.9.*", "3.9"),
        ("python>=3.12,<3.14", "3.12"),
        ("python", ""),
    ],
)
def test_conda_spec_of_python_is_the_python(text: str, python: str) -> None:
    result = FileRequirements("")
    assert take_conda(text, "e.yml:1", result)
    assert (result.python, result.conda) == (python, [])


@pytest.mark.parametrize("unit", [" ", "=", "a=", "[a=", "a::", ",", "-1", "<", "/a", "::/"])
def test_conda_spec_of_any_length_takes_little_time(unit: str) -> None:
    begin = time.process_time()
    for text in (unit * 1_000_000, unit * 300, f"numpy{unit * 300}", f"numpy {unit * 300}x"):
        take_conda(text, "e.yml:1", FileRequirements(""))
    assert time.process_time() - begin < 1
