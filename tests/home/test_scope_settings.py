"""Names, contexts and buckets of scopes: stored completely, separately, and never lost to a concurrent
change.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from scrubjay.engine.core import Core
from scrubjay.errors import HomeError, InputError
from scrubjay.home.paths import Home
from scrubjay.home.scope_settings import MOST_BUCKETS, ScopeBook, ScopeSettings


async def test_scope_settings_survive_a_restart(home: Home, now: datetime) -> None:
    book = ScopeBook(home)
    await book.change("alex", lambda held: replace(held, supporting_context="Alex teaches maths."), now)
    held = await book.change(
        "alex", lambda held: held.with_buckets({"goals": "What Alex wants"}), now + timedelta(days=1)
    )
    assert held.supporting_context == "Alex teaches maths."
    assert dict(held.buckets) == {"goals": "What Alex wants"}
    assert (held.created_at, held.updated_at) == (now, now + timedelta(days=1))
    assert ScopeBook(home).of("alex") == held
    assert os.stat(home.scope_settings).st_mode & 0o077 == 0


async def test_concurrent_changes_are_all_stored(home: Home, now: datetime) -> None:
    book = ScopeBook(home)
    names = [f"bucket {n}" for n in range(20)]
    await asyncio.gather(
        *(book.change("alex", lambda held, name=name: held.with_buckets({name: ""}), now) for name in names)
    )
    assert set(book.of("alex").buckets) == set(names) == set(ScopeBook(home).of("alex").buckets)


async def test_shared_buckets_are_added_to_a_scopes_own(home: Home, now: datetime) -> None:
    book = ScopeBook(home)
    await book.change("*", lambda held: held.with_buckets({"goals": "of all", "food": "of all"}), now)
    await book.change("alex", lambda held: held.with_buckets({"goals": "of Alex"}), now)
    assert book.buckets("alex") == {"goals": "of Alex", "food": "of all"}
    assert book.buckets("sam") == {"goals": "of all", "food": "of all"}
    assert set(book.all()) == {"alex"}


async def test_a_merge_keeps_the_settings_of_the_remaining_scope(home: Home, now: datetime) -> None:
    book = ScopeBook(home)
    old = ScopeSettings(name="Old", supporting_context="of old", buckets={"a": "old", "b": "old"})
    await book.change("old", lambda _: old, now)
    await book.change("new", lambda _: ScopeSettings(name="New", buckets={"b": "new"}), now)
    await book.merge("old", "new")
    kept = book.of("new")
    assert (kept.name, kept.supporting_context) == ("New", "of old")
    assert dict(kept.buckets) == {"b": "new", "a": "old"}
    assert book.of("old") == ScopeSettings() and set(ScopeBook(home).all()) == {"new"}


async def test_merging_scopes_merges_their_settings(core: Core, now: datetime) -> None:
    await core.scope_settings.change("old", lambda held: replace(held, name="Old"), now)
    await core.scopes.merge("old", "new")
    assert core.scope_settings.of("new").name == "Old"


async def test_a_context_given_with_a_document_is_written_once(home: Home, now: datetime) -> None:
    book = ScopeBook(home)
    await book.keep_context("alex", None, now)
    assert book.all() == {}
    await book.keep_context("alex", "Alex teaches maths.", now)
    await book.keep_context("alex", "Alex teaches maths.", now + timedelta(days=1))
    held = book.of("alex")
    assert (held.supporting_context, held.updated_at) == ("Alex teaches maths.", now)


async def test_a_removed_scope_has_no_settings(home: Home, now: datetime) -> None:
    book = ScopeBook(home)
    await book.change("alex", lambda held: replace(held, name="Alex"), now)
    await book.remove("alex")
    await book.remove("nobody")
    assert book.of("alex") == ScopeBook(home).of("alex") == ScopeSettings()


@pytest.mark.parametrize(
    "too_much",
    [
        {"supporting_context": "x" * 1_501},
        {"name": "x" * 201},
        {"name": "a\x00b"},
        {"buckets": {f"b{n}": "" for n in range(MOST_BUCKETS + 1)}},
        {"buckets": {"x" * 65: ""}},
        {"buckets": {" ": ""}},
        {"buckets": {"a": "x" * 2_001}},
    ],
)
async def test_too_large_a_change_is_refused_and_changes_nothing(
    home: Home, now: datetime, too_much: dict[str, object]
) -> None:
    book = ScopeBook(home)
    await book.change("alex", lambda held: replace(held, name="Alex"), now)
    with pytest.raises(InputError):
        await book.change("alex", lambda held: replace(held, **too_much), now)
    assert book.of("alex").name == "Alex" and book.of("alex").updated_at == now


async def test_a_disk_error_changes_nothing(home: Home, now: datetime) -> None:
    book = ScopeBook(home)
    os.rmdir(home.spool_tmp)
    with pytest.raises(HomeError, match="cannot be written"):
        await book.change("alex", lambda held: replace(held, name="Alex"), now)
    assert book.of("alex") == ScopeSettings()


@pytest.mark.parametrize(
    "damaged", [b"{", b"[]", b'{"scopes": {"alex": {"name": 1}}}', b"\xff", b'{"scopes": {"a": 1}}']
)
def test_a_damaged_file_is_moved_away_and_stops_nothing(home: Home, damaged: bytes) -> None:
    Path(home.scope_settings).write_bytes(damaged)
    assert ScopeBook(home).all() == {}
    assert Path(home.scope_settings + ".broken").read_bytes() == damaged
