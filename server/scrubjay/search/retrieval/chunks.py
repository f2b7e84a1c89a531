"""Ranks chunks of documents one by one, because files have no turns around them.

The constants are tuned on half of the questions of `tests/bench/ingest.py`; `server/BENCHMARKS.md` has the
recall on the other half.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from scrubjay.models.records import COMMIT
from scrubjay.search.retrieval.asked import coverage, parse_question
from scrubjay.search.retrieval.pools import by_vector, by_words, search
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.ranking import COSINE_SPAN, QUOTED, Floats, scale
from scrubjay.search.retrieval.relevance import QUOTATION, evidence
from scrubjay.search.retrieval.retrieve import Embed
from scrubjay.store.store import Store
from scrubjay.text.tables import listed
from scrubjay.text.terms import compared_words, quotes

POOL = 200  # chunks per search; with 100, two in a hundred answers were missed
POOL_PER_DOCUMENT = 10  # chunks per search for each requested document
# Weights of the two searches; for words, 0.55 to 0.65 is a plateau, both on code and on Markdown.
DENSE, LEXICAL = 0.4, 0.6
# Bonus of a chunk that defines what the question names. With it 93 of 100 definitions come first, without it
# 58; the values from 0.5 on are a plateau.
DEFINES = 1.0
EXPLAINS = 0.15  # bonus of a commit that says more than its subject, if the question asks for a reason
LEAST_REASON = 40  # least characters after the subject of such a commit
MOST_NAMES = 8  # identifiers taken from one question

_TOKEN = re.compile(r"`([^`\n]+)`|([A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)*)(\(?)")
_CODED = re.compile(r"_|[a-z\d][A-Z]|[A-Za-z]\d")  # snake_case, camelCase, sha256
_PARTS = re.compile(r"[A-Za-z_$][\w$]*")
_INTRODUCED = r"(?:{words})\s+(?:\([^)\n]{{0,200}}\)\s*|\*\s*|self\.)?{name}(?![\w$])"
# Matches assignments such as `NAME =`, `NAME: int =` and `NAME() {`.
_ASSIGNED = r"^[^\S\n]*(?:export\s+)?(?:[A-Za-z_$][\w$]*\.)?{name}\s*(?::[^=\n]+)?(?::=|=(?!=)|\(\s*\)\s*\{{)"
# A heading with only the name, as in references: `## The Engine`, `### http.get(url)`. Longer headings are
# too frequent. Headings of the first level do not count: they name a whole document, or are comments in code.
_HEADED = r"^#{{2,6}} +(?:\w+:? +){{0,2}}[`*]*(?:[\w$]+(?:\.|::|#))*{name}[`*]*+(?:\([^\n]*)?[`*# \t]*$"


@dataclass(frozen=True)
class RankedChunk:
    """A chunk that may answer: its place in its document, its text, and how well it answers, in [0, 1].

    `role` is `COMMIT` for a chunk of a commit, else None.
    """

    id: str
    document_id: str
    position: int
    text: str
    score: float
    role: str | None = None


async def rank_chunks(
    store: Store, question: Question, embed: Embed, *, documents: int = 10
) -> list[RankedChunk]:
    """Rank chunks, best first; enough for an answer with `documents` different documents.

    Chunks that the question quotes score at least 0.9. Chunks that share neither a word nor meaning with the
    question score 0 and are left out. The caller has committed everything.
    """
    pool = max(POOL, POOL_PER_DOCUMENT * documents)
    searches = by_words(store, question.text, pool), by_vector(store, embed(question.text), pool)
    lexical, dense = await search(store, question, *searches)
    rows = list({row.id: row for row, _ in (*lexical, *dense)}.values())
    if not rows:
        return []
    scores = {row.id: value for row, value in lexical}
    cosines = {row.id: value for row, value in dense}
    bm25 = np.array([scores.get(row.id, np.nan) for row in rows])
    cosine = np.array([cosines.get(row.id, np.nan) for row in rows])
    texts, names = [row.text for row in rows], identifiers(question.text)
    quoted = np.array([quotes(question.text, text) for text in texts])
    # A chunk that has no vector yet is judged by its words instead of its meaning.
    is_unembedded = np.array([row.space_id is None and row.id not in cosines for row in rows])
    wording = scale(bm25, floor=0.0)
    total = (
        DENSE * np.where(is_unembedded, wording, scale(cosine, least_span=COSINE_SPAN)) + LEXICAL * wording
    )
    total += QUOTED * quoted + DEFINES * np.array([defines(text, names) for text in texts])
    if parse_question(question.text).answer == "reason":
        total += EXPLAINS * np.array([row.role == COMMIT and explains(row.text) for row in rows])
    order = np.lexsort((-np.nan_to_num(cosine), -total))
    # A chunk that BM25 found has a word of the question, perhaps in its headings, path or metadata.
    least = 1 / max(len(set(compared_words(question.text))), 1)
    covered = np.maximum(coverage(question.text, texts), np.where(np.isnan(bm25), 0.0, least))
    proof = np.where(is_unembedded, covered, evidence(cosine, covered))
    proof = np.where(quoted, QUOTATION + (1.0 - QUOTATION) * proof, QUOTATION * proof)
    return [
        RankedChunk(row.id, row.record_id, row.part, row.text, float(score), row.role)
        for row, score in zip((rows[at] for at in order), non_increasing(proof[order]), strict=True)
        if score > 0
    ]


def explains(text: str) -> bool:
    r"""Return True if the message of a commit says more than its subject.

    >>> explains("Stop\n\nIt hung for a minute whenever the proxy was away.\n\nFiles: a.py")
    True
    """
    return len(body_of(text)) >= LEAST_REASON


def body_of(text: str) -> str:
    """Return what the message of a commit says after its subject, without the names of files."""
    return text.partition("\n\nFiles: ")[0].partition("\n")[2].strip()


def non_increasing(values: Floats) -> Floats:
    """Return the closest values that never rise: rising neighbours get their mean (pool adjacent violators).

    >>> non_increasing(np.array([0.9, 0.2, 0.4, 0.1])).round(2).tolist()
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


def identifiers(question: str) -> frozenset[str]:
    """Return the names in a question that are in backticks, called or spelled like code; or its only word.

    Of a dotted name, only the last part is returned.

    >>> sorted(identifiers("where is http.create_ssl_context defined?")), sorted(identifiers("Engine"))
    (['create_ssl_context'], ['Engine'])
    """
    names = []
    is_only_word = len(question.split()) == 1
    for quoted, plain, called in _TOKEN.findall(question):
        parts = _PARTS.findall(quoted or plain)
        if parts and (is_only_word or quoted or called or len(parts) > 1 or _CODED.search(parts[-1])):
            names.append(parts[-1])
    return frozenset(names[:MOST_NAMES])


def defines(text: str, names: frozenset[str]) -> bool:
    """Return True if the text defines one of the names, rather than using it.

    >>> names = frozenset({"Engine"})
    >>> defines("class Engine:\\n    pass", names), defines("run(Engine())", names)
    (True, False)
    """
    return bool(names) and any(name in text for name in names) and _definition(names).search(text) is not None


@lru_cache(maxsize=64)
def _definition(names: frozenset[str]) -> re.Pattern[str]:
    name = f"(?:{'|'.join(map(re.escape, sorted(names)))})"
    words = "|".join(map(re.escape, listed("defining")))
    patterns = (
        rf"(?:^|[\s;({{]){_INTRODUCED.format(words=words, name=name)}",
        _ASSIGNED.format(name=name),
        _HEADED.format(name=name),
    )
    return re.compile("|".join(patterns), re.MULTILINE)
