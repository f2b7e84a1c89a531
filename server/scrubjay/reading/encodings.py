"""Bytes into text: byte order marks, UTF-8, what the file declares, and a good guess. Knows encodings; does not know formats."""

from __future__ import annotations

import codecs
import json
import re

from scrubjay.reading.result import Converted, Unreadable, tidy_values

_MARKS = (  # UTF-32 first: its mark begins with UTF-16's
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(
    rb"(?:charset|encoding|coding)\s*[=:]\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE
)
_LOOKED_AT = 1024  # bytes in which a file may declare its encoding
_SAMPLE = 1_000_000  # bytes that a guess is made from
# What files in the wild are written in. Guessing among all hundred takes a short Latin text for Mac OS or UTF-16.
_LIKELY = [
    "cp1252",
    "cp1250",
    "cp1251",
    "koi8_r",
    "cp932",
    "euc_jp",
    "gb18030",
    "big5",
    "cp949",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
]
_CONTROL = re.compile("[\x00-\x07\x0e-\x1a]")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b\x08"))


def decode(data: bytes) -> tuple[str, str]:
    """The text, with its lines as they are, and the name of the encoding.

    Raises:
        Unreadable: the bytes are no text.
    """
    text, encoding = _decoded(data)
    if "\x00" in text:
        raise Unreadable("is binary, and only text is read")
    return text, encoding


def _decoded(data: bytes) -> tuple[str, str]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return data.decode(encoding), encoding.removesuffix("-sig")
            except UnicodeDecodeError:
                raise Unreadable(
                    f"begins as {encoding} text and then is none; it is damaged, or binary"
                ) from None
    if b"\x00" in data[:_SAMPLE]:
        return _without_mark(data)
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        # a character that was cut at the end of a file is no reason to take UTF-8 for Greek
        if error.reason == "unexpected end of data" and not data[: error.start].isascii():
            return data.decode("utf-8", "replace"), "utf-8"
    return _as_declared(data) or _guessed(data)


def _without_mark(data: bytes) -> tuple[str, str]:
    """UTF-16 without a mark: nearly every other byte is zero where the script is Latin."""
    sample = data[:4096]
    for encoding, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
        if zeros.count(0) > len(zeros) * 0.4 and sample.count(0) < len(sample) * 0.6:
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError:
                continue
            if not _CONTROL.search(text[:_SAMPLE]):
                return text, encoding
    raise Unreadable("is binary, and only text is read")


def _as_declared(data: bytes) -> tuple[str, str] | None:
    """What HTML, XML, CSS, Python or an editor's line says, if it is true."""
    said = _DECLARED.search(data[:_LOOKED_AT])
    if said is None:
        return None
    try:
        encoding = codecs.lookup(said[1].decode("ascii")).name
        return data.decode(encoding), encoding
    except (LookupError, UnicodeDecodeError, AttributeError):
        return None


def _guessed(data: bytes) -> tuple[str, str]:
    from charset_normalizer import from_bytes

    sample = data[:_SAMPLE]
    if len(sample.translate(None, _CONTROLS)) < len(sample) * 0.95:
        raise Unreadable("is binary, and only text is read")
    best = from_bytes(sample, cp_isolation=_LIKELY).best()
    encoding = best.encoding if best else "cp1252"
    # cp1250 and cp1252 share all letters of Western Europe; of the two the wider known name is told
    if encoding == "cp1250" and _same(data, "cp1250", "cp1252"):
        encoding = "cp1252"
    return data.decode(encoding, "replace"), encoding


def _same(data: bytes, one: str, other: str) -> bool:
    return data.decode(one, "replace") == data.decode(other, "replace")


_FRONT = re.compile(r"---[ \t]*\r?\n(.*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"([A-Za-z_-]{1,40})[ \t]*:[ \t]+(\S.*)")
_KEPT = {
    "title": "title",
    "author": "author",
    "date": "date",
    "description": "subject",
    "subject": "subject",
    "keywords": "keywords",
}
_LONGEST_LINE = 2000  # characters; JSON with a longer one was written for machines


def convert_text(text: str) -> Converted:
    """The text itself."""
    return Converted(text)


def convert_markdown(text: str) -> Converted:
    """The text itself, with title, author, date and subject from its front matter."""
    front = _FRONT.match(text)
    said = {}
    for line in front[1].splitlines()[:100] if front else ():
        if (found := _FIELD.match(line)) and (name := _KEPT.get(found[1].lower())):
            said[name] = found[2].strip().strip("\"'")
    title = said.pop("title", None)
    return Converted(text, title=title, metadata=tidy_values(**said))


def convert_json(text: str) -> Converted:
    """The text itself; JSON in one long line is laid out, so that it has lines to be found by."""
    if max(map(len, text.split("\n"))) > _LONGEST_LINE:
        try:
            text = json.dumps(json.loads(text), ensure_ascii=False, indent=1)
        except (ValueError, RecursionError):
            return Converted(text)  # no JSON, or several values: as it is
    return Converted(text)
