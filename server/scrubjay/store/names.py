"""The names that a store holds: its scopes, and who spoke in each. Read once, then kept up with what is written; never searched for."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scrubjay.models.records import AnyRecord, Turn
from scrubjay.store.changes import TABLE_OF
from scrubjay.store.tables import Tables


class Names:
    """Of one store; `staged` gives the records that are written and not yet committed."""

    def __init__(self, tables: Callable[[], Tables], staged: Callable[[], Iterable[AnyRecord]]) -> None:
        self._tables, self._staged = tables, staged
        self._scopes: set[str] | None = None
        self._speakers: dict[str, set[str]] | None = None  # by scope

    def written(self, record: AnyRecord) -> None:
        """Learn from a record that is staged."""
        if self._scopes is not None:
            self._scopes.add(record.scope)
        if self._speakers is not None and isinstance(record, Turn) and record.role:
            self._speakers.setdefault(record.scope, set()).add(record.role)

    def changed(self) -> None:
        """Read all of them anew when they are next asked for."""
        self._scopes = self._speakers = None

    async def scopes(self) -> frozenset[str]:
        """Every scope that holds a record, or held one when it was read."""
        if self._scopes is None:
            seen = {record.scope for record in self._staged()}
            for name in TABLE_OF.values():
                rows = await self._tables().of(name).query().select(["scope"]).to_arrow()
                seen.update(rows["scope"].unique().to_pylist())
            self._scopes = seen
        return frozenset(self._scopes)

    async def speakers(self, scopes: Iterable[str] | None) -> frozenset[str]:
        """The names under which others than user and assistant spoke, in these scopes (None: everywhere)."""
        if self._speakers is None:
            rows = await self._tables().turns.query().where("role IS NOT NULL").select(["scope", "role"]).to_arrow()
            pairs = rows.group_by(["scope", "role"]).aggregate([]).to_pydict()  # in Arrow: there may be millions of turns
            staged = ((turn.scope, turn.role) for turn in self._staged() if isinstance(turn, Turn) and turn.role)
            self._speakers = {}
            for scope, role in (*zip(pairs["scope"], pairs["role"], strict=True), *staged):
                self._speakers.setdefault(scope, set()).add(role)
        names = self._speakers.values() if scopes is None else (self._speakers.get(scope, ()) for scope in scopes)
        return frozenset(role for found in names for role in found)
