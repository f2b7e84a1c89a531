"""Retrieval: from a question to ranked candidates, each with its relevance."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scrubjay.encoders import answer_reader, change_reader
from scrubjay.encoders.token_codes import Bits, EncodedQuery, matches
from scrubjay.home.scopes import display_name
from scrubjay.models.results import Confidence
from scrubjay.records.passages import with_gloss
from scrubjay.search.retrieval import currency, ranking, relevance
from scrubjay.search.retrieval.asked import ParsedQuestion, parse_question
from scrubjay.search.retrieval.candidates import Candidates, labels, lay_out, whole_texts
from scrubjay.search.retrieval.currency import Pair, Vector
from scrubjay.search.retrieval.excerpts import excerpt
from scrubjay.search.retrieval.pools import Pools, search_pools
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.ranking import Floats, Ints
from scrubjay.search.retrieval.relevance import WEAK
from scrubjay.search.retrieval.replacing import with_replaced
from scrubjay.search.retrieval.weights import FIRST, ORDER
from scrubjay.search.retrieval.words import shares
from scrubjay.store.store import Store
from scrubjay.text.answer_kinds import holds
from scrubjay.text.dates import periods
from scrubjay.text.developer_words import gloss, searched_words
from scrubjay.text.terms import mentions, remove_names

# Returns a query's vector and tokens, or None while meaning cannot be searched.
Embed = Callable[[str], Awaitable[EncodedQuery | None]]
EXAMINED = 40  # candidates that are examined: late interaction, words, the kind of answer


@dataclass(frozen=True)
class Gathered:
    """Candidates for a question before examination; `query` is None without a model."""

    parsed: ParsedQuestion
    pools: Pools
    candidates: Candidates
    query: EncodedQuery | None

    @property
    def tokens(self) -> Bits | None:
        """The codes of the question's tokens, or None."""
        return None if self.query is None else self.query.tokens


@dataclass(frozen=True)
class Ranking:
    """Candidates with their relevance, and what it was computed from.

    `positions` are those of the candidates, best first. Arrays are in this order only if a comment says so.
    """

    candidates: Candidates
    query: EncodedQuery | None  # None if meaning was not searched
    positions: Ints
    parts: dict[str, Floats]  # the parts of the ranking sum
    total: Floats  # the ranking sum
    verdict: dict[str, float]  # see `relevance.verdict_evidence` and `read_first`
    chance: float
    relevance: Floats  # by rank, in [0, 1]; in the order of `positions`
    right: Floats  # chance of each of the first `EXAMINED` to be right; in the order of `positions`
    similarity: Floats  # how well each answers by itself; in the order of `positions`
    fall: Floats  # see `relevance.falls`; in the order of `positions`

    @property
    def has_quotation(self) -> bool:
        """Return True if the question quotes a candidate."""
        return bool(self.candidates.signals.quoted.any())

    def confidence(self, *, weak: float = WEAK) -> Confidence:
        """Return how reliable the hits are; they are worth showing if their chance is at least `weak`."""
        if not len(self.positions):
            return "none"
        return relevance.confidence(self.chance, quoted=self.has_quotation, weak=weak)


async def retrieve(store: Store, question: Question, embed: Embed, *, thorough: bool = False) -> Ranking:
    """Rank the records that may answer the question. The caller has committed everything.

    With `thorough`, the similarity of each record is independent of other records: the words of all are
    compared, and none lacks a cosine because 200 others are nearer.
    """
    gathered = await gather(store, question, embed)
    if thorough:
        gathered = await _with_cosines(store, gathered)
    candidates = gathered.candidates
    early = ranking.first_features(candidates.signals)
    first = ranking.order(ranking.sum_parts(ranking.parts(candidates.signals, FIRST, early)))[:EXAMINED]
    matched = None
    if gathered.tokens is not None:
        compared = np.flatnonzero(
            ranking.with_neighbours(first, candidates.signals.session, candidates.signals.place)
        )
        matched = await token_matches(store, candidates, compared, gathered.tokens)
    read_closely = np.arange(len(candidates.ids)) if thorough else first
    candidates = examine(gathered, first, matched, read_closely)
    columns = ranking.parts(candidates.signals, ORDER, ranking.features(candidates.signals, early))
    total = ranking.sum_parts(columns)
    current = await with_replaced(store, candidates, total, ranking.order(total)[:EXAMINED])
    if current is not candidates:
        candidates, total = current, ranking.sum_parts(ranking.corrected(columns, current.signals))
    candidates = await with_amended(store, gathered, candidates, total)
    ranked = replace(gathered, candidates=candidates)
    # Programs get every record by its similarity, so they need no verdict on the answer.
    return await _rank(ranked, ranking.corrected(columns, candidates.signals), may_read=not thorough)


async def gather(store: Store, question: Question, embed: Embed) -> Gathered:
    """Search by words, meaning and names, and lay out the results with the turns around them."""
    parsed = parse_question(question.text)
    speakers = await store.names.speakers(question.scopes)
    names = speakers | _project_names(question.scopes)
    # Names that every turn has dominate a small model's sentence vector: without them, dense search alone
    # improves from 46 to 67 % on LoCoMo.
    embedding = asyncio.ensure_future(embed(remove_names(parsed.embedded_text, names)))
    pools = await search_pools(store, question, embedding)
    keys = dict.fromkeys(
        (passage.scope, passage.session_id)
        for passage in pools.best.values()
        if passage.src == "turn" and passage.session_id is not None
    )
    sessions = await store.sessions.of(keys)
    named = mentions(question.text, speakers)
    candidates = lay_out(
        pools,
        map(question.visible_turns, sessions.values()),
        query=question.text,
        periods=periods(question.text, question.now),
        speaker=named[0] if len(named) == 1 else None,
        with_neighbours=not question.is_filtered,
    )
    query = await embedding
    if query is None:  # words replace the meaning of all candidates
        candidates = candidates.with_signals(unembedded=np.ones(len(candidates.ids), dtype=bool))
    else:
        parsed = replace(parsed, prior=query.prior)
    return Gathered(parsed, pools, candidates, query)


def examine(
    gathered: Gathered, first: Ints, matched: Floats | None, read_closely: Ints | None = None
) -> Candidates:
    """Fill in the signals of the `first` candidates that need an examination.

    Words are compared in the candidates to be `read_closely`, by default only in the first. `matched`, of
    shape (candidates, tokens), holds how well each token of the question is matched: NaN for candidates
    without token codes. It is None if the question has none.
    """
    parsed, candidates = gathered.parsed, gathered.candidates
    signals = candidates.signals
    late, answer = np.zeros((2, len(signals)))
    tokens, uneven, covered = np.full((3, len(signals)), np.nan)
    if matched is not None and len(first):
        late = ranking.late_interaction(matched, first, signals.session, signals.place)
        tokens[first], uneven[first] = matched[first].mean(axis=1), matched[first].std(axis=1)
    read = first if read_closely is None else read_closely
    texts = [evident_text(gathered, at) for at in read.tolist()]
    covered[read] = np.maximum(shares(parsed.weights, texts), relevance.NAMED_COVERS * signals.named[read])
    if (kind := parsed.answer) is not None:
        answer[read] = [1.0 if holds(kind, text) else -1.0 for text in texts]
    # A record too new for tokens is scored by its words, so that it does not lose to older twins.
    late = np.where(signals.unembedded & (late > 0), np.fmax(late, covered), late)
    return candidates.with_signals(late=late, tokens=tokens, uneven=uneven, coverage=covered, answer=answer)


async def _with_cosines(store: Store, gathered: Gathered) -> Gathered:
    """Fill in the missing cosines: those of records found by words but not among the nearest in meaning."""
    candidates, query = gathered.candidates, gathered.query
    cosine = candidates.signals.cosine.copy()
    missing = np.flatnonzero(np.isnan(cosine)).tolist()
    if query is None or not missing:
        return gathered
    vectors = await vectors_of(store, gathered, missing)
    for at in missing:
        if candidates.ids[at] in vectors:
            cosine[at] = float(vectors[candidates.ids[at]] @ query.vector)
    return replace(gathered, candidates=candidates.with_signals(cosine=cosine))


async def vectors_of(store: Store, gathered: Gathered, positions: Iterable[int]) -> dict[str, Vector]:
    """Read the vectors of the best passages of these candidates, by record id."""
    row_ids = gathered.pools.row_ids
    passages = [passage for at in positions if (passage := gathered.candidates.passages[at]) is not None]
    by_passage = await store.passages.vectors_of(
        {row_ids[passage.id]: passage.id for passage in passages if passage.id in row_ids}
    )
    return {row.record_id: by_passage[row.id] for row in passages if row.id in by_passage}


async def with_amended(store: Store, gathered: Gathered, candidates: Candidates, total: Floats) -> Candidates:
    """Move later records before the first candidates that they amend."""
    ranked, parsed = ranking.order(total), gathered.parsed
    compared = currency.candidates_to_compare(candidates, ranked)
    # A question about a time wants the values of that time.
    if len(compared) < 2 or candidates.signals.date.any():
        return candidates
    vectors = await vectors_of(store, gathered, compared)
    text = (await whole_texts(store, candidates, compared)).__getitem__
    likely = currency.pairs(parsed, candidates, total, ranked, vectors, text)
    if parsed.language == "en":
        likely = await with_readings(parsed, text, likely)
    return currency.amend(candidates, total, likely)


async def with_readings(
    parsed: ParsedQuestion, text: Callable[[int], str], likely: Sequence[Pair]
) -> list[Pair]:
    """Let a model read the likeliest pairs whose order may be wrong, and change their odds.

    `text` returns a candidate's text. Each pair is read in a thread, for about 10 ms.
    """

    def read(pair: Pair) -> Pair:
        earlier, later = (
            excerpt(text(at), parsed.text, currency.READ_LENGTH) for at in (pair.earlier, pair.later)
        )
        return currency.with_reading(pair, change_reader.log_odds(parsed.text, earlier, later))

    worth_reading = (pair for pair in likely if pair.is_worth_reading)
    chosen = sorted(worth_reading, key=lambda pair: -pair.odds)[: currency.READ_PAIRS]
    read_pairs = await asyncio.gather(*(asyncio.to_thread(read, pair) for pair in chosen))
    readings = dict(zip(chosen, read_pairs, strict=True))
    return [readings.get(pair, pair) for pair in likely]


async def token_matches(store: Store, candidates: Candidates, positions: Ints, tokens: Bits) -> Floats:
    """Match each token with the best passage of each of these candidates.

    Returns an array of shape (candidates, tokens), NaN for all other candidates.
    """
    rows = {candidates.ids[at]: at for at in positions.tolist()}
    passages = await store.passages.token_codes(rows)
    # In a thread, because it takes milliseconds in which the loop can serve other clients.
    values = await asyncio.to_thread(matches, tokens, [code for _, code in passages])
    best = np.full((len(candidates.ids), len(tokens)), np.nan)
    best_sum = np.full(len(candidates.ids), -np.inf)
    for (record_id, _), value, total in zip(passages, values, values.sum(axis=1).tolist(), strict=True):
        at = rows[record_id]
        if total > best_sum[at]:
            best[at], best_sum[at] = value, total
    return best


async def _rank(gathered: Gathered, columns: dict[str, Floats], *, may_read: bool) -> Ranking:
    candidates, signals = gathered.candidates, gathered.candidates.signals
    total = ranking.sum_parts(columns)
    positions = ranking.order(total)
    distance = relevance.behind(total, quoted=signals.quoted)
    with_passage = [at for at in positions[:EXAMINED].tolist() if candidates.passages[at] is not None]
    first = np.array(with_passage[: relevance.DEPTH], dtype=np.int64)
    texts = [evident_text(gathered, at, glossed=True) for at in first[: relevance.READ].tolist()]
    verdict = relevance.verdict_evidence(gathered.parsed, signals, total, first, texts)
    if may_read:
        verdict |= await read_first(gathered, first, verdict)
    fall, chance = relevance.falls(distance[positions]), relevance.chance(verdict)
    return Ranking(
        candidates=candidates,
        query=gathered.query,
        positions=positions,
        parts=columns,
        total=total,
        verdict=verdict,
        chance=chance,
        relevance=relevance.relevance(fall, chance, quoted=signals.quoted[positions]),
        right=relevance.chances_right(gathered.parsed, signals, distance)[positions[:EXAMINED]],
        similarity=relevance.similarities(gathered.parsed, signals)[positions],
        fall=fall,
    )


async def read_first(gathered: Gathered, first: Ints, verdict: Mapping[str, float]) -> dict[str, float]:
    """Return a model's log odds that the first candidate answers the question as `read`, or {}.

    The model reads English, and only what may matter, in a thread, for 2 to 10 ms.
    """
    parsed = gathered.parsed
    if parsed.language != "en" or not relevance.is_worth_reading(verdict):
        return {}
    text = text_to_read(gathered, int(first[0]))
    return {"read": await asyncio.to_thread(answer_reader.log_odds, parsed.text, text)}


def text_to_read(gathered: Gathered, at: int) -> str:
    """Return what the model reads of a candidate: an excerpt, and the kinds of the things that it names."""
    text = excerpt(_passage_text(gathered, at), gathered.parsed.text, answer_reader.LENGTH)
    return with_gloss(text, gloss(text))


def evident_text(gathered: Gathered, at: int, *, glossed: bool = False) -> str:
    """Return one text of a candidate's speaker, its best passage, and the query's entities that it names.

    A fact's tags and the name of its partition are added. With `glossed`, or if the question asks for a kind
    of thing, the kinds of the things that the text names are added too.
    """
    candidates = gathered.candidates
    passage, names = candidates.passages[at], gathered.pools.entities.get(candidates.ids[at], ())
    text = f"{_passage_text(gathered, at)} {labels(passage) if passage else ''}"
    kinds = searched_words(gloss(text)) if glossed or gathered.parsed.kinds else ""
    return f"{candidates.roles[at] or ''} {text} {kinds} {' '.join(tie.via for tie in names)}"


def _passage_text(gathered: Gathered, at: int) -> str:
    """Return the best passage of a candidate, and the answer to a user's words, which alone have none."""
    candidates = gathered.candidates
    passage = candidates.passages[at]
    answer = candidates.answers.get(candidates.ids[at], "") if passage and passage.role == "user" else ""
    return f"{passage.text if passage else ''} {answer}".rstrip()


def _project_names(scopes: tuple[str, ...] | None) -> frozenset[str]:
    """Return the names of the projects in these scopes."""
    return frozenset(name for scope in scopes or () if (name := display_name(scope)) != scope)
