"""Decodes text files: by byte order mark, as UTF-8, as declared, or by a guess; and tidies plain formats."""

import codecs
import json
import re

from scrubjay.reading.result import Conversion, Unreadable, tidy_values

_MARKS = (  # UTF-32 first: its mark begins with UTF-16's
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(
    rb"(?:charset|encoding|coding)\s*[=:]\s*+(?:[\"']\s*+)?([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE
)
_DECLARATION = 1024  # bytes in which a file may declare its encoding
_SAMPLE = 1_000_000  # bytes to guess from
# Encodings of files in the wild. A guess among all hundred takes a short Latin text for Mac OS or UTF-16.
_LIKELY = "cp1252 cp1250 cp1251 koi8_r cp932 euc_jp gb18030 big5 cp949 cp1253 cp1254 cp1255 cp1256".split()
_CONTROL = re.compile("[\x00-\x07\x0e-\x1a]")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b\x08"))
_FRONT = re.compile(r"---[ \t]*\r?\n(.*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"([A-Za-z_-]{1,40})[ \t]*:[ \t]+(\S.*)")
_FRONT_FIELDS = {name: name for name in ("title", "author", "date", "subject", "keywords")}
_FRONT_FIELDS["description"] = "subject"
LONGEST_LINE = 2000  # characters; JSON with a longer one was written for machines


def decode(data: bytes) -> tuple[str, str]:
    """Decode a file: its text, with its lines as they are, and the name of the encoding.

    Raises:
        Unreadable: the bytes are no text.
    """
    text, encoding = _decode(data)
    if "\x00" in text:
        raise Unreadable("is binary, and only text is read")
    return text, encoding


def is_unicode(data: bytes) -> bool:
    """Tell whether `decode` needs neither a declaration nor a guess."""
    if b"\x00" in data[:_SAMPLE] or any(data.startswith(mark) for mark, _ in _MARKS):
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _decode(data: bytes) -> tuple[str, str]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return data.decode(encoding), encoding.removesuffix("-sig")
            except UnicodeDecodeError:
                why = f"begins as {encoding} text and then is none; it is damaged, or binary"
                raise Unreadable(why) from None
    if b"\x00" in data[:_SAMPLE]:
        return _without_mark(data)
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        # A character cut off at the end of a file is no reason to take UTF-8 for Greek.
        if error.reason == "unexpected end of data" and not data[: error.start].isascii():
            return data.decode("utf-8", "replace"), "utf-8"
    return _as_declared(data) or _guess(data)


def _without_mark(data: bytes) -> tuple[str, str]:
    """Decode UTF-16 without a mark: nearly every other byte is zero if the script is Latin."""
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
    """Decode as HTML, XML, CSS, Python or an editor's line declares, if that is true."""
    declared = _DECLARED.search(data[:_DECLARATION])
    if declared is None:
        return None
    try:
        encoding = codecs.lookup(declared[1].decode("ascii")).name
        return data.decode(encoding), encoding
    except (LookupError, UnicodeDecodeError, AttributeError):
        return None


def _guess(data: bytes) -> tuple[str, str]:
    from charset_normalizer import from_bytes

    sample = data[:_SAMPLE]
    if len(sample.translate(None, _CONTROLS)) < len(sample) * 0.95:
        raise Unreadable("is binary, and only text is read")
    best = from_bytes(sample, cp_isolation=_LIKELY).best()
    encoding = best.encoding if best else "cp1252"
    # cp1250 and cp1252 share all letters of Western Europe; the better known name is given.
    if encoding == "cp1250" and data.decode("cp1250", "replace") == data.decode("cp1252", "replace"):
        encoding = "cp1252"
    return data.decode(encoding, "replace"), encoding


def convert_markdown(text: str) -> Conversion:
    """Keep the text, and take title, author, date and subject from its front matter."""
    front = _FRONT.match(text)
    fields = {}
    for line in front[1].split("\n", 100)[:100] if front else ():
        if (field := _FIELD.match(line)) and (name := _FRONT_FIELDS.get(field[1].lower())):
            fields[name] = field[2].strip().strip("\"'")
    title = fields.pop("title", None)
    return Conversion(text, title=title, metadata=tidy_values(**fields))


def convert_json(text: str) -> Conversion:
    """Keep the text; lay out JSON in one long line, so that it has lines to be found by."""
    if max(map(len, text.split("\n"))) > LONGEST_LINE:
        try:
            text = json.dumps(json.loads(text), ensure_ascii=False, indent=1)
        except (ValueError, RecursionError):
            return Conversion(text)  # no JSON, or several values: as it is
    return Conversion(text)
