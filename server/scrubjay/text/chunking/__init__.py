"""Where a text is cut: passages of a turn, chunks of a document. Everything is a span into the text that was given, so nothing is
ever rewritten. Knows characters, lines, Markdown, tables and source code; does not know turns, documents or files.

split     a turn's text into passages
chunks    a document's text into Chunks, each with the headings it stands under and its lines
"""

from scrubjay.text.chunking.chunks import CODE_SIZE, Chunk, chunks
from scrubjay.text.chunking.cuts import SIZE, Span, split

__all__ = ["CODE_SIZE", "SIZE", "Chunk", "Span", "chunks", "split"]
