"""Edits TOML: sets a key, adds or removes a table, and leaves every other character in place."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def with_value(text: str, key: str, value: object) -> str:
    """Set a top-level key in the valid TOML `text`, or remove it if the value is None; comments stay.

    `value` is a string, number, boolean, or a list or tuple of strings.
    """
    line_end = "\r\n" if "\r\n" in text else "\n"
    line = "" if value is None else f"{key} = {_toml_text(value)}"
    lines = statements(text)
    for index, statement in enumerate(lines):
        if key in _parse_toml(statement):
            comment = _comment(statement)
            lines[index] = f"{line}{'  ' if comment else ''}{comment}{line_end}" if line else ""
            return "".join(lines)
    gap = line_end if text and not text.endswith(line_end) else ""
    return f"{text}{gap}{line}{line_end}" if line else text


def statements(text: str) -> list[str]:
    """Split valid TOML into lines, with a multi-line value as one line; joined, they are the text again."""
    complete, pending = [], ""
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        pending += line
        if _parse_toml(pending) is not None:
            complete.append(pending)
            pending = ""
    return complete


def put(text: str, keys: Sequence[str], value: Mapping[str, Any]) -> str:
    """Add a table, or replace it; the new table goes to the end of the text, after an empty line.

    Its values are texts, lists and tables of texts.
    """
    text = delete(text, keys)
    newline = "\r\n" if "\r\n" in text else "\n"
    text_before = text if not text or text.endswith("\n") else text + newline
    members = [f"{_toml_key(name)} = {_toml_value(member)}" for name, member in value.items()]
    table = [f"[{'.'.join(map(_toml_key, keys))}]", *members]
    return f"{text_before}{newline if text_before else ''}{newline.join(table)}{newline}"


def delete(text: str, keys: Sequence[str]) -> str:
    """Remove a table with its subtables; comments after it stay."""
    remaining: list[str] = []
    pending: list[str] = []  # empty lines and comments after a removed statement, until the next statement
    is_removing = False
    for statement, path in _statements(text):
        if path is None:
            (pending if is_removing else remaining).append(statement)
            continue
        was_removing, is_removing = is_removing, path[: len(keys)] == tuple(keys)
        if not is_removing:
            remaining += [*pending, statement]
        elif not was_removing and remaining and not remaining[-1].strip():
            remaining.pop()  # the empty line before the table
        pending = []
    return "".join(remaining + [line for line in pending if line.strip()])


def _statements(text: str) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """Yield each statement with the path of names that it sets, or None for a comment or an empty line."""
    table: tuple[str, ...] = ()
    for statement in statements(text):
        value = tomllib.loads(statement)
        if not value:
            yield statement, None
        elif statement.lstrip().startswith("["):
            table = _path(value)
            yield statement, table
        else:
            yield statement, table + _path(value)


def _path(value: Any) -> tuple[str, ...]:
    """Return the names that lead to the single value in a parsed statement."""
    names: list[str] = []
    while isinstance(value, dict) and len(value) == 1:
        ((name, value),) = value.items()
        names.append(name)
    return tuple(names)


def _toml_key(name: str) -> str:
    is_bare = name and all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in name)
    return name if is_bare else _toml_text(name)


def _toml_value(value: Any) -> str:
    if isinstance(value, Mapping):
        members = (f"{_toml_key(name)} = {_toml_value(member)}" for name, member in value.items())
        return "{ " + ", ".join(members) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return _toml_text(value) if isinstance(value, str) else json.dumps(value)


def _toml_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML requires the escape


def _parse_toml(statement: str) -> Any:
    try:
        return tomllib.loads(statement)
    except tomllib.TOMLDecodeError:
        return None


def _comment(statement: str) -> str:
    """Return the comment after a value: from the first # before which the value is complete."""
    value = _parse_toml(statement)
    hashes = (index for index, char in enumerate(statement) if char == "#")
    start = next((index for index in hashes if _parse_toml(statement[:index]) == value), len(statement))
    return statement[start:].rstrip()
