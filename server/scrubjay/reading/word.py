"""Word documents into Markdown, by way of the HTML that mammoth makes of their styles. Knows DOCX; opens no link and no image."""

from __future__ import annotations

import io

import mammoth  # type: ignore[import-untyped]

from scrubjay.reading.archives import core_properties
from scrubjay.reading.html import convert_html
from scrubjay.reading.result import Converted

_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh\np[style-name='Code'] => pre:separator('\\n')"


def convert_word(data: bytes) -> Converted:
    """Headings, paragraphs, lists, tables, notes; without images, comments and what was deleted."""
    html = mammoth.convert_to_html(
        io.BytesIO(data),
        style_map=_STYLES,
        include_embedded_style_map=False,
        convert_image=mammoth.images.img_element(lambda image: {"src": ""}),
    )
    title, metadata = core_properties(data)
    return Converted(convert_html(html.value, whole=True).text, title=title, metadata=metadata)
