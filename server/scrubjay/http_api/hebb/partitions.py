"""`/api/v1/partitions`: the kinds of memories, as Hebb Mind's clients list and make them."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import Field

from scrubjay.errors import InputError, NotFound
from scrubjay.home.partitions import Partition, PartitionBook
from scrubjay.http_api.hebb.bodies import Answer, Body
from scrubjay.http_api.hebb.context import Stay, Staying
from scrubjay.http_api.permissions import DEFAULT_TAG
from scrubjay.models.fields import Flag, PartitionId, Text

router = APIRouter(prefix="/api/v1/partitions")
MISSING: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such partition."}}
Id = Annotated[str, Path(min_length=1, max_length=100)]
Title = Annotated[Text, Field(max_length=128)]
Description = Annotated[str, Field(max_length=1_000)]


class PartitionCreate(Body):
    id: PartitionId
    name: Title
    description: Description = ""
    enabled: Flag = True


class PartitionUpdate(Body):
    name: Title | None = None
    description: Description | None = None
    enabled: Flag | None = None


class PartitionRead(Answer):
    """One kind of memories and how many it holds; `enabled` is kept and shown, and shuts nothing."""

    id: str
    name: str
    description: str
    enabled: bool
    is_system: bool
    created_at: datetime
    updated_at: datetime
    memory_count: int


@router.get("", response_model=list[PartitionRead], summary="List partitions")
async def listed(stay: Staying) -> list[PartitionRead]:
    """The system's five, those that were made, and those that memories are in."""
    return list((await shelves(stay)).values())


@router.post("", status_code=201, response_model=PartitionRead, summary="Make a partition")
async def create(stay: Staying, item: PartitionCreate) -> PartitionRead:
    scope, now = stay.writes(), stay.context.now
    if item.id in _book(stay).of(await _scopes(stay)):
        raise InputError(f"A partition {item.id!r} is there already. Change that one, or choose another id.")
    await _book(stay).make(scope, Partition(item.id, item.name, item.description, item.enabled, now, now))
    return (await shelves(stay))[item.id]


@router.get("/{partition_id}", response_model=PartitionRead, responses=MISSING, summary="Read a partition")
async def read(stay: Staying, partition_id: Id) -> PartitionRead:
    return await _one(stay, partition_id)


@router.patch(
    "/{partition_id}", response_model=PartitionRead, responses=MISSING, summary="Change a partition"
)
async def update(stay: Staying, partition_id: Id, item: PartitionUpdate) -> PartitionRead:
    await _one(stay, partition_id)
    scopes = await _scopes(stay)
    owner = _book(stay).owner(partition_id, scopes)
    scope = stay.context.permissions.writes_to(owner or stay.writes())
    known = _book(stay).of([scope]).get(partition_id) or Partition(partition_id, partition_id)
    said = {name: value for name, value in item.model_dump(exclude_unset=True).items() if value is not None}
    await _book(stay).change(scope, replace(known, **said, updated_at=stay.context.now))
    return await _one(stay, partition_id)


@router.delete("/{partition_id}", status_code=204, responses=MISSING, summary="Delete an empty partition")
async def delete(stay: Staying, partition_id: Id) -> None:
    """One of the system's five, or one that holds memories, is refused."""
    held = await _one(stay, partition_id)
    if held.memory_count and not held.is_system:
        raise InputError(
            f"{partition_id!r} holds {held.memory_count:,} memories. Delete them first, so that none is lost by it."
        )
    owner = _book(stay).owner(partition_id, await _scopes(stay))
    await _book(stay).remove(stay.context.permissions.writes_to(owner or stay.writes()), partition_id)


async def shelves(stay: Stay) -> dict[str, PartitionRead]:
    """The partitions that a request sees, by id, each with the number of its memories."""
    counts = await stay.context.core.counts.by_partition(await stay.reads())
    known = _book(stay).of(await _scopes(stay))
    known |= {id: Partition(id, id) for id in sorted(counts.keys() - known.keys())}
    return {
        id: PartitionRead(**asdict(each), is_system=each.is_system, memory_count=counts[id])
        for id, each in known.items()
    }


async def require(stay: Stay, id: str) -> None:
    """Nothing, if there is such a partition.

    Raises:
        NotFound: nobody made it, and nothing is in it.
    """
    scopes = await _scopes(stay)
    if id in _book(stay).of(scopes):
        return
    if not (await stay.context.core.counts.by_partition(scopes))[id]:
        raise NotFound(f"There is no partition {id!r}. Make it first, with POST /api/v1/partitions.")


async def _one(stay: Stay, id: str) -> PartitionRead:
    if (found := (await shelves(stay)).get(id)) is None:
        raise NotFound(f"There is no partition {id[:80]!r}. GET /api/v1/partitions lists them.")
    return found


def _book(stay: Stay) -> PartitionBook:
    return stay.context.core.partitions


async def _scopes(stay: Stay) -> tuple[str, ...]:
    """What a request reads and what it would write to, which may hold nothing yet; that one first."""
    own = stay.named or stay.context.permissions.tag or DEFAULT_TAG
    return tuple(dict.fromkeys((own, *await stay.reads())))
