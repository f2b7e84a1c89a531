"""Parses the parts of an office file or a book."""

import posixpath
import zipfile
from collections.abc import Iterator
from typing import Any, NamedTuple

from lxml import etree

# Bytes of XML; a longer part is cut and thus counts as damaged (pictures are separate parts).
_LARGEST = 64 * 1024 * 1024

Element = Any  # lxml has no types


def parse_part(archive: zipfile.ZipFile, part: str) -> Element:
    """Parse a part of an archive as XML, without entities; a part that is too long counts as damaged."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    with archive.open(part) as member:
        return etree.fromstring(member.read(_LARGEST), parser)


class Relation(NamedTuple):
    """A reference from one part to another or to an address outside of the file, and its kind."""

    kind: str
    part: str


def related_parts(archive: zipfile.ZipFile, part: str) -> dict[str, Relation]:
    """Return the parts that `part` refers to, by the ids of the references."""
    folder, name = posixpath.split(part)
    relations = f"{folder}/_rels/{name}.rels"
    if relations not in archive.namelist():
        return {}
    return {
        reference.get("Id"): Relation(
            kind=posixpath.basename(reference.get("Type")),
            part=reference.get("Target")
            if reference.get("TargetMode") == "External"
            else posixpath.normpath(posixpath.join("/", folder, reference.get("Target"))).lstrip("/"),
        )
        for reference in parse_part(archive, relations)
    }


def parsed_relations(archive: zipfile.ZipFile, part: str, kind: str) -> Iterator[Element]:
    """Parse each part of a kind that `part` refers to."""
    for relation in related_parts(archive, part).values():
        if relation.kind == kind and relation.part in archive.namelist():
            yield parse_part(archive, relation.part)


def relation_id(element: Element) -> str:
    """Return the attribute `r:id`, whose namespace differs between editions of the formats."""
    return next(str(value) for name, value in element.items() if name.endswith("}id"))
