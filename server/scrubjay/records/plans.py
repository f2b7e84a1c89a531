"""A planned write: what it will do to the store, and what the caller is answered. Planning writes nothing."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from scrubjay.models.results import Result
from scrubjay.store.changes import Change

A = TypeVar("A", bound=Result, covariant=True)


@dataclass(frozen=True)
class Plan(Generic[A]):
    """What a write will do.

    `change` is None if the write would change nothing. `also` are records that change with it. `purged` are
    ids whose bytes leave the disk as soon as everything acknowledged is on it.
    """

    change: Change | None
    answer: A
    also: tuple[Change, ...] = ()
    purged: tuple[str, ...] = ()

    @property
    def changes(self) -> tuple[Change, ...]:
        """All that is to be written, in order."""
        return () if self.change is None else (self.change, *self.also)
