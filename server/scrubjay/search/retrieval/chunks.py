"""Chunks of documents, ranked one by one: prose and code in files have no turns around them.

Tuned on half of the questions of `tests/bench/ingest.py`, which asks for functions by their docstrings and for sections by their
headings; recall at 10 of the right chunk on the other half: code 75.1 (dense alone 73.2, BM25 66.1), Markdown 93.5 (86.9, 88.2).
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from scrubjay.search.retrieval.pools import by_vector, by_words
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.ranking import COSINE_SPAN, QUOTED, Floats, scale
from scrubjay.search.retrieval.relevance import QUOTATION, coverage, evidence
from scrubjay.search.retrieval.retrieve import Embed
from scrubjay.store.store import Store
from scrubjay.text.terms import query_terms, quotes

POOL = 200  # chunks a leg; with 100 two in a hundred answers were not in it
EACH = 10  # chunks a leg for every document that is asked for
DENSE, LEXICAL = (
    0.4,
    0.6,
)  # shares of the legs; 0.55 to 0.65 for words is a plateau, on code and Markdown alike
DEFINES = 1.0  # the chunk defines what the question names: then 93 of 100 definitions come first, else 58; from 0.5 on a plateau


@dataclass(frozen=True)
class RankedChunk:
    """One chunk that may answer: which it is of its document, what it says, and how well it answers, in [0, 1]."""

    id: str
    document_id: str
    position: int
    text: str
    score: float


async def rank_chunks(
    store: Store, question: Question, embed: Embed, *, documents: int = 10
) -> list[RankedChunk]:
    """The chunks that may answer, best first, enough for so many documents; what the question quotes scores at least 0.9."""
    await store.flush()
    where, pool = question.where(), max(POOL, EACH * documents)
    lexical, dense = await asyncio.gather(
        by_words(store, query_terms(question.text), where, pool, extra=("part",)),
        by_vector(store, embed(question.text), where, pool, extra=("part",)),
    )
    found = list({row["id"]: row for row in (*lexical, *dense)}.values())
    if not found:
        return []
    bm25 = {row["id"]: row["_score"] for row in lexical}
    cosine = {row["id"]: 1.0 - row["_distance"] for row in dense}
    meaning = np.array([cosine.get(row["id"], np.nan) for row in found])
    wording = np.array([bm25.get(row["id"], np.nan) for row in found])
    texts, names = [row["text"] for row in found], asked_names(question.text)
    quoted = np.array([quotes(question.text, text) for text in texts])
    total = DENSE * scale(meaning, least_span=COSINE_SPAN) + LEXICAL * scale(wording, floor=0.0)
    total += QUOTED * quoted + DEFINES * np.array([defines(text, names) for text in texts])
    order = np.lexsort((-np.nan_to_num(meaning), -total))
    proof = evidence(meaning, coverage(question.text, texts))
    proof = np.where(quoted, QUOTATION + (1.0 - QUOTATION) * proof, QUOTATION * proof)
    scores = falling(proof[order])
    return [_ranked(found[at], float(score)) for at, score in zip(order, scores, strict=True)]


def _ranked(row: dict[str, Any], score: float) -> RankedChunk:
    return RankedChunk(row["id"], row["record_id"], row["part"], row["text"], score)


def falling(values: Floats) -> Floats:
    """The closest values that never rise from one to the next: neighbours that do are replaced by their mean (pool adjacent violators).

    So a score stays what a chunk proves by itself, and yet no chunk stands behind one with a lower score.

    >>> falling(np.array([0.9, 0.2, 0.4, 0.1])).round(2).tolist()
    [0.9, 0.3, 0.3, 0.1]
    """
    means: list[float] = []
    counts: list[int] = []
    for value in values:
        means.append(float(value))
        counts.append(1)
        while len(means) > 1 and means[-2] < means[-1]:
            last, length = means.pop(), counts.pop()
            means[-1] = (means[-1] * counts[-1] + last * length) / (counts[-1] + length)
            counts[-1] += length
    return np.repeat(means, counts)


_TOKEN = re.compile(r"`([^`\n]+)`|([A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)*)(\(?)")
_CODED = re.compile(r"_|[a-z\d][A-Z]|[A-Za-z]\d")  # snake_case, camelCase, sha256
_PARTS = re.compile(r"[A-Za-z_$][\w$]*")
_MOST = 8  # names of one question

_WORDS = (  # before the name
    "def class func fn fun function struct interface enum trait type typedef union module namespace record object protocol macro "
    "macro_rules! impl const let var val static sub table view procedure trigger extension typealias"
)
_INTRODUCED = r"(?:{words})\s+(?:\([^)\n]*\)\s*|\*\s*|self\.)?{name}(?![\w$])"
_ASSIGNED = r"^\s*(?:export\s+)?(?:[A-Za-z_$][\w$]*\.)?{name}\s*(?::[^=\n]+)?(?::=|=(?!=)|\(\s*\)\s*\{{)"  # NAME =, NAME: int =, NAME() {
# A heading of its own, as references have: `## The Engine`, `### http.get(url)`. One of the first level is the title of a document, which
# names what all of it is about, or a comment in code; and one that says more about the name is one of many.
_HEADED = r"^#{{2,6}} +(?:\w+:? +){{0,2}}[`*]*(?:[\w$]+(?:\.|::|#))*{name}[`*]*(?:\([^\n]*)?[`*# \t]*$"


def asked_names(question: str) -> frozenset[str]:
    """The identifiers a question names: in backticks, called, or spelled like one; a question of one word is one. Of a path its last part.

    >>> sorted(asked_names("where is http.create_ssl_context defined?")), sorted(asked_names("Engine"))
    (['create_ssl_context'], ['Engine'])
    """
    names = []
    lone = len(question.split()) == 1
    for quoted, plain, called in _TOKEN.findall(question):
        parts = _PARTS.findall(quoted or plain)
        if parts and (lone or quoted or called or len(parts) > 1 or _CODED.search(parts[-1])):
            names.append(parts[-1])
    return frozenset(names[:_MOST])


def defines(text: str, names: frozenset[str]) -> bool:
    """Whether the text introduces one of the names, rather than using it.

    >>> defines("class Engine:\\n    pass", frozenset({"Engine"})), defines("run(Engine())", frozenset({"Engine"}))
    (True, False)
    """
    return bool(names) and any(name in text for name in names) and _introduces(names).search(text) is not None


@lru_cache(maxsize=64)
def _introduces(names: frozenset[str]) -> re.Pattern[str]:
    name = f"(?:{'|'.join(map(re.escape, sorted(names)))})"
    words = "|".join(re.escape(word) for word in _WORDS.split())
    either = (
        rf"(?:^|[\s;({{]){_INTRODUCED.format(words=words, name=name)}",
        _ASSIGNED.format(name=name),
        _HEADED.format(name=name),
    )
    return re.compile("|".join(either), re.MULTILINE)
