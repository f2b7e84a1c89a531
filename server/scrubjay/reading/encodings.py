"""Decodes text files: by byte order mark, as UTF-8, as declared, or by a guess; and tidies plain formats."""

import codecs
import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from scrubjay.reading.result import Conversion, Unreadable

_MARKS = (  # UTF-32 first, because its mark begins with UTF-16's
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(
    rb"(?:charset|encoding|coding)\s*[=:]\s*+(?:[\"']\s*+)?([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE
)
_DECLARATION = 1024  # bytes at the beginning, where a file may declare its encoding
_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_WIDER: dict[str, str] = _TABLES["wider"]
_LIKELY: list[str] = _TABLES["likely"].split()
_JSON_PART = re.compile(r'"(?:[^"\\]|\\.)*+"?|\[\s*+\]|\{\s*+\}|[][{},:]|[^][{},:"\s]++')
_C1 = re.compile("[\x80-\x9f]")  # controls that no text has; larger encodings have letters here
_SAMPLE = 1_000_000  # bytes that are checked for binary data
_GUESSED_FROM = 100_000  # bytes of the longest sample for a guess
_FAVOURED = {"cp1252": 1.4}  # factors of the likelihood; cp1252 is the commonest encoding
_SURE = 1.06  # how many times likelier the best guess must be than the next guess with another text
# A text with at most `_FEW` bytes beyond ASCII, as in a name or two, counts as cp1252 if that is at least
# `_NEAR` times as likely as the best guess.
_NEAR, _FEW, _ASCII = 0.75, 4, bytes(range(128))
_ALONE = re.compile(r"(?<![^\W\d_])[^\x00-\x7f](?![^\W\d_])")  # a character outside of words
_MOST_LOST = 0.2  # share of a file's letters that may be lost if its encoding is unknown
_CHARACTERS_PER_BAD = 1000  # marked UTF-16 or UTF-32 with more bad characters is binary data
_UTF8_LEAST = 2  # valid characters that damaged UTF-8 has, at least, for each bad byte
# A text that is surely in cp1252: ASCII, with quotes, dashes and signs only where prose has them.
_TYPOGRAPHIC = re.compile(
    "(?:[\x00-\x7f\u2019]"
    r"|(?<!\w)[\u201c\u2018\u201e\u201a\xab\xbb\xbf\xa1\u2026\u2013\u2014\u2022\xb7\xb1](?=\w)"
    r"|[\u201d\xbb\u20ac\xa3\xa7\xb0\xa9\xae\u2122\u2026\u2022\u2013\u2014\xb7\xb5\xb1\xb2\xb3\xbd\xbc\xbe](?!\w)"
    r"|(?<=\W)[\u2013\u2014\u2026\u2022\u20ac\xa3\xa7\xb0\xa9\xae\u2122\xb7\xb5\xb1\xab\xbb])*+"
)
# Signs of a wrong encoding: Latin letters next to those of another script, signs and boxes inside words,
# capitals after small letters.
_UNLIKELY = re.compile(
    r"(?<!\w)[\xa2\xb6\u2019](?=[\u0370-\u03ff])|[A-Za-z][^\W\d_\x00-\u024f\u1e00-\u1eff\u3000-\uffef]"
    r"|[^\W\d_\x00-\u024f\u1e00-\u1eff\u3000-\uffef][A-Za-z]"
    r"|[\x80-\x9f\u2500-\u25ff\ue000-\uf8ff]"
    r"|[^\W\d_][\xa1-\xbf\xd7\xf7\u2017\u2018\u201a-\u2044\u2100-\u2bff][^\W\d_]"
    r"|[^\W\d_][\u201a\u201e\u0192\u2020\u2021\u02c6]|[a-zß-ÿ][A-ZÀ-ÞŠŒŽŸ]|[A-Z]{2}[ß-ÿ]"
)
_CONTROL = re.compile("[\x00-\x07\x0e-\x1a]")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b\x08"))
_HOLE = re.compile("\x00+")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_LETTER_CODES = re.compile(r"(?<!\\)((?:\\\\)*+)((?:\\u[0-9a-fA-F]{4})++)")  # of a JSON string
LONGEST_LINE = 2000  # characters; JSON with a longer line was written for machines


def decode(data: bytes) -> tuple[str, str | None]:
    """Decode a file; return its text, with unchanged lines, and the name of the encoding.

    The encoding is None if it is unknown; the characters beyond ASCII are then U+FFFD.

    Raises:
        Unreadable: the bytes are not text, or too many characters are lost.
    """
    text, encoding = _decode(data)
    is_known = encoding is not None and encoding.startswith("utf")
    if not is_known and text.count("\ufffd") > _MOST_LOST * sum(map(str.isalpha, text)):
        raise Unreadable("is in an unknown encoding; save it as UTF-8")
    return _HOLE.sub(" ", text), encoding


def encoding_warning(data: bytes, encoding: str | None) -> str | None:
    """Return a warning if the encoding that `decode` chose may be wrong, else None."""
    if encoding is None:
        return "unknown; \ufffd stands for what cannot be read"
    is_sure = encoding.startswith("utf") or _decode_as_declared(data) is not None
    return None if is_sure else f"{encoding}, by a guess"


def is_unicode(data: bytes) -> bool:
    """Return True if `decode` needs neither a declaration nor a guess."""
    if b"\x00" in data[:_SAMPLE] or any(data.startswith(mark) for mark, _ in _MARKS):
        return True
    return _is_utf8(data)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _decode(data: bytes) -> tuple[str, str | None]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            name = encoding.removesuffix("-sig")
            try:
                return data.decode(encoding), name
            except UnicodeDecodeError:
                if encoding == "utf-8-sig":
                    return _decode_lines(data[len(mark) :], "cp1252"), name
                return _decode_damaged(data, encoding), name
    if b"\x00" in data[:_SAMPLE] and (utf16 := _decode_unmarked_utf16(data)):
        return utf16
    if b"\x1b$" in data:  # ISO 2022, which would be letters if it were read as ASCII
        with suppress(UnicodeDecodeError):
            return data.decode("iso2022_jp_2"), "iso2022_jp_2"
    has_nul = b"\x00" in data[:_SAMPLE]
    if not has_nul and _is_utf8(data):
        return data.decode("utf-8"), "utf-8"
    sample = data[:_SAMPLE].replace(b"\x00", b"")
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if controls > len(sample) * (0.001 if has_nul else 0.05):
        raise Unreadable("is binary, and only text is read")
    if _is_mostly_utf8(data):
        return _decode_lines(data, "cp1252"), "utf-8"
    if declared := _decode_as_declared(data):
        return declared
    guess = _guess(data)
    if guess is None:
        return data.decode("ascii", "replace"), None
    if guess.startswith(("cp125", "iso8859")):  # hardly any word in these is valid UTF-8 by chance
        return _decode_lines(data, guess), guess
    return data.decode(guess, "replace"), guess


def _is_mostly_utf8(data: bytes) -> bool:
    """Return True if this is UTF-8 with some bad bytes, or with some lines in another encoding."""
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = len(_BEYOND_ASCII.findall(text)) - bad
    if good >= _UTF8_LEAST * bad:
        return True
    lines = [line for line in data.split(b"\n") if not line.isascii()]
    return len(lines) > 2 * sum(not _is_utf8(line) for line in lines)


def _decode_lines(data: bytes, other: str) -> str:
    """Decode each line as UTF-8, or in the `other` encoding if it has no valid UTF-8 beyond ASCII."""
    return "\n".join(_decode_line(line, other) for line in data.split(b"\n"))


def _decode_line(line: bytes, other: str) -> str:
    text = line.decode("utf-8", "replace")
    if "\ufffd" not in text or _BEYOND_ASCII.search(text.replace("\ufffd", "")):
        return text
    return line.decode(other, "replace")


def _decode_unmarked_utf16(data: bytes) -> tuple[str, str] | None:
    """Decode UTF-16 without a mark, where nearly every other byte is zero if the script is Latin."""
    sample = data[:4096]
    for encoding, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
        if zeros.count(0) > len(zeros) * 0.4 and sample.count(0) < len(sample) * 0.6:
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError:
                continue
            if not _CONTROL.search(text[:_SAMPLE]):
                return text, encoding
    return None


def _decode_damaged(data: bytes, encoding: str) -> str:
    """Decode UTF-16 or UTF-32 that was cut, or has a bad character now and then."""
    text = data.decode(encoding, "replace")
    is_text = any(map(str.isalpha, text)) and not _CONTROL.search(text)
    if not is_text or text.count("\ufffd") > 1 + len(text) // _CHARACTERS_PER_BAD:
        raise Unreadable(f"begins as {encoding} text but is not valid {encoding}; it is damaged, or binary")
    return text


def _decode_as_declared(data: bytes) -> tuple[str, str] | None:
    """Decode as HTML, XML, CSS, Python or an editor's line declares; return None if that fails."""
    declared = _DECLARED.search(data[:_DECLARATION])
    if declared is None or declared[1].lower().startswith((b"utf-16", b"utf-32")):  # which this is not
        return None
    return decode_as(data, declared[1].decode("ascii"))


def meant_encoding(declared: str) -> str:
    """Return the encoding that writers mean by this name."""
    with suppress(LookupError):
        return _WIDER.get(codecs.lookup(declared).name, declared)
    return declared


def decode_as(data: bytes, declared: str) -> tuple[str, str] | None:
    """Decode bytes in a declared encoding, or in a larger one that is meant; return None if that fails."""
    try:
        encoding = codecs.lookup(declared).name
    except (LookupError, ValueError):
        return None
    if encoding in ("ascii", "iso8859-1") and _is_utf8(data):
        return data.decode(), "utf-8"
    for name in filter(None, (encoding, _WIDER.get(encoding))):
        with suppress(LookupError, UnicodeDecodeError, AttributeError):
            text = data.decode(name)
            if not _C1.search(text):
                return text, name
    return None


def _guess(data: bytes) -> str | None:
    """Guess the encoding by sequences of letters; return None if two readings are about equally likely."""
    lines = [line for line in data[:_SAMPLE].split(b"\n") if not line.isascii()]
    sample = b"\n".join(lines)[:_GUESSED_FROM]
    if _TYPOGRAPHIC.fullmatch(sample.decode("cp1252", "replace")):
        return "cp1252"
    readings = sorted(_readings(sample), reverse=True)
    if not readings:
        return None
    best, encoding, text = readings[0]
    if len(sample.translate(None, _ASCII)) <= _FEW and any(
        name == "cp1252" and likelihood >= _NEAR * best and not _ALONE.search(words)
        for likelihood, name, words in readings
    ):
        return "cp1252"
    next_best = next((likelihood for likelihood, _, other in readings if other != text), 0.0)
    return encoding if best >= _SURE * next_best else None


def _readings(sample: bytes) -> Iterator[tuple[float, str, str]]:
    """Yield possible readings of the sample: likelihood, encoding and text."""
    from chardet import detect_all

    for candidate in detect_all(sample, ignore_threshold=True, include_encodings=_LIKELY):
        encoding = codecs.lookup(candidate["encoding"] or "ascii").name
        text = sample.decode(encoding, "ignore")
        likelihood = candidate["confidence"] * _FAVOURED.get(encoding, 1.0)
        yield likelihood / (1 + len(_UNLIKELY.findall(text))), encoding, text


def convert_json(text: str) -> Conversion:
    """Keep the lines, with letters for their codes; split one long line, so that search finds its parts."""
    if max(map(len, text.split("\n"))) > LONGEST_LINE:
        with suppress(ValueError, RecursionError):  # not JSON, or several values
            json.loads(text)
            text = _on_lines(text)
    return Conversion(_LETTER_CODES.sub(_letters, text))


def _on_lines(text: str) -> str:
    """Write each value of a JSON text on its own line as it stands, such as 1.10, and repeated keys."""
    parts: list[str] = []
    depth = 0
    for part in _JSON_PART.findall(text):
        depth += (part in "[{") - (part in "]}")
        line_end = f"\n{' ' * depth}"
        if part in "]}":
            parts += line_end, part
        elif part in "[{,":
            parts += part, line_end
        else:
            parts.append(": " if part == ":" else part)
    return "".join(parts)


def _letters(codes: re.Match[str]) -> str:
    """Return the letters that codes stand for, or the codes if one stands for ASCII, a control, or a half."""
    letters = str(json.loads(f'"{codes[2]}"'))
    is_words = all(letter >= "\xa0" and not "\ud800" <= letter <= "\udfff" for letter in letters)
    return codes[1] + (letters if is_words else codes[2])
