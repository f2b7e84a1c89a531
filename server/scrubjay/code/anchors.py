"""Notes what a record names of a repository: files and definitions, each with a hash, at a commit."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from scrubjay.code.definitions import Definitions, definitions, digest, has_definitions, resolve
from scrubjay.code.git import SHORT, Tree
from scrubjay.code.names import MOST, paths, symbols

_MOST_HOMES = 12  # files that are read to find which defines a name


@dataclass(frozen=True)
class File:
    """A file that a record named: its hash, and that of each named definition in it.

    `is_said` is False for a file that only a tool named.
    """

    path: str
    digest: str
    symbols: tuple[tuple[str, str], ...] = ()
    is_said: bool = True


@dataclass(frozen=True)
class Anchor:
    """The state of the code when a record was made. `branch` is None for a detached HEAD, or if unknown."""

    commit: str
    branch: str | None
    files: tuple[File, ...] = ()


@dataclass(frozen=True)
class Said:
    """What a record says: its text, and the files that its tools named."""

    text: str
    files: tuple[str, ...] = ()


def anchors(tree: Tree, commit: str, branch: str | None, all_said: Sequence[Said]) -> list[Anchor]:
    """Return the anchor of each text, by the files of a tree; together they take one question to git."""
    named = [_Named(said, lambda path: tree.listing().find(path)) for said in all_said]
    tools = {path for each in named for path in each.paths}
    sources = _Sources(tree, tools, {_last(name) for each in named for name in each.symbols})
    missing = {name for each in named for name in each.symbols if not sources.homes(name, each.paths)}
    defining = tree.defining({part for name in missing for part in name.split(".")[-2:]}) or {}
    found = {name: _places(name, defining) for name in missing}
    sources.add({path for places in found.values() if len(places) <= _MOST_HOMES for path in places})
    return [Anchor(commit[:SHORT], branch, _files(each, sources, found)) for each in named]


def _places(name: str, defining: Mapping[str, set[str]]) -> set[str]:
    """Return the files that may define a name: those that define its class too, if any."""
    *_, above, last = ("", *name.split("."))
    places = defining.get(last, set())
    return places & defining.get(above, set()) or places


def _last(name: str) -> str:
    return name.rpartition(".")[2]


class _Named:
    """What one text names: files, those of its tools last, and what may be symbols."""

    def __init__(self, said: Said, find: Callable[[str], str | None]) -> None:
        self.said = tuple(dict.fromkeys(filter(None, map(find, paths(said.text)))))[:MOST]
        self.paths = tuple(dict.fromkeys((*self.said, *filter(None, map(find, said.files)))))[:MOST]
        self.symbols = symbols(said.text)


class _Sources:
    """The contents of some files of a tree, and their definitions with a name in `wanted`."""

    def __init__(self, tree: Tree, paths: Collection[str], wanted: Collection[str]) -> None:
        self._tree, self._wanted = tree, wanted
        self._definitions: dict[str, Definitions] = {}
        self.contents: dict[str, bytes] = tree.read(paths)

    def add(self, paths: Collection[str]) -> None:
        self.contents |= self._tree.read([path for path in paths if path not in self.contents])

    def find(self, path: str, name: str) -> tuple[str, str] | None:
        """Return the full name and the hash of what a text calls `name` in a file; None if it has no such."""
        content = self.contents.get(path, b"")
        if _last(name).encode() not in content or not has_definitions(path):
            return None
        if path not in self._definitions:
            names = [each for each in self._wanted if each.encode() in content]
            self._definitions[path] = definitions(path, content, names)
        found = self._definitions[path]
        full = resolve(found, name)
        return None if full is None else (".".join(full), found[full])

    def homes(self, name: str, paths: Collection[str]) -> list[str]:
        """Return those of the files that define a name."""
        return [path for path in paths if self.find(path, name) is not None]


def _files(named: _Named, sources: _Sources, elsewhere: Mapping[str, Collection[str]]) -> tuple[File, ...]:
    symbols: dict[str, dict[str, str]] = {path: {} for path in named.paths}
    for name in named.symbols:
        homes = sources.homes(name, named.paths) or sources.homes(name, elsewhere.get(name, ()))
        found = sources.find(homes[0], name) if len(homes) == 1 else None
        if found is not None and sum(map(len, symbols.values())) < MOST:
            symbols.setdefault(homes[0], {}).update([found])
    return tuple(
        File(path, digest(sources.contents[path]), tuple(found.items()), is_said=path in named.said)
        for path, found in symbols.items()
        if path in sources.contents
    )
