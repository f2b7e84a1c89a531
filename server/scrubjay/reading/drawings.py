"""Reads the charts and diagrams (SmartArt) that slides and Word documents refer to."""

import zipfile
from collections.abc import Iterator, Mapping

from scrubjay.reading.number_formats import written_number
from scrubjay.reading.parts import Element, Relation, parse_part

Rows = list[list[str]]


def drawn_rows(archive: zipfile.ZipFile, element: Element, related: Mapping[str, Relation]) -> Iterator[Rows]:
    """Yield each chart in an element as a table, and each diagram as a table of one column."""
    for reference in element.iter("{*}chart", "{*}relIds"):
        ids = [str(value) for name, value in reference.items() if name.endswith(("}id", "}dm"))]
        parts = [related[relation].part for relation in ids if relation in related]
        for part in (part for part in parts if part in archive.namelist()):
            root = parse_part(archive, part)
            if rows := _chart(root) if root.tag.endswith("}chartSpace") else _diagram(root):
                yield rows


def _chart(root: Element) -> Rows:
    """Return the categories of a chart with a column for each series."""
    title = _text(root.find("{*}chart/{*}title"))
    rows: dict[str, list[str]] = {}
    names = []
    for series in root.iter("{*}ser"):
        labels = {**_values_by_index(series, "cat"), **_values_by_index(series, "xVal")}
        names.append(" ".join(value.text or "" for value in series.iterfind("{*}tx//{*}v")))
        for index, value in {**_values_by_index(series, "val"), **_values_by_index(series, "yVal")}.items():
            row = rows.setdefault(index, [labels.get(index, "")])
            row += [""] * (len(names) - len(row)) + [value]
    return [[title, *names], *rows.values()] if title or names else []


def _values_by_index(series: Element, name: str) -> dict[str, str]:
    """Return the labels or values of a series; numbers have the signs of their format, such as %."""
    values: dict[str, str] = {}
    for point in series.iterfind(f"{{*}}{name}//{{*}}pt"):
        value = point.findtext("{*}v") or ""
        code = point.get("formatCode") or point.getparent().findtext("{*}formatCode") or ""
        values[point.get("idx")] = written_number(value, code) or value
    return values


def _diagram(root: Element) -> Rows:
    texts = (_text(point.find("{*}t")) for point in root.iterfind("{*}ptLst/{*}pt"))
    return [[text] for text in texts if text]


def _text(element: Element | None) -> str:
    """Return the text of the paragraphs in an element, on one line."""
    paragraphs = [] if element is None else element.iter("{*}p")
    return " ".join(
        "".join(text.text or "" for text in paragraph.iter("{*}t")) for paragraph in paragraphs
    ).strip()
