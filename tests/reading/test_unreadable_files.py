"""Unreadable files: one clear sentence for each, and never an exception of a library."""

from __future__ import annotations

import re
import zipfile
from io import BytesIO
from pathlib import Path

import files_made as made
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.errors import InputError
from scrubjay.reading import FileText, read, read_file

pytestmark = pytest.mark.long

WORD, SLIDES, BOOK = made.word(), made.slides(), made.workbook(20)
STYLES = b'<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"/>'  # tiny
SMALL_WORD = made.repacked(WORD, {"word/styles.xml": STYLES, "word/stylesWithEffects.xml": STYLES})
PDF = made.pdf([["A report", "1. Scope"], ["Results"]], headings=["1. Scope"])
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)
SENTENCE = re.compile(r"'[^\n]+' [^\n]+[^.]\.")


DRAWN = "<draw:page><draw:frame><text:p>owl</text:p></draw:frame></draw:page>"
ROW = "<table:table><table:table-row><table:table-cell><text:p>owl</text:p></table:table-cell></table:table-row></table:table>"
NEWER = {
    "a.odt": made.opendocument("text", "<text:p>owl</text:p>"),
    "a.ods": made.opendocument("spreadsheet", ROW),
    "a.odp": made.opendocument("presentation", DRAWN),
    "a.epub": made.book("<p>owl"),
}


def refusal(data: bytes, name: str, **limits: float) -> str:
    with pytest.raises(InputError) as caught:
        read(data, name, **limits)
    assert SENTENCE.fullmatch(str(caught.value))
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.txt", b"", "is empty"),
        ("a.pdf", b" \n", "is empty"),
        ("a.txt", b"\x00\x01\x02\x03" * 50, "is binary"),
        ("a.png", b"\x89PNG", "is an image"),
        ("a.mp3", b"ID3", "is a sound or a film"),
        ("a.zip", b"PK\x05\x06" + bytes(18), "is an archive"),
        ("a.doc", OLE + "WordDocument".encode("utf-16-le"), "is no DOC file, or damaged"),
        ("a.ppt", OLE, "is a PowerPoint file of 1997 to 2003; save it as .pptx"),
        ("a.pkl", b"\x80\x04\x95\x00\x00", "is data of a program"),
        ("a.odt", b"hello", "is no ODT file, or damaged"),
        ("a.epub", made.repacked(made.book("<p>x"), {"O/b.opf": b"<broken"}), "is damaged, or no epub file"),
        ("a.docx", OLE + "EncryptedPackage".encode("utf-16-le"), "is protected by a password"),
        ("a.docx", b"hello", "is no DOCX file, or damaged"),
        ("a.docx", WORD[: len(WORD) // 2], "is a damaged archive"),
        ("a.docx", made.repacked(WORD, {"word/document.xml": b"<broken"}), "is damaged, or no docx file"),
        ("a.docx", made.saved(made.docx.Document()), "has no text in it"),
        ("a.pptx", made.repacked(SLIDES, {"ppt/slides/slide1.xml": b"\x00"}), "is damaged, or no pptx file"),
        ("a.xlsx", made.repacked(BOOK, {"xl/workbook.xml": b"<broken"}), "is not a workbook, or is damaged"),
        ("a.xls", OLE + "Workbook".encode("utf-16-le"), "is no XLSX file, or damaged"),
        ("a.pdf", b"%PDF-1.7 and then nothing", "is not a PDF, or is damaged"),
        ("a.pdf", made.pdf([["secret"]], password="owl"), "is protected by a password"),
        ("a.pdf", made.pdf([[], []]), "has no text, only images"),
        ("a.ipynb", b'{"cells": 3}', "is not a Jupyter notebook"),
        ("a.ipynb", b"[" * 100_000, "is not a Jupyter notebook"),
        ("a.eml", b"just words", "is not an e-mail message"),
        ("a.html", b"<script>alert(1)</script>", "has no text in it"),
    ],
)
def test_each_unreadable_file_has_its_reason(name: str, data: bytes, said: str) -> None:
    assert f"{name!r} {said}" in refusal(data, name)


def test_a_file_or_text_that_is_too_long_is_refused() -> None:
    assert "is larger than 1 MB" in refusal(b"x" * (1024 * 1024 + 1), "a.txt", max_file=1024 * 1024)
    for data, name in (
        (b"word " * 50, "a.txt"),
        (WORD, "a.docx"),
        (SLIDES, "a.pptx"),
        (made.workbook(50), "a.xlsx"),
        (PDF, "a.pdf"),
    ):
        assert "has more than 20 characters of text" in refusal(data, name, max_text=20)


@pytest.mark.long
def test_an_archive_that_unpacks_to_too_much_is_not_unpacked() -> None:
    large = {f"media/{n}.bin": bytes(50 * 1024 * 1024) for n in range(6)}
    for name, whole in {"a.xlsx": BOOK, **NEWER}.items():
        bomb = made.repacked(whole, large)
        assert len(bomb) < 1024 * 1024
        assert "is larger than 256 MB when it is unpacked" in refusal(bomb, name)


def test_an_archive_that_lies_about_its_size_is_damaged() -> None:
    data = bytearray(made.repacked(BOOK, {"xl/media/1.bin": bytes(5_000_000)}))
    with zipfile.ZipFile(BytesIO(bytes(data))) as archive:
        size = archive.getinfo("xl/media/1.bin").file_size.to_bytes(4, "little")
    while (at := data.find(size)) >= 0:
        data[at : at + 4] = (10).to_bytes(4, "little")
    assert "is a damaged archive" in refusal(bytes(data), "a.xlsx")


@pytest.mark.long
def test_exponentially_growing_entities_count_as_damage() -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "ha" * 20}">' for n in range(12))
    bomb = f"<?xml version='1.0'?><!DOCTYPE x [{entities}]><x>&e11;</x>".encode()
    for data, name, part in (
        (WORD, "a.docx", "word/document.xml"),
        (SLIDES, "a.pptx", "ppt/slides/slide1.xml"),
        (BOOK, "a.xlsx", "xl/workbook.xml"),
        *((whole, name, "content.xml") for name, whole in NEWER.items() if name != "a.epub"),
        (NEWER["a.epub"], "a.epub", "O/b.opf"),
    ):
        refusal(made.repacked(data, {part: bomb}), name)
    assert "hahaha" not in str(read(made.repacked(WORD, {"docProps/core.xml": bomb}), "a.docx"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("{" * 20_000_000, "needs more than 512 MB of memory"),
        (r"{\field{\*\fldinst{ HYPERLINK " * 200_000, "takes longer than 2 s"),
    ],
)
def test_rich_text_without_end_meets_a_limit(part: str, said: str) -> None:
    seconds = 2.0 if "longer" in said else 60.0
    assert said in refusal(rf"{{\rtf1 owl {part}".encode(), "a.rtf", seconds=seconds)


@pytest.mark.parametrize("digits", [14, 2_000_000])
def test_rich_text_with_a_length_beyond_its_end_is_read(digits: int) -> None:
    assert read(rb"{\rtf1 owl {\pict\bin" + b"9" * digits + b" x}", "a.rtf").text == "owl"


@pytest.mark.parametrize("name", ["deploy.doc", "plan.msg"])
def test_an_older_file_whose_sectors_follow_themselves_is_damaged(name: str) -> None:
    data = bytearray(made.old(name))
    table = int.from_bytes(data[0x4C:0x50], "little")
    for sector in range(128):
        at = 512 * (table + 1) + 4 * sector
        data[at : at + 4] = sector.to_bytes(4, "little")
    assert "damaged" in refusal(bytes(data), name)


def test_words_in_very_deeply_nested_tags_are_read() -> None:
    assert read(b"<p>first</p>" + b"<div>" * 5_000 + b"words" + b"</div>" * 5_000, "a.html").text.startswith(
        "first"
    )


def test_a_path_that_cannot_be_opened_has_its_reason(tmp_path: Path) -> None:
    for path, said in ((tmp_path / "none.txt", "No such file"), (tmp_path, "it is not a regular file")):
        with pytest.raises(InputError, match=said):
            read_file(str(path))
    with pytest.raises(InputError, match="is not a path"):
        read_file("a\x00b")


def test_a_file_on_an_unresponsive_disk_times_out(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("owl " * 2_000_000)
    with pytest.raises(InputError, match=r"takes longer than 0\.001 s to read"):
        read_file(str(tmp_path / "a.txt"), seconds=0.001)


def damage(data: st.DataObject, whole: bytes) -> bytes:
    """Replace up to 60 bytes in up to eight places."""
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(0, 8))):
        at = data.draw(st.integers(0, len(damaged)))
        damaged[at : at + data.draw(st.integers(0, 60))] = data.draw(st.binary(max_size=40))
    return bytes(damaged)


def check_text_or_sentence(data: bytes, name: str) -> None:
    try:
        found = read(data, name)
    except InputError as refused:
        assert SENTENCE.fullmatch(str(refused))
    else:
        assert isinstance(found, FileText) and found.text.strip() and "\x00" not in found.text
        found.text.encode()


WHOLE = {
    "a.pdf": PDF,
    "a.docx": SMALL_WORD,
    "a.pptx": SLIDES,
    "a.xlsx": BOOK,
    "a.ipynb": made.notebook(),
    "a.eml": made.mail(),
    "a.html": b"<p>a<table><td>b",
    "a.doc": made.old("deploy.doc"),
    "a.msg": made.old("plan.msg"),
    "a.odt": NEWER["a.odt"],
    "a.epub": NEWER["a.epub"],
    "a.rtf": rb"{\rtf1 owl\par b}",
    **dict.fromkeys(("a.xls", "a.csv", "a.json", "a.md", "a"), b"# text\n\na,b\n"),
}


@pytest.mark.parametrize("name", WHOLE)
@settings(max_examples=30)
@given(data=st.data())
def test_a_damaged_file_gives_text_or_one_sentence(name: str, data: st.DataObject) -> None:
    check_text_or_sentence(damage(data, WHOLE[name]), name)


@pytest.mark.parametrize(
    "part",
    (
        "word/document.xml ppt/slides/slide1.xml ppt/presentation.xml xl/worksheets/sheet1.xml "
        "xl/sharedStrings.xml docProps/core.xml"
    ).split(),
)
@settings(max_examples=30)
@given(data=st.data())
def test_damage_inside_an_archive_is_detected_too(part: str, data: st.DataObject) -> None:
    """The archive is sound, so that the damage reaches the converter."""
    whole = {"w": SMALL_WORD, "p": SLIDES, "x": BOOK, "d": BOOK}[part[0]]
    with zipfile.ZipFile(BytesIO(whole)) as archive:
        damaged = damage(data, archive.read(part))
    check_text_or_sentence(made.repacked(whole, {part: damaged}), "a")
