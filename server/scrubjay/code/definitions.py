"""Finds the definitions in a source file, and hashes each without its comments and white space."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from tree_sitter import Node, Parser, TreeCursor

from scrubjay.reading.kinds import endings, kind_of
from scrubjay.text.chunking.grammars import LANGUAGES, LARGEST, grammar, may_define, name_of

Definitions = Mapping[tuple[str, ...], str]  # a hash by the names around a definition and its own

DIGEST = 12  # hex digits of a hash
_WRAPPED = ("definition", "declaration")  # fields whose node has the name of the node around it
# Nodes that give a value a name, by the field of the name: a constant of a module or class.
_VALUES = {"assignment": "left", "variable_declarator": "name", "const_spec": "name", "var_spec": "name"}
_NAME_TYPES = ("identifier", "property_identifier", "type_identifier", "constant")
_GENERIC = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"[\w$]+")


def digest(content: bytes) -> str:
    """Return the beginning of git's id of a file with this content; ends of lines do not count."""
    content = content.replace(b"\r\n", b"\n")
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()[:DIGEST]


SOURCES = [f":(icase)*{ending}" for ending in endings(LANGUAGES)]  # as git's patterns of paths


def has_definitions(path: str) -> bool:
    """Return True if the grammar of a file is known, by its name."""
    return kind_of(path).language in LANGUAGES


def is_broken(path: str, content: bytes) -> bool:
    """Return True if a source file does not follow its grammar, as in the middle of an edit or a merge."""
    language = kind_of(path).language
    known = language in LANGUAGES and len(content) <= LARGEST
    return known and Parser(grammar(language)).parse(content).root_node.has_error


def definitions(path: str, content: bytes, names: Collection[str] | None = None) -> Definitions:
    """Return the definitions of a file: functions, types, and the constants of modules and classes.

    With `names`, only those with one of these names are looked for, which skips most of a file.

    >>> found = definitions("a.py", b"class A:\\n    def f(self):\\n        return 1  # one\\n")
    >>> list(found)
    [('A', 'f'), ('A',)]
    """
    found = _found(path, content, names)
    return {name: _joined([each.digest for each in parts]) for name, parts in found.items()}


def lines_of(path: str, content: bytes) -> dict[tuple[str, ...], tuple[int, int]]:
    """Return the first and the last line of each definition of a file, counted from 1."""
    found = _found(path, content)
    return {name: (parts[0].first, parts[-1].last) for name, parts in found.items()}


class _Part(NamedTuple):
    """One definition: its hash and its lines."""

    digest: str
    first: int
    last: int


def _found(
    path: str, content: bytes, names: Collection[str] | None = None
) -> dict[tuple[str, ...], list[_Part]]:
    language = kind_of(path).language
    found: dict[tuple[str, ...], list[_Part]] = defaultdict(list)
    if language in LANGUAGES and len(content) <= LARGEST:
        wanted = None if names is None else [name.encode() for name in names]
        _Walk(Parser(grammar(language)).parse(content).walk(), found, wanted).run()
    return found


def resolve(found: Mapping[tuple[str, ...], object], name: str) -> tuple[str, ...] | None:
    """Return the definition of a file that a text calls `name`; None without one, or with several.

    >>> found = {("Store",): "", ("Store", "commit"): ""}
    >>> resolve(found, "store.Store.commit"), resolve(found, "commit"), resolve(found, "Other.commit")
    (('Store', 'commit'), ('Store', 'commit'), None)
    """
    parts = tuple(name.split("."))
    for start in range(len(parts)):
        wanted = parts[start:]
        if start == len(parts) - 1 > 0 and parts[start - 1][:1].isupper():
            return None  # `Other.commit` is not the `commit` of another class
        if wanted in found:
            return wanted
        if homes := [path for path in found if path[-len(wanted) :] == wanted]:
            return homes[0] if len(homes) == 1 else None
    return None


def _joined(hashes: list[str]) -> str:
    """Return one hash for definitions of one name, such as overloads."""
    return hashes[0] if len(hashes) == 1 else _hash("".join(hashes).encode())


def _hash(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()[:DIGEST]


class _Open(NamedTuple):
    """A definition that a walk is in. The values in a function are variables, not constants."""

    names: tuple[str, ...]
    depth: int
    lines: tuple[int, int]
    has_variables: bool
    hash: Any  # None if it is not wanted


class _Walk:
    """One pass over a tree: each leaf goes into the hash of every definition around it.

    Only definitions with a name in `wanted` are found; None means all.
    """

    def __init__(
        self, cursor: TreeCursor, found: dict[tuple[str, ...], list[_Part]], wanted: list[bytes] | None
    ) -> None:
        self._cursor, self._found, self._wanted = cursor, found, wanted
        self._open: list[_Open] = []

    def run(self) -> None:
        cursor = self._cursor
        depth = 0
        while True:
            is_comment = "comment" in (node := self._node()).type
            if not is_comment and self._matters(node):
                self._enter(node, depth)
                if cursor.goto_first_child():
                    depth += 1
                    continue
                self._leaf(node, depth)
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    self._leave(0)
                    return
                depth -= 1
                self._leave(depth + 1)
            self._leave(depth)

    def _matters(self, node: Node) -> bool:
        """Return True if a node is in a wanted definition, or may have one inside."""
        if self._wanted is None or any(each.hash for each in self._open):
            return True
        text = node.text or b""
        return any(name in text for name in self._wanted)

    def _node(self) -> Node:
        node = self._cursor.node
        assert node is not None
        return node

    def _enter(self, node: Node, depth: int) -> None:
        if names := self._names(node, depth):
            inner = next(filter(None, map(node.child_by_field_name, _WRAPPED)), node)
            has_variables = "function" in inner.type or "method" in inner.type
            lines = node.start_point.row + 1, node.end_point.row + 1
            is_wanted = self._wanted is None or names[-1].encode() in self._wanted
            hash_ = hashlib.sha1(usedforsecurity=False) if is_wanted else None
            self._open.append(_Open(names, depth, lines, has_variables, hash_))

    def _names(self, node: Node, depth: int) -> tuple[str, ...]:
        if not node.is_named or not node.child_count:
            return ()
        if field := _VALUES.get(node.type):
            return self._value(node, field)
        if self._cursor.field_name in _WRAPPED and self._open and self._open[-1].depth == depth - 1:
            return ()  # it has the name of the node around it
        return _split(node.type, name_of(node) or "") if may_define(node.type) else ()

    def _value(self, node: Node, field: str) -> tuple[str, ...]:
        """Return the name of a constant that is neither a variable of a function nor an imported module."""
        name, value = node.child_by_field_name(field), node.child_by_field_name("value")
        if name is None or name.text is None or name.type not in _NAME_TYPES:
            return ()
        if value is not None and (value.text or b"").startswith(b"require("):
            return ()
        is_variable = any(each.has_variables for each in self._open)
        return () if is_variable else (name.text.decode("utf-8", "replace"),)

    def _leaf(self, node: Node, depth: int) -> None:
        if self._open and node.text:
            for each in self._open:
                if each.hash:
                    each.hash.update(b"%d\0%b\0" % (depth - each.depth, node.text))

    def _leave(self, depth: int) -> None:
        """Close the definitions that end when the walk goes on at `depth`."""
        while self._open and self._open[-1].depth >= depth:
            path = tuple(name for each in self._open for name in each.names)
            done = self._open.pop()
            if done.hash:
                self._found[path].append(_Part(done.hash.hexdigest()[:DIGEST], *done.lines))


def _split(kind: str, name: str) -> tuple[str, ...]:
    """Return the parts of a name: its type and its own for a method of Go, the type of an `impl` of Rust.

    >>> _split("method_declaration", "(s *Store) Commit"), _split("impl_item", "Display Store<T>")
    (('Store', 'Commit'), ('Store',))
    """
    words = _WORD.findall(_GENERIC.sub("", name))
    if kind == "impl_item":
        words = words[-1:]
    return tuple(words[-2:] if name.startswith("(") else words)
