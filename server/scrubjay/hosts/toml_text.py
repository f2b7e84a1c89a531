"""Edits TOML: adds or removes one table, and leaves every other character in place."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scrubjay.home.settings import statements


def parse(text: str) -> dict[str, Any]:
    """Parse a text. ValueError: it is not TOML."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def put(text: str, keys: Sequence[str], value: Mapping[str, Any]) -> str:
    """Set a table of texts, lists and tables of texts; it goes to the end, after an empty line."""
    text = delete(text, keys)
    line = "\r\n" if "\r\n" in text else "\n"
    front = text if not text or text.endswith("\n") else text + line
    members = [f"{_key(name)} = {_shown(each)}" for name, each in value.items()]
    table = [f"[{'.'.join(map(_key, keys))}]", *members]
    return f"{front}{line if front else ''}{line.join(table)}{line}"


def delete(text: str, keys: Sequence[str]) -> str:
    """Remove a table with everything below it; comments after it stay."""
    kept: list[str] = []
    waiting: list[str] = []  # empty lines and comments after a removed statement
    going = False
    for statement, way in _ways(text):
        if way is None:
            (waiting if going else kept).append(statement)
            continue
        was, going = going, way[: len(keys)] == tuple(keys)
        if not going:
            kept += [*waiting, statement]
        elif not was and kept and not kept[-1].strip():
            kept.pop()  # the empty line before it
        waiting = []
    return "".join(kept + [line for line in waiting if line.strip()])


def _ways(text: str) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """Yield each statement with the path to what it sets; None for a comment or an empty line."""
    table: tuple[str, ...] = ()
    for statement in statements(text):
        held = tomllib.loads(statement)
        if not held:
            yield statement, None
        elif statement.lstrip().startswith("["):
            table = _way(held)
            yield statement, table
        else:
            yield statement, table + _way(held)


def _way(held: Any) -> tuple[str, ...]:
    """Return the names that lead to the one thing a statement sets."""
    names: list[str] = []
    while isinstance(held, dict) and len(held) == 1:
        ((name, held),) = held.items()
        names.append(name)
    return tuple(names)


def _key(name: str) -> str:
    bare = name and all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in name)
    return name if bare else _text(name)


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {_shown(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
