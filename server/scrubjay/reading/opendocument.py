"""Converts OpenDocument files (texts, workbooks, slides) to Markdown via HTML, which they resemble."""

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from html import escape

from lxml import etree

from scrubjay.reading.html import convert_html
from scrubjay.reading.parts import Element, parse_part
from scrubjay.reading.result import Budget, Conversion, tidy_values

_CONTENT, _META = "content.xml", "meta.xml"
_NUMBER = "<number>"  # stands for the number of a slide in its notes
_TAGS = {"list": "ul", "list-item": "li", "list-header": "li", "p": "p", "line-break": "br"}
_SKIPPED = frozenset(
    "tracked-changes sequence-decls forms page-number page-count annotation-end ruby-text "
    "covered-table-cell bookmark-ref-start page-thumbnail calculation-settings sender-firstname".split()
)
_MOST_REPEATS = 50  # of a cell or a row; a sheet repeats empty cells a million times
_RAISED = re.compile(r"super|[1-9]")  # a position is a word or a percentage of the height
_LOWERED = re.compile(r"sub|-[1-9]")
_FIELDS = {"author": "initial-creator", "subject": "subject", "keywords": "keyword", "date": "date"}


def convert_opendocument(data: bytes, budget: Budget) -> Conversion:
    """Convert headings, paragraphs, lists, tables, formulas, notes and comments; name slides and sheets.

    Raises:
        TooLong: the document has too much text.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = parse_part(archive, _CONTENT)
        title, metadata = _title_and_metadata(archive)
        writer = _Writer(archive, content)
        html = "".join(map(budget.take, writer.inside(content.find("{*}body"))))
    return Conversion(convert_html(html, whole=True).text, title=title, metadata=metadata)


def _title_and_metadata(archive: zipfile.ZipFile) -> tuple[str | None, dict[str, str]]:
    if _META not in archive.namelist():
        return None, {}
    root = parse_part(archive, _META)
    values = {name: root.findtext(f"{{*}}meta/{{*}}{tag}") or "" for name, tag in _FIELDS.items()}
    return root.findtext("{*}meta/{*}title"), tidy_values(**values | {"date": values["date"][:10]})


class _Writer:
    """Writes the elements of a document as HTML; `write_x` writes elements of the name x."""

    def __init__(self, archive: zipfile.ZipFile, root: Element) -> None:
        self._archive = archive
        self._styles = {}  # name -> HTML tag
        for style in root.iterfind("{*}automatic-styles/{*}style"):
            properties = style.find("{*}text-properties")
            if properties is not None and (tag := _tag_of_style(properties)):
                self._styles[_get(style, "name")] = tag
        self._slides = 0

    def inside(self, element: Element) -> Iterator[str]:
        """Yield the contents of an element, including its own text."""
        yield escape(element.text or "")
        for child in element:
            if isinstance(child.tag, str):
                yield from self._write(child)
            yield escape(child.tail or "")

    def _write(self, element: Element) -> Iterator[str]:
        kind = etree.QName(element).localname
        if kind in _SKIPPED:
            return
        if write := getattr(self, f"write_{kind.replace('-', '_')}", None):
            yield from write(element)
            return
        tag = self._tag(element, kind)
        yield f"<{tag}>" if tag else ""
        yield from self.inside(element)
        yield f"</{tag}>" if tag else ""

    def _tag(self, element: Element, kind: str) -> str | None:
        style = _get(element, "style-name")
        if kind == "h":
            return f"h{min(int(_get(element, 'outline-level') or 1), 6)}"
        if kind == "span":
            return self._styles.get(style)
        return "h1" if kind == "p" and style == "Title" else _TAGS.get(kind)

    def write_s(self, element: Element) -> Iterator[str]:
        yield " "

    write_tab = write_s

    def write_ruby_base(self, element: Element) -> Iterator[str]:
        reading = element.getparent().findtext("{*}ruby-text")
        yield from self.inside(element)
        yield f"({escape(reading)})" if reading else ""

    def write_a(self, element: Element) -> Iterator[str]:
        yield f'<a href="{escape(_get(element, "href"))}">'
        yield from self.inside(element)
        yield "</a>"

    def write_note(self, element: Element) -> Iterator[str]:
        body = _plain(element.find("{*}note-body"))
        yield f" ({escape(body)})" if body else ""

    def write_annotation(self, element: Element) -> Iterator[str]:
        comment = " ".join(filter(None, map(_plain, element.iterfind("{*}p"))))
        yield f" (comment: {escape(comment)}) " if comment else ""

    def write_object(self, element: Element) -> Iterator[str]:
        """Write a formula or a chart, which is a separate document in the archive."""
        part = posixpath.normpath(posixpath.join(_get(element, "href"), _CONTENT))
        if part in self._archive.namelist():
            root = parse_part(self._archive, part)
            if etree.QName(root).localname == "math":
                source = root.findtext(".//{*}annotation")
                yield f" {escape(source or ''.join(root.itertext()))} "
            for chart in root.iterfind("{*}body/{*}chart/{*}chart"):
                yield f"<p>{escape(_plain(chart.find('{*}title')))}</p>"
                yield from (text for table in chart.iterfind("{*}table") for text in self.write_table(table))

    def write_page(self, element: Element) -> Iterator[str]:
        self._slides += 1
        titles = (frame for frame in element.iterfind("{*}frame") if _get(frame, "class") == "title")
        title = next(titles, None)
        yield f"<h2>Slide {self._slides}"
        yield f": {escape(_plain(title))}</h2>" if title is not None else "</h2>"
        for child in element:
            if child is not title and isinstance(child.tag, str):
                yield from self._write(child)

    def write_notes(self, element: Element) -> Iterator[str]:
        notes = " ".join(line for line in map(_plain, element.iter("{*}p")) if line not in ("", _NUMBER))
        yield f"<p>Notes: {escape(notes)}</p>" if notes else ""

    def write_table(self, element: Element) -> Iterator[str]:
        is_sheet = etree.QName(element.getparent()).localname == "spreadsheet"
        rows = "".join(self.inside(element))
        if is_sheet:  # the first row of a sheet is its header
            header, row_end, rest = rows.partition("</tr>")
            rows = header.replace("<td", "<th").replace("</td>", "</th>") + row_end + rest
        if rows.strip():
            yield f"<h1>{escape(_get(element, 'name'))}</h1>" if is_sheet else ""
            yield f"<table>{rows}</table>"

    def write_table_row(self, element: Element) -> Iterator[str]:
        cells = "".join(self.inside(element))
        if cells.replace("<td></td>", "").strip():
            yield f"<tr>{cells}</tr>" * min(int(_get(element, "number-rows-repeated") or 1), _MOST_REPEATS)

    def write_table_cell(self, element: Element) -> Iterator[str]:
        content = "".join(self.inside(element)).strip()
        formula = _get(element, "formula").partition(":")[2]
        if formula and not content:
            content = escape(formula)
        repeats = min(int(_get(element, "number-columns-repeated") or 1), _MOST_REPEATS)
        if not content and repeats == _MOST_REPEATS:  # the empty rest of a row
            return
        spans = ((name, _get(element, f"number-{name}s-spanned")) for name in ("row", "column"))
        attributes = "".join(f" {name[:3]}span={count}" for name, count in spans if count.isdigit())
        yield f"<td{attributes}>{content}</td>" * repeats


def _tag_of_style(properties: Element) -> str | None:
    position = _get(properties, "text-position")
    if _RAISED.match(position):
        return "sup"
    if _LOWERED.match(position):
        return "sub"
    return "b" if _get(properties, "font-weight") == "bold" else None


def _get(element: Element, name: str) -> str:
    """Return the attribute with this name in any namespace, or "" if it is missing."""
    return next((str(value) for key, value in element.items() if key.rpartition("}")[2] == name), "")


def _plain(element: Element) -> str:
    """Return the text of an element on one line."""
    if element is None:
        return ""
    for each in element.iter("{*}s", "{*}tab", "{*}line-break", "{*}p"):
        each.tail = f" {each.tail or ''}"
    return " ".join("".join(element.itertext()).split())
