"""Finds the blocks of a source file by its tree-sitter grammar, for twelve languages.

A grammar is loaded when a file of its language is first cut, because each is a library of 0.3 to 5 MB.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, partial
from importlib import import_module

from tree_sitter import Language, Node, Parser

from scrubjay.text.chunking.blocks import DEEPEST, Block

# Most characters of a parsed source: a tree takes 22 times the memory of its text, and longer sources are
# usually generated.
LARGEST = 1_000_000

# Each language has its own package with a function `language`, except those in `_GRAMMARS`.
LANGUAGES = frozenset("bash c cpp csharp go java javascript php python ruby rust tsx typescript".split())
_GRAMMARS = {
    "csharp": ("tree_sitter_c_sharp", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}

_NAME = 80  # most characters of a name in a breadcrumb
# Types of nodes that give something a name, and types among them that only use or import one.
_DEFINES = re.compile(
    r"(?:definition|declaration|item|specifier|_spec|_signature)$|^(?:class|module|method|singleton_method|export_statement)$"
)
_USES = re.compile(r"variable|local|let_|field|param|import|package|using|^declaration$")
_ABOVE = re.compile(r"comment|attribute|annotation|decorator")  # nodes that precede what they belong to
_FUNCTION_OR_CLASS = re.compile(r"function|class")  # what makes a JavaScript constant a definition


def blocks(text: str, language: str, large: int) -> Sequence[Block]:
    """Find the blocks of a file; nameless nodes longer than `large` bytes are replaced by their parts.

    The parser continues after broken source, so there is always a result.

    >>> file_blocks = blocks("import os\\n\\ndef f():\\n    pass\\n", "python", 900)
    >>> [(block.first, block.last, block.name) for block in file_blocks]
    [(0, 1, None), (2, 4, 'f')]
    """
    parser = Parser(grammar(language))
    return _parts(parser.parse(text.encode("utf-8", "replace")).root_node, large, 0)


@cache
def grammar(language: str) -> Language:
    """Return the grammar of one of the LANGUAGES."""
    package, function = _GRAMMARS.get(language, (f"tree_sitter_{language}", "language"))
    return Language(getattr(import_module(package), function)())


def _parts(node: Node, large: int, depth: int) -> list[Block]:
    """Return a node's parts in whole lines; parts that share a line are joined.

    A nameless part on the node's first line is left out, because this line is the head.
    """
    head = node.start_point.row if depth else -1
    parts: list[Block] = []
    above: Block | None = None  # a comment or decorator that belongs to the next part
    for child in _children(node, large, depth):
        inside = partial(_parts, child, large, depth + 1)
        part = Block(child.start_point.row, _line_after(child), name_of(child), inside)
        if part.first == head and part.name is None:
            continue
        if above is not None:
            part = Block(above.first, part.last, part.name, part.inside) if above.last == part.first else part
            if part.first != above.first:
                _add(parts, above)
        above = part if _ABOVE.search(child.type) else None
        if above is None:
            _add(parts, part)
    if above is not None:
        _add(parts, above)
    return parts


def _add(parts: list[Block], part: Block) -> None:
    """Append a part, or join it to the last one if they share a line."""
    if parts and part.first < parts[-1].last:
        previous = parts.pop()
        main = previous if previous.name or not part.name else part
        part = Block(previous.first, max(previous.last, part.last), main.name, main.inside)
    parts.append(part)


def _children(node: Node, large: int, depth: int) -> Iterator[Node]:
    """Yield a node's children; a large nameless child is replaced by its own children."""
    for child in node.children:
        is_large = child.end_byte - child.start_byte > large
        if is_large and child.named_child_count and name_of(child) is None and depth < DEEPEST:
            yield from _children(child, large, depth + 1)
        else:
            yield child


def _line_after(node: Node) -> int:
    """Return the line after a node's last line."""
    return node.end_point.row + (node.end_point.column > 0 or node.end_point.row == node.start_point.row)


@cache
def may_define(kind: str) -> bool:
    """Return True if nodes of this type give something a name."""
    return _DEFINES.search(kind) is not None


def name_of(node: Node) -> str | None:
    """Return the name of a definition, after its receiver or trait if it has one; None for other nodes."""
    if inner := node.child_by_field_name("definition") or node.child_by_field_name("declaration"):
        return name_of(inner)
    if node.type == "template_declaration":
        return name_of(node.named_children[-1])
    if node.type in ("lexical_declaration", "variable_declaration", "expression_statement"):
        return _constant(node)
    if not may_define(node.type) or _USES.search(node.type):
        return None
    fields = ("receiver", "trait", "type" if node.type == "impl_item" else "name")
    names = [_text(node.child_by_field_name(field)) for field in fields]
    return (" ".join(filter(None, names)) or _text(_declarator(node)))[:_NAME] or None


def _constant(node: Node) -> str | None:
    """Return the name of a JavaScript constant or property that is set to a function or a class."""
    child = node.named_children[0] if node.named_child_count == 1 else None
    name, value = ("left", "right") if node.type == "expression_statement" else ("name", "value")
    held = child.child_by_field_name(value) if child else None
    if not (child and held and _FUNCTION_OR_CLASS.search(held.type)):
        return None
    return _text(child.child_by_field_name(name))[:_NAME]


def _declarator(node: Node) -> Node | None:
    """Return the node of the name inside C's nested declarators: f for `int *f(void)`."""
    inner = node.child_by_field_name("declarator")
    while inner is not None and (deeper := inner.child_by_field_name("declarator")) is not None:
        inner = deeper
    return inner


def _text(node: Node | None) -> str:
    return "" if node is None or node.text is None else " ".join(node.text.decode("utf-8", "replace").split())
