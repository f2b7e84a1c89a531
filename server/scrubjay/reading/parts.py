"""Parses the parts that an office file or a book is made of."""

import zipfile
from typing import Any

from lxml import etree

# bytes of XML, a part that is cut there is damaged; pictures are other parts
_LARGEST = 64 * 1024 * 1024

Element = Any  # lxml has no types


def parse_part(archive: zipfile.ZipFile, part: str) -> Element:
    """Parse a part of an archive as XML, without entities; a part that is too long is damaged."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    with archive.open(part) as member:
        return etree.fromstring(member.read(_LARGEST), parser)
