"""Partitions: what kinds of memories there are. Five are there always, others are made by people, in their own scope, and kept in
`<home>/partitions.json`. Knows their names and descriptions; does not know what they hold.

    {"v": 1, "scopes": {scope: {id: {"name", "description", "enabled", "created_at", "updated_at"}}}}
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from scrubjay.errors import InputError, NotFound
from scrubjay.home.pages import Pages
from scrubjay.home.paths import Home

INBOX = "mem_hippocampus"
MOST = 1_000  # partitions of one scope
_ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Partition:
    """`enabled` is kept for clients that show it; a search looks wherever it is asked to."""

    id: str
    name: str
    description: str = ""
    enabled: bool = True
    created_at: datetime = _ALWAYS
    updated_at: datetime = _ALWAYS

    @property
    def is_system(self) -> bool:
        return self.id in SYSTEM


SYSTEM: Mapping[str, Partition] = {
    each.id: each
    for each in (
        Partition(INBOX, "Hippocampus", "The inbox: what was kept without saying what kind of memory it is."),
        Partition("mem_semantic", "Semantic", "Facts and decisions: what is the case."),
        Partition(
            "mem_episodic", "Episodic", "What happened: the turns of sessions, word for word, and events."
        ),
        Partition("mem_preference", "Preference", "What the user likes, dislikes and insists on."),
        Partition("mem_procedural", "Procedural", "How things are done: steps, commands, habits."),
    )
}


class PartitionBook:
    """The partitions of every scope of one home; the engine holds the only one."""

    def __init__(self, home: Home) -> None:
        self._made: Pages[Mapping[str, Partition]] = Pages(
            home, home.partitions, read=_read, spelled=_spelled
        )

    def of(self, scopes: Iterable[str]) -> dict[str, Partition]:
        """The partitions that these scopes know, by id: the system's own first; of two that bear one id, that of the first scope."""
        found = dict(SYSTEM)
        for scope in reversed(list(scopes)):
            found.update(self._made.scopes.get(scope, {}))
        return found

    def owner(self, id: str, scopes: Iterable[str]) -> str | None:
        """The first of these scopes that says something of a partition."""
        return next((scope for scope in scopes if id in self._made.scopes.get(scope, ())), None)

    async def make(self, scope: str, partition: Partition) -> None:
        """Add one to a scope; on disk when this returns.

        Raises:
            InputError: the scope knows one of this id, or has too many.
            HomeError: the file cannot be written.
        """

        def made(own: dict[str, Partition]) -> None:
            if partition.id in SYSTEM or partition.id in own:
                raise InputError(
                    f"A partition {partition.id!r} is there already. Change that one, or choose another id."
                )
            if len(own) >= MOST:
                raise InputError(f"There are {MOST:,} partitions, which is the most. Delete one first.")
            own[partition.id] = partition

        await asyncio.to_thread(self._edit, scope, made)

    async def change(self, scope: str, partition: Partition) -> None:
        """Replace what a scope says of a partition. Raises HomeError as `make` does."""
        await asyncio.to_thread(self._edit, scope, lambda own: own.__setitem__(partition.id, partition))

    async def remove(self, scope: str, id: str) -> None:
        """Take one out of a scope.

        Raises:
            InputError: it is one of the system's.
            NotFound: the scope has none of this id.
            HomeError: the file cannot be written.
        """
        if id in SYSTEM:
            raise InputError(
                f"{id!r} is one of the five partitions that are always there. Delete its memories instead."
            )

        def removed(own: dict[str, Partition]) -> None:
            if own.pop(id, None) is None:
                raise NotFound(f"There is no partition {id[:80]!r} that could be deleted.")

        await asyncio.to_thread(self._edit, scope, removed)

    def _edit(self, scope: str, edit: Callable[[dict[str, Partition]], Any]) -> None:
        def edited(scopes: dict[str, Mapping[str, Partition]]) -> None:
            own = dict(scopes.get(scope, {}))
            edit(own)
            scopes[scope] = own

        self._made.edit(edited)


def _spelled(own: Mapping[str, Partition]) -> dict[str, Any]:
    return {id: _values(each) for id, each in sorted(own.items())}


def _values(partition: Partition) -> dict[str, Any]:
    values = asdict(partition)
    del values["id"]
    return values | {name: values[name].isoformat() for name in ("created_at", "updated_at")}


def _read(own: Mapping[str, Any]) -> dict[str, Partition]:
    return {id: _partition(id, values) for id, values in own.items()}


def _partition(id: str, values: Mapping[str, Any]) -> Partition:
    created, updated = (datetime.fromisoformat(values[name]) for name in ("created_at", "updated_at"))
    return Partition(
        id, str(values["name"]), str(values["description"]), bool(values["enabled"]), created, updated
    )
