"""Reads what python-calamine leaves out of a workbook (XLSX): number formats, errors, formulas, comments."""

import io
import re
import zipfile

from lxml import etree

from scrubjay.reading.number_formats import BUILT_IN, written_number
from scrubjay.reading.parts import Element, parse_part, parsed_relations, related_parts, relation_id

_WORKBOOK, _STYLES = "xl/workbook.xml", "xl/styles.xml"
_ADDRESSES = ("http://", "https://", "mailto:")
_POSITION = re.compile(r"([A-Z]{1,3})(\d{1,7})")
_FORMULA_OR_ERROR = re.compile(rb"<(?:\w+:)?f[ >]|t=[\"']e[\"']")
_LARGEST = 64 * 1024 * 1024  # bytes of a sheet
_MOST = 200_000  # cells of a sheet that are displayed differently

Position = tuple[int, int]  # row and column, from 0


class Cells:
    """The cells of a workbook that are displayed differently from their value."""

    def __init__(self, data: bytes) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(data))
        self._formats: dict[str, str] = {}  # style -> format that adds something to a number
        self._sheets: dict[str, str] = {}  # sheet name -> part
        if _WORKBOOK in self._archive.namelist():
            self._formats = self._formats_by_style()
            related = related_parts(self._archive, _WORKBOOK)
            for sheet in parse_part(self._archive, _WORKBOOK).iterfind("{*}sheets/{*}sheet"):
                self._sheets[sheet.get("name")] = related[relation_id(sheet)].part

    def displayed(self, sheet: str) -> dict[Position, str]:
        """Return the displayed text of each cell of a sheet whose value is displayed differently."""
        part = self._sheets.get(sheet, "")
        if part not in self._archive.namelist():
            return {}
        texts: dict[Position, str] = {}
        with self._archive.open(part) as member:
            data = member.read(_LARGEST)
        if not self._formats and _FORMULA_OR_ERROR.search(data) is None:
            return texts
        for _, cell in etree.iterparse(io.BytesIO(data), tag="{*}c", resolve_entities=False, no_network=True):
            has_formula = len(cell) > 0 and cell[0].tag.endswith("}f")
            is_special = cell.get("t") == "e" or cell.get("s") in self._formats
            if (has_formula or is_special) and (text := self._displayed_text(cell)):
                texts[_position(cell.get("r"))] = text
            cell.clear()
            if len(texts) >= _MOST:
                break
        return texts

    def comments(self, sheet: str) -> dict[Position, str]:
        """Return the comments of a sheet by position; a thread replaces its note for old programs."""
        part, notes, threads = self._sheets.get(sheet, ""), dict[Position, str](), dict[Position, str]()
        for root in parsed_relations(self._archive, part, "comments"):
            for comment in root.iterfind("{*}commentList/{*}comment"):
                text = "".join(run.text or "" for run in comment.iter("{*}t"))
                notes[_position(comment.get("ref"))] = " ".join(text.split())
        for root in parsed_relations(self._archive, part, "threadedComment"):
            for comment in root.iterfind("{*}threadedComment"):
                position, text = _position(comment.get("ref")), comment.findtext("{*}text") or ""
                threads[position] = " ".join([threads.get(position, ""), *text.split()]).strip()
        return notes | threads

    def links(self, sheet: str) -> dict[Position, str]:
        """Return the web addresses that cells of a sheet lead to, by position."""
        part = self._sheets.get(sheet, "")
        related = related_parts(self._archive, part)
        addresses = {key: each.part for key, each in related.items() if each.part.startswith(_ADDRESSES)}
        if not addresses:
            return {}
        links = parse_part(self._archive, part).iterfind("{*}hyperlinks/{*}hyperlink")
        return {
            _position(link.get("ref")): addresses[value]
            for link in links
            for value in link.values()
            if value in addresses
        }

    def boxes(self, sheet: str) -> list[str]:
        """Return the texts of the boxes drawn on a sheet."""
        texts = [
            "".join(run.text or "" for run in paragraph.iter("{*}t"))
            for root in parsed_relations(self._archive, self._sheets.get(sheet, ""), "drawing")
            for paragraph in root.iterfind(".//{*}txBody/{*}p")
        ]
        return [f"\n{text}" for text in texts if text.strip()]

    def _displayed_text(self, cell: Element) -> str | None:
        value: str | None = cell.findtext("{*}v")
        formula: str | None = cell.findtext("{*}f")
        if cell.get("t") == "e":
            return value
        if formula and not value:
            return f"={formula}"
        number_format = self._formats.get(cell.get("s", ""))
        is_number = value and number_format and cell.get("t", "n") == "n"
        return written_number(value or "", number_format or "") if is_number else None

    def _formats_by_style(self) -> dict[str, str]:
        if _STYLES not in self._archive.namelist():
            return {}
        root = parse_part(self._archive, _STYLES)
        own_formats = root.iterfind("{*}numFmts/{*}numFmt")
        formats = BUILT_IN | {each.get("numFmtId"): each.get("formatCode", "") for each in own_formats}
        styles = enumerate(root.iterfind("{*}cellXfs/{*}xf"))
        codes = {str(index): formats.get(style.get("numFmtId"), "") for index, style in styles}
        return {style: code for style, code in codes.items() if written_number("1", code)}


def _position(name: str | None) -> Position:
    """Return the row and column of a name such as B12; -1 and -1 for an invalid name."""
    match = _POSITION.fullmatch(name or "")
    if match is None:
        return -1, -1
    column = 0
    for letter in match[1]:
        column = column * 26 + ord(letter) - ord("A") + 1
    return int(match[2]) - 1, column - 1
