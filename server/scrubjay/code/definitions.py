"""Finds the definitions in a source file, and hashes each without comments and white space."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from tree_sitter import Node, Parser, TreeCursor

from scrubjay.reading.kinds import endings, kind_of
from scrubjay.text.chunking.grammars import LANGUAGES, LARGEST, grammar, may_define, name_of

Definitions = Mapping[tuple[str, ...], str]  # hashes by the path of names to a definition

DIGEST = 12  # hex digits of a hash
_WRAPPED = ("definition", "declaration")  # fields whose node has the same name as its parent
# Nodes that give a value a name (a constant of a module or class), with the field of the name. Without a
# field, the name is the first child.
_VALUES = {
    node_type: field
    for field, node_types in {
        "name": "const_spec enum_assignment enum_constant enum_variant enumerator preproc_def"
        " preproc_function_def public_field_definition var_spec variable_assignment variable_declarator",
        "left": "assignment assignment_expression",
        "property": "field_definition",
        "declarator": "init_declarator",
        None: "const_element",
    }.items()
    for node_type in node_types.split()
}
_NAME_TYPES = (
    "identifier property_identifier type_identifier private_property_identifier constant name variable_name"
).split()
_EXPORTS = (b"exports.", b"module.exports.")  # `exports.f = ...` names f in a module of Node.js
_GENERIC = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"[\w$]+")


def digest(content: bytes) -> str:
    """Return the beginning of git's id of a file with this content; CRLF counts as LF."""
    content = content.replace(b"\r\n", b"\n")
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()[:DIGEST]


SOURCES = [f":(icase)*{ending}" for ending in endings(LANGUAGES)]  # git's patterns for source files


def has_definitions(path: str) -> bool:
    """Return True if we have a grammar for a file of this name."""
    return kind_of(path).language in LANGUAGES


def is_broken(path: str, content: bytes) -> bool:
    """Return True if a source file does not follow its grammar, as in the middle of an edit or a merge."""
    cursor = _root(path, content)
    return cursor is not None and cursor.node is not None and cursor.node.has_error


def _root(path: str, content: bytes) -> TreeCursor | None:
    """Parse a source file, and return a cursor at its root; None for other languages and large files."""
    language = kind_of(path).language
    if language not in LANGUAGES or len(content) > LARGEST:
        return None
    return Parser(grammar(language)).parse(content).walk()


def definitions(path: str, content: bytes, names: Collection[str] | None = None) -> Definitions:
    """Return the definitions of a file: functions, types, and the constants of modules and classes.

    With `names`, only definitions with these names are returned, which skips most of a file.

    >>> list(definitions("a.py", b"class A:\\n    def f(self):\\n        return 1  # one\\n"))
    [('A', 'f'), ('A',)]
    """
    return {name: _digest_of(parts) for name, parts in _parts_by_path(path, content, names).items()}


def lines_of(path: str, content: bytes) -> dict[tuple[str, ...], tuple[int, int]]:
    """Return the first and last line of each definition of a file, counted from 1."""
    return {name: (parts[0].first, parts[-1].last) for name, parts in _parts_by_path(path, content).items()}


class _Part(NamedTuple):
    """One definition: its hash and its lines."""

    digest: str
    first: int
    last: int


def _parts_by_path(
    path: str, content: bytes, names: Collection[str] | None = None
) -> dict[tuple[str, ...], list[_Part]]:
    parts_by_path: dict[tuple[str, ...], list[_Part]] = defaultdict(list)
    if (cursor := _root(path, content.replace(b"\r\n", b"\n"))) is not None:
        wanted_names = None if names is None else [name.encode() for name in names]
        _Walk(cursor, parts_by_path, wanted_names).run()
    return parts_by_path


def resolve(paths: Mapping[tuple[str, ...], object], name: str) -> tuple[str, ...] | None:
    """Return the only definition in a file that a text can mean by `name`, or None.

    >>> paths = {("Store",): "", ("Store", "commit"): ""}
    >>> resolve(paths, "store.Store.commit"), resolve(paths, "commit"), resolve(paths, "Other.commit")
    (('Store', 'commit'), ('Store', 'commit'), None)
    """
    parts = tuple(name.split("."))
    for start in range(len(parts)):
        ending = parts[start:]
        if start == len(parts) - 1 > 0 and parts[start - 1][:1].isupper():
            return None  # `Other.commit` is not the `commit` of another class
        if ending in paths:
            return ending
        if matches := [path for path in paths if path[-len(ending) :] == ending]:
            return matches[0] if len(matches) == 1 else None
    return None


def _digest_of(parts: Sequence[_Part]) -> str:
    """Return one hash for all definitions of a name, such as overloads."""
    if len(parts) == 1:
        return parts[0].digest
    joined = "".join(part.digest for part in parts)
    return hashlib.sha1(joined.encode(), usedforsecurity=False).hexdigest()[:DIGEST]


class _OpenDefinition(NamedTuple):
    """A definition that contains the current node. Values in a function are variables, not constants."""

    names: tuple[str, ...]
    depth: int
    lines: tuple[int, int]
    has_variables: bool
    hash: Any  # None if its name is not wanted


class _Walk:
    """One pass over a tree, which adds each leaf to the hash of every definition around it.

    Only definitions with a name in `wanted_names` are collected; None means all.
    """

    def __init__(
        self,
        cursor: TreeCursor,
        parts_by_path: dict[tuple[str, ...], list[_Part]],
        wanted_names: list[bytes] | None,
    ) -> None:
        self._cursor, self._parts, self._wanted_names = cursor, parts_by_path, wanted_names
        self._open: list[_OpenDefinition] = []

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
                self._hash_leaf(node.text or b"", depth)
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    self._leave(0)
                    return
                depth -= 1
                self._leave(depth + 1)
            self._leave(depth)

    def _matters(self, node: Node) -> bool:
        """Return True if a node is inside a wanted definition, or may contain one."""
        if self._wanted_names is None or any(each.hash for each in self._open):
            return True
        text = node.text or b""
        return any(name in text for name in self._wanted_names)

    def _node(self) -> Node:
        node = self._cursor.node
        assert node is not None
        return node

    def _enter(self, node: Node, depth: int) -> None:
        if names := self._names(node, depth):
            inner = next(filter(None, map(node.child_by_field_name, _WRAPPED)), node)
            has_variables = "function" in inner.type or "method" in inner.type
            lines = node.start_point.row + 1, node.end_point.row + 1
            is_wanted = self._wanted_names is None or names[-1].encode() in self._wanted_names
            hash_ = hashlib.sha1(usedforsecurity=False) if is_wanted else None
            self._open.append(_OpenDefinition(names, depth, lines, has_variables, hash_))

    def _names(self, node: Node, depth: int) -> tuple[str, ...]:
        if not node.is_named or not node.child_count:
            return ()
        if node.type in _VALUES:
            return self._constant_name(node, _VALUES[node.type])
        if self._cursor.field_name in _WRAPPED and self._open and self._open[-1].depth == depth - 1:
            return ()  # its name is counted with its parent
        return _split(node.type, name_of(node) or "") if may_define(node.type) else ()

    def _constant_name(self, node: Node, field: str | None) -> tuple[str, ...]:
        """Return the name of a constant that is neither a variable of a function nor an imported module."""
        name = node.child_by_field_name(field) if field else node.named_child(0)
        value = node.child_by_field_name("value")
        if name is not None and node.type == "assignment_expression":
            is_export = (name.text or b"").startswith(_EXPORTS)
            name = name.child_by_field_name("property") if is_export else None
        if name is None or name.text is None or name.type not in _NAME_TYPES:
            return ()
        if value is not None and (value.text or b"").startswith(b"require("):
            return ()
        is_variable = any(each.has_variables for each in self._open)
        return () if is_variable else (name.text.decode("utf-8", "replace"),)

    def _hash_leaf(self, text: bytes, depth: int) -> None:
        for definition in self._open:
            if definition.hash and text:
                definition.hash.update(b"%d\0%b\0" % (depth - definition.depth, text))

    def _leave(self, depth: int) -> None:
        """Close the definitions that end before the next node, which is at `depth`."""
        while self._open and self._open[-1].depth >= depth:
            path = tuple(name for each in self._open for name in each.names)
            definition = self._open.pop()
            if definition.hash:
                self._parts[path].append(_Part(definition.hash.hexdigest()[:DIGEST], *definition.lines))


def _split(kind: str, name: str) -> tuple[str, ...]:
    """Return the parts of a name: type and method for a method of Go, the type for an `impl` of Rust.

    >>> _split("method_declaration", "(s *Store) Commit"), _split("impl_item", "Display Store<T>")
    (('Store', 'Commit'), ('Store',))
    """
    words = _WORD.findall(_GENERIC.sub("", name))
    if kind == "impl_item":
        words = words[-1:]
    return tuple(words[-2:] if name.startswith("(") else words)
