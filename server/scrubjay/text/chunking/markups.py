"""Finds the headings of texts in other markups than Markdown; a line of literal text is not a heading."""

import re
from collections.abc import Iterator, Sequence

from scrubjay.text.tables import filled, table

_LONGEST = 300  # characters of a heading, and of a line that begins or ends literal text
_BRACED = table("markups")["parts"]
_MARKUPS: dict[str, dict[str, str]] = {
    name: {part: filled(source, _BRACED) for part, source in markup.items()}
    for name, markup in table("markups").items()
    if name != "parts"
}
_RULES = {
    name: (re.compile(markup["heading"]), re.compile(markup["begin"], re.IGNORECASE), markup["end"])
    for name, markup in _MARKUPS.items()
}
_TITLES = {name: re.compile(markup["title"]) for name, markup in _MARKUPS.items() if "title" in markup}
_LATEX_LEVELS = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4}
_LABEL = re.compile(r"\\label\{[^{}]*\}")
_COMMAND = re.compile(r"\\[a-z]+\{([^{}]*)\}")
# A line of one sign below, or above and below, the words of a heading of reStructuredText.
_ADORNMENT = re.compile(r"([=~^-])\1+|([!-/:-@\[-`{-~])\2{2,}")

BlockOfLines = tuple[int, int, str, int, str]  # first line, line after the last, kind, level, title


def blocks(lines: Sequence[str], markup: str) -> Iterator[BlockOfLines]:
    """Yield each heading and each other line of a text."""
    if markup == "rst":
        yield from _adorned(lines)
        return
    heading, begin, end = _RULES[markup]
    closing: re.Pattern[str] | None = None
    short_lines = (line.rstrip() if len(line) <= _LONGEST else "" for line in lines)
    for number, line in enumerate(short_lines):
        if closing is not None:
            closing = None if closing.fullmatch(line) else closing
        elif opening := begin.fullmatch(line):
            closing = re.compile(end.format(re.escape(opening[1])), re.IGNORECASE)
        elif found := heading.fullmatch(line):
            level = _LATEX_LEVELS.get(found[1]) or len(found[1])
            yield number, number + 1, "heading", level, _words(found[2], markup)
            continue
        yield number, number + 1, "text", 0, ""


def stated_title(text: str, markup: str) -> str | None:
    """Return the title that a text states in a line of its own kind."""
    found = _TITLES[markup].search(text) if markup in _TITLES else None
    return _words(found[1], markup) if found else None


def _words(heading: str, markup: str) -> str:
    """Return the words of a heading without the commands of LaTeX."""
    return (_COMMAND.sub(r"\1", _LABEL.sub("", heading)) if markup == "latex" else heading).strip()


def _adorned(lines: Sequence[str]) -> Iterator[BlockOfLines]:
    """Yield the blocks of reStructuredText; the signs of a heading have the level of their first use."""
    styles: list[tuple[str, bool]] = []
    padded = [*map(str.rstrip, lines), "", ""]
    number = 0
    while number < len(lines):
        above = _ADORNMENT.fullmatch(padded[number]) is not None and padded[number] == padded[number + 2]
        words, rule = padded[number + above], padded[number + above + 1]
        is_heading = len(rule) >= min(4, len(words)) > 0 and _ADORNMENT.fullmatch(rule) is not None
        if is_heading and (above or not words[0].isspace()) and (number == 0 or not padded[number - 1]):
            style = (rule[0], above)
            styles += [] if style in styles else [style]
            yield number, number + 2 + above, "heading", styles.index(style) + 1, words.strip()
            number += 2 + above
        else:
            yield number, number + 1, "text", 0, ""
            number += 1
