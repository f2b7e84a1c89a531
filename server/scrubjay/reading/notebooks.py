"""Jupyter notebooks into Markdown: prose as it is, code and its printed output in fences. Knows nbformat 3 and 4; runs nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from scrubjay.reading.result import Converted, Unreadable, tidy_values

_OUTPUT = 2000  # characters of one; more is a log or an array
_FENCE = "```"


def convert_notebook(text: str) -> Converted:
    """Cells in their order; of outputs the text, never images or markup.

    Raises:
        Unreadable: no notebook.
    """
    try:
        book = json.loads(text)
        cells = (
            book["cells"]
            if "cells" in book
            else [cell for sheet in book["worksheets"] for cell in sheet["cells"]]
        )
        about = book.get("metadata", {})
        language = str(
            about.get("language_info", {}).get("name")
            or about.get("kernelspec", {}).get("language")
            or "python"
        )
        blocks = [block for cell in cells for block in _cell(cell, language)]
        authors = ", ".join(str(author.get("name", "")) for author in about.get("authors", []))
        return Converted(
            "\n\n".join(blocks), title=about.get("title"), language=None, metadata=tidy_values(author=authors)
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Unreadable("is no Jupyter notebook, or damaged") from None


def _cell(cell: dict[str, Any], language: str) -> Iterator[str]:
    source = _joined(cell.get("source", cell.get("input", ""))).strip("\n")
    if not source.strip():
        return
    if cell["cell_type"] != "code":
        level = f"{'#' * int(cell['level'])} " if cell["cell_type"] == "heading" else ""
        yield level + source
        return
    yield _fenced(source, language)
    for output in cell.get("outputs", ()):
        data = output.get("data", output)
        said = _joined(data.get("text/plain", data.get("text", ""))) or "\n".join(
            filter(None, (output.get("ename"), output.get("evalue")))
        )
        if said.strip():
            yield _fenced(said.strip("\n")[:_OUTPUT], "text")


def _joined(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)


def _fenced(text: str, language: str) -> str:
    fence = _FENCE
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"
