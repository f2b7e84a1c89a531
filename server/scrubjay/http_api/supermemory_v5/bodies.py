"""What the bodies of version 5 have in common: camel case, no field that is not known, times and counts under `system` and `pagination`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from scrubjay.errors import InputError

MOST = 100  # entries of a page

PageNumber = Annotated[int, Query(ge=1, le=10_000_000, description="From 1 on.")]
PageSize = Annotated[int, Query(ge=1, le=MOST, description="Entries a page.")]


class Body(BaseModel):
    """What a client sends. A field that is not known is refused: a misspelt filter would otherwise let everything through."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)


class Answer(BaseModel):
    """What a client gets."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class Changed(Answer):
    updated_at: datetime


class Times(Answer):
    created_at: datetime
    updated_at: datetime


class Pagination(Answer):
    """Which page this is, counted from 1, and how many there are."""

    current_page: Annotated[int, Field(ge=1)]
    limit: Annotated[int, Field(ge=1)]
    total_items: Annotated[int, Field(ge=0)]
    total_pages: Annotated[int, Field(ge=0)]


def pagination(page: int, limit: int, total: int) -> Pagination:
    """The page that was asked for, out of so many entries."""
    return Pagination(current_page=page, limit=limit, total_items=total, total_pages=-(-total // limit))


def included(asked: list[str], known: tuple[str, ...]) -> frozenset[str]:
    """What a query's `include` names; each may be given by itself or several with commas between them.

    Raises:
        InputError: a name that is not known.
    """
    names = frozenset(name.strip() for each in asked for name in each.split(",") if name.strip())
    if unknown := sorted(names - set(known)):
        raise InputError(f"include = {unknown[0][:80]!r} is not known here; there are {', '.join(known)}.")
    return names
