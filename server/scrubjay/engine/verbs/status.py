"""What an engine says of itself and of its home. Counts, sizes and reasons; never content."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING, Any

from scrubjay.errors import ScrubjayError
from scrubjay.home import spool
from scrubjay.models.records import Document, Memory, Turn
from scrubjay.store import conditions

if TYPE_CHECKING:
    from scrubjay.engine.core import Core
    from scrubjay.store.store import Store

ERRORS_SHOWN = 5


async def status(core: Core) -> dict[str, Any]:
    """The state of a home in numbers, as of everything acknowledged; see the keys. Sizes are bytes."""
    store = core.store
    with contextlib.suppress(
        ScrubjayError, OSError, RuntimeError
    ):  # status answers also when the disk does not: the backlog tells
        await core.writer.drain()
        await core.writer.settle()
    visible = conditions.NOT_FORGOTTEN
    from_hooks = conditions.both(visible, conditions.starts_with("source", "hook:"))
    disk = await asyncio.to_thread(_size, core.home.root)
    return {
        "space_id": store.note.space_id,
        "trouble": core.indexer.trouble,
        "records": {
            "turns": await store.count(Turn, visible),
            "memories": await store.count(Memory, conditions.both(visible, conditions.LATEST)),
            "documents": await store.count(Document, visible),
            "passages": await store.count_passages(),
            "waiting_for_vector": await store.count_passages(conditions.missing("space_id")),
        },
        "captured": await store.count(Turn, from_hooks),
        "spool": {
            "waiting": len(spool.pending(core.home)),
            "set_aside": len(spool.set_aside_paths(core.home)),
        },
        "shared": _shared(store),
        "disk": {"bytes": disk, "limit": int(core.settings.disk_limit_gb * 1e9)},
        "upkeep": {
            "compactions": core.upkeep.compactions,
            "failures": core.upkeep.failures,
            "fragments": await _fragments(core),
        },
        "unindexed": await _unindexed(core),
        "repairs": list(store.repairs),
        "peak_rss": _peak_rss(),
        "errors": await asyncio.to_thread(_last_errors, core.home.log),
        "set_aside": await asyncio.to_thread(_reasons, core),
    }


async def _fragments(core: Core) -> int:
    tables = core.store.tables
    stats = [
        await table.stats() for table in (tables.turns, tables.memories, tables.documents, tables.passages)
    ]
    return max(each["fragment_stats"]["num_fragments"] for each in stats)


async def _unindexed(core: Core) -> int:
    index = await core.store.tables.passages.index_stats("search_text_idx")
    return index.num_unindexed_rows if index else 0


def _size(root: str) -> int:
    total = 0
    for folder, _, names in os.walk(root):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                continue  # compaction removes files at any time
    return total


def _peak_rss() -> int | None:
    """The greatest resident memory of this process in bytes; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if os.uname().sysname == "Darwin" else peak * 1024


def _last_errors(folder: str) -> list[str]:
    """The last lines of the logs that report an error; they hold ids and reasons, never content."""
    found = []
    for name in ("engine.log", "hooks.log"):
        try:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                file.seek(max(0, os.path.getsize(file.name) - 64_000))
                found += [
                    f"{name}: {line.strip()}"[:300]
                    for line in file
                    if " ERROR " in line or name == "hooks.log"
                ]
        except FileNotFoundError:
            continue
    return found[-ERRORS_SHOWN:]


def _reasons(core: Core) -> list[str]:
    reasons = []
    for path in spool.set_aside_paths(core.home)[-ERRORS_SHOWN:]:
        try:
            with open(f"{path}.reason", encoding="utf-8") as file:
                reasons.append(f"{os.path.basename(path)}: {file.read(300).strip()}")
        except FileNotFoundError:
            continue
    return reasons


def _shared(store: Store) -> dict[str, Any] | None:
    """Of a store in a bucket: where it is, and who writes its tables."""
    if store.shared is None:
        return None
    return {"at": store.path, "maintainer": store.shared.lease.holder, "here": store.shared.maintains}
