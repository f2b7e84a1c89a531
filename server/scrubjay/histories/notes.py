"""Splits a Markdown file of a host's memories into single notes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from scrubjay.text.front_matter import end_of_front_matter, front_matter

_HEADING = re.compile(r"(#{1,6})\s+(.+)")
_LABEL = re.compile(r"([A-Z][\w ,'-]{2,60}):")  # a line above a list, as Codex writes it
_LABEL_LEVEL = 7  # below every heading
_BULLET = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+(.*)")
_FIELD = re.compile(r"([a-z_]{2,40}):\s+(\S.*)")
# An index entry, which is skipped because the file that it names is read itself.
_POINTER = re.compile(r"\[[^\]]*\]\([^)\s]+\.md\)")
_EMPTY = re.compile(r"[\W_]*(?:No entries yet[\W_]*)?")
# A comment, or code that may show one; the end of the text may be inside of the code.
_CODE_OR_COMMENT = re.compile(
    r"^```.*?(?:^```|\Z)|`[^`\n]*(?:`|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL | re.MULTILINE
)
_TASKS = re.compile(r"(?: ?\[Task \d{1,3}\]){1,20}$")  # Codex's references to its own lists


@dataclass(frozen=True)
class Note:
    """One note: its text, the heading above it, and the `name: value` lines above it in its chapter."""

    content: str
    section: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    topic: str = ""  # the title of a note that is a whole file with front matter


def notes(text: str, sections: Collection[str] = ()) -> Iterator[Note]:
    """Yield the notes of a Markdown file.

    A file with front matter is one note; in other files, each list item and each paragraph is a note. With
    `sections`, those other files yield only the notes below these headings.

    >>> [note.content for note in notes("## Build\\n- Use pnpm,\\n  not npm.\\n- [Index](a.md)\\n\\nShip.")]
    ['Use pnpm,\\nnot npm.', 'Ship.']
    """
    text = text.replace("\r\n", "\n")
    if about := front_matter(text):
        body, summary = text[end_of_front_matter(text) :].strip(), str(about.get("description") or "").strip()
        content = body if summary in body else f"{summary}\n\n{body}".strip()
        if content:
            yield Note(content, fields=about, topic=str(about.get("name") or about.get("title") or ""))
        return
    reader = _Reader(frozenset(sections))
    for line in _without_comments(text).split("\n"):
        yield from reader.read(line.rstrip())
    yield from reader.end()


class _Reader:
    """Joins lines into notes."""

    def __init__(self, sections: Collection[str]) -> None:
        self._sections = sections
        self._wanted = 0  # the level of the wanted heading above the current line, or 0
        self._section = ""
        self._fields: dict[str, str] = {}
        # The fields above the first heading, which apply to all notes.
        self._head: dict[str, str] | None = None
        self._lines: list[str] = []
        self._is_item = self._is_after_gap = self._is_code = False

    def read(self, line: str) -> Iterator[Note]:
        """Read the next line; yield the note that ends before it, if any."""
        stripped = line.strip()
        if self._is_code or stripped.startswith("```"):
            self._is_code ^= stripped.startswith("```")
            self._lines.append(line)
        elif not stripped:
            self._is_after_gap = True
        elif heading := _HEADING.fullmatch(line):
            yield from self._enter(len(heading[1]), heading[2].rstrip("# \t"))
        elif label := _LABEL.fullmatch(line):
            yield from self._enter(_LABEL_LEVEL, label[1])
        elif item := _BULLET.match(line):
            yield from self.end()
            self._lines, self._is_item = [item[1]], True
        elif self._lines and (not self._is_after_gap or (self._is_item and line[0].isspace())):
            self._lines.append(stripped)
            self._is_after_gap = False
        else:
            yield from self.end()
            self._lines = [stripped]

    def end(self) -> Iterator[Note]:
        """Yield the unfinished note, if any."""
        content = "\n".join(self._lines).strip()
        content = content[:-300] + _TASKS.sub("", content[-300:])
        field_matches = filter(None, map(_FIELD.fullmatch, self._lines))
        self._fields.update((match[1], match[2]) for match in field_matches)
        is_wanted = not self._sections or self._wanted
        if is_wanted and not _EMPTY.fullmatch(content) and not _POINTER.match(content):
            yield Note(content, self._section, dict(self._fields))
        self._lines, self._is_item, self._is_after_gap = [], False, False

    def _enter(self, level: int, title: str) -> Iterator[Note]:
        yield from self.end()
        if title in self._sections:
            self._wanted = level
        elif level <= self._wanted:
            self._wanted = 0
        if self._head is None:
            self._head = dict(self._fields)
        if level == 1:
            self._fields = dict(self._head)
        self._section = title


def _without_comments(text: str) -> str:
    """Remove HTML comments; a comment without an end stays, as in Markdown."""
    end = text.rfind("-->") + 3
    shown = _CODE_OR_COMMENT.sub(lambda match: "" if match[0].startswith("<!--") else match[0], text[:end])
    return shown + text[end:]
