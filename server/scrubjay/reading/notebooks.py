"""Converts Jupyter notebooks (nbformat 4) to Markdown: prose unchanged, code and outputs in fences."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from scrubjay.reading.markdown import fence
from scrubjay.reading.result import Conversion, Unreadable, tidy_values
from scrubjay.text.foreign import without_escapes

# Characters kept at the beginning and end of an output; its middle is only more of a log or an array.
_HEAD, _TAIL = 1000, 1000
_OVERWRITTEN = re.compile(r"^.*\r(?=[^\r\n])", re.MULTILINE)  # earlier states of a progress bar
_NO_OUTPUT = re.compile(r"<IPython\.core\.display\.\w+ object>")


def convert_notebook(text: str) -> Conversion:
    """Write the cells in order, with the visible parts of their outputs, without images.

    Raises:
        Unreadable: the file is not a notebook.
    """
    try:
        book = json.loads(text)
        about = book.get("metadata", {})
        kernel = about.get("kernelspec", {}).get("language")
        language = str(about.get("language_info", {}).get("name") or kernel or "python")
        blocks = [block for cell in book["cells"] for block in _blocks_of(cell, language)]
        authors = ", ".join(str(author.get("name", "")) for author in about.get("authors", []))
        return Conversion("\n\n".join(blocks), title=about.get("title"), metadata=tidy_values(author=authors))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Unreadable("is not a Jupyter notebook, or is damaged") from None


def _blocks_of(cell: Any, language: str) -> list[str]:
    """Return the blocks of a cell up to its first invalid part, so that the other cells are not lost."""
    blocks: list[str] = []
    with suppress(KeyError, TypeError, AttributeError, ValueError):
        blocks.extend(_cell(cell, language))
    return blocks


def _cell(cell: dict[str, Any], language: str) -> Iterator[str]:
    source, is_code = _text(cell.get("source")).strip("\n"), cell["cell_type"] == "code"
    if source.strip():
        yield fence(source, language) if is_code else source
    for output in cell.get("outputs") or ():
        if isinstance(output, dict) and (text := _output(output)):
            yield text


def _output(output: dict[str, Any]) -> str:
    """Write an output as Jupyter shows it: Markdown, a formula or HTML rather than plain text."""
    data = output.get("data", output)
    for kind in ("text/markdown", "text/latex"):
        if markdown := _text(data.get(kind, "")).strip():
            return _shortened(markdown)
    if html := _text(data.get("text/html", "")).strip():
        from scrubjay.reading.html import convert_html

        if markdown := convert_html(html, whole=True).text:
            return _shortened(markdown)
    name_and_value = ": ".join(filter(None, (output.get("ename"), output.get("evalue"))))
    error = "\n".join(filter(None, [*output.get("traceback", ()), name_and_value]))
    text = without_escapes(_text(data.get("text/plain", data.get("text", ""))) or error)
    text = _OVERWRITTEN.sub("", text)
    is_shown = text.strip() and not _NO_OUTPUT.fullmatch(text.strip())
    if not is_shown and "application/json" in data:
        text, is_shown = json.dumps(data["application/json"], ensure_ascii=False), True
    return fence(_shortened(text.strip("\n")), "text") if is_shown else ""


def _shortened(text: str) -> str:
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n…\n{text[-_TAIL:]}"


def _text(lines: str | list[str] | None) -> str:
    return lines if isinstance(lines, str) else "".join(lines or ())
