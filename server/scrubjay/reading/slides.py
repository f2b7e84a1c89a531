"""Converts slides (PPTX) to Markdown, in the order of the presentation."""

import io
import zipfile
from collections.abc import Iterable, Iterator

from lxml import etree

from scrubjay.reading.drawings import drawn_rows
from scrubjay.reading.formulas import formula, subscript
from scrubjay.reading.office import core_properties, markdown_table
from scrubjay.reading.parts import Element, parse_part, parsed_relations, related_parts, relation_id
from scrubjay.reading.result import Budget, Conversion
from scrubjay.text.chunking.markdown import without_headings

_DECK = "ppt/presentation.xml"
_DEEPEST_LEVEL = 8  # of lists; a file may state any number


def convert_slides(data: bytes, budget: Budget) -> Conversion:
    """Write slide by slide: `## Slide 1: its title`, and its contents.

    Raises:
        TooLong: it has too much text.
    """
    title, metadata = core_properties(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        related = related_parts(archive, _DECK)
        slides = parse_part(archive, _DECK).iterfind("{*}sldIdLst/{*}sldId")
        parts = [related[relation_id(slide)].part for slide in slides]
        texts = [budget.take(_slide(archive, part, number)) for number, part in enumerate(parts, 1)]
    return Conversion("\n\n".join(texts), title=title, metadata=metadata)


def _slide(archive: zipfile.ZipFile, part: str, number: int) -> str:
    shapes, related = _shapes(archive, part), related_parts(archive, part)
    title = next((shape for shape in shapes if _placeholder(shape).get("idx") == "0"), None)
    name = "" if title is None else " ".join(_text(title).split())
    blocks = [f"## Slide {number}: {name}" if name else f"## Slide {number}"]
    for shape in shapes:
        blocks += [_block(shape)] if shape is not title else []
        blocks += ["\n".join(markdown_table(rows)) for rows in drawn_rows(archive, shape, related)]
    blocks += [f"Comment: {text}" for text in _comments(archive, part)]
    if notes := _notes(archive, part):
        blocks.append(f"Notes: {notes}")
    return "\n\n".join(block for block in blocks if block.strip())


def _shapes(archive: zipfile.ZipFile, part: str) -> list[Element]:
    root = parse_part(archive, part)
    related = related_parts(archive, part)
    for link in root.iterfind(".//{*}rPr/{*}hlinkClick"):
        text = link.getparent().getparent().find("{*}t")
        address = next((related[value].part for value in link.values() if value in related), "")
        if text is not None and address.startswith(("http://", "https://", "mailto:")):
            text.text = f"[{text.text}]({address})"
    return list(_flat(root.find("{*}cSld/{*}spTree")))


def _flat(shapes: Iterable[Element]) -> Iterator[Element]:
    """Yield the shapes that can have text, also inside groups.

    The recursion is limited, because lxml reads no more than 256 levels.
    """
    for shape in shapes:
        kind = _kind(shape)
        if kind in ("grpSp", "Choice"):
            yield from _flat(shape)
        elif kind == "AlternateContent":
            yield from _flat(shape[:1])
        elif kind in ("sp", "graphicFrame", "pic"):
            yield shape


def _kind(element: Element) -> str:
    return str(etree.QName(element).localname)


def _placeholder(shape: Element) -> dict[str, str]:
    """Return the attributes of the layout placeholder that a shape fills; {} if it fills none."""
    placeholder = shape.find("*/{*}nvPr/{*}ph")
    return {} if placeholder is None else {"idx": "0", **placeholder.attrib}


def _block(shape: Element) -> str:
    table = shape.find("{*}graphic/{*}graphicData/{*}tbl")
    if table is not None:
        return "\n".join(markdown_table(_rows(table)))
    if _kind(shape) == "pic":
        return str(shape.find("*/{*}cNvPr").get("descr", "")).strip()
    lines = [(level, text.strip()) for level, text in _paragraphs(shape) if text.strip()]
    text = "\n".join(f"{'  ' * level}- {text}" if len(lines) > 1 else text for level, text in lines)
    return without_headings(text)


def _rows(table: Element) -> Iterator[list[str]]:
    """Yield the cells of each row; merged cells repeat their text."""
    above: list[str] = []
    for row in table.iterfind("{*}tr"):
        cells: list[str] = []
        for at, cell in enumerate(row.iterfind("{*}tc")):
            merged = above[at : at + 1] if cell.get("vMerge") else cells[-1:] if cell.get("hMerge") else []
            cells += merged or [_text(cell)]
        yield cells
        above = cells


def _comments(archive: zipfile.ZipFile, part: str) -> Iterator[str]:
    for root in parsed_relations(archive, part, "comments"):
        for comment in root.iter("{*}cm"):
            yield " ".join("".join(comment.itertext()).split())


def _notes(archive: zipfile.ZipFile, part: str) -> str:
    notes = [each.part for each in related_parts(archive, part).values() if each.kind == "notesSlide"]
    shapes = _shapes(archive, notes[0]) if notes else []
    texts = (_text(shape) for shape in shapes if _placeholder(shape).get("type") == "body")
    return without_headings("\n".join(texts).strip())


def _text(shape: Element) -> str:
    return "\n".join(text for _, text in _paragraphs(shape))


def _paragraphs(shape: Element) -> Iterator[tuple[int, str]]:
    """Yield the level and text of each paragraph of a shape or cell."""
    for paragraph in shape.iterfind("{*}txBody/{*}p"):
        properties = paragraph.find("{*}pPr")
        level = 0 if properties is None else int(properties.get("lvl", 0))
        parts = (_run(part) for part in paragraph if _kind(part) in ("r", "br", "fld", "m"))
        yield min(level, _DEEPEST_LEVEL), "".join(parts)


def _run(part: Element) -> str:
    if _kind(part) in ("br", "m"):
        return "\n" if _kind(part) == "br" else "".join(map(formula, part))
    properties, text = part.find("{*}rPr"), part.findtext("{*}t") or ""
    baseline = "0" if properties is None else properties.get("baseline", "0")
    if baseline.startswith("-"):
        return subscript(text)
    return f"^{text}" if baseline[0] != "0" and text.strip() else text
