"""`/api/v1/admin/forgetting`: how memories would fade, for who tunes that. A preview; nothing is forgotten by age."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Path
from pydantic import Field

from scrubjay.http_api.hebb.bodies import Answer, Body, as_memories
from scrubjay.http_api.hebb.context import Staying
from scrubjay.http_api.hebb.partitions import PartitionRead, require, shelves
from scrubjay.models.fields import Flag, Real
from scrubjay.search.listing import merged
from scrubjay.store import conditions
from scrubjay.store.counts import KINDS, current

KEPT = "Nothing is forgotten by age: what is stored stays until somebody forgets it, or its own expires_at."
SAMPLE = 20  # memories shown in a preview
MISSING: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such partition."}}
PartitionIdPath = Annotated[str, Path(min_length=1, max_length=100)]
_WEIGHED = ["id", "importance_score", "access_count", "last_accessed_at"]

router = APIRouter(prefix="/api/v1/admin")


class Params(Body):
    """What a preview tries; what is left out is the formula's own."""

    half_life_days: Annotated[Real, Field(gt=0, le=36_500)] | None = None
    k_importance: Annotated[Real, Field(ge=0, le=100)] | None = None
    k_access: Annotated[Real, Field(ge=0, le=100)] | None = None
    threshold: Annotated[Real, Field(gt=0, lt=1)] | None = None
    enabled: Flag = True


class Effective(Answer):
    half_life_days: float
    k_importance: float
    k_access: float
    threshold: float
    enabled: bool


class Entry(Answer):
    id: str
    name: str
    is_system: bool
    swept: bool
    memory_count: int
    override: None = None
    effective: Effective
    inherited: Effective


class Policy(Answer):
    """No partition is swept; the numbers are those a preview starts from."""

    global_half_life_days: float
    global_k_importance: float
    global_k_access: float
    global_threshold: float
    min_retention_days: float
    forget_interval_seconds: int
    partitions: list[Entry]
    note: str


class Faded(Answer):
    id: str
    content: str
    importance_score: float
    access_count: int
    days_since_access: float
    projected_expires_at: datetime | None
    would_forget: bool


class Preview(Answer):
    """What a sweep would find faded. Nothing is swept: `swept` is false."""

    partition_id: str
    swept: bool
    half_life_days: float
    k_importance: float
    k_access: float
    threshold: float
    total: int
    would_forget: int
    would_keep: int
    sample: list[Faded]
    note: str


class Runs(Answer):
    runs: list[dict[str, Any]]


@router.get("/forgetting", response_model=Policy, summary="How memories fade, which deletes none")
async def policy(stay: Staying) -> Policy:
    decay = Decay()
    return Policy(
        global_half_life_days=decay.half_life_days,
        global_k_importance=decay.k_importance,
        global_k_access=decay.k_access,
        global_threshold=decay.threshold,
        min_retention_days=0.0,
        forget_interval_seconds=0,
        partitions=[_entry(each, decay) for each in (await shelves(stay)).values()],
        note=KEPT,
    )


@router.get("/forgetting/runs", response_model=Runs, summary="Sweeps that were made, which are none")
async def runs(stay: Staying) -> Runs:
    return Runs(runs=[])


@router.post(
    "/forgetting/{partition_id}/preview",
    response_model=Preview,
    responses=MISSING,
    summary="What would have faded",
)
async def preview(stay: Staying, partition_id: PartitionIdPath, params: Params) -> Preview:
    """Retention is e ^ -(days since the last access / life); a memory has faded when it is below the threshold."""
    await require(stay, partition_id)
    core, now = stay.context.core, stay.context.now
    scopes = await stay.reads()
    decay = Decay()._replace(**params.model_dump(exclude={"enabled"}, exclude_none=True))
    await core.store.flush()
    wheres = {
        kind: current(kind, scopes, now, conditions.equal("partition_id", partition_id)) for kind in KINDS
    }
    rows = [
        row
        for kind, where in wheres.items()
        for row in await core.store.select(kind, where, columns=_WEIGHED)
    ]
    faded = sum(_days_left(decay, row, now) < 0 for row in rows) if params.enabled else 0
    newest = (await merged(core.store, wheres, start=0, size=SAMPLE)).rows
    left = [_days_left(decay, row, now) for row in newest]
    return Preview(
        partition_id=partition_id,
        swept=False,
        **decay._asdict(),
        total=len(rows),
        would_forget=faded,
        would_keep=len(rows) - faded,
        sample=[
            Faded(
                id=memory.id,
                content=memory.content[:160],
                importance_score=memory.importance_score,
                access_count=memory.access_count,
                days_since_access=round(_idle(row, now), 2),
                projected_expires_at=_in(now, rest) if params.enabled else None,
                would_forget=params.enabled and rest < 0,
            )
            for memory, row, rest in zip(await as_memories(core, newest), newest, left, strict=True)
        ],
        note=KEPT,
    )


def _days_left(decay: Decay, row: Any, now: datetime) -> float:
    return decay.days_left(_idle(row, now), row.importance_score, row.access_count)


def _idle(row: Any, now: datetime) -> float:
    """Days since the last access."""
    return float((now - row.last_accessed_at).total_seconds() / 86_400)


def _entry(held: PartitionRead, decay: Decay) -> Entry:
    effective = Effective(**decay._asdict(), enabled=False)
    return Entry(
        id=held.id,
        name=held.name,
        is_system=held.is_system,
        swept=False,
        memory_count=held.memory_count,
        effective=effective,
        inherited=effective,
    )


def _in(now: datetime, days: float) -> datetime | None:
    """That many days from now; None beyond what a calendar holds."""
    return now + timedelta(days=days) if abs(days) < 700_000 else None


class Decay(NamedTuple):
    """Retention = e^(-idle / life), life = half_life_days * (1 + k_importance * importance / 10 + k_access * accesses / 10).

    The formula and its threshold are Hebb Mind's (0.2 and later), whose clients ask for this preview.
    """

    half_life_days: float = 60.0
    k_importance: float = 1.0
    k_access: float = 1.0
    threshold: float = 0.3

    def life_days(self, importance: float, accesses: int) -> float:
        """Days in which retention falls to 1 / e; `importance` is 0 to 10."""
        return self.half_life_days * (1 + self.k_importance * importance / 10 + self.k_access * accesses / 10)

    def days_left(self, idle_days: float, importance: float, accesses: int) -> float:
        """Days until retention falls below the threshold; negative when it has."""
        return -math.log(self.threshold) * self.life_days(importance, accesses) - idle_days
