"""The result of reading a file, and the errors of converters that cannot read one."""

from dataclasses import dataclass, field

from scrubjay.errors import InputError

# Invisible characters inside words, and hyphens and spaces that only control where lines break.
INVISIBLE = str.maketrans(
    {"\xa0": " ", "\xad": None, "\u200b": None, "\u2060": None, "\ufeff": None, "\u2011": "-"}
)


@dataclass(frozen=True)
class FileText:
    """A file as text.

    `text` is the content of a text file with its lines unchanged, so that their numbers agree; for HTML,
    office files, notebooks and mails it is Markdown. Pages of a PDF end with a form feed; sheets and
    slides begin with a heading.
    """

    text: str
    kind: str  # the type of its document: text, markdown, code, csv, html, pdf, docx, ...
    title: str | None = None
    language: str | None = None  # of a program or data, if `kind` alone does not decide how to cut the text
    encoding: str | None = None  # of a text file
    # author, date, subject, ... as the file states them
    metadata: dict[str, str] = field(default_factory=dict)
    digest: str | None = None  # SHA-256 of the file's bytes, if it was read from a path


@dataclass(frozen=True)
class Conversion:
    """A file as a converter returns it: text, title and metadata."""

    text: str
    title: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class Unreadable(InputError):
    """Raised if a file has no text; the message is a clause that follows the file's name."""


class TooLong(Unreadable):
    """The file has more text than is allowed."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"has more than {limit:,} characters of text; split it")


class Budget:
    """Counts the characters of a growing text, so that a converter stops at the limit."""

    def __init__(self, limit: int) -> None:
        self._limit = self._left = limit

    def take(self, text: str) -> str:
        """Count a text and return it.

        Raises:
            TooLong: the text exceeds the limit.
        """
        self._left -= len(text)
        if self._left < 0:
            raise TooLong(self._limit)
        return text


def tidy_values(**values: object) -> dict[str, str]:
    """Make metadata of the values that are not empty, each on one line of at most 500 characters."""
    flat = {name: " ".join(str(value).split())[:500] for name, value in values.items() if value is not None}
    return {name: value for name, value in flat.items() if value}
