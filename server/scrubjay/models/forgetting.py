"""What programs and the write-ahead log ask about forgetting; what people and models ask is `requests.Forget`."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field

from scrubjay.models.fields import Count, Flag, Name, OneScope
from scrubjay.models.requests import Query, Reason, Request, Share


class ForgetRecords(Request):
    """A Forget whose targets were found: what the write-ahead log keeps, so that a replay chooses nothing anew."""

    ids: Annotated[list[Name], BeforeValidator(lambda value: [value] if isinstance(value, str) else value), Field(min_length=1)] = Field(
        validation_alias=AliasChoices("ids", "id")  # what an older Scrubjay left in the log names one `id`
    )
    reason: Reason | None = None
    purge: Flag = False


class ForgetMatching(Request):
    """Forget the facts of one scope that a query is about, best first, in one step; `dry_run` only lists them."""

    query: Query
    scope: OneScope
    threshold: Share = 0.5  # least relevance; below it a fact is more likely about something else
    most: Annotated[Count, Field(ge=1, le=500)] = 100
    dry_run: Flag = False
    reason: Reason | None = None


class Restore(Request):
    """Bring back one forgotten record."""

    id: Annotated[Name, Field(description="The id of a forgotten memory, turn or document.")]
