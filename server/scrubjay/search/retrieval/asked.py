"""A parsed question: its words, the kinds of things it asks for, and the kind of answer it wants."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from scrubjay.search.retrieval.words import Floats, rarity, shares, stem
from scrubjay.text.answer_kinds import AnswerKind, topic, wanted
from scrubjay.text.developer_words import IN_USE
from scrubjay.text.languages import function_words, language_of, without_function_words
from scrubjay.text.terms import compared_words, query_terms, without_separators, words

# Phrases that address a memory; the actual question follows them.
_ADDRESS = re.compile(
    r"\b(?:(?:memor(?:y|ies)|facts?|notes?|information|infos?|details|everything|anything|something|all)\s+"
    r"(?:(?:is|are|you|we|i)\s+)?(?:(?:know|have|remember|recall)n?\s+)?"
    r"(?:related to|about|on|regarding|concerning)|"
    r"(?:do|did|can|could) (?:you|we|i) (?:know|remember|recall)|tell me|remind me|please)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ParsedQuestion:
    """What a question asks for.

    `weights` maps the stem of each content word to its rarity, in (0, 1]; `topic` is the same without words
    that only name the kind of answer ("version" in "which version of Redis"); `kinds` are the kinds of things
    it asks for ("package manager"), see `text.developer_words`; `answer` is the kind of answer it wants;
    `prior` is the log odds that memories answer such a question, see `encoders.prior`.
    """

    text: str
    weights: Mapping[str, float]
    topic: Mapping[str, float]
    kinds: tuple[str, ...]
    answer: AnswerKind | None
    language: str
    prior: float = 0.0

    @property
    def embedded_text(self) -> str:
        """The text to embed: the question without phrases that address a memory, and then its `kinds`."""
        text = " ".join(_ADDRESS.sub(" ", self.text).split())
        added_kinds = [kind for kind in self.kinds if kind.casefold() not in text.casefold()]
        return f"{text or self.text} ({', '.join(added_kinds)})" if added_kinds else text or self.text

    @property
    def numbers(self) -> frozenset[str]:
        """The words that contain a digit, such as builds, ports and versions."""
        return frozenset(word for word in self.weights if any(map(str.isdigit, word)))

    @property
    def terms(self) -> str:
        """The words to look up in the index, each once."""
        plain = query_terms(_content(self.text, self.language))
        return " ".join(dict.fromkeys([*plain.split(), *" ".join(self.kinds).split()]))


@lru_cache(maxsize=256)
def parse_question(question: str) -> ParsedQuestion:
    """Parse a question.

    >>> parsed = parse_question("which package manager do we use?")
    >>> sorted(parsed.weights), parsed.kinds
    (['manag', 'packag', 'use'], ('package manager',))
    """
    language = language_of(words(question))
    kinds, answer = IN_USE.dictionary.asked(question), wanted(question)
    weights, topical = _weights(question, language), _weights(topic(question), language)
    return ParsedQuestion(question, weights, topical or weights, kinds, answer, language)


def _weights(question: str, language: str) -> dict[str, float]:
    content = compared_words(_content(_ADDRESS.sub(" ", question), language)) or compared_words(question)
    weights: dict[str, float] = {}
    for word in content:
        weights[stem(word)] = max(rarity(word), weights.get(stem(word), 0.0))
    return weights


def coverage(question: str, texts: Iterable[str]) -> Floats:
    """Return the share of a question's words, weighted by rarity, that each text holds, in [0, 1]."""
    return shares(parse_question(question).weights, texts)


def _content(question: str, language: str) -> str:
    """Drop separators in numbers, and function words; `query_terms` drops the English ones."""
    text = without_function_words(without_separators(question))
    if language == "en":
        return text
    dropped = function_words()[language]
    remaining = [word for word in text.split() if not dropped.issuperset(words(word))]
    return " ".join(remaining) or text
