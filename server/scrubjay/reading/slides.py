"""Presentations into Markdown: a heading for each slide, its texts and tables, and what the speaker noted. Knows PPTX; sees no picture."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

from pptx import Presentation

from scrubjay.reading.archives import core_properties
from scrubjay.reading.result import Budget, Converted
from scrubjay.reading.tables import markdown_table

_DEEPEST = 20  # groups in groups


def convert_slides(data: bytes, budget: Budget) -> Converted:
    """`## Slide 1: its title` and what is on it, slide by slide.

    Raises:
        TooLong: too much text.
    """
    title, metadata = core_properties(data)
    slides = [budget.take(_slide(number, slide)) for number, slide in enumerate(Presentation(io.BytesIO(data)).slides, 1)]
    return Converted("\n\n".join(slides), title=title, metadata=metadata)


def _slide(number: int, slide: Any) -> str:
    title = slide.shapes.title
    name = " ".join(title.text_frame.text.split()) if title is not None and title.has_text_frame else ""
    blocks = [f"## Slide {number}: {name}" if name else f"## Slide {number}"]
    for shape in _flat(slide.shapes, 0):
        if title is not None and shape.shape_id == title.shape_id:
            continue
        if getattr(shape, "has_table", False):
            blocks.append("\n".join(markdown_table([cell.text for cell in row.cells] for row in shape.table.rows)))
        elif getattr(shape, "has_text_frame", False):
            blocks.append("\n".join(_paragraphs(shape.text_frame.paragraphs)))
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None and notes.text.strip():
        blocks.append(f"Notes: {notes.text.strip()}")
    return "\n\n".join(block for block in blocks if block.strip()).replace("\v", "\n")


def _flat(shapes: Iterable[Any], depth: int) -> Iterator[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes") and depth < _DEEPEST:
            yield from _flat(shape.shapes, depth + 1)
        else:
            yield shape


def _paragraphs(paragraphs: Iterable[Any]) -> Iterator[str]:
    """A paragraph alone is a sentence, several are a list."""
    said = [(paragraph.level, paragraph.text.strip()) for paragraph in paragraphs if paragraph.text.strip()]
    for level, text in said:
        yield f"{'  ' * level}- {text}" if len(said) > 1 else text
