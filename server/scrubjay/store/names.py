"""The scopes of a store and the speakers in it."""

from collections.abc import Callable, Iterable

from scrubjay.models.records import AnyRecord, Turn
from scrubjay.store import conditions
from scrubjay.store.changes import TABLE_OF
from scrubjay.store.connection import Connection
from scrubjay.store.schema import read_table


class Names:
    """A cache of a store's scopes and speakers, which every staged record updates."""

    def __init__(self, connection: Connection, staged: Callable[[], Iterable[AnyRecord]]) -> None:
        self._connection, self._all_staged = connection, staged
        self._scopes: set[str] | None = None
        self._speakers: dict[str, set[str]] | None = None  # by scope
        # Scopes and speakers of staged records, because a commit during a read may hide one from it.
        self._staged: set[tuple[str, str | None]] = set()

    def add(self, record: AnyRecord) -> None:
        """Add the names in a staged record."""
        scope, role = _names(record)
        self._staged.add((scope, role))
        if self._scopes is not None:
            self._scopes.add(scope)
        if self._speakers is not None and role:
            self._speakers.setdefault(scope, set()).add(role)

    def clear(self) -> None:
        """Drop all names; they are read again when needed."""
        self._scopes = self._speakers = None
        self._staged = set(map(_names, self._all_staged()))

    async def scopes(self) -> frozenset[str]:
        """Return every scope that has a record, or had one when the tables were read."""
        if self._scopes is None:
            scopes: set[str] = set()
            for name in TABLE_OF.values():
                rows = await read_table(self._connection.tables.of(name).query().select(["scope"]))
                scopes.update(rows["scope"].unique().to_pylist())
            self._scopes = scopes | {scope for scope, _ in self._staged}
        return frozenset(self._scopes)

    async def speakers(self, scopes: Iterable[str] | None) -> frozenset[str]:
        """Return the names of speakers other than user and assistant in these scopes (None: everywhere)."""
        if self._speakers is None:
            query = self._connection.tables.turns.query().where(conditions.present("role"))
            rows = await read_table(query.select(["scope", "role"]))
            # In Arrow, because there may be millions of turns.
            pairs = rows.group_by(["scope", "role"]).aggregate([]).to_pydict()
            self._speakers = {}
            for scope, role in (*zip(pairs["scope"], pairs["role"], strict=True), *self._staged):
                if role:
                    self._speakers.setdefault(scope, set()).add(role)
        by_scope = self._speakers
        groups = by_scope.values() if scopes is None else (by_scope.get(scope, ()) for scope in scopes)
        return frozenset(name for names in groups for name in names)


def _names(record: AnyRecord) -> tuple[str, str | None]:
    return record.scope, record.role if isinstance(record, Turn) else None
