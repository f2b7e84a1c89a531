"""A corpus that every development machine has: sources and descriptions of the installed packages, with
questions about them.

Knows how to make a question that its answer does not contain: a function's docstring, or a section's
heading, is removed from the indexed text. Does not know how anything is searched.
"""

from __future__ import annotations

import ast
import email
import re
from collections.abc import Iterator
from importlib import metadata
from typing import NamedTuple
from zlib import crc32

# pure Python of different subjects
PACKAGES = "anyio click httpx2 jinja2 jsonschema starlette uvicorn".split()
_SENTENCE = re.compile(r"\s*(.+?[.!?])(?:\s|$)", re.DOTALL)
_HEADING = re.compile(r"^#{2,4} +(.+?) *#*$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_FORMAL = re.compile(
    r"licen[cs]e|change ?log|contribut|credits?|acknowledg|table of "
    r"contents|install|\d+\.\d+|contact|support|links?$",
    re.IGNORECASE,
)


class File(NamedTuple):
    """One text of the corpus under its path."""

    path: str
    text: str


class Question(NamedTuple):
    """What to ask, and the lines of the file that answer it, counted from 1."""

    text: str
    path: str
    first: int
    last: int

    @property
    def is_for_tuning(self) -> bool:
        """Half of the files tune, the other half tests."""
        return crc32(self.path.encode()) % 2 == 0


def code() -> tuple[list[File], list[Question]]:
    """Python sources, and functions asked for by the first sentence of their docstrings."""
    files, questions = [], []
    for package in PACKAGES:
        for path in sorted(metadata.files(package) or (), key=str):
            if path.suffix == ".py" and "tests" not in path.parts and path.locate().is_file():
                text = path.locate().read_text("utf-8")
                asked, kept = _without_docstrings(text)
                files.append(File(str(path), kept))
                questions += [Question(said, str(path), first, last) for said, first, last in asked]
    return files, _once(questions)


def _without_docstrings(source: str) -> tuple[list[tuple[str, int, int]], str]:
    """[(first sentence, first line, last line)] of functions in the source without these docstrings, and that
    source.
    """
    lines = source.split("\n")
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not (
            said := ast.get_docstring(node)
        ):
            continue
        sentence = _SENTENCE.match(said)
        body = (node.end_lineno or 0) - (node.body[0].end_lineno or 0)
        if sentence and 5 <= len(sentence[1].split()) <= 25 and body >= 3:
            found.append((" ".join(sentence[1].split()), node))
    gone = {
        line for _, node in found for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    at = {}
    kept = []
    for number, line in enumerate(lines, 1):
        if number not in gone:
            kept.append(line)
        at[number] = len(kept)
    return [(said, at[node.lineno], at[node.end_lineno or 0]) for said, node in found], "\n".join(kept)


def markdown() -> tuple[list[File], list[Question]]:
    """Descriptions of packages, and their sections asked for by their headings."""
    files, questions = [], []
    for package in sorted(metadata.distributions(), key=lambda each: each.name.lower()):
        about = email.message_from_string(package.read_text("METADATA") or "")
        text = about.get_payload() or about.get("Description") or ""
        if (
            "markdown" in (about.get("Description-Content-Type") or "")
            and isinstance(text, str)
            and len(text) > 1_000
        ):
            path = f"{package.name}.md"
            asked, kept = _without_headings(f"# {package.name}\n\n{text}")
            files.append(File(path, kept))
            questions += [
                Question(f"{package.name}: {said}", path, first, last) for said, first, last in asked
            ]
    return files, _once(questions)


def _without_headings(text: str) -> tuple[list[tuple[str, int, int]], str]:
    """[(heading, first line, last line)] of sections in the text without every second of its telling
    headings, and that text.
    """
    fenced = [match.span() for match in _FENCE.finditer(text)]
    headings = [
        match
        for match in _HEADING.finditer(text)
        if not any(low <= match.start() < high for low, high in fenced)
    ]
    kept, asked, at = "", [], 0
    for number, match in enumerate(headings):
        end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
        said = re.sub(r"[`*_\[\]]|\(http[^)]*\)|<[^>]*>", "", match[1]).strip()
        telling = (
            len(re.findall(r"\w{3,}", said)) >= 2 and not _FORMAL.search(said) and end - match.end() >= 200
        )
        kept += text[at : match.start()]
        at = match.end() if telling else match.start()
        if telling:
            first = kept.count("\n") + 1
            asked.append((said, first, first + text[match.end() : end].rstrip().count("\n")))
    return asked, kept + text[at:]


def _once(questions: list[Question]) -> list[Question]:
    """Drop questions that occur more than once: one with several answers measures nothing."""
    said = [question.text.casefold() for question in questions]
    return [question for question, text in zip(questions, said, strict=True) if said.count(text) == 1]


def everything() -> Iterator[tuple[str, list[File], list[Question]]]:
    """(name, files, questions) of each part."""
    yield ("code", *code())
    yield ("markdown", *markdown())
