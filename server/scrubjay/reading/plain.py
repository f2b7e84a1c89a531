"""Files that are text already: plain text, Markdown, source code, rows, JSON. Their text is kept as it is, line by line."""

from __future__ import annotations

import json
import re

from scrubjay.reading.result import Converted, tidy_values

_FRONT = re.compile(r"---[ \t]*\r?\n(.*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"([A-Za-z_-]{1,40})[ \t]*:[ \t]+(\S.*)")
_KEPT = {"title": "title", "author": "author", "date": "date", "description": "subject", "subject": "subject", "keywords": "keywords"}
_LONGEST_LINE = 2000  # characters; JSON with a longer one was written for machines


def convert_text(text: str) -> Converted:
    """The text itself."""
    return Converted(text)


def convert_markdown(text: str) -> Converted:
    """The text itself, with title, author, date and subject from its front matter."""
    front = _FRONT.match(text)
    said = {}
    for line in front[1].splitlines()[:100] if front else ():
        if (found := _FIELD.match(line)) and (name := _KEPT.get(found[1].lower())):
            said[name] = found[2].strip().strip("\"'")
    title = said.pop("title", None)
    return Converted(text, title=title, metadata=tidy_values(**said))


def convert_json(text: str) -> Converted:
    """The text itself; JSON in one long line is laid out, so that it has lines to be found by."""
    if max(map(len, text.split("\n"))) > _LONGEST_LINE:
        try:
            text = json.dumps(json.loads(text), ensure_ascii=False, indent=1)
        except (ValueError, RecursionError):
            return Converted(text)  # no JSON, or several values: as it is
    return Converted(text)
