"""The close look: the tokens of the first candidates, and of the turns beside them, against those of the question. Late interaction
with what the model said anyway; knows where the codes are kept, not how they are made."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np

from scrubjay.encoders.token_codes import Bits, matches
from scrubjay.ranking import Floats, Ints, beside, late, order, ranking_sum
from scrubjay.retrieval.candidates import Candidates
from scrubjay.store.codes import codes_of
from scrubjay.store.store import Store

LOOKED_AT = 30  # candidates; any@10 on LoCoMo's dev half is the same with 40 and falls with 20


async def look_closely(store: Store, candidates: Candidates, question: Bits) -> Candidates:
    """The candidates with their `late` signal: what their best passages' tokens add. Passages without codes are simply unknown."""
    signals = candidates.signals
    looked = order(ranking_sum(signals))[:LOOKED_AT]
    wanted = np.flatnonzero(beside(looked, signals.session, signals.place))
    known = await _matches(store, candidates, wanted, question)
    return replace(candidates, signals=replace(signals, late=late(known, looked, signals.session, signals.place)))


async def _matches(store: Store, candidates: Candidates, wanted: Ints, question: Bits) -> Floats:
    """Of each wanted candidate's best passage, how well it matches each token of the question: (candidates, tokens), else NaN."""
    rows = {candidates.rows[at].id: at for at in wanted.tolist()}
    pieces = await codes_of(store.tables.passages, rows)
    # A thread, because the loop serves other clients meanwhile: numpy lets go of the interpreter in long operations.
    values = await asyncio.to_thread(matches, question, [code for _, code in pieces])
    best = np.full((len(candidates.rows), len(question)), np.nan)
    most = np.full(len(candidates.rows), -np.inf)
    for (record_id, _), value, total in zip(pieces, values, values.sum(axis=1).tolist(), strict=True):
        at = rows[record_id]
        if total > most[at]:
            best[at], most[at] = value, total
    return best
