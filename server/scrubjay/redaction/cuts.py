"""Replaces parts of a text from left to right."""

from __future__ import annotations


class Cuts:
    """A text whose parts are replaced from left to right; `end` is the end of the last replaced part."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.end = self.count = 0
        self._parts: list[str] = []

    def replace(self, start: int, end: int, kind: str) -> None:
        """Replace a part with `[redacted:<kind>]`; it must start at `end` or later."""
        self._parts += self.text[self.end : start], f"[redacted:{kind}]"
        self.end = end
        self.count += 1

    def result(self) -> tuple[str, int]:
        """Return the text after the replacements, and their number."""
        return "".join(self._parts) + self.text[self.end :], self.count


def folded(text: str) -> str:
    """Return a text in lower case, with the same length."""
    return text.replace("İ", "I").lower()  # the only letter whose lower case is longer


def positions(words: tuple[str, ...], text: str, start: int = 0, end: int | None = None) -> list[int]:
    """Return the positions of these words in a part of a text, in order."""
    starts = []
    for word in words:
        at = text.find(word, start, end)
        while at >= 0:
            starts.append(at)
            at = text.find(word, at + len(word), end)
    return sorted(starts)
