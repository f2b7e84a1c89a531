"""The paragraphs of a text that are meaningful alone, each under its Markdown headings."""

import re
from collections.abc import Iterator, Sequence

from scrubjay.text.chunking.cuts import SIZE, Section, Span, line_starts, split
from scrubjay.text.chunking.markdown import sections
from scrubjay.text.front_matter import end_of_front_matter

SHORT = 500  # characters; a text up to this length stays whole if it has one paragraph, code or a table
LONGEST = SIZE  # characters of a paragraph; a longer one is cut at its lines or sentences
MOST = 200  # paragraphs of one text; later ones can only be found as chunks

_ENDS = (".", "!", "?", "\u3002", "\uff01", "\uff1f")  # ends of sentences
_WORD = re.compile(r"[\u3040-\u9fff]{2}|[^\W\u3040-\u9fff]+")  # two characters of Chinese or Japanese
_BLANK = re.compile(r"\n(?:[^\S\n]*\n)+|\f")
_HEADING = re.compile(
    r"\s*(?: {0,3}#{1,6}(?:[ \t][^\n]*)?(?:\n|\Z)| {0,3}\S[^\n]*\n {0,3}(?:=+|-{2,})[ \t]*(?:\n|\Z))"
)
_INDENTED = re.compile(r"(?:[^\S\n]*+\n|(?: {4}|\t)[^\n]*+(?:\n|\Z))++")


def paragraphs(text: str, title: str | None = None) -> list[str]:
    """Split a text into paragraphs, each once and at most `MOST`; leave out front matter, code and tables.

    Each paragraph begins with a line of its headings, the title first. A short text with one paragraph, or
    with code or a table, is returned whole, because its parts belong together.

    >>> paragraphs("# Deploys\\n\\nDeploys go out on Tuesdays.\\n\\nRollbacks need two approvals.")
    ['Deploys\\nDeploys go out on Tuesdays.', 'Deploys\\nRollbacks need two approvals.']
    """
    text = text[end_of_front_matter(text) :]
    whole = text.strip()
    if len(whole) <= SHORT and _belongs_together(whole):
        return [whole] if any(char.isalnum() for char in whole) else []
    unique: dict[str, None] = {}
    for section in sections(text, line_starts(text)):
        headings = " > ".join(dict.fromkeys(filter(None, (title, *section.headings))))
        for paragraph in _joined(_pieces(text, section)):
            unique[f"{headings}\n{paragraph}" if headings else paragraph] = None
            if len(unique) == MOST:
                return list(unique)
    return list(unique)


def _belongs_together(text: str) -> bool:
    """Return True if a text has at most one paragraph, or has code or a table."""
    parts = list(sections(text, line_starts(text)))
    has_code = any(part.whole for part in parts) or any(map(_INDENTED.fullmatch, _BLANK.split(text)))
    return has_code or sum(len(list(_joined(_pieces(text, part)))) for part in parts) < 2


def _pieces(text: str, section: Section) -> Iterator[str]:
    """Split a section, without its headings, fences and tables, at blank lines."""
    start = section.start
    while (heading := _HEADING.match(text, start, section.end)) is not None and section.headings:
        start = heading.end()
    for low, high in _outside(start, section.end, section.whole):
        for piece in _BLANK.split(text[low:high]):
            if any(char.isalnum() for char in piece) and not _INDENTED.fullmatch(piece.strip("\n")):
                yield piece.strip()


def _outside(start: int, end: int, whole: Sequence[Span]) -> Iterator[Span]:
    """Yield the spans from `start` to `end` that are before, between and after those of `whole`."""
    for low, high in whole:
        if low >= start:
            yield start, low
        start = max(start, high)
    yield start, end


def _joined(pieces: Iterator[str]) -> Iterator[str]:
    """Join pieces that mean nothing alone, or that are introductions, with the next one; cut long ones."""
    waiting = ""
    for piece in pieces:
        both = f"{waiting}\n\n{piece}" if waiting else piece
        if not _is_meaningful(both) and len(both) < LONGEST:
            waiting = both
            continue
        waiting = ""
        yield from (both[low:high] for low, high in split(both, LONGEST))
    if waiting:
        yield waiting


def _is_meaningful(text: str) -> bool:
    """Return True if a text has three words, or is a sentence of two, and is not an introduction."""
    words = len(_WORD.findall(text))
    return not text.endswith((":", "\uff1a")) and (words > 2 or (words == 2 and text.endswith(_ENDS)))
