"""`/api/v1/partitions`: list, create, change and delete partitions, Hebb Mind's kinds of memories."""

from dataclasses import replace
from typing import Annotated

from fastapi import Path
from pydantic import Field

from scrubjay.errors import InputError, NotFound
from scrubjay.home.partitions import Partition
from scrubjay.http_api.answers import HEBB_ANSWERS, Answer, unknown_fields
from scrubjay.http_api.hebb.bodies import Body
from scrubjay.http_api.hebb.context import HebbContext, HebbRequest
from scrubjay.http_api.permissions import DEFAULT_TAG
from scrubjay.http_api.routes import Routes
from scrubjay.models.fields import Flag, PartitionId, Text

route = Routes(HEBB_ANSWERS)

PathId = Annotated[str, Path(min_length=1, max_length=100)]
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


@route("GET /api/v1/partitions", "List partitions", "[Partition]")
async def listed(request: HebbRequest) -> list[Answer]:
    """The five system partitions, those that clients made, and those that contain memories."""
    return list((await partitions(request)).values())


@route("POST /api/v1/partitions", "Make a partition", "Partition", status=201)
async def create(request: HebbRequest, item: PartitionCreate) -> Answer:
    """The new partition belongs to the scope that the request writes to."""
    scope, book, now = request.write_scope(), request.core.partitions, request.now
    if item.id in book.of(await _scopes(request)):
        raise InputError(f"A partition {item.id!r} exists already. Change that one, or choose another id.")
    await book.make(scope, Partition(item.id, item.name, item.description, item.enabled, now, now))
    return (await partitions(request))[item.id] | unknown_fields(item)


@route("GET /api/v1/partitions/{partition_id}", "Read a partition", "Partition")
async def read(request: HebbRequest, partition_id: PathId) -> Answer:
    """One partition, and its number of memories."""
    if (partition := (await partitions(request)).get(partition_id)) is None:
        raise NotFound(f"There is no partition {partition_id[:80]!r}. GET /api/v1/partitions lists them.")
    return partition


@route("PATCH /api/v1/partitions/{partition_id}", "Change a partition", "Partition")
async def update(request: HebbRequest, partition_id: PathId, item: PartitionUpdate) -> Answer:
    """A field left out does not change."""
    await read(request, partition_id)
    scope, book = await _owner(request, partition_id), request.core.partitions
    partition = book.of([scope]).get(partition_id) or Partition(partition_id, partition_id)
    values = item.field_values(exclude_none=True)
    await book.change(scope, replace(partition, **values, updated_at=request.now))
    return await read(request, partition_id) | unknown_fields(item)


@route("DELETE /api/v1/partitions/{partition_id}", "Delete an empty partition", status=204)
async def delete(request: HebbRequest, partition_id: PathId) -> None:
    """Delete a partition, unless it is a system partition or contains memories."""
    partition = await read(request, partition_id)
    if partition["memory_count"] and not partition["is_system"]:
        raise InputError(f"{partition_id!r} is not empty. Delete its memories first, so that none is lost.")
    await request.core.partitions.remove(await _owner(request, partition_id), partition_id)


async def partitions(request: HebbContext) -> dict[str, Answer]:
    """Return the partitions that a request sees, by id, each with the number of its memories."""
    counts = await request.core.counts.by_partition(await request.read_scopes())
    rows = request.core.partitions.of(await _scopes(request))
    rows |= {name: Partition(name, name) for name in sorted(counts.keys() - rows.keys())}
    return {
        name: HEBB_ANSWERS.fill("Partition", row, memory_count=counts[name]) for name, row in rows.items()
    }


async def require_partition(request: HebbContext, partition_id: str) -> None:
    """Raise NotFound unless the partition was created or contains memories."""
    scopes = await _scopes(request)
    if partition_id in request.core.partitions.of(scopes):
        return
    if not (await request.core.counts.by_partition(scopes))[partition_id]:
        advice = "GET /api/v1/partitions lists them, and POST makes one."
        raise NotFound(f"There is no partition {partition_id!r}. {advice}")


async def _owner(request: HebbContext, partition_id: str) -> str:
    """Return the scope that a partition belongs to, or the scope for writes if it belongs to none."""
    owner = request.core.partitions.owner(partition_id, await _scopes(request))
    return request.permissions.write_scope(owner or request.write_scope())


async def _scopes(request: HebbContext) -> tuple[str, ...]:
    """Return the scopes of a request: the scope for writes first, then those that it reads."""
    write_scope = request.scope or request.permissions.tag or DEFAULT_TAG
    return tuple(dict.fromkeys((write_scope, *await request.read_scopes())))
