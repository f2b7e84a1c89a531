"""Fits the weights of the ranking sum and of the verdict on an answer, and writes them to their file.

    python tests/bench/fit.py --data locomo10.json --homes FOLDER [--model multilingual | --write]

Needs scipy in addition to `.[test]`. Fitted on the made-up projects whose half is `dev`, on the dev half of the
folder `stores`, and on the dev half of LoCoMo; the other projects and the other half are never looked at here.
The stores are 45 projects of short facts. Thirty were set apart from the lessons of `server/model/questions`;
fifteen, whose questions of the kind `other` ask the same of another thing, were written for this. No model was
taught with them. Another model than the bundled one is fitted on the dev half of `languages.tsv` too, to see
what weights of its own would gain. Four steps, each with the weights of the one before:

first, order    a listwise fit: the share of e^sum that the right candidates have of all candidates of a question
                (softmax; Cao et al. 2007), without and with the features of the close examination
amends, reads   logistic: does the later of two records among the first amend the earlier? Pairs of questions of
                the kinds `changed` and `amended`, against pairs where the earlier one is right; then once more
                for the likely ones, with the log odds of the model that reads them
verdict, right  logistic: is a right record among the first five, or this one, against all questions that nothing
                answers; the verdict once more with the log odds of the model that reads the first
similarity      logistic, with no weight below 0: right records against the best one of each question that nothing
                answers; shifted so that `ALARMS` of these questions have a result of .6 or more

The order is fitted on eight of the projects, the rest on all. Prints how often the first right record is first,
among five and among ten, by kind; each of the eight is also ranked by weights that were fitted without it
("cv"), which is what to look at while choosing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import languages
import numpy as np
import projects
from kept import SCOPE, opened, said_by, said_in
from locomo import Haystack
from locomo import load as conversations

from scrubjay.encoders import BUNDLED, Encoder, answer_reader, open_encoder
from scrubjay.encoders.change_reader import log_odds
from scrubjay.engine.core import Core
from scrubjay.models.records import Turn
from scrubjay.records.passages import with_gloss
from scrubjay.search.retrieval import currency, relevance, retrieve, weights
from scrubjay.search.retrieval.asked import coverage, parse_question
from scrubjay.search.retrieval.candidates import Candidates, whole_texts
from scrubjay.search.retrieval.excerpts import excerpt
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.ranking import EXAMINED, Floats, Ints, features, order
from scrubjay.text.answer_kinds import holds
from scrubjay.text.developer_words import gloss
from scrubjay.text.likeness import is_same_matter
from scrubjay.text.terms import parts, runs

WEIGHTS = Path(weights.__file__).with_name("weights.json")
PROJECT = 4.0  # times that a question to a project counts as much as one of LoCoMo
# Projects that the order is fitted on, and what their questions count there. With the other 24, paraphrases of
# projects left out gain nothing, look-ups lose 2 points and LoCoMo one among ten.
ORDERED = frozenset("dunlin egret ibis kestrel magpie plover tern wren".split())
ORDERED_PROJECT = 10.0
# Likewise, of a question to a store. Stores are harder: most of their questions share no word with the answer,
# and many without an answer do. With 3, of plain questions to projects 6 points fewer are certain.
STORE = 1.0
CERTAIN = 0.17  # share of the questions that nothing answers with an answer that is not called doubtful
WRITTEN = 0.15  # weight of a pair of `pairs.tsv`, relative to one of the projects
OWN_PAIR = 0.05  # likewise, of a pair of facts of `amendments.tsv`; those of turns are only tested
CHAT = 0.02  # likewise, of a pair of LoCoMo's turns
READ_FROM = -4.0  # log odds from which a pair's reading counts in the fit
CHATS = 8  # every so many questions to LoCoMo are looked at for such pairs
# Lower bounds for names, which are rare in the projects: a record tagged with everything asked for comes
# first, and is found at the default threshold of clients.
NAMED, NAMED_ALONE = 4.0, 2.0
ALARMS = 0.2  # share of the questions that nothing answers with a similarity of .6 or more
TIGHT = 0.001  # strength of the penalty on large weights
FOLDS = 5  # groups of projects that are left out in turn
# Features that add nothing once words are weighed by coverage; they rank the unexamined candidates.
_FIRST_ALONE = ("words", "near_words", "unfound")
# Code words of several parts that a user or an assistant might look up: at most so many a project, each in
# few records.
_NAMES = re.compile(
    r"\b(?:[A-Za-z]+(?:[_.-][A-Za-z]+)+|[a-z]+(?:[A-Z][a-z]+)+|v?\d+(?:\.\d+)+|[A-Z]{1,6}-?\d{3,})\b"
)
_CODE = re.compile(r"\b([A-Z]{1,6})(\d{3,})\b")
LOOKUPS, FEW = 20, 2
LOOKUP = 0.25  # weight of one lookup; 1 costs paraphrases 6 points among the first, 0 costs lookups 6
_TIMED = ("time", "document")  # kinds that ranking does not decide


@dataclass
class Asked:
    """One question: its candidates, which of them are right or stale, and where it comes from."""

    source: str  # a project, or LoCoMo
    kind: str
    gathered: retrieve.Gathered
    right: np.ndarray
    stale: np.ndarray
    matched: Floats | None
    vectors: Mapping[str, np.ndarray]
    texts: Sequence[str]
    has_answer: bool
    examined: Candidates | None = None
    columns: dict[str, Floats] = field(default_factory=dict)

    @property
    def is_chat(self) -> bool:
        return self.source == "LoCoMo"

    @property
    def is_project(self) -> bool:
        return self.source not in ("LoCoMo", "stores")

    @property
    def weight(self) -> float:
        own = PROJECT if self.is_project else 1.0 if self.is_chat else STORE
        return own * (LOOKUP if self.kind == "lookup" else 1.0)


async def collect(data: Path | None, homes: Path, half: str, model: str = BUNDLED) -> list[Asked]:
    """Ask every question of the half, and every second one of another conversation, which has no answer
    here.
    """
    found: list[Asked] = []
    prefix = "" if model == BUNDLED else f"{model} "
    for source, project in _projects(model):
        asked = [question for question in project.questions if question.half == half]
        if not asked:
            continue
        said, ids = said_by(project.records, SCOPE)
        async with opened(homes, f"{prefix or 'project '}{project.name}", said, model) as core:
            for question in asked:
                right = {ids[key] for key in question.right}
                stale = {ids[key] for key in question.stale}
                kind = question.kind
                found.append(await _ask(core, question.ask, source, kind, project.now, right, stale))
            for text, holders in lookups(project, ids):
                found.append(await _ask(core, text, source, "lookup", project.now, holders, set()))
    every = conversations(data) if data else []
    for number, haystack in enumerate(every):
        if haystack.questions[0].half != half:
            continue
        async with opened(homes, f"{prefix}{haystack.name}", said_in(haystack), model) as core:
            now = datetime.now(UTC)
            for asked in haystack.questions:
                kind = "adversarial" if asked.category == 5 else "answered"
                found.append(await _ask(core, asked.text, "LoCoMo", kind, now, asked.evidence, set()))
            foreign = every[(number + 2) % len(every)]
            for asked in foreign.questions[::3]:
                if asked.category != 5:
                    text = renamed(asked.text, foreign, haystack)
                    found.append(await _ask(core, text, "LoCoMo", "foreign", now, set(), set()))
        print(haystack.name, file=sys.stderr, flush=True)
    return found


def _projects(model: str) -> Iterator[tuple[str, projects.Project]]:
    """Yield the made-up projects, and the groups in which they are left out: the stores are one.

    For another model than the bundled one, the facts in seven languages are one project more.
    """
    for path in sorted(projects.FOLDER.glob("*.toml")):
        yield path.stem, projects.load(path)
    for path in sorted(projects.STORES.glob("*.toml")):
        yield "stores", projects.load(path)
    if model != BUNDLED:
        yield "facts", languages.facts()


def lookups(project: projects.Project, ids: Mapping[str, str]) -> Iterator[tuple[str, set[Any]]]:
    """Yield parts of code words, in another spelling, with the few records that say the word."""
    holders: dict[str, set[Any]] = {}
    for record in project.records:
        if record.kind != "document":
            said = record.arguments
            place = (said["session_id"], said["turn"]) if record.kind == "turn" else ids[record.key or ""]
            for name in _NAMES.findall(record.text):
                holders.setdefault(name, set()).add(place)
    few = [name for name, places in sorted(holders.items()) if len(places) <= FEW]
    chosen = Random(project.name)
    for name in chosen.sample(few, min(LOOKUPS, len(few))):
        pieces = [part for run in runs(name) for part in _CODE.sub(r"\1 \2", " ".join(parts(run))).split()]
        start = chosen.randrange(max(1, len(pieces) - 2))
        yield chosen.choice((" ", "_", "-")).join(pieces[start : start + 3]).lower(), holders[name]


async def _ask(
    core: Core, text: str, source: str, kind: str, now: datetime, right: Iterable[Any], stale: Iterable[str]
) -> Asked:
    question = Question(text=text, scopes=(SCOPE,), srcs=("memory", "turn"), now=now)
    gathered = await retrieve.gather(core.store, question, core.indexer.embed_query)
    candidates, right = gathered.candidates, set(right)
    turns, positions = await core.store.get(Turn, candidates.ids), range(len(candidates.ids))
    places = {turn.id: (turn.session_id, turn.turn) for turn in turns.values()}
    is_right = [each in right or places.get(each) in right for each in candidates.ids]
    matched = None
    if gathered.tokens is not None and positions:
        matched = await retrieve.token_matches(core.store, candidates, np.array(positions), gathered.tokens)
    vectors, texts = {}, [""] * len(positions)
    if source != "LoCoMo" or (kind == "answered" and Random(text).randrange(CHATS) == 0):
        vectors = await retrieve.vectors_of(core.store, gathered, positions)
        texts = [*(await whole_texts(core.store, candidates, positions)).values()]
    return Asked(
        source,
        kind,
        gathered,
        np.array(is_right, dtype=bool),
        np.array([each in set(stale) for each in candidates.ids], dtype=bool),
        matched,
        vectors,
        texts,
        bool(right),
    )


def renamed(text: str, theirs: Haystack, ours: Haystack) -> str:
    """Ask about the speakers of one conversation what was asked about those of another."""
    for name, other in zip(_speakers(theirs), _speakers(ours), strict=False):
        text = re.sub(rf"\b{re.escape(name)}\b", other, text)
    return text


def _speakers(haystack: Haystack) -> Iterable[str]:
    return dict.fromkeys(turn.role for turn in haystack.turns)


def listwise(asked: Sequence[Asked], names: Sequence[str]) -> dict[str, float]:
    """Fit the weights of these features so that right candidates have most of e^sum."""
    some = [each for each in asked if each.right.any() and each.kind not in _TIMED]
    tables = [np.stack([each.columns[name] for name in names], axis=1) for each in some]
    table = np.zeros((len(tables), max(map(len, tables)), len(names)))
    kept, right = np.zeros((2, *table.shape[:2]), dtype=bool)
    for row, (values, each) in enumerate(zip(tables, some, strict=True)):
        some_of = row, slice(len(values))
        table[some_of], kept[some_of], right[some_of] = values, True, each.right
    share = np.array([each.weight * (ORDERED_PROJECT / PROJECT if each.is_project else 1.0) for each in some])
    share /= share.sum()

    def loss(values: Floats) -> tuple[float, Floats]:
        score = np.where(kept, table @ values, -np.inf)
        odds = np.exp(score - score.max(axis=1, keepdims=True))
        every, good = odds.sum(axis=1), (odds * right).sum(axis=1) + 1e-300
        excess = share[:, None] * (odds / every[:, None] - odds * right / good[:, None])
        slope = np.tensordot(excess, table, 2) + 2 * TIGHT * values
        return float(share @ (np.log(every) - np.log(good)) + TIGHT * values @ values), slope

    bounds = [(NAMED if name == "named" else None, None) for name in names]
    return dict(zip(names, _least(loss, len(names), bounds), strict=True))


def logistic(
    rows: Sequence[Mapping[str, float]],
    right: Sequence[bool],
    shares: Sequence[float] | None = None,
    *,
    tight: float = 1e-3,
    least: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Fit log odds; `least` are bounds of weights from below."""
    names = list(rows[0])
    table = np.array([[row[name] for name in names] for row in rows])
    signs = np.where(right, 1.0, -1.0)
    share = np.ones(len(rows)) if shares is None else np.array(shares)
    share = share / share.sum()
    free = np.array([0.0 if name == "offset" else 1.0 for name in names])
    spread = np.where(table.std(axis=0) > 0, table.std(axis=0), 1.0)

    def loss(values: Floats) -> tuple[float, Floats]:
        margin = signs * (table @ values)
        slope = -(share * signs / (1 + np.exp(margin))) @ table
        penalty = tight * free * spread**2
        return float(share @ np.logaddexp(0, -margin) + penalty @ values**2), slope + 2 * penalty * values

    bounds = [((least or {}).get(name), None) for name in names]
    return dict(zip(names, _least(loss, len(names), bounds), strict=True))


def _least(loss: Callable[[Floats], tuple[float, Floats]], size: int, bounds: Any = None) -> list[float]:
    from scipy.optimize import minimize  # not needed at run time

    found = minimize(
        loss, np.zeros(size), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 400}
    )
    return [round(float(value), 4) for value in found.x]


def ranked(each: Asked, values: Mapping[str, float]) -> Ints:
    """Order the candidates by these weights, ignoring amendments."""
    return order(weighed(each, values))


def weighed(each: Asked, values: Mapping[str, float]) -> Floats:
    """Add up the features by their weights."""
    return (
        sum((weight * each.columns[name] for name, weight in values.items()), np.zeros(len(each.right)))
        + 12.0 * each.gathered.candidates.signals.quoted
    )


def examine(asked: Sequence[Asked], first: Mapping[str, float]) -> None:
    """Take a close look at the first candidates by these weights, and compute all features."""
    for each in asked:
        each.columns = features(each.gathered.candidates.signals)
        some = order(weighed(each, first))[: retrieve.EXAMINED]
        each.examined = retrieve.examine(each.gathered, some, each.matched)
        each.columns = features(each.examined.signals)


def show(name: str, asked: Sequence[Asked], places: Mapping[int, int]) -> None:
    """Print how often the first right candidate is first, among five and among ten, by kind."""
    groups: dict[str, list[int]] = {}
    for each in asked:
        if each.right.any() and each.kind not in _TIMED:
            place = places[id(each)]
            for group in (
                ("LoCoMo",) if each.is_chat else (each.kind, "projects" if each.is_project else "stores")
            ):
                groups.setdefault(group, []).append(place)
    cells = (
        f"{group} {' / '.join(f'{100 * np.mean([place < most for place in some]):.0f}' for most in (1, 5, 10))} ({len(some)})"
        for group, some in sorted(groups.items())
    )
    print(f"{name}: " + ", ".join(cells), flush=True)


def place_of(each: Asked, positions: Ints) -> int:
    found = np.flatnonzero(each.right[positions])
    return int(found[0]) if len(found) else 999


Texts = tuple[str, str, str]  # a question, an earlier and a later record


@dataclass
class Pairs:
    """Pairs of records: the evidence, whether the later one amends the earlier, the weight, and what is read."""

    rows: list[dict[str, float]] = field(default_factory=list)
    labels: list[bool] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    texts: list[Texts | None] = field(default_factory=list)

    def add(self, row: dict[str, float], label: bool, share: float, texts: Texts | None) -> None:
        self.rows.append(row)
        self.labels.append(label)
        self.shares.append(share)
        self.texts.append(texts)


def pairs(asked: Sequence[Asked], values: Mapping[str, float]) -> dict[str, Pairs]:
    """Gather pairs of candidates, an earlier and a later one, and whether the later amends the earlier."""
    found = {kind: Pairs() for kind in currency.LIKELY}
    for each in asked:
        if not each.vectors or not each.has_answer or each.examined is None:
            continue
        total = weighed(each, values)
        said: dict[int, Any] = {}

        def read(at: int, each: Asked = each, said: dict[int, Any] = said) -> Any:
            if at not in said:
                said[at] = currency.Compared.of(each.texts[at])
            return said[at]

        top = [
            at
            for at in order(total)[: currency.FIRST].tolist()
            if each.gathered.candidates.passages[at] is not None
        ]
        for older, newer, kind, row in currency.near_pairs(each.examined, total, top, each.vectors):
            amends = bool(each.stale[older] and each.right[newer])
            keeps = bool(each.right[older] and not each.right[newer] and not each.stale[newer])
            if amends or keeps or each.is_chat:
                row |= currency.compare(read(older), read(newer), row["cosine"])
                same = is_same_matter(read(older).text, read(newer).text, row["cosine"])
                matter = kind == "memory" and same
                share = CHAT if each.is_chat else each.weight / PROJECT
                texts = None
                if (question := each.gathered.parsed).language == "en":
                    earlier, later = (
                        excerpt(each.texts[at], question.text, currency.READ_LENGTH) for at in (older, newer)
                    )
                    texts = question.text, earlier, later
                found[kind].add(row | {"matter": float(matter)}, amends, share, texts)
    return found


def amendments_written(encoder: Encoder, half: str) -> dict[str, Pairs]:
    """Gather the pairs of `amendments.tsv`, each with a question that both records seem to answer."""
    found = {kind: Pairs() for kind in currency.LIKELY}
    lines = Path(__file__).with_name("amendments.tsv").read_text("utf-8").splitlines()
    kept = [cells for line in lines if (cells := line.split("\t"))[0] == half]
    olds, news = (
        encoder.embed_documents([with_gloss(cells[at], gloss(cells[at])) for cells in kept]) for at in (3, 4)
    )
    for (_, src, label, old, new, question), one, other in zip(kept, olds, news, strict=True):
        cosine, kind = float(one @ other), parse_question(question).answer
        before, now = coverage(question, [old, new]).tolist()
        values = currency.compare(currency.Compared.of(old), currency.Compared.of(new), cosine)
        values |= {"matter": float(src == "memory" and is_same_matter(old, new, cosine)), "distance": 0.0}
        values |= {"coverage": now, "coverage_gain": now - before, "days": 1.0}
        values["answer"] = 0.0 if kind is None else 1.0 if holds(kind, new) else -1.0
        found[src].add(values, label == "update", OWN_PAIR, (question, old, new))
    return found


def written_pairs(encoder: Encoder) -> Pairs:
    """Gather pairs of facts without a question, as if both fitted one: those of `pairs.tsv`, and of each project."""
    found = Pairs()

    def add(old: str, new: str, cosine: float, amends: bool) -> None:
        values = currency.compare(currency.Compared.of(old), currency.Compared.of(new), cosine)
        values |= {"matter": float(is_same_matter(old, new, cosine)), "distance": 0.0, "answer": 0.0}
        values |= {"coverage": 0.7, "coverage_gain": 0.0, "days": 1.0}
        found.add(values, amends, WRITTEN, None)

    lines = Path(__file__).with_name("pairs.tsv").read_text("utf-8").splitlines()
    kept = [cells for line in lines if not line.startswith("#") and (cells := line.split("\t"))[-1] == "dev"]
    olds, news = (encoder.embed_documents([cells[at] for cells in kept]) for at in (1, 2))
    for (label, old, new, *_), one, other in zip(kept, olds, news, strict=True):
        # Of two equivalent records the newer comes first, too.
        add(old, new, float(one @ other), label != "none")
    for project in map(projects.load, sorted(projects.FOLDER.glob("*.toml"))):
        if project.questions[0].half != "dev":
            continue
        facts = [record for record in project.records if record.kind == "memory"]
        changes = {(old, new) for each in project.questions for old in each.stale for new in each.right}
        changes |= {(fact.updates, fact.key) for fact in facts if fact.updates}
        texts = [with_gloss(fact.text, gloss(fact.text)) for fact in facts]
        vectors = encoder.embed_documents(texts) if texts else []
        for (old, one), (new, other) in combinations(zip(facts, vectors, strict=True), 2):
            cosine = float(one @ other)
            if cosine >= currency.NEAR:
                add(old.text, new.text, cosine, (old.key, new.key) in changes)
    return found


def amended(each: Asked, values: Mapping[str, float]) -> tuple[Candidates, Floats]:
    """Rank with amendments."""
    assert each.examined is not None
    total = weighed(each, values)
    parsed, text = each.gathered.parsed, each.texts.__getitem__
    found = currency.pairs(parsed, each.examined, total, order(total), each.vectors, text)
    if parsed.language == "en":
        found = asyncio.run(retrieve.with_readings(parsed, text, found))
    candidates = currency.amend(each.examined, total, found)
    return candidates, total + candidates.signals.current


@dataclass(frozen=True)
class Verdict:
    """The evidence that an answer is among the `first` candidates of a question, and whether one is."""

    asked: Asked
    grounds: dict[str, float]
    first: list[int]
    is_answered: bool

    @property
    def share(self) -> float:
        return 0.25 if self.asked.is_chat else self.asked.weight / 2


def verdicts(asked: Sequence[Asked], values: Mapping[str, float]) -> list[Verdict]:
    """Gather the evidence for every question, but for those whose answer is stored and not found."""
    found = []
    for each in asked:
        if each.examined is None or each.kind in (*_TIMED, "small", "adversarial"):
            continue
        candidates, total = amended(each, values)
        positions = order(total)
        own = [at for at in positions.tolist() if candidates.passages[at] is not None][: relevance.DEPTH]
        first = np.array(own, dtype=np.int64)
        texts = [retrieve.evident_text(each.gathered, at, glossed=True) for at in own[: relevance.READ]]
        grounds = relevance.verdict_evidence(each.gathered.parsed, candidates.signals, total, first, texts)
        answered = bool(each.right[own].any())
        if grounds and (answered or not each.has_answer):
            found.append(Verdict(each, grounds, own, answered))
    return found


def hits(asked: Sequence[Asked], values: Mapping[str, float]) -> tuple[list[Any], list[bool], list[float]]:
    """Gather the evidence for each of the first hits, and whether it is right."""
    rows, labels, shares = [], [], []
    for each in asked:
        if each.examined is None or each.kind in (*_TIMED, "small"):
            continue
        candidates, total = amended(each, values)
        signals = candidates.signals
        distance = relevance.behind(total, quoted=signals.quoted)
        own = relevance.record_evidence(each.gathered.parsed, signals) | {
            "distance": distance,
            "late": signals.late,
            "tokens": np.nan_to_num(signals.tokens, nan=0.0),
        }
        for at in order(total)[:20].tolist():
            rows.append({name: float(column[at]) for name, column in own.items()})
            labels.append(bool(each.right[at]))
            shares.append(each.weight)
    return rows, labels, shares


def likenesses(asked: Sequence[Asked]) -> tuple[list[Any], list[bool], list[float]]:
    """Gather right records and the best wrong ones of each question to a project, each judged by itself."""
    rows: list[Any] = []
    labels: list[bool] = []
    shares: list[float] = []
    for each in asked:
        if each.is_chat or each.examined is None or each.kind in (*_TIMED, "small"):
            continue
        own = relevance.record_evidence(each.gathered.parsed, each.examined.signals)
        del own["both"]  # with it, paraphrases are hardly ever similar
        known = [each.examined.passages[at] is not None for at in range(len(each.right))]
        right = [at for at in np.flatnonzero(each.right).tolist() if known[at]][:2]
        best = order(own["cosine"] + own["coverage"])[:6].tolist()
        wrong = [at for at in best if known[at] and not (each.right[at] or each.stale[at])][:3]
        for at in (*right, *wrong):
            rows.append({name: float(column[at]) for name, column in own.items()})
            labels.append(bool(each.right[at]))
            shares.append(PROJECT if each.is_project else STORE)
    return rows, labels, shares


def alarm(asked: Sequence[Asked], values: Mapping[str, float]) -> float:
    """Return the log odds that only `ALARMS` of the projects' questions that nothing answers exceed."""
    best = []
    for each in asked:
        if each.is_project and not each.has_answer and each.examined is not None and each.kind != "small":
            best.append(float(similarities(each, values).max(initial=-9.0)))
    return float(np.quantile(best, 1 - ALARMS))


def similarities(each: Asked, values: Mapping[str, float]) -> Floats:
    """Return the log odds that each candidate is right by itself."""
    assert each.examined is not None
    own = relevance.record_evidence(each.gathered.parsed, each.examined.signals)
    return relevance.logit(values, own, len(each.right))


def main() -> int:
    """Fit, print and, if asked to, write the weights."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="locomo10.json, as published")
    parser.add_argument(
        "--homes", type=Path, required=True, help="where filled homes are kept for the next run"
    )
    parser.add_argument("--write", action="store_true", help=f"replace {WEIGHTS.name}")
    parser.add_argument("--model", default=BUNDLED)
    options = parser.parse_args()
    if options.write and options.model != BUNDLED:
        parser.error("only the weights for the bundled model are written")
    options.homes.mkdir(parents=True, exist_ok=True)
    asked = asyncio.run(collect(options.data, options.homes, "dev", options.model))
    fitted = fit(asked, open_encoder(options.model, models=options.homes))
    if options.write:
        command = "python tests/bench/fit.py --data locomo10.json --homes FOLDER --write"
        data = "the dev halves of tests/bench/projects and stores, and of LoCoMo"
        write(WEIGHTS, command, data, fitted)
    return 0


def write(file: Path, command: str, data: str, fitted: Mapping[str, Any]) -> None:
    """Write fitted weights, and how they were made."""
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip()
    made = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "command": command, "commit": commit, "data": data}
    file.write_text(json.dumps({"made": made, **fitted}, indent=1) + "\n")


def fit(asked: Sequence[Asked], encoder: Encoder) -> dict[str, Any]:
    """Fit all weights, step by step, and print the results."""
    for each in asked:
        each.columns = features(each.gathered.candidates.signals)
    names = list(asked[0].columns)
    known = [name for name in names if name not in EXAMINED]
    ordered = [each for each in asked if not each.is_project or each.source in ORDERED]
    first = listwise(ordered, known)
    show("first", asked, {id(each): place_of(each, ranked(each, first)) for each in asked})
    examine(asked, first)
    names = [name for name in names if name not in _FIRST_ALONE]
    values = listwise(ordered, names)
    show("order", asked, {id(each): place_of(each, ranked(each, values)) for each in asked})
    print(values)
    places: dict[int, int] = {}
    sources = sorted({each.source for each in ordered if not each.is_chat})
    for fold in range(FOLDS):
        left_out = set(sources[fold::FOLDS])
        without = listwise([each for each in ordered if each.source not in left_out], names)
        places |= {
            id(each): place_of(each, ranked(each, without)) for each in ordered if each.source in left_out
        }
    show("cv", [each for each in ordered if not each.is_chat], places)
    changes = amendments(asked, values, encoder)
    currency.AMENDS, currency.READS = changes["amends"], changes["reads"]
    return {"first": first, "order": values} | changes | judge(asked, values)


def amendments(
    asked: Sequence[Asked], values: Mapping[str, float], encoder: Encoder
) -> dict[str, dict[str, dict[str, float]]]:
    """Fit the evidence that a later record amends an earlier one, by kind of pair, without and with a reading."""
    amends, reads = {}, {}
    written, tested = (amendments_written(encoder, half) for half in ("dev", "test"))
    for kind, found in pairs(asked, values).items():
        every = [found]
        if kind == "memory":
            every += [written["memory"], written_pairs(encoder)]
        rows, labels, shares = (
            [each for some in every for each in getattr(some, name)] for name in ("rows", "labels", "shares")
        )
        amends[kind] = logistic(rows, labels, shares, tight=2e-3)
        read = [pair for some in (found, written[kind]) for pair in readings(some, amends[kind])]
        reads[kind] = logistic(*zip(*read, strict=True), tight=1e-3)
        groups = {"fitted": found, "written, dev half": written[kind], "written, test half": tested[kind]}
        for name, some in groups.items():
            if some.rows:
                plain, read_too = told(kind, some, amends[kind]), told(kind, some, amends[kind], reads[kind])
                print(f"amends, {kind}, {name}: plain {plain}; read {read_too}")
        print(amends[kind], reads[kind])
    return {"amends": amends, "reads": reads}


def readings(found: Pairs, weights: Mapping[str, float]) -> Iterator[tuple[dict[str, float], bool, float]]:
    """Yield the evidence of pairs that a model reads, whether they amend, and their weights."""
    for row, label, share, texts in zip(found.rows, found.labels, found.shares, found.texts, strict=True):
        if texts is not None and (plain := odds_of(weights, row)) >= READ_FROM:
            yield currency.read_evidence(plain, log_odds(*texts)), label, share


def told(
    kind: str, found: Pairs, weights: Mapping[str, float], read: Mapping[str, float] | None = None
) -> str:
    """Describe how many pairs are found, and told, rightly and wrongly."""
    odds = np.array([odds_of(weights, row) for row in found.rows])
    if read is not None:
        for at, texts in enumerate(found.texts):
            if texts is not None and odds[at] >= currency.LIKELY[kind]:
                odds[at] = odds_of(read, currency.read_evidence(odds[at], log_odds(*texts)))
    right, chat = np.array(found.labels), np.array(found.shares) == CHAT
    return ", ".join(
        f"{name} {(odds[right] >= most).sum()} of {right.sum()}, wrong {(odds[~right & ~chat] >= most).sum()} of {(~right & ~chat).sum()}"
        f" and {(odds[chat] >= most).sum()} of {chat.sum()} in chats"
        for name, most in (("moved", currency.SURE[kind]), ("told", currency.SHOWN[kind]))
    )


def odds_of(weights: Mapping[str, float], row: Mapping[str, float]) -> float:
    """Add up the evidence of a pair by these weights."""
    return sum(weights[name] * value for name, value in row.items())


def judge(asked: Sequence[Asked], values: Mapping[str, float]) -> dict[str, Any]:
    """Fit the verdict, the chance of a hit and the similarity."""
    show("amended", asked, {id(each): place_of(each, order(amended(each, values)[1])) for each in asked})
    found = verdicts(asked, values)
    labels, shares, kept = zip(*((each.is_answered, each.share, each.asked) for each in found), strict=True)
    rows = [{name: value for name, value in each.grounds.items() if name != "proof"} for each in found]
    least = dict.fromkeys(("closest", "covered", "covered * covered"), 0.0)
    verdict = logistic(rows, labels, shares, tight=3e-4, least=least)
    odds = np.array([odds_of(verdict, row) for row in rows])
    verdict["offset"] -= _alarm_odds(odds, kept)
    odds -= _alarm_odds(odds, kept)
    report(odds, labels, kept, "verdict")
    cross = np.zeros(len(rows))
    sources = np.array([each.source for each in kept])
    for source in sorted(set(sources) - {"LoCoMo"}):
        inside = sources == source
        without = logistic(
            [rows[at] for at in np.flatnonzero(~inside)],
            np.array(labels)[~inside],
            np.array(shares)[~inside],
            tight=3e-4,
            least=least,
        )
        for at in np.flatnonzero(inside):
            cross[at] = odds_of(without, rows[at])
    inside = sources != "LoCoMo"
    report(
        cross[inside],
        list(np.array(labels)[inside]),
        [each for each in kept if not each.is_chat],
        "verdict, cv",
    )
    print(verdict)
    verdict_read = read_verdict(found, odds, least)
    right = logistic(*hits(asked, values), tight=1e-5)
    print("right", right)
    alone = dict.fromkeys(("cosine", "coverage", "complete", "answer"), 0.0) | {"named": NAMED_ALONE}
    similarity = logistic(*likenesses(asked), tight=1e-4, least=alone)
    # .6 is log odds of .405
    similarity["offset"] += 0.405 - alarm(asked, similarity)
    print("similarity", similarity)
    for kind in ("plain", "paraphrase", "why", "name", "preference", "changed"):
        above = [
            (similarities(each, similarity)[each.right] >= 0.405).any()
            for each in asked
            if each.kind == kind and each.right.any() and each.examined is not None
        ]
        print(f"  {kind}: {100 * np.mean(above):.0f} % right at .6")
    return {"verdict": verdict, "verdict_read": verdict_read, "right": right, "similarity": similarity}


def read_verdict(found: Sequence[Verdict], plain: Floats, least: Mapping[str, float]) -> dict[str, float]:
    """Fit the verdict of answers whose first candidate a model reads; `plain` are the log odds without it."""
    rows, read = list[dict[str, float]](), list[int]()
    for at, each in enumerate(found):
        gathered = each.asked.gathered
        if gathered.parsed.language == "en" and plain[at] >= relevance.READ_FROM:
            text = retrieve.text_to_read(gathered, each.first[0])
            odds = answer_reader.log_odds(gathered.parsed.text, text)
            rows.append({name: value for name, value in each.grounds.items() if name != "proof"})
            rows[-1]["read"] = odds
            read.append(at)
    labels = np.array([found[at].is_answered for at in read])
    shares = np.array([found[at].share for at in read])
    sources = np.array([found[at].asked.source for at in read])

    def fitted(some: Ints) -> dict[str, float]:
        chosen = [rows[at] for at in some]
        return logistic(chosen, labels[some].tolist(), shares[some].tolist(), tight=3e-4, least=least)

    values, kept = fitted(np.arange(len(rows))), [each.asked for each in found]
    whole, cross = plain.copy(), plain.copy()
    whole[read] = [odds_of(values, row) for row in rows]
    for source in set(sources.tolist()):
        without = fitted(np.flatnonzero(sources != source))
        for at in np.flatnonzero(sources == source).tolist():
            cross[read[at]] = odds_of(without, rows[at])
    for name, odds in (("verdict, read", whole), ("verdict, read, cv", cross)):
        report(odds - _alarm_odds(odds, kept), [each.is_answered for each in found], kept, name)
    values["offset"] -= _alarm_odds(whole, kept)
    print(values)
    return values


def _alarm_odds(odds: Floats, kept: Sequence[Asked]) -> float:
    """Return the log odds that only `CERTAIN` of the projects' questions that nothing answers exceed."""
    without = [each.is_project and not each.has_answer for each in kept]
    return float(np.quantile(odds[without], 1 - CERTAIN))


def report(odds: Floats, labels: Sequence[bool], kept: Sequence[Asked], name: str) -> None:
    """Print how many answers are strong (log odds above 0), for questions with and without an answer."""
    right = np.array(labels)
    kinds = np.array([each.kind for each in kept])
    sources = np.array(["projects" if each.is_project else each.source for each in kept])
    for label in ("projects", "stores", "LoCoMo"):
        some = sources == label
        if not some.any():
            continue
        yes, no = some & right, some & ~right
        greater = (odds[yes][:, None] > odds[no][None, :]).mean()
        sure = ", ".join(
            f"{kind} {100 * (odds[some & (kinds == kind)] >= 0).mean():.0f}"
            for kind in sorted(set(kinds[some]))
        )
        cut = [
            f"{100 * (odds[yes] >= np.quantile(odds[no], share)).mean():.0f} at {100 * (1 - share):.0f}"
            for share in (0.85, 0.9, 0.93)
        ]
        print(
            f"{name}, {label}: AUC {greater:.3f}; strong, %: {sure}; answered strong at alarms: {', '.join(cut)}"
        )


if __name__ == "__main__":
    sys.exit(main())
