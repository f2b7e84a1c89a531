"""Cuts texts into pieces. Every piece is a span of the text, so nothing is ever rewritten."""

from scrubjay.text.chunking.chunks import CODE_SIZE, Chunk, chunks
from scrubjay.text.chunking.cuts import SIZE, Span, split

__all__ = ["CODE_SIZE", "SIZE", "Chunk", "Span", "chunks", "split"]
