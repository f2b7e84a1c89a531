"""Encodings: byte order marks, UTF-8, declared encodings, and good guesses; binary files are recognised."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.reading import read
from scrubjay.reading.encodings import decode
from scrubjay.reading.result import Unreadable

GERMAN = "Die Größe der Datei wird überprüft, und das kostet 5 €."
RUSSIAN = "Сервер не отвечает на запросы, проверьте журнал ошибок и перезапустите службу."
UKRAINIAN = "Сервер бази даних перезапускається вночі. Її журнали зберігаються сто днів."
JAPANESE = "サーバーが応答しません。ログを確認してから再起動してください。"
CHINESE = "服务器没有响应。请检查日志。然后重新启动服务。"


@given(st.text().filter(lambda text: "\x00" not in text and not text.startswith("\ufeff")))
def test_utf8_survives_a_round_trip(text: str) -> None:
    assert decode(text.encode()) == (text, "utf-8")


@pytest.mark.parametrize(
    ("mark", "encoding", "name"),
    [
        (codecs.BOM_UTF8, "utf-8", "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16"),
        (codecs.BOM_UTF32_LE, "utf-32-le", "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32-be", "utf-32"),
    ],
)
def test_a_byte_order_mark_names_the_encoding_and_is_removed(mark: bytes, encoding: str, name: str) -> None:
    assert decode(mark + GERMAN.encode(encoding)) == (GERMAN, name)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "utf-16-le"),  # without a mark
        (GERMAN, "utf-16-be"),
        (GERMAN, "cp1252"),
        ("café", "cp1252"),
        ("It\u2019s a \u201cnaïve\u201d price \u2013 5 €", "cp1252"),
        ("Der Schlüssel für die Tür liegt im Büro.", "cp850"),
        ("Le café est fermé à Noël, ça va être drôle.", "mac-roman"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy.", "cp1250"),
        ("השרת יועבר ביולי. האחראי הוא כהן.", "cp1255"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (RUSSIAN, "cp866"),
        (UKRAINIAN, "koi8-u"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        (CHINESE, "gb18030"),
        ("担当は田中です。", "iso2022_jp"),
    ],
)
@pytest.mark.parametrize("times", [1, 50])
def test_common_encodings_are_guessed(text: str, encoding: str, times: int) -> None:
    assert decode((f"{text}\n" * times).encode(encoding))[0] == f"{text}\n" * times


def test_an_ambiguous_encoding_is_not_guessed() -> None:
    with pytest.raises(Unreadable, match="unknown encoding"):
        decode(b"size 5\xd0")
    assert decode(b"a long line of words\nsize 5\xd0") == ("a long line of words\nsize 5\ufffd", None)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Größe über ".encode() + b"\xff Ende", "Größe über \ufffd Ende"),
        ("Größe €".encode()[:-1], "Größe \ufffd"),
        (
            "Übersicht geprüft\n".encode() * 3 + "Rückgabe".encode("cp1252"),
            "Übersicht geprüft\n" * 3 + "Rückgabe",
        ),
        ("Rückgabe für Köln\n".encode("cp1252") * 9 + "Größe".encode(), "Rückgabe für Köln\n" * 9 + "Größe"),
        (CHINESE.encode() * 5 + b"\xff" + CHINESE.encode(), CHINESE * 5 + "\ufffd" + CHINESE),
        (b"begin\n" + bytes(4096) + "Größe\n".encode(), "begin\n Größe\n"),
        ("Rückgabe für Köln\n".encode("cp1252") * 9 + bytes(512), "Rückgabe für Köln\n" * 9 + " "),
    ],
)
def test_bad_bytes_lines_and_gaps_leave_the_rest_unchanged(data: bytes, text: str) -> None:
    assert decode(data)[0] == text


def test_a_declared_encoding_is_used_when_it_fits() -> None:
    page = '<meta charset="iso-8859-2"><p>Žluťoučký kůň</p>'
    assert decode(page.encode("iso-8859-2")) == (page, "iso8859-2")
    source = "# -*- coding: latin-1 -*-\nname = 'é'\n"
    assert decode(source.encode("latin-1")) == (source, "iso8859-1")
    assert decode("<meta charset=nonsense>é".encode("cp1252"))[0] == "<meta charset=nonsense>é"
    assert decode("<?xml encoding='utf-16'?>é ".encode("cp1252"))[0] == "<?xml encoding='utf-16'?>é "


@pytest.mark.parametrize(
    ("declared", "encoding", "text"),
    [
        ("iso-8859-1", "cp1252", "\u201cIt\u2019s 5 €\u201d \u2013 she said…"),
        ("us-ascii", "cp1252", "it\u2019s"),
        ("gb2312", "gb18030", "朱镕基"),
        ("shift_jis", "cp932", "①㈱"),
        ("ks_c_5601-1987", "cp949", "똠방각하"),
    ],
)
def test_a_declared_encoding_stands_for_the_larger_one_that_is_meant(
    declared: str, encoding: str, text: str
) -> None:
    page = f"<meta charset={declared}><p>{text}</p>"
    assert decode(page.encode(encoding)) == (page, encoding)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_marked_text_that_is_cut_or_has_one_bad_character_is_read(encoding: str) -> None:
    data = (GERMAN * 9).encode(encoding)
    assert decode(data[:-1])[0].startswith(GERMAN * 8)
    assert decode(data + "\ud800 owl".encode(encoding[:6] + "-le", "surrogatepass"))[0].endswith("\ufffd owl")


def test_greek_is_read_although_its_encodings_differ_in_a_letter() -> None:
    greek = "\u039f διακομιστής επανεκκινείται κάθε βράδυ. Άλλα αρχεία διατηρούνται. Άρα όλα είναι καλά.\n"
    for encoding in ("cp1253", "iso8859-7"):
        assert decode(greek.encode(encoding) * 9) == (greek * 9, encoding)


def test_line_ends_of_old_macs_are_line_ends() -> None:
    assert read(b"# Owls\rone\rtwo", "a.md").text == "# Owls\none\ntwo"
    assert read(b"10%\r20%\ndone\n", "a.log").text == "10%\r20%\ndone\n"


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 8,
        b"\x7fELF" + b"\x00\x01" * 90,
        b"\xff\xfe\x00\xd8",
        b"\x89PNG\r\n\x1a\n" + b"\x00" * 40,
    ],
)
def test_a_binary_file_is_not_text(data: bytes) -> None:
    with pytest.raises(Unreadable, match=r"binary|damaged"):
        decode(data)


@given(st.binary(max_size=400))
def test_any_bytes_are_text_or_unreadable(data: bytes) -> None:
    try:
        text, encoding = decode(data)
    except Unreadable:
        return
    assert "\x00" not in text
    assert encoding is None or codecs.lookup(encoding)


@pytest.mark.parametrize("text", ["Muñoz", "José Muñoz called", "Würzburg", "owner: Núñez\nport: 8080\n"])
def test_a_western_name_alone_keeps_its_letters_and_is_named_a_guess(text: str) -> None:
    found = read(text.encode("cp1252"), "a.txt")
    assert (found.text, found.metadata["encoding"]) == (text, "cp1252, by a guess")
