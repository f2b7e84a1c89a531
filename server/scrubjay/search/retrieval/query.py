"""A question with its conditions: what to search for, where, and which records may answer."""

from dataclasses import dataclass
from datetime import datetime

from scrubjay.models.filters import Filter
from scrubjay.models.records import AnyRecord, Document, Memory, PassageSrc, Turn
from scrubjay.store import conditions, facets
from scrubjay.store.cache import PassageRow
from scrubjay.store.conditions import Dates, Where
from scrubjay.store.schema import micros
from scrubjay.store.sessions import Place, Session


@dataclass(frozen=True)
class Question:
    """A record may answer if it meets all conditions and has all `tags`; `scopes` None means everywhere."""

    text: str
    scopes: tuple[str, ...] | None
    srcs: tuple[PassageSrc, ...]
    now: datetime
    partition_ids: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    session_id: str | None = None
    host: str | None = None  # the host of turns; other records have none
    record_id: str | tuple[str, ...] | None = None
    path: str | None = None  # of a file or of a folder
    exact_path: bool = False  # `path` is a folder only if it ends in a slash
    filters: Filter | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None  # ignore what was added, forgotten or replaced after this time
    forgotten: bool = False  # forgotten and expired records may answer too

    @property
    def is_filtered(self) -> bool:
        """Return True if conditions may exclude turns of a session; then no neighbours are added."""
        filters = (self.tags, self.since, self.until, self.record_id, self.path, self.filters, self.as_of)
        return self.partition_ids is not None or self.host is not None or any(filters)

    @property
    def dates(self) -> Dates:
        """The period of the passages that may answer."""
        since, until = self.since, self.until
        return Dates(None if since is None else micros(since), None if until is None else micros(until))

    def where(self, *, unexpired: bool = True, dated: bool = True) -> Where:
        """Return the prefilter over passages.

        If `unexpired` is False, the caller must check each passage with `is_expired`; if `dated` is False, it
        must check `dates`.
        """
        at_path = conditions.at_or_below if self.exact_path else conditions.within
        return conditions.both(
            conditions.matching(scope=self.scopes, src=self.srcs, partition_id=self.partition_ids),
            conditions.matching(session_id=self.session_id, record_id=self.record_id, host=self.host),
            self._not_hidden(),
            conditions.unexpired(self.as_of or self.now) if unexpired and not self.forgotten else None,
            conditions.has_all_folded("tags", self.tags) if self.tags else None,
            None if self.path is None else at_path("path", self.path),
            None if self.filters is None else facets.where(self.filters),
            conditions.dated(self.dates) if dated else None,
        )

    def is_expired(self, passage: PassageRow) -> bool:
        """Return True if a passage may not answer because it has expired."""
        expires_at = passage.expires_at
        return not self.forgotten and expires_at is not None and expires_at <= micros(self.as_of or self.now)

    def _not_hidden(self) -> Where | None:
        visible = conditions.equal("hidden", False)
        if self.as_of is None:
            return None if self.forgotten else visible
        as_of = micros(self.as_of)
        was_visible = conditions.either(visible, conditions.number("hidden_at", ">", as_of))
        existed = conditions.number("dated_at", "<=", as_of)
        return conditions.both(existed, None if self.forgotten else was_visible)

    def visible_turns(self, session: Session) -> Session:
        """Return a session with only the turns that may be shown."""
        if self.as_of is None and (self.forgotten or session.whole):
            return session
        return Session(tuple(place for place in session.places if self._is_visible(place)))

    def _is_visible(self, place: Place) -> bool:
        if self.as_of is None:
            return self.forgotten or not place.forgotten
        as_of, forgotten_at = micros(self.as_of), place.forgotten_at
        is_remembered = self.forgotten or forgotten_at is None or forgotten_at > as_of
        return place.started_at <= as_of and is_remembered

    def admits(self, record: AnyRecord) -> bool:
        """Return True if a record may answer; checked on the record, because the index may be outdated."""
        at = self.as_of or self.now
        if isinstance(record, Turn) and record.purged_at is not None:
            return False
        if self.as_of is not None and _dated_at(record) > self.as_of:
            return False
        if isinstance(record, Memory) and self._has_happened(record.replaced_at):
            return False
        is_expired = record.expires_at is not None and record.expires_at <= at
        return self.forgotten or not (is_expired or self._has_happened(record.forgotten_at))

    def _has_happened(self, moment: datetime | None) -> bool:
        """Return True unless this moment is None or after `as_of`."""
        return moment is not None and (self.as_of is None or moment <= self.as_of)


def _dated_at(record: AnyRecord) -> datetime:
    """Return the date that the passages of a record have: for a document, the date of its last change."""
    if isinstance(record, Turn):
        return record.started_at
    return record.updated_at if isinstance(record, Document) else record.created_at
