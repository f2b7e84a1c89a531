"""Exports records into a file and imports them, in the format of `scrubjay.records.exchange`.

The engine itself reads and writes the file, because a document's line may be longer than any message to it.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import BinaryIO, cast
from uuid import uuid4

from scrubjay import VERSION
from scrubjay.engine.verbs.verb import LongVerb
from scrubjay.errors import InputError, StoreError
from scrubjay.home.files import open_regular
from scrubjay.home.scopes import USER_SCOPE
from scrubjay.models.records import AnyRecord, Document, Memory, Turn
from scrubjay.records import exchange
from scrubjay.records.exchange import Exported, Header, Imported, RecordCounts
from scrubjay.store.failures import is_of_store, reason
from scrubjay.store.snapshot import Snapshot, snapshot

PAGE_RECORDS, PAGE_BYTES = 200, 2_000_000  # the most in one envelope; a larger record has its own envelope
AHEAD = 4  # envelopes that may wait for their commit before the next page is planned

CHANGED = "It was changed meanwhile: the lines before that one are imported; repeat it with the whole file."

Report = Callable[[int, int, str], None]  # done, total, current step


class Exchange(LongVerb):
    """Exports and imports of one engine, one at a time."""

    async def export(self, path: str, scope: str | None, report: Report) -> Exported:
        """Write every record of a scope (None: of all scopes) to a file, as it is at this moment.

        The file appears complete or not at all.

        Raises:
            InputError: the path has a file that is not an export.
            OSError: the file cannot be written.
        """
        _refuse_to_overwrite(path)
        draft = f"{path}.{uuid4().hex[:8]}.part"
        async with self._lock:
            await self._writer.drain()
            await self._access.flush()
            await self._writer.settle()
            try:
                async with snapshot(self._store, scope) as records:
                    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                        exported = await self._write(file, records, scope, report)
                os.replace(draft, path)
                return exported
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(draft)

    async def _write(self, file: BinaryIO, records: Snapshot, scope: str | None, report: Report) -> Exported:
        turns, memories = await records.count(Turn), await records.count(Memory)
        counts = RecordCounts(turns=turns, memories=memories, documents=await records.count(Document))
        header = Header(scrubjay=VERSION, exported_at=self._clock(), scope=scope, counts=counts)
        file.write(exchange.first_line(header))
        done = 0
        try:
            for kind in exchange.KINDS.values():
                async for page in records.pages(kind):
                    await asyncio.to_thread(file.writelines, map(exchange.line_of, page))
                    done += len(page)
                    report(done, counts.total, "exporting")
        except RuntimeError as error:
            if not is_of_store(error):
                raise
            advice = "Run `scrubjay doctor`; no export was written."
            raise StoreError(f"The records cannot be read: {reason(error)}. {advice}") from error
        await asyncio.to_thread(os.fsync, file.fileno())
        return Exported(**counts.model_dump(), bytes=file.tell())

    async def load(self, path: str, source: str, report: Report) -> Imported:
        """Import the records of an export.

        The whole file is checked before the first record is imported. Acknowledged records survive a kill,
        and repeating the call imports the rest.

        Raises:
            InputError: a line is damaged or missing; nothing was imported.
            OSError: the file cannot be read.
        """
        answer = Imported(added=0, same=0, different=0, redacted=0)
        outcome = "Nothing was imported."
        try:
            async with self._lock:
                with open(path, "rb") as file:
                    header = exchange.read_header(file)
                    start, done = file.tell(), 0
                    async for page in _pages(file, header):
                        done += len(page)
                        report(done, header.counts.total, "checking")
                    file.seek(start)
                    done, outcome = 0, CHANGED
                    async for page in _pages(file, header):
                        answer = answer.plus(await self._import_page(page, source))
                        done += len(page)
                        report(done, header.counts.total, "importing")
                await self._writer.settle()
                return answer
        except InputError as error:
            raise InputError(f"{path}: {error} {outcome}") from error

    async def _import_page(self, page: list[AnyRecord], source: str) -> Imported:
        request = await asyncio.to_thread(
            exchange.import_envelope, page, scope=USER_SCOPE, source=source, at=self._clock()
        )
        answer = cast(Imported, await self._writer.write(request))
        if self._writer.pending > AHEAD:  # staged records are in memory
            await self._writer.settle()
        return answer


async def _pages(file: BinaryIO, header: Header) -> AsyncIterator[list[AnyRecord]]:
    records = exchange.read_records(file, header)
    while page := await asyncio.to_thread(_page, records):
        yield page


def _page(records: Iterator[tuple[AnyRecord, int]]) -> list[AnyRecord]:
    page, total_size = [], 0
    for record, size in records:
        page.append(record)
        total_size += size
        if len(page) >= PAGE_RECORDS or total_size >= PAGE_BYTES:
            break
    return page


def _refuse_to_overwrite(path: str) -> None:
    """Raise InputError if the path has a file that is not an export; an older export may be replaced."""
    try:
        with open_regular(path, own=False) as file:
            head = file.read(100)
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}. Choose another file.") from error
    if head and exchange.FORMAT.encode() not in head:
        advice = "Choose another file, or remove it."
        raise InputError(f"{path} already exists and is not a Scrubjay export. {advice}")
