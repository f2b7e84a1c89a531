"""Forgetting over `/v4/memories`: one memory, those with some ids, or those that a query is about. Always soft: a forgotten memory is in no
search, keeps its text and the reason, and `scrubjay restore` brings it back.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from scrubjay.errors import InputError
from scrubjay.ids import derived_id
from scrubjay.models.forgetting import ForgetMatching, ForgetRecords
from scrubjay.models.requests import parse
from scrubjay.models.results import Hit
from scrubjay.rest.supermemory.memories import UNKNOWN
from scrubjay.rest.supermemory.targets import target
from scrubjay.rest.supermemory.wire_memories import ForgetMany, ForgetMemory, ForgottenMany, Gone, Matched
from scrubjay.rest.visit import SOURCE, Visit, Visiting
from scrubjay.shown import shown

router = APIRouter()


@router.delete("/v4/memories", response_model=Gone, summary="Forget a memory", responses=UNKNOWN)
async def forget(asked: ForgetMemory, visit: Visiting) -> Any:
    """Hide a memory, a document with its memories, or a turn from every search. Forgetting twice is as forgetting once."""
    record = await target(visit, asked.id, asked.content, asked.container_tag)
    values = {"ids": [record.id], "reason": asked.reason}
    await visit.write("forget", parse(ForgetRecords, values), scope=record.scope)
    return Gone(id=record.id, forgotten=True)


@router.post(
    "/v4/memories/forget-matching",
    response_model=ForgottenMany,
    response_model_exclude_unset=True,
    summary="Forget the memories that a query is about",
)
async def forget_matching(asked: ForgetMany, visit: Visiting) -> Any:
    """Forget by a query or by ids, at most `maxForget`, in one call; `dryRun` true first shows what it would take.

    A query takes memories of this one tag that are at least `threshold` similar to it, and neither turns nor documents.
    """
    if (asked.query is None) == (asked.ids is None):
        raise InputError("Give either query or ids" + ("; neither is given." if asked.query is None else ", not both."))
    scope = visit.leave.writes_to(asked.container_tag)
    found, unknown = await (_by_ids if asked.ids is not None else _by_query)(visit, asked, scope)
    matched = [Matched(id=hit.id, memory=hit.memory or hit.chunk or "", score=hit.relevance_score or 0.0) for hit in found]
    return ForgottenMany.model_validate(
        {
            "dry_run": asked.dry_run,
            "count": len(matched),
            "forget_batch_id": None if asked.dry_run or not matched else derived_id("forget", *(hit.id for hit in found)),
            "summary": _summary(len(matched), unknown, dry_run=asked.dry_run),
            "candidates" if asked.dry_run else "forgotten": matched,
        }
    )


async def _by_query(visit: Visit, asked: ForgetMany, scope: str) -> tuple[list[Hit], int]:
    values = {"query": asked.query, "scope": scope, "threshold": asked.threshold, "most": asked.max_forget, "reason": asked.reason}
    done = await visit.core.forgetting.matching(parse(ForgetMatching, {**values, "dry_run": asked.dry_run}), SOURCE)
    return done.candidates, 0


async def _by_ids(visit: Visit, asked: ForgetMany, scope: str) -> tuple[list[Hit], int]:
    records = [await visit.find(id) for id in dict.fromkeys(asked.ids or ())]
    known = [record for record in records if record is not None and record.scope == scope][: asked.max_forget]
    if known and not asked.dry_run:
        values = {"ids": [record.id for record in known], "reason": asked.reason}
        await visit.write("forget", parse(ForgetRecords, values), scope=scope)
    unknown = sum(record is None or record.scope != scope for record in records)
    return [shown(record, None).model_copy(update={"relevance_score": 1.0}) for record in known], unknown


def _summary(count: int, unknown: int, *, dry_run: bool) -> str:
    what = f"{count} {'memory' if count == 1 else 'memories'}"
    said = f"{what} would be forgotten." if dry_run else f"{what} forgotten."
    return f"{said} {unknown} of the ids name nothing under this tag." if unknown else said
