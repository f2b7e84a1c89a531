"""Converts books (EPUB) to Markdown: their pages in reading order."""

import io
import posixpath
import zipfile
from urllib.parse import unquote

from scrubjay.reading.encodings import decode
from scrubjay.reading.html import convert_html
from scrubjay.reading.parts import parse_part
from scrubjay.reading.result import Budget, Conversion, Unreadable, tidy_values

_LARGEST_PAGE = 16 * 1024 * 1024  # bytes


def convert_epub(data: bytes, budget: Budget) -> Conversion:
    """Write all pages but the table of contents.

    Raises:
        Unreadable: the book is protected.
        TooLong: the book has too much text.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = set(archive.namelist())
        if "META-INF/rights.xml" in names:
            raise Unreadable("is protected; only its shop's programs can open it")
        package = parse_part(archive, "META-INF/container.xml").find(".//{*}rootfile").get("full-path")
        root = parse_part(archive, package)
        items = {item.get("id"): item for item in root.iterfind("{*}manifest/{*}item")}
        order = (items.get(reference.get("idref")) for reference in root.iterfind("{*}spine/{*}itemref"))
        pages = [item for item in order if item is not None and "nav" not in (item.get("properties") or "")]
        parts = (posixpath.join(posixpath.dirname(package), unquote(page.get("href"))) for page in pages)
        texts = [budget.take(_page(archive, posixpath.normpath(part))) for part in parts if part in names]
    tags = {"author": "creator", "subject": "subject", "date": "date"}
    metadata = tidy_values(**{name: root.findtext(f"{{*}}metadata/{{*}}{tag}") for name, tag in tags.items()})
    title = root.findtext("{*}metadata/{*}title")
    return Conversion("\n\n".join(filter(None, texts)), title=title, metadata=metadata)


def _page(archive: zipfile.ZipFile, part: str) -> str:
    with archive.open(part) as member:
        text, _ = decode(member.read(_LARGEST_PAGE))
    return convert_html(text, whole=True).text
