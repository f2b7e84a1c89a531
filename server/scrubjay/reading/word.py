"""Converts Word documents (DOCX) to Markdown.

mammoth reads the document. Parts that it ignores are first written as plain text: formulas, readings above
characters, fields, text boxes, numbers of headings and list items.
"""

import io
import re
import zipfile
from typing import Any

from lxml import etree

from scrubjay.reading.drawings import Rows, drawn_rows
from scrubjay.reading.formulas import formula
from scrubjay.reading.office import core_properties
from scrubjay.reading.parts import Element, parse_part, related_parts
from scrubjay.reading.result import Conversion

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_DOCUMENT = re.compile(r"word/document\d*\.xml")  # Word in the browser adds a number
_NOTES = ("word/footnotes.xml", "word/endnotes.xml", "word/comments.xml")
_BOX = f"{_W}txbxContent"
_WRAPPERS = [f"{_W}{name}" for name in ("fldSimple", "dir", "bdo", "smartTag", "customXml")]
_WRAPPERS.append(f"{_M}oMathPara")
_HEADING = re.compile(r"heading \d", re.IGNORECASE)
_ITEM = "\ue000"  # stands around the number of a list item
_NUMBERED_ITEM = re.compile(rf"(?:(?:\d{{1,9}}\.|-) )?{_ITEM}([^{_ITEM}]*){_ITEM}")
_Levels = dict[int, tuple[str, str, int]]  # level -> format, text, start
_STYLES = (
    "p[style-name='Title'] => h1:fresh\n"
    "p[style-name='Subtitle'] => p:fresh\n"
    "p[style-name='Code'] => pre:separator('\\n')\n"
    "comment-reference => sup"
)


def convert_word(data: bytes) -> Conversion:
    """Convert headings, paragraphs, lists, tables, formulas, notes and comments, but no deleted text."""
    import mammoth  # libraries are imported when a file needs them, see the docstring of `reading`

    from scrubjay.reading.html import convert_html

    html = mammoth.convert_to_html(
        io.BytesIO(_with_plain_text(data)),
        style_map=_STYLES,
        include_embedded_style_map=False,
        convert_image=mammoth.images.img_element(lambda image: {"src": ""}),
    )
    title, metadata = core_properties(data)
    text = _NUMBERED_ITEM.sub(r"\1 ", convert_html(html.value, whole=True).text)
    return Conversion(text, title=title, metadata=metadata)


def _with_plain_text(data: bytes) -> bytes:
    """Return the archive without pictures, and with text for the parts that mammoth does not read."""
    output = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(output, "w") as new:
        numbers = _Numbering(old)
        for name in old.namelist():
            if _DOCUMENT.fullmatch(name) or name in _NOTES:
                root = parse_part(old, name)
                _add_drawings(root, old, name)
                _write_as_text(root)
                _number_paragraphs(root, numbers)
                new.writestr(name, etree.tostring(root))
            elif not name.startswith("word/media/"):
                new.writestr(name, old.read(name))
    return output.getvalue()


def _add_drawings(root: Element, archive: zipfile.ZipFile, name: str) -> None:
    """Add the words of charts and diagrams below the paragraphs that contain them."""
    related = related_parts(archive, name)
    for drawing in reversed(list(root.iter(f"{_W}drawing"))):
        for paragraph in list(drawing.iterancestors(f"{_W}p"))[-1:]:
            for rows in drawn_rows(archive, drawing, related):
                paragraph.addnext(_table(rows))


def _table(rows: Rows) -> Element:
    table = etree.Element(f"{_W}tbl")
    for row in rows:
        line = etree.SubElement(table, f"{_W}tr")
        for text in row:
            cell = etree.SubElement(line, f"{_W}tc")
            etree.SubElement(cell, f"{_W}p").append(_run(text))
    return table


def _write_as_text(root: Element) -> None:
    for math in list(root.iter(f"{_M}oMath")):
        _replace(math, [_run(f" {formula(math)} ")])
    for ruby in list(root.iter(f"{_W}ruby")):
        reading = "".join(text.text or "" for text in ruby.iterfind(f"{_W}rt//{_W}t"))
        base = "".join(text.text or "" for text in ruby.iterfind(f"{_W}rubyBase//{_W}t"))
        _replace(ruby, [_text_element(f"{base}({reading})" if reading else base)])
    for line_end in root.iter(f"{_W}cr", f"{_W}br"):  # mammoth drops the ends of pages
        line_end.tag = f"{_W}br"
        line_end.attrib.clear()
    for tab in root.iter(f"{_W}ptab"):
        tab.tag = f"{_W}tab"
    for choice in list(root.iter(f"{_W}ddList")):
        entries = [entry.get(f"{_W}val") for entry in choice.iterfind(f"{_W}listEntry")]
        chosen = entries[int(_value(choice, "result") or 0) :][:1]
        for run in list(choice.iterancestors(f"{_W}r"))[:1]:
            run.addprevious(_run("".join(chosen)))
    for wrapper in list(root.iter(*_WRAPPERS)):
        _replace(wrapper, list(wrapper))
    _move_boxes(root)


def _move_boxes(root: Element) -> None:
    """Move the contents of text boxes behind the paragraphs that contain the boxes."""
    for fallback in list(root.iter(_FALLBACK)):  # a fallback repeats the choice before it
        choices = fallback.getparent()
        if any(fallback not in box.iterancestors() for box in choices.iter(_BOX)):
            choices.remove(fallback)
    for box in reversed(list(root.iter(_BOX))):
        for paragraph in list(box.iterancestors(f"{_W}p"))[-1:]:  # the outermost paragraph
            for block in reversed(list(box)):
                paragraph.addnext(block)


def _replace(element: Element, others: list[Element]) -> None:
    parent = element.getparent()
    index = parent.index(element)
    parent[index : index + 1] = others


def _text_element(text: str) -> Element:
    element = etree.Element(f"{_W}t")
    element.text = text
    return element


def _run(text: str) -> Element:
    run = etree.Element(f"{_W}r")
    run.append(_text_element(text))
    return run


class _Numbering:
    """Counts the numbered paragraphs of a document, list by list and level by level."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.levels: dict[str, _Levels] = {}  # by numId
        self._lists: dict[str, str] = {}  # numId -> abstractNumId; numbers of one list continue each other
        self._restarts: dict[str, dict[int, int]] = {}  # numId -> level -> start, until its first use
        self.styles: dict[str, Any] = {}  # id of a style -> its numPr, or that of the style it is based on
        self.headings: dict[str, str] = {}  # id of a style -> id of the heading style that it is based on
        self._counts: dict[str, dict[int, int]] = {}
        for part, read in (("styles", self._read_styles), ("numbering", self._read_lists)):
            if f"word/{part}.xml" in archive.namelist():
                read(parse_part(archive, f"word/{part}.xml"))

    def _read_styles(self, root: Element) -> None:
        styles = {style.get(f"{_W}styleId"): style for style in root.iterfind(f"{_W}style")}
        for style_id, style in styles.items():
            chain = [style]
            while (base := styles.get(_value(chain[-1], "basedOn"))) is not None and base not in chain:
                chain.append(base)
            numberings = (each.find(f"{_W}pPr/{_W}numPr") for each in chain)
            self.styles[style_id] = next((each for each in numberings if each is not None), None)
            headings = (each for each in chain if _HEADING.fullmatch(_value(each, "name") or ""))
            if (heading := next(headings, None)) is not None:
                self.headings[style_id] = heading.get(f"{_W}styleId")

    def _read_lists(self, root: Element) -> None:
        abstract = {each.get(f"{_W}abstractNumId"): each for each in root.iterfind(f"{_W}abstractNum")}
        for number in root.iterfind(f"{_W}num"):
            list_id, number_id = _value(number, "abstractNumId") or "", number.get(f"{_W}numId")
            if list_id in abstract:
                self._lists[number_id] = list_id
                self.levels[number_id] = {
                    int(level.get(f"{_W}ilvl") or 0): (
                        _value(level, "numFmt") or "decimal",
                        _value(level, "lvlText") or "",
                        int(_value(level, "start") or 1),
                    )
                    for level in abstract[list_id].iterfind(f"{_W}lvl")
                }
                self._restarts[number_id] = {
                    int(each.get(f"{_W}ilvl")): int(_value(each, "startOverride") or 1)
                    for each in number.iterfind(f"{_W}lvlOverride")
                    if _value(each, "startOverride")
                }

    def next(self, number_id: str, level: int) -> str:
        """Count one paragraph, and return its number as readers see it."""
        levels, counts = self.levels[number_id], self._counts.setdefault(self._lists[number_id], {})
        for restarted, start in self._restarts.pop(number_id, {}).items():
            counts[restarted] = start - 1
        counts[level] = counts.get(level, levels[level][2] - 1) + 1
        for deeper in [other for other in counts if other > level]:
            del counts[deeper]

        def value(match: re.Match[str]) -> str:
            named_level = int(match[1]) - 1
            kind, _, start = levels.get(named_level, ("decimal", "", 1))
            return _formatted(counts.get(named_level, start), kind)

        return re.sub(r"%(\d)", value, levels[level][1])


def _formatted(number: int, kind: str) -> str:
    if kind in ("upperLetter", "lowerLetter"):
        letters = chr(ord("A") + (number - 1) % 26) * (1 + (number - 1) // 26)
        return letters if kind == "upperLetter" else letters.lower()
    return str(number)


def _value(element: Element, name: str) -> str | None:
    child = element.find(f"{_W}{name}")
    return None if child is None else child.get(f"{_W}val")


def _number_paragraphs(root: Element, numbers: _Numbering) -> None:
    """Write the number of each heading and list item as text; that of an item replaces mammoth's own."""
    for paragraph in root.iter(f"{_W}p"):
        properties = paragraph.find(f"{_W}pPr")
        style = None if properties is None else _value(properties, "pStyle")
        own = None if properties is None else properties.find(f"{_W}numPr")
        if style in numbers.headings:  # mammoth does not know that a style is based on a heading
            properties.find(f"{_W}pStyle").set(f"{_W}val", numbers.headings[style])
        numberings = [each for each in (own, numbers.styles.get(style or "")) if each is not None]
        number_id = next(filter(None, (_value(each, "numId") for each in numberings)), None) or ""
        level = int(next(filter(None, (_value(each, "ilvl") for each in numberings)), 0))
        if numbers.levels.get(number_id, {}).get(level, ("none",))[0] in ("none", "bullet"):
            continue
        if "".join(paragraph.itertext()).strip():
            number = numbers.next(number_id, level)
            is_heading = style in numbers.headings
            paragraph.insert(1, _run(f"{number} " if is_heading else f"{_ITEM}{number}{_ITEM}"))
