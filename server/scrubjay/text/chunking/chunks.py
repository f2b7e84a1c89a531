"""Cuts a document into chunks: pieces of its sections, with headings and line numbers."""

import csv
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from scrubjay.text.chunking import blocks, markdown
from scrubjay.text.chunking.cuts import SIZE, Repeat, Section, Span, line_starts, pieces

# The model reads 256 tokens. 750 characters of code have 205 tokens in the median and 245 in the longest
# tenth; 900 characters have 246 and 293.
CODE_SIZE = 750
_PAGE = re.compile("\f")  # ends a page of a PDF
_LONGEST_HEADER = 300  # characters of a table's header that are repeated for later rows
_MOST_LINES = 400_000  # a longer file is cut without parsing its structure; 4 million lines took 3 GB


@dataclass(frozen=True)
class Chunk:
    """A chunk of a document: `text[start:end]`, its headings, and its lines, counted from 1.

    `headings` begins with the outermost one and includes those at the start of the chunk; in code they are
    the names of definitions. `repeat` is earlier text that is needed to understand the chunk: the header of a
    table.
    """

    start: int
    end: int
    headings: tuple[str, ...]
    line_start: int
    line_end: int
    repeat: str = ""


def chunks(
    text: str, kind: str = "markdown", language: str | None = None, size: int | None = None
) -> list[Chunk]:
    """Cut a document into chunks of at most `size` characters, in order; only white space is left out.

    If `language` names a programming or data language, the text is read as code. Otherwise a `kind` of `csv`
    or `tsv` is read as a table, and any other text as Markdown or as the markup that `language` names; chunks
    of a `pdf` have page numbers. The same text always gives the same chunks, and chunks far from an edit do
    not change.
    """
    starts = line_starts(text)
    limit = size or (SIZE if language is None or kind == "text" else CODE_SIZE)
    pages = [match.end() for match in _PAGE.finditer(text)] if kind == "pdf" else []
    result = []
    for section in _sections(text, starts, kind, language, limit):
        for low, high in _pieces(text, section, pages, _piece_size(section, limit)):
            repeat = next((part.text for part in section.repeats if part.start < low < part.end), "")
            page = (f"page {bisect_right(pages, low) + 1}",) if kind == "pdf" else ()
            lines = bisect_right(starts, low), bisect_right(starts, high - 1)
            result.append(Chunk(low, high, (*section.headings, *page), *lines, repeat[:_LONGEST_HEADER]))
    return result


def _piece_size(section: Section, size: int) -> int:
    """Return the most characters of a section's pieces, which leave room for a header that they repeat."""
    header = max((len(part.text) for part in section.repeats if part.end - part.start > size), default=0)
    return max(size - min(header, _LONGEST_HEADER), size // 2, 1)


def _pieces(text: str, section: Section, pages: list[int], size: int) -> Iterator[Span]:
    """Cut a section into pieces. No piece crosses the end of a page, so that each has one page number."""
    page_ends = pages[bisect_right(pages, section.start) : bisect_left(pages, section.end)]
    for low, high in pairwise([section.start, *page_ends, section.end]):
        yield from pieces(text, low, high, size, section.whole)


def _sections(text: str, starts: list[int], kind: str, language: str | None, size: int) -> Iterable[Section]:
    if len(starts) > _MOST_LINES:
        return [Section(0, len(text))]
    if kind == "text":
        return markdown.sections(text, starts, language)
    if language is not None:
        return _code_sections(text, starts, language, size)
    if kind in ("csv", "tsv"):
        return _table_sections(text, starts, max(",;\t|", key=text.partition("\n")[0].count))
    return markdown.sections(text, starts)


def _code_sections(text: str, starts: list[int], language: str, size: int) -> Iterator[Section]:
    from scrubjay.text.chunking import grammars  # takes 25 ms, not needed for chats and Markdown

    if language in grammars.LANGUAGES and len(text) <= grammars.LARGEST:
        return blocks.sections(grammars.blocks(text, language, size), text, starts, size)
    return blocks.sections(blocks.blocks(text, starts), text, starts, size)


def _table_sections(text: str, starts: list[int], delimiter: str) -> Iterator[Section]:
    """Yield one section: its rows stay whole, even with line breaks in quotes, and repeat the header."""
    row_ends: list[int] = []
    try:
        for row in (reader := csv.reader(text.split("\n"), delimiter=delimiter)):
            if row:
                row_ends.append(starts[reader.line_num] if reader.line_num < len(starts) else len(text))
    except csv.Error:  # a NUL or a cell above 128 KB, so this is no table: cut it at its lines
        row_ends = starts[1:]
    rows = pairwise([0, *row_ends])
    multiline = [
        (low, high) for low, high in rows if bisect_right(starts, high - 1) > bisect_right(starts, low)
    ]
    whole = tuple((low, low + len(text[low:high].rstrip())) for low, high in multiline)
    repeats = (Repeat(row_ends[0] - 1, len(text), text[: row_ends[0]].strip()),) if len(row_ends) > 1 else ()
    yield Section(0, len(text), (), whole, repeats)
