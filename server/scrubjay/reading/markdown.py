"""Reads Markdown: the unchanged text, and the fields of its front matter. Writes code as Markdown."""

import re

from scrubjay.reading.result import Conversion, tidy_values
from scrubjay.text.front_matter import front_matter, front_title

_FIELDS = {name: name for name in ("author", "date", "subject", "keywords", "aliases")}
_FIELDS |= {"authors": "author", "description": "subject", "alias": "aliases"}


def convert_markdown(text: str) -> Conversion:
    """Keep the text, and take title, author, date, subject, keywords and aliases from its front matter."""
    fields = front_matter(text)
    values = {_FIELDS[name]: _line(value) for name, value in fields.items() if name in _FIELDS}
    return Conversion(text, title=front_title(text), metadata=tidy_values(**values))


def fence(text: str, language: str) -> str:
    """Write code in a fence that is longer than those in the code."""
    mark = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{mark}{language}\n{text}\n{mark}"


def _line(value: object) -> str | None:
    """Write a value of a front matter on one line; the values of a list are separated by commas."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(_line, value)))
    if isinstance(value, dict):  # an author with a name and an address
        return _line(value.get("name"))
    return None if value is None else str(value)
