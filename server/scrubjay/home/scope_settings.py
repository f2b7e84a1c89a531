"""What people say of a scope as a whole: its name, background to its contents, and the buckets of its profile. Kept in
`<home>/scope_settings.json`; does not know what is stored under a scope, nor who may change it.

    {"v": 1, "scopes": {scope: {"name", "supporting_context", "buckets": {name: description}, "created_at", "updated_at"}}}

What is said of every scope at once stands under the scope `*`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from scrubjay.errors import InputError
from scrubjay.home.pages import Pages
from scrubjay.home.paths import Home
from scrubjay.home.scopes import EVERY_SCOPE

LONGEST_NAME, LONGEST_CONTEXT, LONGEST_BUCKET, LONGEST_DESCRIPTION = 200, 1_500, 64, 2_000  # characters
MOST_BUCKETS = 100
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class ScopeSettings:
    """What is said of one scope. `buckets` are sections of its profile: a name, and what belongs there.

    `created_at` and `updated_at` are when anything was first and last said of it, None for nothing ever.

    Raises:
        InputError: a text that is too long, or more buckets than there may be.
    """

    name: str | None = None
    supporting_context: str | None = None
    buckets: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    created_at: datetime | None = None
    updated_at: datetime | None = None

    def __post_init__(self) -> None:
        _within("name", self.name, LONGEST_NAME)
        _within("supportingContext", self.supporting_context, LONGEST_CONTEXT)
        if len(self.buckets) > MOST_BUCKETS:
            raise InputError(
                f"buckets: {len(self.buckets):,} are more than the {MOST_BUCKETS} that a profile may have. Leave some out."
            )
        for bucket, description in self.buckets.items():
            if not bucket.strip():
                raise InputError("buckets: one has an empty name. Name it.")
            _within("buckets", bucket, LONGEST_BUCKET)
            _within(f"buckets[{bucket!r}]", description, LONGEST_DESCRIPTION)
        object.__setattr__(self, "buckets", MappingProxyType(dict(self.buckets)))

    def with_buckets(self, added: Mapping[str, str]) -> ScopeSettings:
        """With these buckets beside its own; one of the same name gets the new description."""
        return replace(self, buckets={**self.buckets, **added})

    def without_buckets(self, names: Iterable[str]) -> ScopeSettings:
        """Without the buckets of these names; a name that there is none of changes nothing."""
        gone = set(names)
        return replace(self, buckets={name: text for name, text in self.buckets.items() if name not in gone})


def _within(field: str, text: str | None, longest: int) -> None:
    if text is not None and len(text) > longest:
        raise InputError(
            f"{field} has {len(text):,} characters; at most {longest:,} are allowed, so shorten it."
        )
    if text is not None and "\x00" in text:
        raise InputError(f"{field} contains a NUL character; remove it.")


class ScopeBook:
    """The settings of every scope of one home; the engine holds the only one."""

    def __init__(self, home: Home) -> None:
        self._pages: Pages[ScopeSettings] = Pages(home, home.scope_settings, read=_read, spelled=_spelled)

    def of(self, scope: str) -> ScopeSettings:
        """What is said of a scope; nothing of one that was never named here."""
        return self._pages.scopes.get(scope, ScopeSettings())

    def all(self) -> Mapping[str, ScopeSettings]:
        """Every scope of which something is said, `*` left out."""
        return {scope: held for scope, held in self._pages.scopes.items() if scope != EVERY_SCOPE}

    def buckets(self, scope: str) -> Mapping[str, str]:
        """The buckets of a scope's profile: those of every scope, and its own."""
        return {**self.of(EVERY_SCOPE).buckets, **self.of(scope).buckets}

    async def change(
        self, scope: str, edit: Callable[[ScopeSettings], ScopeSettings], at: datetime
    ) -> ScopeSettings:
        """Replace what is said of a scope by what `edit` makes of it; on disk when this returns.

        Raises:
            InputError: `edit` refuses, or makes more of it than there may be; nothing is changed.
            HomeError: the file cannot be written; nothing is changed.
        """

        def changed(book: dict[str, ScopeSettings]) -> None:
            held = book.get(scope, ScopeSettings())
            book[scope] = replace(edit(held), created_at=held.created_at or at, updated_at=at)

        await asyncio.to_thread(self._pages.edit, changed)
        return self.of(scope)

    async def keep_context(self, scope: str, context: str | None, at: datetime) -> None:
        """Keep what came with a document as background to its scope; None says nothing. Raises as `change` does."""
        if context is not None and context != self.of(scope).supporting_context:
            await self.change(scope, lambda held: replace(held, supporting_context=context), at)

    async def remove(self, scope: str) -> None:
        """Forget what is said of a scope. Raises as `change` does."""
        if scope in self._pages.scopes:
            await asyncio.to_thread(self._pages.edit, lambda book: book.pop(scope, None))

    async def merge(self, old: str, new: str) -> None:
        """Let what is said of `old` be said of `new`, where nothing else is said of that. Raises as `change` does."""

        def merged(book: dict[str, ScopeSettings]) -> None:
            if (left := book.pop(old, None)) is not None:
                book[new] = _together(book[new], left) if new in book else left

        if old != new and old in self._pages.scopes:
            await asyncio.to_thread(self._pages.edit, merged)


def _together(kept: ScopeSettings, left: ScopeSettings) -> ScopeSettings:
    more = [(name, text) for name, text in left.buckets.items() if name not in kept.buckets]
    return replace(
        kept,
        name=kept.name or left.name,
        supporting_context=kept.supporting_context or left.supporting_context,
        buckets={**kept.buckets, **dict(more[: MOST_BUCKETS - len(kept.buckets)])},
    )


def _spelled(held: ScopeSettings) -> dict[str, Any]:
    return {
        "name": held.name,
        "supporting_context": held.supporting_context,
        "buckets": dict(held.buckets),
        "created_at": held.created_at and held.created_at.isoformat(),
        "updated_at": held.updated_at and held.updated_at.isoformat(),
    }


def _read(values: Mapping[str, Any]) -> ScopeSettings:
    return ScopeSettings(
        name=values["name"],
        supporting_context=values["supporting_context"],
        buckets=values["buckets"],
        created_at=_instant(values["created_at"]),
        updated_at=_instant(values["updated_at"]),
    )


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
