"""A question as retrieval needs it: where to look, what for, and which rows may answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from scrubjay.models.records import Src
from scrubjay.store import sql
from scrubjay.store.schema import micros


@dataclass(frozen=True)
class Question:
    """`scopes` None means everywhere. All conditions hold at once; `tags` means every one of them."""

    text: str
    scopes: tuple[str, ...] | None
    srcs: tuple[Src, ...]
    now: datetime
    partition_ids: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    session_id: str | None = None
    record_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def filtered(self) -> bool:
        """Whether rows of an asked scope and session may be shut out: then a turn cannot enter by its neighbours alone."""
        return bool(self.partition_ids is not None or self.tags or self.since or self.until or self.record_id)

    def where(self) -> str:
        """The prefilter over passages."""
        return sql.both(
            None if self.scopes is None else sql.one_of("scope", self.scopes),
            sql.one_of("src", self.srcs),
            sql.equal("hidden", False),
            sql.either("expires_at IS NULL", f"expires_at > {micros(self.now)}"),
            None if self.partition_ids is None else sql.one_of("partition_id", self.partition_ids),
            sql.has_all("tags", self.tags) if self.tags else None,
            None if self.session_id is None else sql.equal("session_id", self.session_id),
            None if self.record_id is None else sql.equal("record_id", self.record_id),
            None if self.since is None else f"dated_at >= {micros(self.since)}",
            None if self.until is None else f"dated_at < {micros(self.until)}",
        )
