"""Writes the formulas of office documents (OMML), and subscripts, on one line, as people type them."""

import re
from collections import defaultdict
from typing import Any

from lxml import etree

_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_PLAIN = re.compile(r"[\w.,^]*")
_FORMS = {  # kind of element -> how its parts are written
    "f": "{num}/{den}",
    "sSup": "{e}^{sup}",
    "sSub": "{e}_{sub}",
    "sSubSup": "{e}_{sub}^{sup}",
    "sPre": "^{sup}_{sub} {e}",
    "limLow": "{e}_{lim}",
    "limUpp": "{e}^{lim}",
    "func": "{fName} {e}",
}
# The index folds these characters, so H2O finds H₂O.
_SUBSCRIPTS = str.maketrans("0123456789+-\u2212=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_INDEX = re.compile(r"[\w.,+\-\u2212*/=']{1,20}")  # longer texts are small print
_SEPARATORS = {"d": ", ", "mr": ", ", "m": "; ", "eqArr": "; "}
_WHOLE_PARTS = ("e", "fName")  # which need no brackets

Element = Any  # lxml has no types


def formula(element: Element) -> str:
    """Write a formula or a part of one, such as `a=(b+1)/c^2`."""
    kind = _kind(element)
    if kind == "t":
        return element.text or ""
    children = [child for child in element if isinstance(child.tag, str) and not _kind(child).endswith("Pr")]
    texts = list(map(formula, children))
    parts = defaultdict(
        str, {name: _bracketed(name, text) for name, text in zip(map(_kind, children), texts, strict=True)}
    )
    if kind == "f" and element.find(f"{_M}fPr/{_M}type[@{_M}val='noBar']") is not None:
        return "binom({num}, {den})".format_map(parts)
    if kind in _FORMS:
        return _FORMS[kind].format_map(parts)
    if kind == "rad":
        return ("root{deg}({e})" if parts["deg"] else "√({e})").format_map(parts)
    if kind == "nary":
        limits = "".join(f"{mark}{parts[name]}" for mark, name in (("_", "sub"), ("^", "sup")) if parts[name])
        return f"{_character(element, 'chr', '∫')}{limits} {parts['e']}"
    if kind == "acc":
        return parts["e"] + _character(element, "chr", "\u0302")
    text = _SEPARATORS.get(kind, "").join(texts)
    if kind == "d":
        return _character(element, "begChr", "(") + text + _character(element, "endChr", ")")
    return f"[{text}]" if kind == "m" else text


def subscript(text: str) -> str:
    """Write a subscript with subscript digits, or after `_` if it has letters.

    >>> subscript("2"), subscript("max"), subscript("n+1")
    ('₂', '_max', '_(n+1)')
    """
    index = text.strip()
    if _SUBSCRIPTS.keys() >= set(map(ord, index)):
        return text.translate(_SUBSCRIPTS)
    return text.replace(index, f"_{_bracketed('sub', index)}") if _INDEX.fullmatch(index) else text


def _kind(element: Element) -> str:
    return str(etree.QName(element).localname)


def _bracketed(name: str, text: str) -> str:
    return text if name in _WHOLE_PARTS or _PLAIN.fullmatch(text) else f"({text})"


def _character(element: Element, name: str, default: str) -> str:
    child = element.find(f"{_M}{_kind(element)}Pr/{_M}{name}")
    return default if child is None else str(child.get(f"{_M}val", ""))
