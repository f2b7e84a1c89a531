"""The front matter of a Markdown note: YAML in `---`, TOML in `+++`, or lines from `Title:` on."""

import re
import tomllib
from contextlib import suppress
from typing import Any

_LONGEST = 20_000  # characters; a longer block is not front matter
_LONGEST_TITLE = 300  # characters; the title is searched with each part of a note
_BEGIN = re.compile(r"\s*(---|\+\+\+)[ \t]*\n(?=\s*(?:#.*\n\s*)*[\w\"'][\w \"'-]*[:=])")
_END = {
    "---": re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE),
    "+++": re.compile(r"^\+\+\+[ \t]*$", re.MULTILINE),
}
_LINES = re.compile(r"(?=title:)(?:[a-z][\w -]{0,39}+:[ \t]++\S.*+\n)++(?=[ \t]*+\n)", re.IGNORECASE)
_FIELD = re.compile(r"([A-Za-z_-]{1,40})[ \t]*:[ \t]+(\S.*)")


def front_matter(text: str) -> dict[str, Any]:
    """Return the fields above a note's text, by their names in lower case.

    >>> front_matter("---\\ntitle: >-\\n  Rotating\\n  keys\\n---\\nText")
    {'title': 'Rotating keys'}
    """
    mark, start, end, _ = _span(text)
    block = text[start:end].replace("\r\n", "\n")
    fields: dict[Any, Any] = {}
    if mark == "+++":
        with suppress(tomllib.TOMLDecodeError, RecursionError):
            fields = tomllib.loads(block)
    elif mark:
        fields = _yaml(block)
    return {str(name).lower(): value for name, value in fields.items()}


def front_title(text: str) -> str | None:
    """Return the title in a note's front matter."""
    title = front_matter(text).get("title")
    is_text = title is not None and not isinstance(title, dict | list)
    return (" ".join(str(title).split())[:_LONGEST_TITLE] or None) if is_text else None


def end_of_front_matter(text: str) -> int:
    """Return the offset at which the text of a note begins."""
    return _span(text)[3]


def _span(text: str) -> tuple[str, int, int, int]:
    """Return the mark around the fields, the start and the end of the fields, and the start of the text."""
    head = text[:_LONGEST].replace("\r\n", " \n")  # of the same length, so that offsets stay valid
    if lines := _LINES.match(head):
        return "title:", 0, lines.end(), lines.end() - 1
    begin = _BEGIN.match(head)
    end = _END[begin[1]].search(head, begin.end()) if begin else None
    return (begin[1], begin.end(), end.start(), end.end()) if begin and end else ("", 0, 0, 0)


def _yaml(block: str) -> dict[Any, Any]:
    from ruamel.yaml import YAML  # takes 40 ms, and most notes do not need it
    from ruamel.yaml.error import YAMLError

    reader = YAML(typ="safe", pure=True)
    reader.allow_duplicate_keys = True
    try:
        fields = reader.load(block)
    except (YAMLError, ValueError, TypeError, AttributeError, RecursionError):
        fields = None
    if isinstance(fields, dict):
        return fields
    # Notes often have fields that are not valid YAML: `title: Notes: a plan`.
    matches = (_FIELD.match(line) for line in block.split("\n"))
    return {match[1]: match[2].strip().strip("\"'") for match in matches if match}
