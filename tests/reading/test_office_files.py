"""Reading office files and PDFs: values, numbers and labels as people see them."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import files_made as made
import olefile
import pytest
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from test_reading import run, with_part

from scrubjay.errors import InputError
from scrubjay.reading import read


def rows_of(*rows: Sequence[object], formats: Sequence[str] = ()) -> str:
    """The text of a workbook with these rows; the numbers of the second column have these formats."""
    file = io.BytesIO()
    book = made.xlsxwriter.Workbook(file)
    sheet = book.add_worksheet("S")
    for at, row in enumerate(rows):
        sheet.write_row(at, 0, row)
    for at, code in enumerate(formats):
        sheet.write_number(at, 1, rows[at][1], book.add_format({"num_format": code}))
    book.close()
    return read(file.getvalue(), "a.xlsx").text.removeprefix("# S\n\n")


@pytest.mark.parametrize(
    ("number", "code", "shown"),
    [
        (0.25, "0.0%", "25%"),
        (-0.034, "0.0%;[Red]-0.0%", "-3.4%"),
        (50, '0"%"', "50%"),
        (1234.5, "#,##0.00 €", "1234.5 €"),
        (-1234.5, '_($* #,##0.00_);_($* (#,##0.00);_($* "-"??_);_(@_)', "-$1234.5"),
        (99, "[$CHF-807] #,##0", "CHF 99"),
        (1234, "00000", "01234"),
        (1_500_000, '0.0,,"M"', "1500000"),
        (5551234, "(000) 0000", "5551234"),
        (45000, 'yyyy"."mm', "2023-03-15"),
    ],
)
def test_a_number_keeps_the_percent_sign_the_currency_the_unit_and_the_zeros_of_its_format(
    number: float, code: str, shown: str
) -> None:
    assert f"| x | {shown} |" in rows_of(("x", number), formats=[code])


def test_titles_and_a_second_table_of_a_sheet_are_apart_from_the_first_table() -> None:
    second = [("Ports",), ("Host", "Port", "Stage"), ("lark", 8443, "test")]
    rows = [("Budget",), (), ("Team", "Sum"), ("tern", 5), (), ("owl", 6), (), *second]
    assert rows_of(*rows).replace(" | |", " |") == (
        "Budget\n\n| Team | Sum |\n|---|---|---|\n| tern | 5 |\n| owl | 6 |\n\nPorts\n\n"
        "| Host | Port | Stage |\n|---|---|---|\n| lark | 8443 | test |"
    )


def test_pairs_and_groups_of_a_sheet_stay_one_table() -> None:
    assert rows_of(("Host", "lark"), ("Port", 80), (), ("Owner", "Ann"), (), ("all",)).count("|---|") == 1
    assert rows_of(("red",), ("green",), (), ("blue",)) == "| red |\n|---|\n| green |\n| blue |"


def test_a_thread_of_comments_replaces_the_note_for_old_programs() -> None:
    file = io.BytesIO()
    book = made.xlsxwriter.Workbook(file)
    sheet = book.add_worksheet("S")
    sheet.write(0, 0, "tern")
    sheet.write_comment(0, 0, "[Threaded comment] Your version of Excel allows you to read this")
    book.close()
    words = "".join(f'<threadedComment ref="A1"><text>{text}</text></threadedComment>' for text in ("a", "b"))
    thread = f'<ThreadedComments xmlns="t">{words}</ThreadedComments>'
    owner = "xl/worksheets/sheet1.xml"
    data = with_part(file.getvalue(), owner, "threadedComment", "xl/threadedComments/t.xml", thread)
    assert "| tern (comment: a b) |" in read(data, "a.xlsx").text


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"name\tport\nlark\t80\n", "tsv"),
        (b"name;port\nlark;80\n", "csv"),
        (b"<table><tr><td>name<td>port<tr><td>lark<td>80</table>", "html"),
        (b"<style>p {}</style><table><tr><td>name<td>port<tr><td>lark<td>80</table>", "html"),
    ],
)
def test_text_that_a_program_named_as_a_workbook_is_read(data: bytes, kind: str) -> None:
    found = read(data, "export.xls")
    assert found.kind == kind and "lark" in found.text and "<" not in found.text


def test_shares_in_a_chart_are_read_as_displayed() -> None:
    deck = made.pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    chart = CategoryChartData(number_format="0%")
    chart.categories = ["May", "June"]
    chart.add_series("Share", (0.25, 0.75))
    slide.shapes.add_chart(XL_CHART_TYPE.LINE, 0, 0, 9, 9, chart)
    assert "| May | 25% |\n| June | 75% |" in read(made.saved(deck), "a.pptx").text


def test_addresses_of_links_and_descriptions_of_pictures_on_slides_are_read() -> None:
    deck = made.pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    words = slide.shapes.add_textbox(0, 0, 9, 9).text_frame.paragraphs[0].add_run()
    words.text = "the portal"
    words.hyperlink.address = "https://example.org/x?a=1"
    pixel = io.BytesIO(
        bytes.fromhex("47494638396101000100800000000000ffffff2c00000000010001000002024401003b")
    )
    picture = slide.shapes.add_picture(pixel, 0, 0)
    picture._element.nvPicPr.cNvPr.set("descr", "The gateway calls the ledger")
    text = read(made.saved(deck), "a.pptx").text
    assert text.endswith("[the portal](https://example.org/x?a=1)\n\nThe gateway calls the ledger")


def numbered(*paragraphs: tuple[str, str]) -> str:
    """The text of a Word document whose paragraphs have these properties and words."""
    levels = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for at, (kind, text) in enumerate(
            [("decimal", "%1."), ("decimal", "%1.%2"), ("lowerLetter", "(%3)"), ("bullet", "o")]
        )
    )
    document = made.docx.Document()
    parse, space = made.docx.oxml.parse_xml, made._W
    root = document.part.numbering_part.element
    root.insert(0, parse(f'<w:abstractNum {space} w:abstractNumId="77">{levels}</w:abstractNum>'))
    start = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    for number, override in (("77", ""), ("78", ""), ("79", start)):
        root.append(
            parse(f'<w:num {space} w:numId="{number}"><w:abstractNumId w:val="77"/>{override}</w:num>')
        )
    base = document.styles["Heading 2"]
    style = document.styles.add_style("House Section", 1)
    style.base_style = base
    for properties, words in paragraphs:
        xml = f"<w:p {space}><w:pPr>{properties}</w:pPr>{run(words)}</w:p>"
        document.element.body.insert(len(document.element.body) - 1, parse(xml))
    return read(made.saved(document), "a.docx").text


def item(level: int, number: int = 77) -> str:
    return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'


def test_list_items_of_a_word_document_keep_their_numbers() -> None:
    text = numbered(
        (item(0), "Terms"),
        (item(1), "Owl means lark."),
        (item(2), "or tern"),
        (item(3), "a point"),
        ("", "Between."),
        (item(0, 78), "Liability"),
        (item(1, 78), "40,000 EUR"),
        (item(0, 79), "Another list"),
    )
    lines = [line.strip() for line in text.split("\n") if line]
    assert lines == [
        "1. Terms",
        "1.1 Owl means lark.",
        "(a) or tern",
        "- a point",
        "Between.",
        "2. Liability",
        "2.1 40,000 EUR",
        "1. Another list",
    ]


def test_a_style_that_is_based_on_a_heading_makes_headings() -> None:
    assert numbered(('<w:pStyle w:val="HouseSection"/>', "Ports")) == "## Ports"


def test_a_chosen_entry_and_a_tab_of_a_word_document_are_read() -> None:
    entries = '<w:result w:val="1"/><w:listEntry w:val="gold"/><w:listEntry w:val="silver"/>'
    begin = (
        f'<w:fldChar w:fldCharType="begin"><w:ffData><w:ddList>{entries}</w:ddList></w:ffData></w:fldChar>'
    )
    code = "<w:r><w:instrText> FORMDROPDOWN </w:instrText></w:r>"
    field = f'<w:r>{begin}</w:r>{code}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    text = read(made.word_of(run("Tier: ") + field + "<w:r><w:ptab/></w:r>" + run("Port 80")), "a.docx").text
    assert text.split() == ["Tier:", "silver", "Port", "80"]


def letters(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


@pytest.mark.parametrize(
    ("xml", "text"),
    [
        (f"<m:eqArr><m:e>{letters('x=1')}</m:e><m:e>{letters('0')}</m:e></m:eqArr>", "x=1; 0"),
        (f"<m:limLow><m:e>{letters('lim')}</m:e><m:lim>{letters('n→0')}</m:lim></m:limLow>", "lim_(n→0)"),
        (f"<m:func><m:fName>{letters('log')}</m:fName><m:e>{letters('n')}</m:e></m:func>", "log n"),
        (f"<m:acc><m:accPr/><m:e>{letters('y')}</m:e></m:acc>", "y\u0302"),
        (f"<m:sPre><m:sub>{letters('6')}</m:sub><m:sup>{letters('14')}</m:sup><m:e>{letters('C')}</m:e></m:sPre>", "^14_6 C"),
        ('<m:f><m:fPr><m:type m:val="noBar"/></m:fPr>' f"<m:num>{letters('n')}</m:num><m:den>{letters('k')}</m:den></m:f>", "binom(n, k)"),
    ],
)  # fmt: skip
def test_parts_of_a_formula_stay_apart(xml: str, text: str) -> None:
    assert read(made.word_of(f"<m:oMath>{xml}</m:oMath>"), "a.docx").text == text


def test_a_word_document_of_the_browser_is_read() -> None:
    data = made.word()
    names = ("word/document.xml", "word/_rels/document.xml.rels")
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file := io.BytesIO(), "w") as new:
        for name in old.namelist():
            part = old.read(name)
            if name.startswith(("_rels", "[Content")):
                part = part.replace(b"word/document.xml", b"word/document2.xml")
            new.writestr(name.replace("document", "document2") if name in names else name, part)
    assert read(file.getvalue(), "a.docx").text == read(data, "a.docx").text


def test_cells_boxes_and_comments_of_rich_text_are_whole() -> None:
    rich = (
        rb"{\rtf1 Rate{\super\chftn} {\*\annotation{\*\atnref 1}Ask Ann}\par"
        rb"\trowd\cellx1\cellx2\pard\intbl A\cell B\cell\row"
        rb"\trowd\cellx1\cellx2\pard\intbl a\cell b\cell{\trowd\cellx1\cellx2\row}\pard after\par"
        rb"{\shp{\*\shpinst\shpleft1{\sp{\sn shapeType}{\sv 202}}{\shptxt Drawn here\par}}{\shprslt{\do old}}}}"
    )
    text = read(rich, "a.rtf").text
    assert [" ".join(line.split()) for line in text.split("\n") if line] == [
        "Rate Ask Ann",
        "| A | B |",
        "|---|---|",
        "| a | b |",
        "after",
        "Drawn here",
    ]


def test_words_of_opendocument_notes_stay_apart() -> None:
    body = (
        "<text:p>Owls<text:note><text:note-body><text:p>one<text:tab/>two<text:line-break/>three</text:p>"
        "<text:p>four</text:p></text:note-body></text:note></text:p>"
    )
    assert read(made.opendocument("text", body), "a.odt").text == "Owls (one two three four)"


def test_the_reading_of_characters_in_an_opendocument_text_is_in_brackets() -> None:
    body = "<text:p><text:ruby><text:ruby-base>漢</text:ruby-base><text:ruby-text>かん</text:ruby-text></text:ruby></text:p>"
    assert read(made.opendocument("text", body), "a.odt").text == "漢(かん)"


def test_charts_of_opendocument_slides_are_read() -> None:
    row = "<t:table-row>{}</t:table-row>"
    cells = ("<t:table-cell><x:p>{}</x:p></t:table-cell><t:table-cell><x:p>{}</x:p></t:table-cell>").format
    table = row.format(cells("Month", "Owls")) + row.format(cells("May", "7"))
    chart = (
        '<o:document-content xmlns:o="o" xmlns:c="c" xmlns:t="t" xmlns:x="x"><o:body><o:chart><c:chart>'
        f"<c:title><x:p>Birds</x:p></c:title><t:table>{table}</t:table></c:chart></o:chart></o:body></o:document-content>"
    )
    frame = '<draw:page><draw:frame><draw:object href="./Object 1"/></draw:frame></draw:page>'
    data = made.repacked(made.opendocument("presentation", frame), {"Object 1/content.xml": chart.encode()})
    assert read(data, "a.odp").text.endswith("Birds\n\n| Month | Owls |\n| --- | --- |\n| May | 7 |")


def test_an_old_document_is_read_without_deleted_words_and_with_separate_tables() -> None:
    assert read(made.old("tracked.doc"), "tracked.doc").text == (
        "Port 9090, 10-9 m, the 1st owl\n\n| Host | Port |\n|---|---|\n| lark | one two |\n\nBetween tables\n\n"
        "| Team | Size |\n|---|---|\n| tern | 5 |\n\nAfter."
    )


def test_words_around_the_end_of_a_page_of_a_word_document_stay_apart() -> None:
    document = made.docx.Document()
    document.add_paragraph().add_run("before").add_break(made.docx.enum.text.WD_BREAK.PAGE)
    document.paragraphs[-1].add_run("after")
    assert read(made.saved(document), "a.docx").text.split() == ["before", "after"]


def test_an_opendocument_file_with_a_password_is_refused_as_protected() -> None:
    manifest = b'<m:manifest xmlns:m="m"><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>'
    data = made.repacked(
        made.opendocument("text", ""), {"META-INF/manifest.xml": manifest, "content.xml": b"\x93\x00\x17"}
    )
    with pytest.raises(InputError, match=r"'a\.odt' is protected by a password; save it without one\."):
        read(data, "a.odt")


def test_addresses_of_links_in_cells_are_read() -> None:
    file = io.BytesIO()
    book = made.xlsxwriter.Workbook(file)
    sheet = book.add_worksheet("S")
    sheet.write(0, 0, "ticket")
    sheet.write_url(0, 1, "https://tickets.example/FAL-12", string="FAL-12")
    sheet.write_row(1, 0, ["plain", "x"])
    sheet.write_url(2, 0, "https://docs.example/a")
    book.close()
    text = read(file.getvalue(), "a.xlsx").text
    assert "| ticket | [FAL-12](https://tickets.example/FAL-12) |" in text
    assert "| plain | x |" in text and "| https://docs.example/a |" in text


def test_names_that_a_program_writes_for_an_unknown_author_are_no_metadata() -> None:
    data = made.pdf([["text"]], author="anonymous")
    assert b"(anonymous)" in data and b"(unspecified)" in data
    assert not {"author", "subject"} & read(data, "a.pdf").metadata.keys()


def test_an_outlook_message_without_headers_has_the_time_when_it_was_sent() -> None:
    data = bytearray(made.old("plan.msg"))
    with olefile.OleFileIO(io.BytesIO(data)) as file:
        number = file._find("__properties_version1.0")
        entry = (file.first_dir_sector + 1) * 512 + number * 128
        table = (file.root.isectStart + 1) * 512 + file.direntries[number].isectStart * 64
    assert bytes(data[entry + 120 : entry + 124]) == struct.pack("<I", 32)
    sent = (datetime(2026, 3, 1, 8, 30, tzinfo=UTC) - datetime(1601, 1, 1, tzinfo=UTC)) // timedelta(
        microseconds=1
    )
    data[entry + 120 : entry + 124] = struct.pack("<I", 48)
    data[table + 32 : table + 48] = struct.pack("<IIQ", 0x00390040, 6, sent * 10)
    found = read(bytes(data), "plan.msg")
    assert found.metadata["date"] == "2026-03-01"
    assert "Date: Sun, 01 Mar 2026 08:30:00 +0000" in found.text
