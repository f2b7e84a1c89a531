"""Chooses the title of a turn or a session: one of its sentences, without politeness."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from scrubjay.text import tables
from scrubjay.text.sentences import Sentence, clip, flat, sentences, shorten
from scrubjay.text.terms import content_words, told_words

TITLE_LIMIT = 120  # characters of a title; a longer sentence is chosen only if there is no shorter one
READ_SIDE = 6_000  # characters at each end of a turn's prompt or answer that a session's summary reads
GIST_WORDS, GIST_LIMIT = 12, 90  # words and characters of a gist, for a turn that is not to be stored
_FIRST = 1.4  # factor for a prompt's first paragraph, which logs and details follow
_MINOR = 0.4  # factor for a sentence that makes a poor title
_LEAST_CLAUSE = 30  # characters of a clause that may be a gist alone
_SMALL_TALK, _ASIDE = tables.cues("small_talk"), tables.cues("aside")
_EMPTY = tables.words("empty_prompt")
_OPENER, _NOISE = tables.pattern("cues", "opener"), tables.pattern("cues", "noise")
# A heading at the beginning, which becomes a paragraph; it is not a comment above code.
_HEADING = re.compile(r"\A\s*#{1,6}[ \t]+([^\n]+)(?=\n[ \t]*\n|\n#|\Z)")


class Exchange(NamedTuple):
    """The content of a turn: the user's and the assistant's text, "" for none, and the touched files."""

    user: str
    assistant: str
    files: tuple[str, ...] = ()


def title(exchanges: Sequence[Exchange]) -> str:
    """Return the subject of a session, or of a single turn: a whole sentence, without politeness.

    It is from the prompt whose words the session uses most and that has the longest answers; if no prompt has
    a subject, it is from an answer. Only a sentence longer than `TITLE_LIMIT` is cut, after a word. The
    title is "" if there is no text.
    """
    return clip(without_opener(subject(exchanges)).rstrip(".:;,\u3002"), TITLE_LIMIT)


def opening(text: str) -> str:
    """Return the beginning of a text as a title of at most a dozen words; "" for a text without a word.

    >>> opening("- Deploys go out on Tuesdays.\\n- Rollbacks need two approvals.")
    'Deploys go out on Tuesdays'
    """
    lines = (match[0] for match in re.finditer(r"[^\s#>*`-][^\n]*", text))
    return cut_to_gist(flat(next((line for line in lines if any(map(str.isalnum, line))), "")))


def subject_words(text: str) -> set[str]:
    """Return the content words of a text, without words of politeness and agreement."""
    return set(told_words(text)) - _EMPTY


def is_empty(prompt: str) -> bool:
    """Return True if a prompt only agrees, thanks or continues."""
    words = content_words(prompt[:200])
    return len(words) < 12 and all(word in _EMPTY or word.isdigit() for word in words)


def excerpt(text: str) -> str:
    """Return the beginning and the end of a long text, which have the subject and the outcome of a turn."""
    return text if len(text) <= 2 * READ_SIDE else f"{text[:READ_SIDE]}\n\n{text[-READ_SIDE:]}"


def subject(exchanges: Sequence[Exchange]) -> str:
    """Choose the sentence that represents a session best: from a prompt, else from an answer."""
    sides = [(excerpt(exchange.user), excerpt(exchange.assistant)) for exchange in exchanges]
    words = [set(told_words(f"{user} {answer}")) for user, answer in sides]
    uses = Counter(word for turn_words in words for word in turn_words)
    prompts = ["" if is_empty(user) else _HEADING.sub(r"\1\n", _NOISE.sub("", user)) for user, _ in sides]
    # The number of words about each prompt. A turn that follows "yes, do it" is about the prompt before.
    sizes = [0] * len(sides)
    current = 0
    for index, turn_words in enumerate(words):
        current = index if prompts[index] else current
        sizes[current] += len(turn_words)
    answers = [answer for _, answer in sides]
    return (
        _central_sentence(prompts, sizes, uses, 2)
        or _central_sentence(answers, sizes, uses, 2)
        or _central_sentence(prompts, sizes, uses, 1)
    )


def _central_sentence(texts: Sequence[str], sizes: Sequence[int], uses: Counter[str], least: int) -> str:
    """Choose the sentence with at least `least` content words whose words the session uses most.

    `sizes` are the numbers of words about each text; a sentence of a text with more of them is preferred.
    """
    best, best_worth = "", 0.0
    for text, size in zip(texts, sizes, strict=True):
        for sentence in _whole_sentences(text):
            bare = without_opener(sentence.text)
            words = subject_words(bare)
            worth = math.fsum(math.log(1 + uses[word]) for word in words) / math.sqrt(len(words) + 2)
            position_factor = _FIRST if sentence.paragraph == 0 else 1.0
            worth *= math.log(2 + size) * position_factor * (1.0 if best else _FIRST)
            is_aside = _SMALL_TALK.match(bare) or _ASIDE.search(bare)
            # a line of a log or of code has few letters
            is_prose = sum(char.isalpha() or char == " " for char in bare) >= 0.75 * len(bare)
            if is_aside or not is_prose or len(bare) > TITLE_LIMIT:
                worth *= _MINOR
            if worth > best_worth and len(words) >= least:
                best, best_worth = sentence.text, worth
    return best


def _whole_sentences(text: str) -> list[Sentence]:
    """Split a text into sentences; if one is too long, also at line ends, where full stops may be missing."""
    parts = list(sentences(text))
    if any(len(sentence.text) > TITLE_LIMIT for sentence in parts):
        parts = [sentence for line in text.split("\n") for sentence in sentences(line)]
    return parts


def without_opener(sentence: str) -> str:
    """Return a sentence without the politeness before its subject."""
    opener = _OPENER.match(sentence)
    rest = sentence[opener.end() :] if opener else sentence
    return rest[:1].upper() + rest[1:] if opener and rest else sentence


def cut_to_gist(sentence: str) -> str:
    """Cut a sentence after a dozen words, preferably at the end of a clause."""
    words = sentence.split()
    if len(words) <= GIST_WORDS and len(sentence) <= GIST_LIMIT:
        return sentence.rstrip(".:;,\u3002")
    start = " ".join(words[:GIST_WORDS])
    ends = [at for mark in (": ", "; ", " - ", ", ") if (at := start.find(mark, _LEAST_CLAUSE)) > 0]
    short = shorten(start[: ends[0]] if ends else start, GIST_LIMIT - 1)
    return short if ends or short.endswith("\u2026") else f"{short}\u2026"
