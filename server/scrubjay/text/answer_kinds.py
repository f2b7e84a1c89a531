"""Recognises which kind of answer a question wants, such as a port or a reason, and which texts have one.

"Redis is the cache" does not answer "Which Redis version?": it is about the subject but has no version.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from scrubjay.text.developer_words import gloss
from scrubjay.text.tables import filled, listed, table

AnswerKind = str  # the name of a kind in `answer_kinds.toml`
_NEAR = 40  # characters around an answer in which the question's words count most; 24 to 90 do equally well
_BY_NEARNESS = 0.5  # weight of nearby words in a sentence's score; 0.3 to 0.5 do equally well
_NEIGHBOUR = 0.6  # weight of a word in the sentence before or after; 0.3 to 0.9 do equally well


class _Kind(NamedTuple):
    """How a question asks for a kind of answer, and what such an answer looks like.

    `asked` matches the words of a question that name the kind, which an answer need not repeat; words that it
    should repeat are in look-aheads. `answer` matches an answer. Both match lower-case text, which is several
    times as fast as ignoring case; if `cased`, `answer` matches the original text.
    """

    name: AnswerKind
    asked: re.Pattern[str]
    answer: re.Pattern[str]
    cased: bool


def _read_kinds() -> tuple[dict[AnswerKind, _Kind], re.Pattern[str]]:
    """Read the kinds in the order in which they are tried, and a pattern of what is never a person's name."""
    content, parts = table("answer_kinds"), {"countries": "|".join(listed("countries"))}
    for name, text in content["parts"].items():
        parts[name] = filled(text, parts)
    kinds = {
        name: _Kind(
            name,
            re.compile(filled(kind["asked"], parts)),
            re.compile(filled(kind["held"], parts)),
            kind.get("cased", False),
        )
        for name, kind in content["kinds"].items()
    }
    return kinds, re.compile(parts["no_person"], re.IGNORECASE)


_KINDS, _NO_PERSON = _read_kinds()
# A dot within a name or number does not end a sentence.
_SENTENCE = re.compile(
    r"[^.!?;。\uff01\uff1f\n]*+(?:[.!?;](?!\s|$)[^.!?;。\uff01\uff1f\n]*+)*+(?:[.!?;。\uff01\uff1f\n]|$)"
)
_CJK = r"\u3041-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"(?=([{_CJK}]{{2}}))|[^\W_{_CJK}]+")
_NEGATION = re.compile(r"\b\w{2,6}n['\u2019]t\b", re.IGNORECASE)


@lru_cache(maxsize=256)
def wanted(question: str) -> AnswerKind | None:
    """Return the kind of answer that a question wants, or None if any kind will do.

    >>> wanted("Which Redis version do we use?"), wanted("who owns billing?"), wanted("what is our CI?")
    ('version', 'person', None)
    """
    plain = question.lower()
    return next((kind.name for kind in _KINDS.values() if kind.asked.search(plain)), None)


def topic(question: str) -> str:
    """Remove the words of a question that only name the wanted kind of answer.

    >>> topic("how many brokers are there?"), topic("Redis version"), topic("what is our CI?")
    ('  brokers are there?', 'Redis  ', 'what is our CI?')
    """
    kind, rest, rest_start = wanted(question), [], 0
    for match in () if kind is None else _KINDS[kind].asked.finditer(question.lower()):
        rest.append(question[rest_start : match.start()])
        rest_start = match.end()
    return _NEGATION.sub(" ", " ".join([*rest, question[rest_start:]]))


@lru_cache(maxsize=4096)  # the same passages are top candidates of many questions
def holds(kind: AnswerKind, text: str) -> bool:
    """Return True if a text has an answer of this kind, whatever it is about.

    >>> holds("version", "Redis 7.2 is the cache."), holds("version", "Redis is the cache.")
    (True, False)
    """
    return next(_answers(kind, text), None) is not None


def fit(
    kind: AnswerKind | None, weights: Mapping[str, float], text: str, stem: Callable[[str], str]
) -> float:
    """Return how well the best sentence of a text answers, in [0, 1]; 0 if the text has no such answer.

    `weights` maps the stem of each word of the question's `topic` to its weight. A sentence scores
    the share of these weights whose words it has: half of the score is for words near the answer, and words
    of adjacent sentences count less. If the kind is None, every sentence counts as an answer.

    >>> weights = {"redis": 1.0, "cache": 0.5}
    >>> [fit("version", weights, text, str) for text in ("Redis 7.2 is the cache.", "Redis is the cache.")]
    [1.0, 0.0]
    """
    total = sum(weights.values())
    answers = [] if kind is None else list(_answers(kind, text))
    if not total or (kind is not None and not answers):
        return 0.0
    places = [(position, word) for position, word in _words(text, stem) if word in weights]
    if not places:
        return 0.0

    def share(start: int, end: int) -> float:
        found = {word for position, word in places if start <= position < end}
        return sum(weights[word] for word in found) / total

    best, sentences = 0.0, [match.span() for match in _SENTENCE.finditer(text)]
    for number, (start, end) in enumerate(sentences):
        answers_inside = [(first, last) for first, last in answers if start <= first < end]
        if kind is not None and not answers_inside:
            continue
        around = sentences[max(number - 1, 0) : number + 2]
        in_context = (1.0 - _NEIGHBOUR) * share(start, end) + _NEIGHBOUR * share(around[0][0], around[-1][1])
        if kind is None:
            best = max(best, in_context)
        for first, last in answers_inside:
            if all(word in weights for _, word in _words(text[first:last], stem)):
                continue  # the answer only repeats words of the question
            near = share(max(start, first - _NEAR), min(end, last + _NEAR))
            best = max(best, _BY_NEARNESS * near + (1.0 - _BY_NEARNESS) * in_context)
    return best


@lru_cache(maxsize=256)
def _words(text: str, stem: Callable[[str], str]) -> tuple[tuple[int, str], ...]:
    """Return the position and the stem of each word; in Chinese and Japanese, of each pair of characters."""
    return tuple((match.start(), stem((match[1] or match[0]).casefold())) for match in _WORD.finditer(text))


def _answers(kind: AnswerKind, text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each answer of this kind; a tool's name is not an answer for a person."""
    definition = _KINDS[kind]
    for match in definition.answer.finditer(text if definition.cased else text.lower()):
        may_be_name = kind == "person" and match[0][:1].isupper() and not match[0].startswith(("I ", "We "))
        if not (may_be_name and (_NO_PERSON.match(match[0]) or gloss(match[0]))):
            yield match.span()
