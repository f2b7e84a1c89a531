"""Developers' words: names of tools, services and formats, and the kinds of things that people ask for.

`names.tsv` has the kind of each thing ("pnpm" is a package manager), `kinds.tsv` the ways to ask for a kind,
in several languages. A home may add its own names. So "which package manager?" finds "We use pnpm."
"""

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from scrubjay.errors import InputError
from scrubjay.home.files import read_whole
from scrubjay.home.paths import Home

MOST_KINDS = 6  # kinds of one text; a text with more is a listing, and its kinds would hide its meaning
MOST_OTHERS = 4  # other words of a kind that are indexed with a text
NO_KIND = "-"  # written instead of kinds for a name without a kind
_READ = 2_000  # characters of a text that are read
_MOST_BYTES = 1_000_000  # of a home's `words.tsv`: ten times the size of the bundled files
_FORM = "2"  # the version of this format; if it changes, the index is rebuilt
_TOKEN = re.compile(r"[A-Za-z0-9_+#.\u00c0-\u0dff]+")
# Letters of scripts that have no spaces between words, or that append endings to foreign names.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]")

Source = Literal["name", "phrase", "foreign"]


@dataclass(frozen=True)
class Kind:
    """A kind of thing, such as "package manager", and the other words for it."""

    name: str
    others: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The kind's English words, which are indexed with a text that names such a thing."""
        return " ".join((self.name, *(other.lstrip("=") for other in self.others[:MOST_OTHERS])))


class _Entry(NamedTuple):
    """The tokens of a phrase after the first one, its kinds, and the spelling that it requires, if any."""

    rest: tuple[str, ...]
    kinds: tuple[str, ...]
    source: Source
    spelling: str | None


class Dictionary:
    """Names and kinds; a phrase is found by its first token."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self.kinds = kinds
        self._entries: dict[str, dict[tuple[tuple[str, ...], Source], _Entry]] = {}
        # The kinds of phrases in scripts without spaces.
        self._unspaced: dict[tuple[str, Source], tuple[str, ...]] = {}

    def add(self, phrase: str, kinds: tuple[str, ...], source: Source) -> bool:
        """Add a phrase; a later name replaces an earlier one. Return False if it has no letter or digit."""
        if not phrase.isascii() and _UNSPACED.search(phrase):
            unspaced_key = (_composed(phrase).casefold(), source)
            earlier = () if source == "name" else self._unspaced.get(unspaced_key, ())
            self._unspaced[unspaced_key] = (*earlier, *kinds)
            return True
        spelled = _tokens(phrase)
        first, *rest = _folded(spelled) or [""]
        if not any(map(str.isalnum, first)):
            return False
        entries, key = self._entries.setdefault(first, {}), (tuple(rest), source)
        # two kinds of things may have the same phrase
        earlier = entries[key].kinds if source != "name" and key in entries else ()
        spelling = " ".join(spelled) if phrase.startswith("=") else None
        entries[key] = _Entry(key[0], (*earlier, *kinds), source, spelling)
        return True

    def kinds_in(self, text: str) -> tuple[str, ...]:
        """Return the kinds of the things that a text names, in order, at most `MOST_KINDS`.

        A kind that the text already has in English is left out, because it adds nothing.
        """
        matches = self._matches(text, ("name", "foreign"))
        kinds = dict.fromkeys(kind for entry in matches for kind in entry.kinds)
        plain = f" {_plain(text)} " if kinds else ""
        return tuple(kind for kind in kinds if f" {_plain(kind)} " not in plain)[:MOST_KINDS]

    def asked(self, question: str) -> tuple[str, ...]:
        """Return the kinds that a question asks for, in any language; names in it do not count."""
        matches = (entry for entry in self._matches(question) if entry.source != "name")
        return tuple(dict.fromkeys(kind for entry in matches for kind in entry.kinds))

    def _matches(self, text: str, sources: Collection[Source] = get_args(Source)) -> Iterator[_Entry]:
        """Yield the entries of the phrases in a text; where phrases overlap, only the longest counts."""
        spelled = _tokens(text)
        tokens = _folded(spelled)
        start = 0
        while start < len(tokens):
            length = 1
            entries = self._entries.get(tokens[start], {}).values()
            for entry in sorted(entries, key=lambda entry: -len(entry.rest)):
                end = start + 1 + len(entry.rest)
                if tuple(tokens[start + 1 : end]) != entry.rest or entry.source not in sources:
                    continue
                if end - start >= length and entry.spelling in (None, " ".join(spelled[start:end])):
                    yield entry  # a name and a phrase may have the same spelling
                    length = end - start
            start += length
        if not text.isascii() and _UNSPACED.search(text[:_READ]):
            matches = self._matches_unspaced(_composed(text[:_READ]).casefold())
            yield from (entry for entry in matches if entry.source in sources)

    def _matches_unspaced(self, text: str) -> Iterator[_Entry]:
        """Yield the entries of phrases, longest first; text that one matches is not matched again."""
        longest_first = sorted(self._unspaced, key=lambda key: -len(key[0]))
        for phrase, source in longest_first:
            if phrase in text:
                text = text.replace(phrase, " ")
                yield _Entry((), self._unspaced[phrase, source], source, None)


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _tokens(text: str) -> list[str]:
    """Return the words of a text as they are spelled, without dots after them."""
    words = _TOKEN.findall(_composed(text[:_READ]))
    return [token for word in words if (token := word.rstrip("."))]


def _folded(tokens: list[str]) -> list[str]:
    return [token.lstrip(".").casefold() for token in tokens]


def _plain(text: str) -> str:
    return " ".join(_folded(_tokens(text)))


def parse(kinds: str, *names: str) -> Dictionary:
    """Parse the text of a file of kinds and the texts of files of names; later names replace earlier ones.

    Raises:
        InputError: a line has no tab, no name or no kind, or a name has no letter.
    """
    by_name = {
        name: Kind(name, _split(others), _split(foreign)) for _, (name, others, foreign) in _rows(kinds)
    }
    dictionary = Dictionary(by_name)
    for name, kind in by_name.items():
        for phrase in (name, *kind.others):
            dictionary.add(phrase, (name,), "phrase")
        for phrase in kind.foreign:
            dictionary.add(phrase, (name,), "foreign")
    for text in names:
        for number, (spellings, cell, _) in _rows(text):
            kinds_of_name = () if cell == NO_KIND else _split(cell)
            for phrase in filter(None, map(str.strip, spellings.split(","))):
                if not dictionary.add(phrase, kinds_of_name, "name"):
                    raise InputError(f"line {number}: the name '{phrase[:60]}' has no letter or digit.")
    return dictionary


def _rows(text: str) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """Yield the number and the three cells of each line that is not empty and not a comment."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#") or not line.strip():
            continue
        name, second, third, *_ = map(str.strip, (*line.split("\t"), "", ""))
        if not name.strip(", ") or not second.strip("; "):
            raise InputError(f"line {number} = '{line[:60].strip()}': must be a name, a tab and its kinds.")
        yield number, (name, second, third)


def _split(cell: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, cell.split(";"))))


@lru_cache(maxsize=1)
def _shipped() -> tuple[str, str]:
    folder = Path(__file__).parent
    return (folder / "kinds.tsv").read_text("utf-8"), (folder / "names.tsv").read_text("utf-8")


@lru_cache(maxsize=1)
def _bundled() -> Dictionary:
    return parse(*_shipped())


def read_own(home: Home) -> tuple[str, ...]:
    """Return the text of a home's own `words.tsv` in a tuple, which is empty if it has no such file.

    Raises:
        InputError: the file cannot be read, or a line is invalid.
    """
    try:
        content = read_whole(home.words, _MOST_BYTES)
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


class InUse:
    """The dictionary that this process uses: the bundled one, with the home's own words if it has any."""

    def __init__(self) -> None:
        self._home_names: tuple[str, ...] = ()
        self._dictionary: Dictionary | None = None
        self.is_whole = True  # False: the home's words could not be read, and are left out

    def extend(self, *names: str) -> None:
        """Use the bundled dictionary, extended by these texts of names.

        Raises:
            InputError: a line is not a name with its kinds; the dictionary does not change.
        """
        self._dictionary = parse(*_shipped(), *names) if names else None
        self._home_names, self.is_whole = names, True
        _kinds_of.cache_clear()

    def leave_out(self) -> None:
        """Use only the bundled dictionary, because the home's words cannot be read."""
        self.extend()
        self.is_whole = False

    @property
    def dictionary(self) -> Dictionary:
        """The dictionary; the bundled one is parsed on first use."""
        return self._dictionary or _bundled()

    @property
    def version(self) -> str:
        """The version of the dictionary's content; if it changes, the index must be rebuilt."""
        return hashlib.sha256("\0".join((_FORM, *_shipped(), *self._home_names)).encode()).hexdigest()[:16]


IN_USE = InUse()


def gloss(text: str) -> str:
    """Return the kinds of the things that a text names, joined by commas; "" if it names nothing."""
    return _kinds_of(text[:_READ])


@lru_cache(maxsize=4096)
def _kinds_of(text: str) -> str:
    return ", ".join(IN_USE.dictionary.kinds_in(text))


def searched_words(kinds: str) -> str:
    """Return all words for the kinds of a gloss, as text."""
    by_name = IN_USE.dictionary.kinds
    return " ".join(by_name[kind].words if kind in by_name else kind for kind in kinds.split(", ") if kind)
