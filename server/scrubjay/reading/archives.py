"""Office files as the archives they are: which kind one is, whether it is safe to open, and what it says of itself. Knows zip and OLE
containers and the core properties; does not know paragraphs, slides or cells.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from xml.etree import ElementTree

from scrubjay.reading.result import Unreadable, tidy_values

ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
LARGEST = 256 * 1024 * 1024  # bytes of all members, unpacked; a file of 50 MB is mostly pictures, which do not shrink
_MEMBERS = 10_000
_STEP = 1 << 20  # bytes
_MAIN = {"word/document.xml": "docx", "ppt/presentation.xml": "pptx", "xl/workbook.xml": "xlsx", "xl/workbook.bin": "xlsx"}
_OPEN_DOCUMENT = {b"application/vnd.oasis.opendocument.spreadsheet": "xlsx"}
_DC, _DCTERMS = "{http://purl.org/dc/elements/1.1/}", "{http://purl.org/dc/terms/}"
_CORE = "{http://schemas.openxmlformats.org/package/2006/metadata/core-properties}"
_LONGEST_PROPERTIES = 1_000_000  # bytes


def office_type(data: bytes) -> str | None:
    """docx, pptx or xlsx, or None for bytes that are no office file.

    Raises:
        Unreadable: protected, damaged, or larger unpacked than is safe.
    """
    if data.startswith(OLE):
        return _old_type(data)
    if not data.startswith(ZIP):
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            type = next((_MAIN[name] for name in archive.namelist() if name in _MAIN), None)
            if type is None and "mimetype" in archive.namelist():
                with archive.open("mimetype") as member:
                    type = _OPEN_DOCUMENT.get(member.read(200).strip())
            if type:
                _check(archive)
            return type
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError, RuntimeError):
        raise Unreadable("is a damaged archive; get it again from where it came") from None


def _old_type(data: bytes) -> str | None:
    """The older container also holds newer files that are protected."""
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise Unreadable("is protected by a password; save it without one")
    if any(name.encode("utf-16-le") in data for name in ("Workbook", "Book")):
        return "xlsx"
    for name, program, suffix in (("WordDocument", "Word", ".docx"), ("PowerPoint Document", "PowerPoint", ".pptx")):
        if name.encode("utf-16-le") in data:
            raise Unreadable(f"is in {program}'s old format; save it as {suffix}")
    return None


def _check(archive: zipfile.ZipFile) -> None:
    """Unpack everything once, into nothing: what an archive says of its own size need not be true."""
    members = archive.infolist()
    if len(members) > _MEMBERS or sum(member.file_size for member in members) > LARGEST:
        raise Unreadable(f"is larger than {LARGEST >> 20} MB when it is unpacked; split it")
    for member in members:
        if member.flag_bits & 1:
            raise Unreadable("is protected by a password; save it without one")
        with archive.open(member) as content:
            while content.read(_STEP):  # never more than the size it states, and damaged if there is more
                pass


def core_properties(data: bytes) -> tuple[str | None, dict[str, str]]:
    """Title and metadata (author, date, subject, keywords) as the office program wrote them."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open("docProps/core.xml") as member:
            root = ElementTree.fromstring(member.read(_LONGEST_PROPERTIES))
    except (KeyError, zipfile.BadZipFile, ElementTree.ParseError):
        return None, {}
    said = {
        name: root.findtext(tag)
        for name, tag in (("author", f"{_DC}creator"), ("subject", f"{_DC}subject"), ("keywords", f"{_CORE}keywords"))
    }
    date = root.findtext(f"{_DCTERMS}modified") or root.findtext(f"{_DCTERMS}created") or ""
    return " ".join((root.findtext(f"{_DC}title") or "").split()) or None, tidy_values(**said, date=date[:10])
