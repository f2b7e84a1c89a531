"""Splits Markdown and plain text into sections by their headings, fenced code and tables."""

import re
from collections.abc import Iterator

from scrubjay.text.chunking import markups
from scrubjay.text.chunking.cuts import Repeat, Section
from scrubjay.text.front_matter import end_of_front_matter

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_LONGEST_HEADING = 300  # characters of a heading, which each chunk below it repeats
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*")
_SEPARATOR = 3  # signs of the longest rule that separates parts of a plain text
_PARAGRAPH = re.compile(r" {0,3}(?![-*+>#|]|\d+[.)]\s)\S.*")  # a line that may be underlined into a heading
_DASHES = r":?-++:?[ \t]*+"  # the rule below the head of one column
_TABLE_RULE = re.compile(rf"[ \t]*+(?:\|[ \t]*+)?{_DASHES}(?:\|[ \t]*+{_DASHES})*+(?:\|[ \t]*+)?")


_HTML_TITLE = re.compile(r"<h1\b[^<>]{0,200}>(.{0,300}?)</h1>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_HEADING_ID = re.compile(r"[ \t]\{#[\w.:-]{1,100}\}\Z")  # names the heading for links: ## Ports {#ports}
_TITLE_IN = 100_000  # characters at the start of a note in which its title is searched


def first_title(text: str, markup: str | None = None) -> str | None:
    """Return the words of a note's title (its first heading of level 1), or None if it has no title.

    `markup` names another markup than Markdown.

    >>> first_title("## Part\\n\\n# [Whole](https://example.org)"), first_title("## Part")
    ('Whole', None)
    """
    head = text[:_TITLE_IN]
    lines, blocks = head.split("\n"), list(_blocks(head, markup))
    titles = [title for _, _, kind, level, title in blocks if kind == "heading" and level == 1]
    titles[:0] = [markups.stated_title(head, markup) or ""] if markup else []
    prose = "\n".join(lines[first] for first, _, kind, _, _ in blocks if kind == "text")
    titles += [_TAG.sub("", title[1]) for title in _HTML_TITLE.finditer(prose)]
    words = (" ".join(_LINK.sub(r"\1", _LINK.sub(r"\1", title)).split()) for title in titles)
    return next((title[:_LONGEST_HEADING] for title in words if title), None)


def without_headings(text: str) -> str:
    """Return a plain text in which no line is read as a heading, except one above a rule.

    Rules of two or three signs separate: a signature in a mail, the notes in a patch.
    """
    lines = text.split("\n")
    for first, last, kind, _, _ in _blocks(text):
        if kind == "heading" and last - first == 1:
            lines[first] = f"\\{lines[first]}"
        elif kind == "heading" and len(lines[first + 1].strip()) <= _SEPARATOR:
            lines[first] += "\n"
    return "\n".join(lines)


def sections(text: str, starts: list[int], markup: str | None = None) -> Iterator[Section]:
    """Split a text at its headings; a heading without a body belongs to the section below it.

    `starts` are the offsets of the lines. Fences and tables stay whole, a `#` inside a fence is not a
    heading, and later rows of a table repeat its header. The `headings` of a section include those at its
    start.
    """
    path: list[tuple[int, str]] = []
    begin, has_body = 0, False
    whole: list[tuple[int, int]] = []
    repeats: list[Repeat] = []

    def section(end: int) -> Section:
        return Section(begin, end, tuple(name for _, name in path), tuple(whole), tuple(repeats))

    for first, last, kind, level, title in _blocks(text, markup):
        start, end = starts[first], starts[last] if last < len(starts) else len(text)
        if kind == "heading":
            if has_body:
                yield section(start)
                begin, has_body, whole, repeats = start, False, [], []
            path = [(depth, name) for depth, name in path if depth < level]
            path.append((level, title[:_LONGEST_HEADING]))
            continue
        has_body = has_body or bool(text[start:end].strip())
        if kind != "text":
            whole.append((start, start + len(text[start:end].rstrip())))
        if kind == "table":
            header_end = starts[first + 2] if first + 2 < len(starts) else end
            repeats.append(Repeat(starts[first + 1], end, text[start:header_end].rstrip()))
    yield section(len(text))


def _blocks(text: str, markup: str | None = None) -> Iterator[tuple[int, int, str, int, str]]:
    """Yield (first line, line after the last, heading | fence | table | text, level, title) of each block."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    if markup is not None:
        yield from markups.blocks(lines, markup)
        return
    end = end_of_front_matter(text)
    number = text.count("\n", 0, end)
    if end:  # a comment in front matter is not a heading
        number += 1
        yield 0, number, "text", 0, ""
    while number < len(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if (fence := _FENCE.match(lines[number])) and not (fence[1][0] == "`" and "`" in fence[2]):
            after = _end_of_fence(lines, number, fence[1])
            yield number, after, "fence", 0, ""
        elif atx := _ATX.fullmatch(lines[number]):
            after = number + 1
            yield number, after, "heading", len(atx[1]), _atx_title(atx[2] or "")
        elif "|" in lines[number] and "|" in following and _TABLE_RULE.fullmatch(following):
            after = number + 2
            while after < len(lines) and "|" in lines[after]:
                after += 1
            yield number, after, "table", 0, ""
        elif (
            (rule := _UNDERLINE.fullmatch(following))
            and _PARAGRAPH.fullmatch(lines[number])
            and not (number and lines[number - 1].strip())  # the line begins a paragraph
        ):
            after = number + 2
            yield number, after, "heading", 1 if rule[1][0] == "=" else 2, lines[number].strip()
        else:
            after = number + 1
            yield number, after, "text", 0, ""
        number = after


def _atx_title(rest: str) -> str:
    """Return an ATX heading's words without its closing marks and its id: `C #` is C, `C#` is C#."""
    rest = _HEADING_ID.sub("", rest.strip()).strip()
    bare = rest.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else rest


def _end_of_fence(lines: list[str], opening: int, mark: str) -> int:
    """Return the line after the closing fence, or the end of the document if the fence is never closed."""
    closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*")
    after = (line + 1 for line in range(opening + 1, len(lines)) if closing.fullmatch(lines[line]))
    return next(after, len(lines))
