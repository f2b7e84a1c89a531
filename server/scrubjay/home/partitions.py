"""Partitions: the kinds of memories. Five are built in; users can add others to their own scope.

The added partitions are in `<home>/partitions.json`:

    {"v": 1, "scopes": {scope: {id: {"id", "name", "description", "enabled", "created_at", "updated_at"}}}}
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from scrubjay.errors import InputError, NotFound
from scrubjay.home.paths import Home
from scrubjay.home.scope_file import ScopeFile, dated

INBOX = "mem_hippocampus"
MAX_PARTITIONS = 1_000  # per scope
_ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Partition:
    """One kind of memories. `enabled` is stored for clients that show it; a search ignores it."""

    id: str
    name: str
    description: str = ""
    enabled: bool = True
    created_at: datetime = _ALWAYS
    updated_at: datetime = _ALWAYS

    @property
    def is_system(self) -> bool:
        """Return True if this is one of the five built-in partitions."""
        return self.id in SYSTEM


_SYSTEM = (
    Partition(INBOX, "Hippocampus", "The inbox: memories stored without a kind."),
    Partition("mem_semantic", "Semantic", "Facts and decisions."),
    Partition("mem_episodic", "Episodic", "Events, and the turns of sessions word for word."),
    Partition("mem_preference", "Preference", "What the user likes, dislikes and insists on."),
    Partition("mem_procedural", "Procedural", "How things are done: steps, commands, habits."),
)
SYSTEM: Mapping[str, Partition] = {each.id: each for each in _SYSTEM}


class PartitionBook:
    """The partitions of every scope of one home; the engine has the only instance."""

    def __init__(self, home: Home) -> None:
        self._file: ScopeFile[Mapping[str, Partition]] = ScopeFile(
            home, home.partitions, decode=_decode, encode=_encode
        )

    def of(self, scopes: Iterable[str]) -> dict[str, Partition]:
        """Return the partitions of these scopes by id, the built-in ones first; an earlier scope wins."""
        partitions = dict(SYSTEM)
        for scope in reversed(list(scopes)):
            partitions.update(self._file.scopes.get(scope, {}))
        return partitions

    def owner(self, partition_id: str, scopes: Iterable[str]) -> str | None:
        """Return the first of these scopes that has an entry for this partition, or None."""
        return next((scope for scope in scopes if partition_id in self._file.scopes.get(scope, ())), None)

    async def make(self, scope: str, partition: Partition) -> None:
        """Add a partition to a scope, in memory and on disk.

        Raises InputError if the id is taken or the scope has too many, and HomeError if the file cannot be
        written.
        """

        def add(partitions: dict[str, Partition]) -> None:
            if partition.id in SYSTEM or partition.id in partitions:
                sentence = f"A partition {partition.id!r} already exists."
                raise InputError(f"{sentence} Change it, or choose another id.")
            if len(partitions) >= MAX_PARTITIONS:
                sentence = f"There are {MAX_PARTITIONS:,} partitions, which is the maximum."
                raise InputError(f"{sentence} Delete one first.")
            partitions[partition.id] = partition

        await self._edit(scope, add)

    async def change(self, scope: str, partition: Partition) -> None:
        """Replace a scope's entry for a partition. Raises HomeError if the file cannot be written."""
        await self._edit(scope, lambda book: book.__setitem__(partition.id, partition))

    async def remove(self, scope: str, partition_id: str) -> None:
        """Remove a partition from a scope.

        Raises InputError if it is built in, NotFound if it is missing, and HomeError if the file cannot be
        written.
        """
        if partition_id in SYSTEM:
            sentence = f"{partition_id!r} is one of the five built-in partitions."
            raise InputError(f"{sentence} Delete its memories instead.")

        def pop(partitions: dict[str, Partition]) -> None:
            if partitions.pop(partition_id, None) is None:
                raise NotFound(f"There is no partition {partition_id[:80]!r} to delete.")

        await self._edit(scope, pop)

    async def _edit(self, scope: str, edit: Callable[[dict[str, Partition]], Any]) -> None:
        def change(scopes: dict[str, Mapping[str, Partition]]) -> None:
            partitions = dict(scopes.get(scope, {}))
            edit(partitions)
            scopes[scope] = partitions

        await self._file.edit(change)


def _encode(partitions: Mapping[str, Partition]) -> dict[str, Any]:
    return {partition_id: asdict(partition) for partition_id, partition in sorted(partitions.items())}


def _decode(entry: Mapping[str, Any]) -> dict[str, Partition]:
    # Versions up to 0.2.0 did not write the id into the values.
    return {
        partition_id: Partition(**{**dated(values), "id": partition_id})
        for partition_id, values in entry.items()
    }
