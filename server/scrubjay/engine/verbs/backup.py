"""Backs up a home: links its files between two writes, copies them, and checks that the copy opens."""

import asyncio
import os
import shutil
from dataclasses import dataclass

from scrubjay import VERSION
from scrubjay.engine.verbs.verb import LongVerb
from scrubjay.errors import InputError, StoreError
from scrubjay.home import backups
from scrubjay.home.paths import SCHEMA_VERSION, Home
from scrubjay.models.results import Result
from scrubjay.store.snapshot import count_rows_at


class BackupSummary(Result):
    """A finished backup: its folder, the number of its records, and its size."""

    folder: str
    turns: int
    memories: int
    documents: int
    files: int
    bytes: int


@dataclass(eq=False)
class Backup(LongVerb):
    """Makes backups of one home, one at a time."""

    _anchoring: asyncio.Lock  # held while anchors are written

    async def make(self, folder: str, report: backups.Report) -> BackupSummary:
        """Copy the home as it is now into a new folder, which appears complete and checked, or not at all.

        Writes wait only a moment while files are linked. During the copy, they are acknowledged and can be
        found.

        Raises:
            InputError: the folder is not empty, is inside the home, or has too little space.
            StoreError: the copy differs from the store.
            OSError: the backup cannot be written.
        """
        if self._store.shared is not None:
            advice = "Use the bucket's own versions or copies, or `scrubjay export`, which is consistent."
            raise InputError(f"A store in {self._store.path} cannot be copied as a folder. {advice}")
        async with self._lock:
            _check_target(folder, self._home)  # after an earlier backup, which may be of this folder
            draft = f"{folder}.scrubjay.part"
            if os.path.isdir(draft):  # from a backup that was killed
                await asyncio.to_thread(shutil.rmtree, draft)
            try:
                counts = await self._link_store()
                async with self._anchoring:
                    files = await asyncio.to_thread(backups.copy_home, self._home, draft, report)
                await _check_copy(os.path.join(draft, "data"), counts)
                facts = {"scrubjay": VERSION, "schema_version": SCHEMA_VERSION, "counts": counts}
                facts["made_at"] = self._clock().isoformat()
                await asyncio.to_thread(backups.write_manifest, draft, facts, files)
                if os.path.isdir(folder):
                    os.rmdir(folder)  # it is empty; only POSIX can rename onto it
                os.rename(draft, folder)
            finally:
                await asyncio.to_thread(backups.clear, self._home)
                await asyncio.to_thread(shutil.rmtree, draft, ignore_errors=True)
        totals = {name: counts[name] for name in ("turns", "memories", "documents")}
        size = sum(size for size, _ in files.values())
        return BackupSummary(folder=folder, files=len(files), bytes=size, **totals)

    async def _link_store(self) -> dict[str, int]:
        """Link the store's files between two commits; return the number of rows of each table."""
        await self._writer.drain()
        await self._access.flush()
        await self._writer.settle()
        store = self._store
        async with store.lock:
            tables = store.tables.by_name(store.note.passages)
            counts = {name: await table.count_rows() for name, table in tables.items()}
            await asyncio.to_thread(backups.link_store, self._home)
        return counts


async def _check_copy(path: str, counts: dict[str, int]) -> None:
    try:
        copied = await count_rows_at(path, counts)
    except (RuntimeError, ValueError, OSError) as error:
        what = f"The copy cannot be opened ({type(error).__name__}), so no backup was made."
        raise StoreError(f"{what} Run `scrubjay doctor`.") from error
    if copied != counts:
        what = "The copy has other rows than the store, so no backup was made."
        raise StoreError(f"{what} Try again, and run `scrubjay doctor`.")


def _check_target(folder: str, home: Home) -> None:
    real_folder, real_home = os.path.realpath(folder), os.path.realpath(home.root)
    if f"{real_folder}{os.sep}".startswith(f"{real_home}{os.sep}"):
        advice = "Choose a folder outside it, preferably on another disk."
        raise InputError(f"{folder} is inside the home {home.root}. {advice}")
    if os.path.lexists(folder) and not (os.path.isdir(folder) and not os.listdir(folder)):
        raise InputError(f"{folder} already exists and is not empty. Choose a new folder.")
    if not os.path.isdir(os.path.dirname(real_folder)):
        raise InputError(f"{os.path.dirname(folder)} is not a folder; create it first.")
