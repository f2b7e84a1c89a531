"""Where a text is cut. Every piece is a span of the text, so nothing is ever rewritten.

split     cuts a turn's text into passages
chunks    cuts a document's text into chunks, each with the headings it stands under and its lines
"""

from scrubjay.text.chunking.chunks import CODE_SIZE, Chunk, chunks
from scrubjay.text.chunking.cuts import SIZE, Span, split

__all__ = ["CODE_SIZE", "SIZE", "Chunk", "Span", "chunks", "split"]
