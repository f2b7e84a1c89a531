"""Small files that make a reader exhaust memory, run for hours or abort: `FILES`, a maker for each name.

Each is generated from its recipe; none is larger than a client may send.
"""

from __future__ import annotations

import io
import random
import zipfile
import zlib
from collections.abc import Callable, Iterable

import files_made as made

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
_A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
_R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_LAUGHS = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "ha" * 20}">' for n in range(12))
LAUGHS = f"<?xml version='1.0'?><!DOCTYPE x [{_LAUGHS}]>".encode()


def archive(members: Iterable[tuple[str, bytes]]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in members:
            new.writestr(name, data)
    return made.getvalue()


def _relations(inside: str) -> str:
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'<Relationships xmlns="{space}">{inside}</Relationships>'


def _package(main: str) -> dict[str, str]:
    """The common parts of every office file; `main` is the main part."""
    return {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": _relations(f'<Relationship Id="r1" Type="{_REL}/officeDocument" Target="{main}"/>'),
    }


def word(body: str) -> bytes:
    """A document whose body is this markup."""
    document = f"<w:document {_W}><w:body>{body}</w:body></w:document>"
    parts = {**_package("word/document.xml"), "word/document.xml": document}
    return archive((name, text.encode()) for name, text in parts.items())


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def nested(begin: str, inner: str, end: str, depth: int) -> str:
    return begin * depth + inner + end * depth


def book(rows: str, strings: str = "") -> bytes:
    """A workbook with one sheet, which has these rows."""
    relations = (
        f'<Relationship Id="r1" Type="{_REL}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="rs" Type="{_REL}/sharedStrings" Target="sharedStrings.xml"/>'
    )
    sheets = '<sheets><sheet name="s1" sheetId="1" r:id="r1"/></sheets>'
    members = {
        **_package("xl/workbook.xml"),
        "xl/workbook.xml": f"<workbook {_S} {_R}>{sheets}</workbook>",
        "xl/_rels/workbook.xml.rels": _relations(relations),
        "xl/sharedStrings.xml": f"<sst {_S}>{strings}</sst>",
        "xl/worksheets/sheet1.xml": f"<worksheet {_S}><sheetData>{rows}</sheetData></worksheet>",
    }
    return archive((name, text.encode()) for name, text in members.items())


CORNERS = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'


def open_sheet(rows: str) -> bytes:
    """An OpenDocument workbook."""
    names = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{short}:1.0"'
        for short in ("office", "table", "text")
    )
    content = (
        f"<office:document-content {names}><office:body><office:spreadsheet><table:table "
        f'table:name="s">{rows}</table:table></office:spreadsheet></office:body></office:document-content>'
    )
    kind = b"application/vnd.oasis.opendocument.spreadsheet"
    manifest = b'<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    return archive(
        [("mimetype", kind), ("content.xml", content.encode()), ("META-INF/manifest.xml", manifest)]
    )


def deck(tree: str) -> bytes:
    """Slides whose first has these shapes."""
    slide = f"<p:sld {_P} {_A} {_R}><p:cSld><p:spTree>{tree}</p:spTree></p:cSld></p:sld>"
    return made.repacked(made.slides(), {"ppt/slides/slide1.xml": slide.encode()})


def shape(inside: str) -> str:
    return f"<p:sp><p:nvSpPr><p:nvPr/></p:nvSpPr><p:txBody>{inside}</p:txBody></p:sp>"


def many_slides() -> bytes:
    with zipfile.ZipFile(io.BytesIO(made.slides())) as old:
        main = old.read("ppt/presentation.xml").decode()
    at = main.index("<p:sldId ")
    one = main[at : main.index("/>", at) + 2]
    return made.repacked(made.slides(), {"ppt/presentation.xml": main.replace(one, one * 100_000).encode()})


def pdf(*objects: bytes, count: int = 1, kids: bytes = b"3 0 R") -> bytes:
    """A PDF of a catalog (1), its pages (2) and these objects (3, 4, ...)."""
    first = (
        b"<< /Type /Catalog /Pages 2 0 R /Outlines 9 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (count, kids),
    )
    data, places = bytearray(b"%PDF-1.7\n"), []
    for number, each in enumerate((*first, *objects), 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    data += b"trailer << /Root 1 0 R /Size %d >>\nstartxref\n%d\n%%%%EOF" % (len(places) + 1, start)
    return bytes(data)


PAGE = (
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F "
    b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> /XObject << /X 5 0 R >> >> >>"
)


def stream(content: bytes, more: bytes = b"") -> bytes:
    packed = zlib.compress(content, 9)
    return b"<< /Length %d /Filter /FlateDecode %s >>\nstream\n%s\nendstream" % (len(packed), more, packed)


def repeated(piece: bytes, times: int, rounds: int = 1) -> bytes:
    """A stream of `times` pieces, packed `rounds` times: a small file of a large text."""
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(piece * 10_000) for _ in range(times // 10_000)) + packer.flush()
    for _ in range(rounds - 1):
        packed = zlib.compress(packed, 9)
    filters = b"/FlateDecode " * rounds
    return b"<< /Length %d /Filter [%s] >>\nstream\n%s\nendstream" % (len(packed), filters, packed)


def deep_pages(depth: int) -> bytes:
    levels = [
        b"<< /Type /Pages /Count 1 /Parent %d 0 R /Kids [%d 0 R] >>" % (number - 1, number + 1)
        for number in range(3, 3 + depth)
    ]
    return pdf(*levels, PAGE)


def outline() -> bytes:
    """A PDF whose outline contains itself."""
    mark = b"<< /Title (again) /Dest [3 0 R /Fit] /First 9 0 R /Next 9 0 R >>"
    return pdf(PAGE, stream(b"BT /F 12 Tf (words) Tj ET"), *[b"null"] * 4, mark)


def notebook(output: str) -> bytes:
    """A notebook with one cell and this output."""
    cell = f'{{"cell_type": "code", "source": "1", "outputs": [{output}]}}'
    return f'{{"nbformat": 4, "metadata": {{}}, "cells": [{cell}]}}'.encode()


def parts(depth: int) -> bytes:
    heads = [f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(depth)]
    return b"From: a@example.org\n" + "".join(heads).encode() + b"\nwords\n"


def flipped(data: bytes) -> bytes:
    dice, damaged = random.Random(14), bytearray(data)
    for _ in range(40):
        damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
    return bytes(damaged)


FILES: dict[str, Callable[[], bytes]] = {
    # workbooks
    "corners.xlsx": lambda: book(CORNERS),
    "rows.xlsx": lambda: book("<row><c><v>1</v></c></row>" * 1_000_000),
    "one-string-everywhere.xlsx": lambda: book(
        '<row><c t="s"><v>0</v></c></row>' * 100_000, strings=f"<si><t>{'owl ' * 8_000}</t></si>"
    ),
    "deep.xlsx": lambda: book(nested("<row>", "", "</row>", 1_000_000)),
    "laughs.xlsx": lambda: made.repacked(made.workbook(), {"xl/workbook.xml": LAUGHS + b"<x>&e11;</x>"}),
    "far-cell.xlsx": lambda: book('<row r="4294967295"><c r="ZZZZZZZ4294967295"><v>1</v></c></row>'),
    "repeated.ods": lambda: open_sheet(
        '<table:table-row table:number-rows-repeated="1048576"><table:table-cell '
        'table:number-columns-repeated="16384" office:value-type="string"><text:p>owl</text:p>'
        "</table:table-cell></table:table-row>"
    ),
    "flipped.xlsx": lambda: flipped(made.workbook(500)),
    # Word
    "paragraphs.docx": lambda: word("<w:p/>" * 1_500_000),
    "deep.docx": lambda: word(nested("<w:smartTag>", paragraph("owl"), "</w:smartTag>", 50_000)),
    "deep-tables.docx": lambda: word(
        nested("<w:tbl><w:tr><w:tc>", paragraph("owl"), "</w:tc></w:tr></w:tbl>", 50)
    ),
    "one-run.docx": lambda: word(paragraph("owl " * 50_000_000)),
    "flipped.docx": lambda: flipped(made.word()),
    # slides
    "many.pptx": many_slides,
    "paragraphs.pptx": lambda: deck(shape("<a:p><a:r><a:t>owl</a:t></a:r></a:p>" * 700_000)),
    "flipped.pptx": lambda: flipped(made.slides()),
    # PDF
    "words.pdf": lambda: pdf(PAGE, repeated(b"BT /F 12 Tf (owl) Tj ET\n", 20_000_000)),
    "numbers.pdf": lambda: pdf(PAGE, repeated(b"1 ", 300_000_000, rounds=2)),
    "deep-pages.pdf": lambda: deep_pages(100_000),
    "circle-of-pages.pdf": lambda: pdf(
        b"<< /Type /Pages /Count 1000000 /Parent 2 0 R /Kids [2 0 R] >>", count=1_000_000
    ),
    "form-in-itself.pdf": lambda: pdf(
        PAGE,
        stream(b"/X Do"),
        stream(
            b"/X Do /X Do",
            b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >>",
        ),
    ),
    "array-object.pdf": lambda: pdf(b"[" * 5_000_000),
    "outline-in-itself.pdf": outline,
    "flipped.pdf": lambda: flipped(made.pdf([["owl"] * 40] * 50)),
    # pages
    "nested.html": lambda: b"<div>" * 1_000_000 + b"owl" + b"</div>" * 1_000_000,
    "brackets.html": lambda: b"<" * 20_000_000,
    "colspan.html": lambda: b"<table><tr><th colspan=1000000000>owl</th></tr></table>",
    "cells.html": lambda: b"<table>" + b"<tr>" + b"<td>owl" * 1_000_000,
    # notebooks
    "output.ipynb": lambda: notebook(f'{{"text": "{"owl " * 10_000_000}"}}'),
    "deep.ipynb": lambda: notebook(nested("[", "", "]", 1_000_000)),
    # mail
    "nested.eml": lambda: parts(20_000),
    "parts.eml": lambda: (
        b"From: a\nContent-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nowl\n" * 500_000
    ),
    "headers.eml": lambda: b"From: a@example.org\n" + b"Received: owl\n" * 1_000_000 + b"\nowl\n",
    "punycode.eml": lambda: (
        b"From: a\nContent-Type: text/plain; charset=punycode\n\n" + b"owl-" * 1_000_000 + b"zzz" * 100_000
    ),
    # encodings
    "late-nul.txt": lambda: b"owl " * 1_000_000 + b"\x00",
    # text as it is
    "deep.json": lambda: b"[\n" * 4_000_000,
    "braces.js": lambda: b"{" * 4_000_000,
    "front.md": lambda: b"---\n" + b"a: b\n" * 1_900_000 + b"---\n",
}
