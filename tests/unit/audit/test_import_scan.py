"""Imports of names that another project lacks: which are found, and which count as harmless."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from resolver.audit.import_scan import MissingImport, missing_imports
from resolver.audit.module_names import ProjectModules
from resolver.index.parse.distribution import FileRelease
from resolver.model import text
from tests.builders import build_archive, build_wheel

LIB = {
    "lib/__init__.py": "from .core import has",
    "lib/core.py": "def has(): ...",
}


def modules(
    folder: Path, name: str, files: Mapping[str, str], *, archive: bool = False
) -> ProjectModules:
    """Return the modules of a wheel or source archive with these files."""
    texts = {path: dedent(content) for path, content in files.items()}
    if archive:
        built = build_archive(name, "1.0", members=texts)
    else:
        built = build_wheel(name, "1.0", files=texts)
    path = folder / built.filename
    path.write_bytes(built.content)
    return ProjectModules(path, FileRelease(built.filename, text.name(name), "1.0"))


def found(folder: Path, source: str, lib: Mapping[str, str] = LIB) -> list[MissingImport]:
    """Return the imports in one file that a library lacks."""
    app = modules(folder, "app", {"app/__init__.py": "", "app/code.py": source})
    return missing_imports(app, modules(folder, "lib", lib))


def shown(imports: list[MissingImport]) -> list[str]:
    """Return imports as "module:name when"; with `?` those that are not certain."""
    return [
        f"{item.module}:{item.name}{'' if item.is_certain else '?'} {item.reach.value}"
        for item in imports
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from lib import lacks", "lib:lacks at-import"),
        ("from lib.core import has, lacks", "lib.core:lacks at-import"),
        ("import lib.gone", "lib.gone: at-import"),
        ("from lib.gone import lacks", "lib.gone: at-import"),
        ("from lib.gone.below import *", "lib.gone.below: at-import"),
        ("class A:\n    from lib import lacks", "lib:lacks at-import"),
        ("def f():\n    from lib import lacks", "lib:lacks called"),
        ("if available():\n    from lib import lacks", "lib:lacks at-import"),
        ("if is_lib_version('<2'):\n    from lib import lacks", "lib:lacks guarded"),
        ("if new():\n    pass\nelse:\n    from lib import lacks", "lib:lacks at-import"),
        ("if hasattr(lib, 'x'):\n    pass\nelse:\n    from lib import lacks", "lib:lacks guarded"),
        ("OLD = v < Version('2')\nif OLD:\n    from lib import lacks", "lib:lacks guarded"),
        ("def f():\n    if v < '2':\n        return\n    import lib.gone", "lib.gone: guarded"),
        ("if not available():\n    raise Error\nimport lib.gone", "lib.gone: at-import"),
        (
            "try:\n    from lib import lacks\nexcept ModuleNotFoundError:\n    pass",
            "lib:lacks at-import",
        ),
        (
            "try:\n    from lib import lacks\nexcept ImportError:\n    raise Other",
            "lib:lacks at-import",
        ),
        (
            "try:\n    import cupy\nexcept ImportError:\n    from lib import lacks",
            "lib:lacks at-import",
        ),
        (
            "try:\n    def f():\n        import lib.gone\nexcept ImportError:\n    pass",
            "lib.gone: called",
        ),
    ],
)
def test_missing_import_says_when_it_is_run(tmp_path: Path, source: str, expected: str) -> None:
    assert shown(found(tmp_path, source)) == [expected]


@pytest.mark.parametrize(
    "source",
    [
        "from lib import has, core, __version__",
        "import lib.core as core",
        "from .lib import lacks",
        "from app.lib import lacks",
        "import other.gone",
        "try:\n    from lib import lacks\nexcept (AttributeError, ImportError):\n    pass",
        "try:\n    from lib import lacks\nexcept Exception:\n    lacks = None",
        "try:\n    from lib import lacks\nexcept:\n    pass",
        "try:\n    import lib.gone\nexcept ModuleNotFoundError:\n    pass",
        "try:\n    from lib import has\nexcept ImportError:\n    from lib.gone import has",
        "with contextlib.suppress(ImportError):\n    from lib import lacks",
        "if TYPE_CHECKING:\n    from lib import lacks",
        "if not TYPE_CHECKING:\n    pass\nelse:\n    from lib import lacks",
        "from lib import (",
    ],
)
def test_harmless_import_is_left_out(tmp_path: Path, source: str) -> None:
    assert shown(found(tmp_path, source)) == []


@pytest.mark.parametrize(
    "source",
    [
        "name = 1",
        "name: int = 1",
        "a, (b, *name) = x",
        "import name",
        "import name.below",
        "from x import other as name",
        "class name: ...",
        "async def name(): ...",
        "if a:\n    pass\nelif b:\n    name = 1",
        "try:\n    pass\nexcept E:\n    name = None",
        "for name in x: ...",
        "with x as name: ...",
        "if (name := 1): ...",
        "__all__ = [*others, 'name']",
        "__all__ += ['name']",
        "def f():\n    global name\n    name = 1",
        "from .core import *",
        "from lib.core import *",
        "from elsewhere import *",  # it is not known what that has
        "def __getattr__(wanted):\n    return table['name']",
        "from .lazy import __getattr__, name_of\n'name'",
        "globals().update(x)\n'name'",
        "sys.modules[__name__] = Lazy({'core': ['name']})",
        "not Python: 'name'",
    ],
)
def test_name_may_be_there(tmp_path: Path, source: str) -> None:
    lib = {"lib/__init__.py": source, "lib/core.py": "name = 1" if "core" in source else ""}
    assert shown(found(tmp_path, "from lib import name", lib)) == []


@pytest.mark.parametrize(
    "source",
    [
        "name: int",
        "def f():\n    name = 1",
        "class A:\n    name = 1",
        "if TYPE_CHECKING:\n    from .core import name",
        "from .core import *",
        "x.name = 1",
        "import x.name",
    ],
)
def test_name_is_not_there(tmp_path: Path, source: str) -> None:
    lib = {"lib/__init__.py": source, "lib/core.py": "from .core import *"}
    assert shown(found(tmp_path, "from lib import name", lib)) == ["lib:name at-import"]


def test_computed_name_that_is_written_nowhere(tmp_path: Path) -> None:
    lib = {"lib/__init__.py": "def __getattr__(wanted): ...", "lib/core.py": "class Here: ..."}
    assert shown(found(tmp_path, "from lib import Here, Gone", lib)) == ["lib:Gone? at-import"]


def test_compiled_module_may_have_any_name(tmp_path: Path) -> None:
    lib = {"lib/__init__.py": "", "lib/_C.cpython-311-x86_64-linux-gnu.so": "\x7fELF", **LIB}
    source = "from lib._C import name\nimport lib._C.below\nimport lib.gone"
    assert shown(found(tmp_path, source, lib)) == ["lib.gone: at-import"]


@pytest.mark.parametrize(
    "source",
    ["sys.modules[f'{__name__}.gone'] = core", "sys.modules.update(x)", "__path__ = extend(1)"],
)
def test_module_may_have_no_file(tmp_path: Path, source: str) -> None:
    assert shown(found(tmp_path, "import lib.gone", {"lib/__init__.py": source})) == []


def test_folder_without_init_may_be_shared(tmp_path: Path) -> None:
    lib = {"lib/part/core.py": ""}
    assert shown(found(tmp_path, "import lib.gone\nfrom lib import other", lib)) == []


def test_archive_may_lack_what_its_build_makes(tmp_path: Path) -> None:
    app = modules(tmp_path, "app", {"app/code.py": "import lib._version, lib.gone, setup"})
    lib = modules(tmp_path, "lib", {"src/lib/__init__.py": "", "setup.py": ""}, archive=True)
    assert shown(missing_imports(app, lib)) == ["lib.gone: at-import"]


def test_archive_has_packages_that_are_not_installed(tmp_path: Path) -> None:
    app = modules(tmp_path, "app", {"app/code.py": "from utils import lacks\nimport lib.gone"})
    members = {"lib/__init__.py": "", "examples/utils/__init__.py": ""}
    lib = modules(tmp_path, "lib", members, archive=True)
    assert shown(missing_imports(app, lib)) == ["lib.gone: at-import"]


def test_missing_import_says_where_it_is(tmp_path: Path) -> None:
    source = """
        class A:
            def f(self):
                if a:
                    pass
                elif b:
                    from lib import lacks
    """
    (missing,) = found(tmp_path, source)
    assert (missing.path, missing.line, missing.scope) == ("app/code.py", 7, "A.f")
    assert missing.under == ("not (a)", "b")
