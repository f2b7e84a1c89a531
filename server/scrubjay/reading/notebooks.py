"""Converts Jupyter notebooks (nbformat 3 and 4) to Markdown: prose as it is, code and output in fences."""

import json
import re
from collections.abc import Iterator
from typing import Any

from scrubjay.reading.result import Conversion, Unreadable, tidy_values

_MOST_OUTPUT = 2000  # characters of one output; more is a log or an array


def convert_notebook(text: str) -> Conversion:
    """Write the cells in their order; of outputs the text, never images or markup.

    Raises:
        Unreadable: it is no notebook.
    """
    try:
        book = json.loads(text)
        sheets = [book] if "cells" in book else book["worksheets"]
        about = book.get("metadata", {})
        kernel = about.get("kernelspec", {}).get("language")
        language = str(about.get("language_info", {}).get("name") or kernel or "python")
        blocks = [block for sheet in sheets for cell in sheet["cells"] for block in _cell(cell, language)]
        authors = ", ".join(str(author.get("name", "")) for author in about.get("authors", []))
        return Conversion("\n\n".join(blocks), title=about.get("title"), metadata=tidy_values(author=authors))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Unreadable("is no Jupyter notebook, or damaged") from None


def _cell(cell: dict[str, Any], language: str) -> Iterator[str]:
    source = _text(cell.get("source", cell.get("input", ""))).strip("\n")
    if not source.strip():
        return
    if cell["cell_type"] != "code":
        level = f"{'#' * int(cell['level'])} " if cell["cell_type"] == "heading" else ""
        yield level + source
        return
    yield _fence(source, language)
    for output in cell.get("outputs", ()):
        data = output.get("data", output)
        error = "\n".join(filter(None, (output.get("ename"), output.get("evalue"))))
        text = _text(data.get("text/plain", data.get("text", ""))) or error
        if text.strip():
            yield _fence(text.strip("\n")[:_MOST_OUTPUT], "text")


def _text(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)


def _fence(text: str, language: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"
