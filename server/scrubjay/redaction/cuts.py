"""Replaces parts of a text from left to right."""

from __future__ import annotations


class Cuts:
    """A text whose parts are replaced from left to right; `end` is where the last one ended."""

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
    """Return a text in small letters, of the same length."""
    return text.replace("İ", "I").lower()  # the one letter whose small form is longer


def places(words: tuple[str, ...], text: str, start: int = 0, end: int | None = None) -> list[int]:
    """Return where these words begin in a part of a text, in order."""
    found = []
    for word in words:
        place = text.find(word, start, end)
        while place >= 0:
            found.append(place)
            place = text.find(word, place + len(word), end)
    return sorted(found)
