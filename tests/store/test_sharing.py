"""Coordination of the engines of one bucket: the lease, the inbox, and the reachability of the bucket.
Against moto's S3 server.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from hashing_encoder import HashingEncoder

from scrubjay.engine.core import open_core
from scrubjay.engine.engine import utc_now
from scrubjay.errors import StoreError
from scrubjay.home.paths import open_home
from scrubjay.home.settings import Settings
from scrubjay.store.bucket.inbox import ENVELOPE, Entry, open_inbox
from scrubjay.store.bucket.sharing import Lease
from scrubjay.store.notes import open_notes
from scrubjay.store.opening import open_at
from scrubjay.store.tables import ALWAYS, connect

pytestmark = pytest.mark.long


async def test_a_missing_bucket_is_reported_in_a_sentence(place: str, tmp_path: Path):
    settings = Settings(store="s3://no-such-bucket/x")
    with pytest.raises(
        StoreError,
        match=r"s3://no-such-bucket/x cannot be reached: .*\(NoSuchBucket\)\. Check the name of the bucket",
    ):
        await open_core(
            open_home(str(tmp_path / "home")), settings, utc_now, lambda *_, **__: HashingEncoder()
        )


async def test_an_unresponsive_server_is_reported_in_a_sentence(place: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(StoreError, match="cannot be reached: Connection refused"):
        await open_at(place, dim=64)


async def test_the_lease_has_one_holder_and_passes_on_only_when_its_heartbeat_stops(place: str):
    now = time.monotonic()
    notes = [await open_notes(await connect(place, fresh=ALWAYS)) for _ in range(4)]
    leases = [
        Lease(each, f"engine-{number}", seconds=10, clock=lambda: now) for number, each in enumerate(notes)
    ]
    assert sorted(await asyncio.gather(*(lease.keep() for lease in leases))) == [False, False, False, True]
    holder = next(lease for lease in leases if lease.is_valid)
    other = next(lease for lease in leases if not lease.is_valid)
    now += 6
    assert not await other.keep() and await holder.keep()
    now += 6
    assert not await other.keep()  # the heartbeat continued
    now += 6
    assert not holder.is_valid and not await other.keep()  # the holder stops before any other engine begins
    now += 5
    assert await other.keep() and not await holder.keep()
    assert (other.is_valid, holder.is_valid, holder.holder) == (True, False, other.holder)
    await other.release()
    now += 6
    assert await holder.keep()


async def test_an_entry_added_twice_is_queued_once_and_entries_keep_their_order(place: str):
    inbox = await open_inbox(await connect(place, fresh=ALWAYS))
    entries = [Entry(f"{number:020d}-x", ENVELOPE, "{}") for number in (3, 1, 2)]
    await inbox.put(entries)
    await inbox.put(entries[:1])
    assert [entry.id for entry in await inbox.next_entries()] == sorted(entry.id for entry in entries)
    await inbox.remove([entries[0].id])
    assert await inbox.waiting_ids(entry.id for entry in entries) == {entries[1].id, entries[2].id}
