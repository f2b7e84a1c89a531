"""Reads a home's own developers' words from its `words.tsv`, whose lines are like those of `names.tsv`."""

from scrubjay.errors import InputError
from scrubjay.home.files import read_whole
from scrubjay.home.paths import Home
from scrubjay.text.developer_words import parse

MOST_BYTES = 1_000_000  # of `words.tsv`: ten times the size of the bundled files


def read_own(home: Home) -> tuple[str, ...]:
    """Return the text of a home's own words in a tuple, which is empty if it has no such file.

    Raises:
        InputError: the file cannot be read, or a line is invalid.
    """
    try:
        content = read_whole(home.words, MOST_BYTES)
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        return ()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"line {line} is not UTF-8.") from error
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise InputError(f"it cannot be read: {error}.") from error
    parse("", text)
    return (text,)
