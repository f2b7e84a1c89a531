"""What reading a file gives, and how a converter says that it cannot. Knows no format."""

from __future__ import annotations

from dataclasses import dataclass, field

from scrubjay.errors import InputError


@dataclass(frozen=True)
class Read:
    """A file as text.

    `text` is the file itself where it was text, so that its lines are the file's lines; of HTML, office files, notebooks
    and mails it is Markdown. Pages of a PDF end with a form feed, sheets and slides begin with a heading.
    """

    text: str
    kind: str  # the type of its document: text, markdown, code, csv, html, pdf, docx, ...
    title: str | None = None
    language: str | None = (
        None  # the programming or data language, where `kind` alone does not say how to cut the text
    )
    encoding: str | None = None  # of a text file
    metadata: dict[str, str] = field(
        default_factory=dict
    )  # author, date, subject, ... as the file states them


@dataclass(frozen=True)
class Converted:
    """What a converter found: text, and what the file says of itself."""

    text: str
    title: str | None = None
    language: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class Unreadable(InputError):
    """Why a file has no text; a clause that follows the file's name, and ends without a full stop."""


class TooLong(Unreadable):
    """More text than is taken."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"has more than {limit:,} characters of text; split it")


class Budget:
    """Counts the characters of a growing text, and ends its making where there are too many."""

    def __init__(self, limit: int) -> None:
        self._limit = self._left = limit

    def take(self, text: str) -> str:
        """The text itself.

        Raises:
            TooLong: with it, there is more than the limit.
        """
        self._left -= len(text)
        if self._left < 0:
            raise TooLong(self._limit)
        return text


def tidy_values(**values: object) -> dict[str, str]:
    """Metadata of those values that say something, on one line of at most 500 characters each."""
    flat = {name: " ".join(str(value).split())[:500] for name, value in values.items() if value is not None}
    return {name: value for name, value in flat.items() if value}
