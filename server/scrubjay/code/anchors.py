"""Notes which files and definitions of a repository a record names, each with its hash at a commit."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scrubjay.code.definitions import Definitions, definitions, digest, has_definitions, resolve
from scrubjay.code.git import SHORT, Tree
from scrubjay.code.names import MOST, paths, symbols

_MOST_FILES = 12  # files that are read to find the definition of a name


@dataclass(frozen=True)
class File:
    """A file that a record names: its hash, and the hash of each named definition in it.

    `is_in_text` is False for a file that only a tool named.
    """

    path: str
    digest: str
    symbols: tuple[tuple[str, str], ...] = ()
    is_in_text: bool = True


@dataclass(frozen=True)
class Anchor:
    """The state of the code when a record was made. `branch` is None if HEAD was detached or is unknown."""

    commit: str
    branch: str | None
    files: tuple[File, ...] = ()


@dataclass(frozen=True)
class RecordText:
    """The text of a record, and the files that its tools named."""

    text: str
    files: tuple[str, ...] = ()


def anchors(tree: Tree, commit: str, branch: str | None, records: Sequence[RecordText]) -> list[Anchor]:
    """Return the anchor of each record; git searches the tree only once, for all records."""
    named = [_names(record, lambda path: tree.listing().find(path)) for record in records]
    own_names = {_last_part(name) for names in named for name in names.symbols}
    sources = _Sources(tree, {path for names in named for path in names.paths}, own_names)
    missing = {
        name for names in named for name in names.symbols if not sources.files_defining(name, names.paths)
    }
    defining = tree.files_defining({part for name in missing for part in name.split(".")[-2:]}) or {}
    files_by_name = {name: _likely_files(name, defining) for name in missing}
    sources.add({path for files in files_by_name.values() if len(files) <= _MOST_FILES for path in files})
    return [Anchor(commit[:SHORT], branch, _files(names, sources, files_by_name)) for names in named]


def _likely_files(name: str, defining: Mapping[str, set[str]]) -> set[str]:
    """Return the files that may define a name; if some of them may define its class too, only those."""
    *_, class_name, own_name = ("", *name.split("."))
    files = defining.get(own_name, set())
    return files & defining.get(class_name, set()) or files


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]


class _Names(NamedTuple):
    """The names in one record: possible symbols, and files, those in its text before those of its tools."""

    in_text: Sequence[str]
    paths: Sequence[str]
    symbols: Sequence[str]


def _names(record: RecordText, find: Callable[[str], str | None]) -> _Names:
    in_text = [*dict.fromkeys(filter(None, map(find, paths(record.text))))][:MOST]
    all_paths = dict.fromkeys((*in_text, *filter(None, map(find, record.files))))
    return _Names(in_text, [*all_paths][:MOST], symbols(record.text))


class _Sources:
    """The contents of some files of a tree, and the definitions of some names in them."""

    def __init__(self, tree: Tree, paths: Collection[str], names: Collection[str]) -> None:
        self._tree, self._names = tree, names
        self._definitions: dict[str, Definitions] = {}
        self.contents: dict[str, bytes] = tree.read(paths)

    def add(self, paths: Collection[str]) -> None:
        self.contents |= self._tree.read([path for path in paths if path not in self.contents])

    def find(self, path: str, name: str) -> tuple[str, str] | None:
        """Return the full name and hash of the definition that a text calls `name`, or None."""
        content = self.contents.get(path, b"")
        if _last_part(name).encode() not in content or not has_definitions(path):
            return None
        if path not in self._definitions:
            names = [each for each in self._names if each.encode() in content]
            self._definitions[path] = definitions(path, content, names)
        in_file = self._definitions[path]
        key = resolve(in_file, name)
        return None if key is None else (".".join(key), in_file[key])

    def files_defining(self, name: str, paths: Collection[str]) -> list[str]:
        """Return those of the files at `paths` that define a name."""
        return [path for path in paths if self.find(path, name) is not None]


def _files(names: _Names, sources: _Sources, other_files: Mapping[str, Collection[str]]) -> tuple[File, ...]:
    symbols: dict[str, dict[str, str]] = {path: {} for path in names.paths}
    for name in names.symbols:
        found = sources.files_defining(name, names.paths)
        found = found or sources.files_defining(name, other_files.get(name, ()))
        definition = sources.find(found[0], name) if len(found) == 1 else None
        if definition is not None and sum(map(len, symbols.values())) < MOST:
            symbols.setdefault(found[0], {}).update([definition])
    return tuple(
        File(
            path, digest(sources.contents[path]), tuple(definition.items()), is_in_text=path in names.in_text
        )
        for path, definition in symbols.items()
        if path in sources.contents
    )
