"""The scopes of a store and the speakers in it."""

from collections.abc import Callable, Iterable

from scrubjay.models.records import AnyRecord, Turn
from scrubjay.store.changes import TABLE_OF
from scrubjay.store.connection import Connection
from scrubjay.store.schema import read_table


class Names:
    """A cache of a store's scopes and speakers, which every staged record updates."""

    def __init__(self, connection: Connection, staged: Callable[[], Iterable[AnyRecord]]) -> None:
        self._connection, self._all_staged = connection, staged
        self._speakers: dict[str, set[str]] | None = None  # by scope, of every scope
        # Scopes and speakers of staged records, because a commit during a read may hide one from it.
        self._staged: set[tuple[str, str | None]] = set()

    def add(self, record: AnyRecord) -> None:
        """Add the names in a staged record."""
        names = record.scope, record.role if isinstance(record, Turn) else None
        self._staged.add(names)
        if self._speakers is not None:
            _add(self._speakers, *names)

    def clear(self) -> None:
        """Drop all names; they are read again when needed."""
        self._speakers, self._staged = None, set()
        for record in self._all_staged():
            self.add(record)

    async def scopes(self) -> frozenset[str]:
        """Return every scope that has a record, or had one when the tables were read."""
        return frozenset(await self._by_scope())

    async def speakers(self, scopes: Iterable[str] | None) -> frozenset[str]:
        """Return the names of speakers other than user and assistant in these scopes (None: everywhere)."""
        by_scope = await self._by_scope()
        groups = by_scope.values() if scopes is None else (by_scope.get(scope, ()) for scope in scopes)
        return frozenset(name for names in groups for name in names)

    async def _by_scope(self) -> dict[str, set[str]]:
        if self._speakers is None:
            speakers: dict[str, set[str]] = {}
            for name in TABLE_OF.values():
                columns = ["scope", "role"] if name == TABLE_OF[Turn] else ["scope"]
                rows = await read_table(self._connection.tables.of(name).query().select(columns))
                # In Arrow, because there may be millions of turns.
                pairs = rows.group_by(columns).aggregate([]).to_pydict()
                for names in zip(*pairs.values(), strict=True):
                    _add(speakers, *names)
            for names in self._staged:
                _add(speakers, *names)
            self._speakers = speakers
        return self._speakers


def _add(speakers: dict[str, set[str]], scope: str, role: str | None = None) -> None:
    speakers.setdefault(scope, set()).update([role] if role else [])
