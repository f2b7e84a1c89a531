"""Writes the formulas of office documents (OMML) on one line, as people type them."""

import re
from typing import Any

from lxml import etree

_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_PLAIN = re.compile(r"[\w.,^]*")

Element = Any  # lxml has no types


def formula(element: Element) -> str:
    """Write a formula or a part of one, such as `a=(b+1)/c^2`."""
    kind = etree.QName(element).localname
    if kind == "t":
        return element.text or ""
    if kind == "f" and element.find(f"{_M}fPr/{_M}type[@{_M}val='noBar']") is not None:
        return f"binom({_part(element, 'num')}, {_part(element, 'den')})"
    if kind == "f":
        return f"{_bracketed(element, 'num')}/{_bracketed(element, 'den')}"
    if kind in ("sSup", "sSub", "sSubSup"):
        low, high = _bracketed(element, "sub"), _bracketed(element, "sup")
        return _part(element, "e") + (f"_{low}" if low else "") + (f"^{high}" if high else "")
    if kind == "rad":
        degree = _part(element, "deg")
        return f"{f'root{degree}' if degree else '√'}({_part(element, 'e')})"
    if kind == "d":
        begin, end = (_character(element, name, usual) for name, usual in (("begChr", "("), ("endChr", ")")))
        return begin + ", ".join(formula(each) for each in element.iterfind(f"{_M}e")) + end
    if kind == "nary":
        low, high = _bracketed(element, "sub"), _bracketed(element, "sup")
        limits = (f"_{low}" if low else "") + (f"^{high}" if high else "")
        return f"{_character(element, 'chr', '∫')}{limits} {_part(element, 'e')}"
    if kind == "eqArr":
        return "; ".join(map(formula, element.iterfind(f"{_M}e")))
    if kind in ("limLow", "limUpp"):
        return f"{_part(element, 'e')}{'_' if kind == 'limLow' else '^'}{_bracketed(element, 'lim')}"
    if kind == "func":
        return f"{_part(element, 'fName')} {_part(element, 'e')}"
    if kind == "sPre":
        return f"^{_bracketed(element, 'sup')}_{_bracketed(element, 'sub')} {_part(element, 'e')}"
    if kind == "acc":
        return _part(element, "e") + _character(element, "chr", "\u0302")
    if kind == "m":
        rows = (", ".join(map(formula, row.iterfind(f"{_M}e"))) for row in element.iterfind(f"{_M}mr"))
        return f"[{'; '.join(rows)}]"
    if kind.endswith("Pr"):
        return ""
    return "".join(formula(each) for each in element if isinstance(each.tag, str))


def _part(element: Element, name: str) -> str:
    child = element.find(f"{_M}{name}")
    return "" if child is None else formula(child)


def _bracketed(element: Element, name: str) -> str:
    text = _part(element, name)
    return text if _PLAIN.fullmatch(text) else f"({text})"


def _character(element: Element, name: str, default: str) -> str:
    properties = element.find(f"{_M}{etree.QName(element).localname}Pr")
    child = None if properties is None else properties.find(f"{_M}{name}")
    return default if child is None else str(child.get(f"{_M}val", ""))
