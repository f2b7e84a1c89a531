"""What the bodies of version 5 share: times, pages, ids, and that unknown fields are refused."""

from typing import Annotated

from fastapi import Query
from pydantic import ConfigDict, Field

from scrubjay.errors import InputError
from scrubjay.http_api.answers import Answer
from scrubjay.http_api.bodies import CamelCase
from scrubjay.models.records import AnyRecord

LONGEST_ID = 255  # characters
MOST = 100  # entries of a page

GivenId = Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]
PageNumber = Annotated[int, Query(ge=1, le=10_000_000, description="From 1 on.")]
PageSize = Annotated[int, Query(ge=1, le=MOST, description="Entries a page.")]


class Body(CamelCase):
    """What a client sends.

    An unknown field is refused: a misspelt filter would otherwise let everything through.
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=False)


def times_of(record: AnyRecord) -> Answer:
    """Return when a record was created and changed."""
    return dict(createdAt=record.created_at, updatedAt=record.updated_at)


def pagination(page: int, limit: int, total: int) -> Answer:
    """Describe one page out of `total` entries."""
    return dict(currentPage=page, limit=limit, totalItems=total, totalPages=-(-total // limit))


def parse_include(values: list[str], known: tuple[str, ...]) -> frozenset[str]:
    """Return the names in a query's `include`, which is repeated, separated by commas, or both.

    Raises:
        InputError: a name is unknown.
    """
    names = frozenset(name.strip() for value in values for name in value.split(",") if name.strip())
    if unknown := sorted(names - set(known)):
        raise InputError(f"include = {unknown[0][:80]!r} is not known here; there are {', '.join(known)}.")
    return names
