"""The settings of a scope: its name, background to its content, and the buckets of its profile.

They are stored in `<home>/scope_settings.json`; settings for all scopes are under the scope `*`:

    {"v": 1, "scopes": {scope: {"name", "supporting_context", "buckets": {name: description},
                                "created_at", "updated_at", "client": {name: value}}}}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from scrubjay.errors import InputError
from scrubjay.home.paths import Home
from scrubjay.home.scope_file import ScopeFile, dated
from scrubjay.home.scopes import EVERY_SCOPE

LONGEST_NAME, LONGEST_CONTEXT, LONGEST_BUCKET, LONGEST_DESCRIPTION = 200, 1_500, 64, 2_000  # characters
MOST_BUCKETS = 100


@dataclass(frozen=True)
class ScopeSettings:
    """The settings of one scope. `buckets` are sections of its profile: each has a name and a description.

    `created_at` and `updated_at` are the times of the first and last change, or None. Raises InputError if a
    text is too long, or there are too many buckets.
    """

    name: str | None = None
    supporting_context: str | None = None
    buckets: Mapping[str, str] = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    client: Mapping[str, Any] = field(default_factory=dict)  # what clients of supermemory stored

    def __post_init__(self) -> None:
        _check_text("name", self.name, LONGEST_NAME)
        _check_text("supportingContext", self.supporting_context, LONGEST_CONTEXT)
        if len(self.buckets) > MOST_BUCKETS:
            count = f"{len(self.buckets):,} are more than the maximum of {MOST_BUCKETS}"
            raise InputError(f"buckets: {count}. Remove some.")
        for bucket, description in self.buckets.items():
            if not bucket.strip():
                raise InputError("buckets: one has an empty name. Give it a name.")
            _check_text("buckets", bucket, LONGEST_BUCKET)
            _check_text(f"buckets[{bucket!r}]", description, LONGEST_DESCRIPTION)

    def with_buckets(self, added: Mapping[str, str]) -> ScopeSettings:
        """Return these settings with buckets added; an existing bucket gets the new description."""
        return replace(self, buckets={**self.buckets, **added})

    def without_buckets(self, names: Iterable[str]) -> ScopeSettings:
        """Return these settings without these buckets; unknown names are ignored."""
        remaining = self.buckets.keys() - set(names)
        return replace(self, buckets={name: text for name, text in self.buckets.items() if name in remaining})


class ScopeBook:
    """The settings of every scope of one home; the engine has the only instance."""

    def __init__(self, home: Home) -> None:
        self._file: ScopeFile[ScopeSettings] = ScopeFile(
            home, home.scope_settings, decode=lambda entry: ScopeSettings(**dated(entry)), encode=asdict
        )

    def of(self, scope: str) -> ScopeSettings:
        """Return the settings of a scope; empty settings if it has none."""
        return self._file.scopes.get(scope, ScopeSettings())

    def all(self) -> Mapping[str, ScopeSettings]:
        """Return the settings of all scopes that have any, without `*`."""
        return {scope: settings for scope, settings in self._file.scopes.items() if scope != EVERY_SCOPE}

    def buckets(self, scope: str) -> Mapping[str, str]:
        """Return the buckets of a scope's profile: those for all scopes, then those of the scope."""
        return {**self.of(EVERY_SCOPE).buckets, **self.of(scope).buckets}

    async def change(
        self, scope: str, edit: Callable[[ScopeSettings], ScopeSettings], at: datetime
    ) -> ScopeSettings:
        """Replace the settings of a scope with what `edit` returns, in memory and on disk.

        Raises InputError if `edit` refuses, or returns texts or buckets above the limits; nothing is changed.
        Raises HomeError if the file cannot be written; nothing is changed.
        """

        def edit_scope(book: dict[str, ScopeSettings]) -> None:
            old = book.get(scope, ScopeSettings())
            book[scope] = replace(edit(old), created_at=old.created_at or at, updated_at=at)

        await self._file.edit(edit_scope)
        return self.of(scope)

    async def keep_context(self, scope: str, context: str | None, at: datetime) -> None:
        """Store a document's context for its scope; None changes nothing. Raises as `change` does."""
        if context is not None and context != self.of(scope).supporting_context:
            await self.change(scope, lambda settings: replace(settings, supporting_context=context), at)

    async def remove(self, scope: str) -> None:
        """Remove the settings of a scope. Raises as `change` does."""
        if scope in self._file.scopes:
            await self._file.edit(lambda book: book.pop(scope, None))

    async def merge(self, old: str, new: str) -> None:
        """Add the settings of `old` to `new`; settings of `new` take precedence. Raises as `change` does."""

        def move(book: dict[str, ScopeSettings]) -> None:
            if (settings := book.pop(old, None)) is not None:
                book[new] = _merge(book[new], settings) if new in book else settings

        if old != new and old in self._file.scopes:
            await self._file.edit(move)


def _check_text(field: str, text: str | None, longest: int) -> None:
    if text is not None and len(text) > longest:
        sentence = f"{field} has {len(text):,} characters; at most {longest:,} are allowed, so shorten it."
        raise InputError(sentence)
    if text is not None and "\x00" in text:
        raise InputError(f"{field} contains a NUL character; remove it.")


def _merge(first: ScopeSettings, second: ScopeSettings) -> ScopeSettings:
    added = [(name, text) for name, text in second.buckets.items() if name not in first.buckets]
    return replace(
        first,
        name=first.name or second.name,
        supporting_context=first.supporting_context or second.supporting_context,
        buckets={**first.buckets, **dict(added[: MOST_BUCKETS - len(first.buckets)])},
    )
