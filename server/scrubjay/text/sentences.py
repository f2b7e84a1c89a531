"""Splits a text into sentences, joins sentences, and cuts long texts after a word."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_BULLET = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)]|>)\s+")
_BOLD = re.compile(r"(?<![\w*])\*\*([^\s*][^*]{0,200})\*\*(?![\w*])")
# A full stop ends a sentence unless a lower-case letter follows or a form of address precedes it. Before a
# lower-case letter, it does so only after a longer word, so not in `e.g. this`. CJK needs no space.
_SENTENCE_END = re.compile(
    r"(?<=[.!?\u2026])(?<!\b[DHM][rs]\.)(?<!\bMrs\.)(?<!\bProf\.)(?P<close>[\"'\u201d\u2019)\]]{0,3})\s+(?![a-z])"
    r"|(?<=[\u3002\uff01\uff1f])"
    r"|(?<=[a-z0-9)]{3}[.!?])(?<!\betc\.)(?<!\bincl\.)(?<!\bapprox\.)\s+(?=[a-z])"
)
_IDEOGRAPH = re.compile("[\u2e80-\ua4cf\uf900-\ufaff\U00020000-\U0003ffff]")
QUESTION = ("?", "\uff1f")  # how a question ends
_QUOTES = "\"'\u201d\u2019)]"  # may follow the end of a sentence
_CLOSED = tuple(".!?:;,\u2026\u3002\uff01\uff1f\uff1a)")


@dataclass(frozen=True)
class Sentence:
    """One sentence of a text, on one line, with the number of its paragraph."""

    text: str
    paragraph: int
    first: bool  # True for the first sentence of its paragraph


def sentences(text: str) -> Iterator[Sentence]:
    """Split prose and list items into sentences; leave out fenced code, tables, headings and rules."""
    for number, paragraph in enumerate(_paragraphs(text)):
        first = True
        for unit in paragraph:
            for sentence in _split(_BOLD.sub(r"\1", unit)):
                line = flat(sentence)
                if any(map(str.isalnum, line)):
                    yield Sentence(line, number, first)
                    first = False


def item_of(line: str) -> str | None:
    """Return the text of a list item; None for any other line."""
    bullet = _BULLET.match(line)
    return flat(_BOLD.sub(r"\1", line[bullet.end() :])) if bullet else None


def _paragraphs(text: str) -> Iterator[list[str]]:
    """Split a text into paragraphs, each a list of units: running text is a unit, and so is a list item."""
    units: list[list[str]] = []  # lines of each unit
    fence = ""
    for line in [*text.split("\n"), ""]:
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
            continue
        fence = mark[1] if mark else ""
        if fence or not line.strip() or line.lstrip().startswith(("|", "#")):
            if units:
                yield ["\n".join(unit) for unit in units]
            units = []
        elif bullet := _BULLET.match(line):
            units.append([line[bullet.end() :]])
        else:
            if not units:
                units.append([])
            units[-1].append(line)


def _split(text: str) -> Iterator[str]:
    """Split running text into sentences, with their closing quotes; a code span is never split."""
    start = seen = ticks = 0
    last_tick = text.rfind("`")
    for end in _SENTENCE_END.finditer(text):
        ticks += text.count("`", seen, end.start())
        seen = end.end()
        if ticks % 2 == 0 or seen > last_tick:
            yield text[start : end.start()] + (end["close"] or "")
            start, ticks = seen, 0
    yield text[start:]


def join(sentences: list[str]) -> str:
    """Join sentences; a semicolon follows a sentence without a full stop, such as a list item."""
    closed = [text if text.rstrip(_QUOTES).endswith(_CLOSED) else f"{text};" for text in sentences[:-1]]
    return " ".join([*closed, *sentences[-1:]])


def apart(line: str) -> list[str]:
    """Split a line of a summary, written by `join`, into its sentences."""
    return [text for part in line.split("; ") for text in _split(part) if text]


def flat(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def clip(text: str, room: int) -> str:
    """Cut a long text after a word and add an ellipsis; "" if no word fits."""
    if len(text) <= room:
        return text
    cut = room - 1
    while cut > 0 and _is_inside_word(text[cut - 1], text[cut]):
        cut -= 1
    start = text[: max(cut, 0)].rstrip()
    return f"{start}\u2026" if start else ""


def shorten(text: str, most: int) -> str:
    """Cut a text of more than `most` characters after a word, or inside its first word, with an ellipsis."""
    if len(text) <= most:
        return text
    return clip(text, most) or f"{text[: max(most - 1, 0)]}\u2026"[: max(most, 0)]


def _is_inside_word(before: str, after: str) -> bool:
    """Return True if a cut between these characters is inside a word; next to an ideograph it never is."""
    pair = before + after
    return all(map(_is_word_character, pair)) and not _IDEOGRAPH.search(pair)


def _is_word_character(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char).startswith("M")
