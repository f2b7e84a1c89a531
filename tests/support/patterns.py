"""The regular expressions of Scrubjay, and texts on which a bad one would take long."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from itertools import permutations
from re import _constants as codes
from re import _parser as parser
from types import ModuleType
from typing import Any, NamedTuple

import scrubjay
from scrubjay.redaction import rules

METHODS = frozenset("match fullmatch search finditer findall sub subn split".split())
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
CLASSES = {
    codes.CATEGORY_DIGIT: "0",
    codes.CATEGORY_SPACE: " \t\n",
    codes.CATEGORY_WORD: "aA0_",
    codes.CATEGORY_NOT_DIGIT: "a -",
    codes.CATEGORY_NOT_SPACE: "a0-",
    codes.CATEGORY_NOT_WORD: " \n-/.",
}
COMMON = " \t\n-/._|`#0aA\"'[]{}()<>=:,*\\@"
LEFT_OUT = "a0 -\n\t.A_/=\"'<{\u00e9"  # characters that a negated class may accept


class Pattern(NamedTuple):
    """A pattern, where it is defined, and the methods called on it."""

    place: str
    compiled: re.Pattern[Any]
    methods: frozenset[str]


class Attack(NamedTuple):
    """A text: a beginning, a unit to be repeated, an end that may not fit."""

    beginning: str
    unit: str
    end: str

    def of_length(self, length: int) -> str:
        return self.beginning + self.unit * (length // len(self.unit)) + self.end


# Compile lazily compiled patterns first; else the outcome would depend on which tests ran before.
CACHES = {"scrubjay.redaction.patterns._compiled", "scrubjay.redaction.rules._compiled"}


def patterns() -> list[Pattern]:
    """Collect the patterns of Scrubjay's modules, and those inside their functions."""
    found: dict[tuple[Any, int], Pattern] = {}
    for info in pkgutil.walk_packages(scrubjay.__path__, "scrubjay."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        tree = ast.parse(inspect.getsource(module))
        uses = _uses(tree)
        held = [
            (f"{module.__name__}.{name}", each, uses.get(name, METHODS))
            for name, value in vars(module).items()
            if f"{module.__name__}.{name}" not in CACHES
            for each in _held(value)
        ]
        for place, compiled, methods in (*held, *_inline(module, tree)):
            known = found.setdefault(
                (compiled.pattern, compiled.flags), Pattern(place, compiled, frozenset())
            )
            found[compiled.pattern, compiled.flags] = known._replace(methods=known.methods | methods)
    for shape in map(rules.shape, rules.SHAPES):  # some are used without a literal name
        found.setdefault((shape.pattern, shape.flags), Pattern("a shape", shape, frozenset({"match"})))
    return list(found.values())


def _uses(tree: ast.Module) -> dict[str, set[str]]:
    """The methods called, by name of a pattern or of a tuple of patterns that a loop iterates over."""
    called: dict[str, set[str]] = {}
    loops: list[tuple[str, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in METHODS and isinstance(node.value, ast.Name):
            called.setdefault(node.value.id, set()).add(node.attr)
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Name):
            loops += [(node.iter.id, name.id) for name in ast.walk(node.target) if isinstance(name, ast.Name)]
    for name, each in loops:
        called.setdefault(name, set()).update(called.get(each, ()))
    return {name: methods for name, methods in called.items() if methods}


def _held(value: Any, deep: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from _held((*value, *value.values()), deep)
    elif isinstance(value, tuple | list | set | frozenset) and deep < 5:
        if isinstance(value, rules.Rule):  # of redaction, compiled when it is needed
            yield from (rules.compiled(value, name) for name in ("pattern", "without", "not_after"))
        for each in value:
            yield from _held(each, deep + 1)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from _held([getattr(value, field.name) for field in dataclasses.fields(value)], deep)


def _inline(module: ModuleType, tree: ast.Module) -> Iterator[tuple[str, re.Pattern[Any], set[str]]]:
    """Find the arguments of `re.search` and the like, and redaction's `pattern` and `shape`."""
    after = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    local = _local(module, tree)
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and call.args):
            continue
        name = ast.unparse(call.func)
        if name not in ("pattern", "shape", "re.compile", *(f"re.{method}" for method in METHODS)):
            continue
        method = name.removeprefix("re.")
        if method not in METHODS:
            use = after[call]
            method = use.attr if isinstance(use, ast.Attribute) and use.attr in METHODS else ""
        if not method:
            continue  # it has a name, by which `_held` finds it
        source, *others = (
            _evaluated(each, module) for each in (*call.args, *(k.value for k in call.keywords))
        )
        flags = sum(each for each in others if isinstance(each, re.RegexFlag))
        for each in local.get(ast.unparse(call.args[0]), ()) if source is None else (source,):
            each = rules.shape(each).pattern if name == "shape" else each
            if isinstance(each, str | bytes):
                yield f"{module.__name__}:{call.lineno}", re.compile(each, flags), {method}


def _local(module: ModuleType, tree: ast.Module) -> dict[str, list[object]]:
    """Find the values of variables of functions, as far as they do not depend on arguments."""
    values: dict[str, list[object]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values.setdefault(node.targets[0].id, []).append(_evaluated(node.value, module))
        elif isinstance(node, ast.For | ast.comprehension):
            names = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
            rows = _evaluated(node.iter, module)
            for row in rows if isinstance(rows, tuple | list) else ():
                for name, value in zip(names, row if len(names) > 1 else [row], strict=False):
                    values.setdefault(ast.unparse(name), []).append(value)
    return values


def _evaluated(node: ast.expr, module: ModuleType) -> Any:
    calls = [ast.unparse(call.func) for call in ast.walk(node) if isinstance(call, ast.Call)]
    if not all(name == "re.escape" or name.endswith(".join") for name in calls):
        return None  # it may do anything
    try:
        return eval(compile(ast.Expression(node), "pattern", "eval"), vars(module))
    except Exception:  # it depends on an argument
        return None


def attacks(pattern: re.Pattern[Any]) -> list[Attack]:
    """Make texts from the parts of the pattern."""
    tree = parser.parse(pattern.pattern, pattern.flags)
    parts = list(dict.fromkeys(_repeated(tree, "")))
    beginnings = list(dict.fromkeys(beginning for beginning, _ in parts))[:20]
    bodies = list(dict.fromkeys(body for _, body in parts if body))[:60]
    own = list(dict.fromkeys(_characters(tree)))[:16]
    whole = _shortest(tree)
    made: dict[Attack, None] = {}
    for beginning, body in parts:
        for attack in (
            Attack(beginning, body, "\0"),
            Attack(beginning, body, ""),
            Attack("", beginning + body, "\0"),
        ):
            if body:
                made[attack] = None
    pairs = [one + other for one, other in permutations(own[:7], 2)]
    spaced = [f" {each}" for each in (*bodies, whole)]
    for unit in filter(None, (*COMMON, *own, *pairs, *bodies, *spaced, whole, *beginnings)):
        made[Attack("", unit, "")] = made[Attack("", unit, "\0")] = made[Attack("", unit, "!")] = None
    for beginning in beginnings:
        for unit in dict.fromkeys((*own, *COMMON)):
            made[Attack(beginning, unit, "\0")] = made[Attack("", beginning + unit, "")] = None
    return list(made)


def _repeated(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    """Yield the repeated parts of a pattern, each with the shortest text that leads to it."""
    for code, value in tree:
        if code in REPEATS and value[1] > 1:
            shortest, own = _shortest(value[2]), dict.fromkeys(_characters(value[2]))
            # With one more character, because two optional parts may both accept it: "(-[a-z]*[a-z]?)+".
            for body in dict.fromkeys((shortest, *own, *(shortest + each for each in own))):
                yield before, body
        for part in _parts(code, value):
            yield from _repeated(part, before)
            if code is codes.BRANCH:
                yield before, _shortest(part)
        before += _shortest([(code, value)])
    yield before, ""


def _shortest(tree: Any) -> str:
    """A short text that a part of a pattern matches, as far as its assertions allow."""
    text = ""
    for code, value in tree:
        if code in REPEATS:
            text += _shortest(value[2]) * min(value[0], 100)
        elif code in (codes.SUBPATTERN, codes.BRANCH, codes.ATOMIC_GROUP):
            text += _shortest(_parts(code, value)[0])
        elif code not in (codes.ASSERT, codes.ASSERT_NOT):
            text += "".join(_characters([(code, value)]))[:1]
    return text


def _characters(tree: Any) -> Iterator[str]:
    """Yield characters that some part of the pattern accepts."""
    for code, value in tree:
        if code is codes.LITERAL:
            yield chr(value)
        elif code in (codes.ANY, codes.NOT_LITERAL):
            yield from "ab "
        elif code is codes.IN:
            yield from _of_class(value)
        else:
            for part in _parts(code, value):
                yield from _characters(part)


def _of_class(items: Any) -> str:
    if items[0][0] is codes.NEGATE:
        excluded = _of_class(items[1:])
        return "".join(each for each in LEFT_OUT if each not in excluded)[:4]
    text = ""
    for code, value in items:
        if code is codes.LITERAL:
            text += chr(value)
        elif code is codes.RANGE:
            text += chr(value[0])
        else:
            text += CLASSES[value]
    return text


def _parts(code: Any, value: Any) -> list[Any]:
    if code in REPEATS:
        return [value[2]]
    if code is codes.SUBPATTERN:
        return [value[3]]
    if code is codes.BRANCH:
        return list(value[1])
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [value[1]]
    return [value] if code is codes.ATOMIC_GROUP else []
