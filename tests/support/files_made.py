"""Files of every kind, written by the libraries that people's programs write them with."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path

import docx
import pptx
import xlsxwriter
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas


def pdf(
    pages: Sequence[Sequence[str]],
    *,
    title: str = "",
    author: str = "",
    headings: Sequence[str] = (),
    password: str = "",
) -> bytes:
    """A PDF with these lines on each page; lines among `headings` get a bookmark."""
    made = io.BytesIO()
    canvas = Canvas(made, encrypt=StandardEncryption(password, "owner") if password else None, invariant=1)
    canvas.setTitle(title)
    canvas.setAuthor(author)
    for page in pages:
        for at, line in enumerate(page):
            canvas.drawString(72, 760 - 14 * at, line)
            if line in headings:
                canvas.bookmarkPage(line)
                canvas.addOutlineEntry(line, line, level=0)
        canvas.showPage()
    canvas.save()
    return made.getvalue()


def word() -> bytes:
    document = docx.Document()
    document.core_properties.title = "Deploying"
    document.core_properties.author = "Ann Lee"
    document.core_properties.modified = datetime(2026, 3, 1)
    document.add_heading("The first step", 1)
    document.add_paragraph("Run the zebra migration.")
    document.add_paragraph("one", style="List Bullet")
    document.add_paragraph("two", style="List Bullet")
    table = document.add_table(2, 2)
    for at, text in enumerate(["host", "port", "a|b", "8080"]):
        table.cell(at // 2, at % 2).text = text
    document.add_heading("Below it", 2)
    document.add_paragraph("It calls user_profile_id * 2 and costs 5 €.")
    return saved(document)


def drawn(draw: Callable[[Canvas], None]) -> bytes:
    """A PDF with the drawing of `draw`."""
    made = io.BytesIO()
    canvas = Canvas(made, invariant=1)
    draw(canvas)
    canvas.save()
    return made.getvalue()


_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
_DRAWN = (
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
)


def word_of(*paragraphs: str, numbered: bool = False) -> bytes:
    """A Word document with paragraphs of this XML; its headings are numbered on request."""
    document = docx.Document()
    for xml in paragraphs:
        element = docx.oxml.parse_xml(f"<w:p {_W} {_M} {_DRAWN}>{xml}</w:p>")
        document.element.body.insert(len(document.element.body) - 1, element)
    if numbered:
        levels = "".join(
            f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="{text}"/></w:lvl>'
            for at, text in enumerate(["%1", "%1.%2"])
        )
        root = document.part.numbering_part.element
        root.insert(
            0, docx.oxml.parse_xml(f'<w:abstractNum {_W} w:abstractNumId="99">{levels}</w:abstractNum>')
        )
        root.append(docx.oxml.parse_xml(f'<w:num {_W} w:numId="99"><w:abstractNumId w:val="99"/></w:num>'))
    return saved(document)


def slides() -> bytes:
    deck = pptx.Presentation()
    deck.core_properties.title = "Roadmap"
    first = deck.slides.add_slide(deck.slide_layouts[1])
    first.shapes.title.text = "Where we are"
    body = first.placeholders[1].text_frame
    body.text = "Shipped"
    below = body.add_paragraph()
    below.text, below.level = "in March", 1
    first.notes_slide.notes_text_frame.text = "Say why March."
    second = deck.slides.add_slide(deck.slide_layouts[6])
    table = second.shapes.add_table(2, 2, 0, 0, 5_000_000, 1_000_000).table
    for at, text in enumerate(["team", "size", "atlas", "4"]):
        table.cell(at // 2, at % 2).text = text
    group = second.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, 1_000_000, 1_000_000).text_frame.text = "Grouped words"
    return saved(deck)


def workbook(rows: int = 1) -> bytes:
    made = io.BytesIO()
    book = xlsxwriter.Workbook(made)
    book.set_properties({"title": "Ports", "author": "Ann Lee"})
    sheet = book.add_worksheet("Services")
    sheet.write_row(1, 1, ["name", "port", "since", "up"])
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    for at in range(rows):
        sheet.write_row(2 + at, 1, [f"atlas {at}", 8080.0 + at])
        sheet.write_datetime(2 + at, 3, datetime(2026, 3, 1), day)
        sheet.write_boolean(2 + at, 4, True)
    book.add_worksheet("Empty")
    book.add_worksheet("Costs").write_row(0, 0, ["month", 1.5])
    book.close()
    return made.getvalue()


def mail(*, html: bool = False) -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = (
        "Ann Lee <ann@example.org>",
        "bob@example.org",
        "Über the deploy",
    )
    message["Date"] = "Sun, 01 Mar 2026 09:30:00 +0100"
    message.set_content(
        "<h2>Plan</h2><p>Roll <b>back</b> €</p>" if html else "Roll back first. €\n",
        subtype="html" if html else "plain",
    )
    message.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="plan.pdf")
    return bytes(message)


def notebook() -> bytes:
    return (Path(__file__).parent / "notebook.ipynb").read_bytes()


def old(name: str) -> bytes:
    """A file of a format that no library here writes; LibreOffice and extract-msg made them."""
    with zipfile.ZipFile(Path(__file__).parent / "old_files.zip") as archive:
        return archive.read(name)


_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
_ODF_SPACES = " ".join(
    f'xmlns:{name}="{_ODF}{name}:1.0"' for name in "office text table draw presentation style fo".split()
)


def opendocument(kind: str, body: str, styles: str = "") -> bytes:
    """A text, spreadsheet or presentation with this body; its namespaces are office, text, table, draw, ..."""
    spaces = _ODF_SPACES.replace(":fo:1.0", ":xsl-fo-compatible:1.0")
    content = (
        f"<office:document-content {spaces}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        archive.writestr("content.xml", content)
    return made.getvalue()


def book(*pages: str, title: str = "") -> bytes:
    """An EPUB with these pages, whose spine has them in order."""
    items = "".join(f'<item id="p{at}" href="text/p%20{at}.xhtml"/>' for at in range(len(pages)))
    order = "".join(f'<itemref idref="p{at}"/>' for at in range(len(pages)))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container><rootfiles><rootfile full-path="O/b.opf"/></rootfiles></container>',
        )
        archive.writestr(
            "O/b.opf",
            f'<package xmlns:dc="d"><metadata><dc:title>{title}</dc:title></metadata>'
            f"<manifest>{items}</manifest><spine>{order}</spine></package>",
        )
        for at, page in reversed(list(enumerate(pages))):
            archive.writestr(f"O/text/p {at}.xhtml", f"<html><body>{page}</body></html>")
    return made.getvalue()


def saved(document: object) -> bytes:
    made = io.BytesIO()
    document.save(made)  # type: ignore[attr-defined]
    return made.getvalue()


def repacked(data: bytes, changed: dict[str, bytes]) -> bytes:
    """An archive with these members in place of its own."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name in [*old.namelist(), *(name for name in changed if name not in old.namelist())]:
            new.writestr(name, changed.get(name, old.read(name) if name in old.namelist() else b""))
    return made.getvalue()
