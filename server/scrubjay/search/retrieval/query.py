"""A question: what to look for, where, and which records may answer."""

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
    """`scopes` None means everywhere. All conditions hold at once; `tags` means every one of them."""

    text: str
    scopes: tuple[str, ...] | None
    srcs: tuple[PassageSrc, ...]
    now: datetime
    partition_ids: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    session_id: str | None = None
    host: str | None = None  # that turns came from; nothing else has one
    record_id: str | None = None
    path: str | None = None  # of a file or of a folder
    exact_path: bool = False  # a folder ends in a slash
    filters: Filter | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None  # answer as of then: ignore what was added, forgotten or replaced later
    forgotten: bool = False  # forgotten and expired records may answer too

    @property
    def filtered(self) -> bool:
        """Whether conditions may exclude turns of a session; then no turn enters by its neighbours alone."""
        filters = (self.tags, self.since, self.until, self.record_id, self.path, self.filters, self.as_of)
        return self.partition_ids is not None or self.host is not None or any(filters)

    @property
    def dates(self) -> Dates:
        """The period of the passages that may answer."""
        since, until = self.since, self.until
        return Dates(None if since is None else micros(since), None if until is None else micros(until))

    def where(self, *, unexpired: bool = True, dated: bool = True) -> Where:
        """Build the prefilter over passages.

        Without `unexpired` the caller asks `is_expired` of each, without `dated` it looks at `dates` itself.
        """
        return conditions.both(
            conditions.matching(scope=self.scopes, src=self.srcs, partition_id=self.partition_ids),
            conditions.matching(session_id=self.session_id, record_id=self.record_id, host=self.host),
            self._not_hidden(),
            conditions.unexpired(self.as_of or self.now) if unexpired and not self.forgotten else None,
            conditions.has_all_folded("tags", self.tags) if self.tags else None,
            None if self.path is None else self._at_path(self.path),
            None if self.filters is None else facets.where(self.filters),
            conditions.dated(self.dates) if dated else None,
        )

    def _at_path(self, path: str) -> Where:
        return (conditions.at_or_below if self.exact_path else conditions.within)("path", path)

    def is_expired(self, passage: PassageRow) -> bool:
        """Whether a passage may not answer because it expired."""
        expires_at = passage.expires_at
        return not self.forgotten and expires_at is not None and expires_at <= micros(self.as_of or self.now)

    def _not_hidden(self) -> Where | None:
        if self.as_of is not None:
            then = micros(self.as_of)
            known = conditions.number("dated_at", "<=", then)
            shown = conditions.either(
                conditions.equal("hidden", False), conditions.number("hidden_at", ">", then)
            )
            return conditions.both(known, None if self.forgotten else shown)
        return None if self.forgotten else conditions.equal("hidden", False)

    def in_sight(self, session: Session) -> Session:
        """Reduce a session to the turns that may be shown."""
        if self.as_of is None and (self.forgotten or session.whole):
            return session
        return Session(tuple(place for place in session.places if self._sees(place)))

    def _sees(self, place: Place) -> bool:
        if self.as_of is None:
            return self.forgotten or not place.forgotten
        then = micros(self.as_of)
        there = self.forgotten or place.forgotten_at is None or place.forgotten_at > then
        return place.started_at <= then and there

    def admits(self, record: AnyRecord) -> bool:
        """Whether a record may answer. Checked on the record itself, because the index may be older."""
        at = self.as_of or self.now
        if isinstance(record, Turn) and record.purged_at is not None:
            return False
        if self.as_of is not None and _dated_at(record) > self.as_of:
            return False
        if isinstance(record, Memory) and self._past(record.replaced_at):
            return False
        expired = record.expires_at is not None and record.expires_at <= at
        return self.forgotten or not (expired or self._past(record.forgotten_at))

    def _past(self, moment: datetime | None) -> bool:
        """Whether something happened, and not after the time that the question is asked as of."""
        return moment is not None and (self.as_of is None or moment <= self.as_of)


def _dated_at(record: AnyRecord) -> datetime:
    """Date a record as its passages are dated: a document by its last change."""
    if isinstance(record, Turn):
        return record.started_at
    return record.updated_at if isinstance(record, Document) else record.created_at
