"""The status of an engine and its home: counts, sizes and reasons, but never content."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from scrubjay.engine.background.upkeep import Upkeep
from scrubjay.engine.verbs.reindex import Reindex
from scrubjay.engine.verbs.verb import Verb
from scrubjay.errors import ScrubjayError
from scrubjay.home import spool
from scrubjay.home.capture import unanswered
from scrubjay.home.files import open_regular
from scrubjay.models.records import Document, Memory, Turn
from scrubjay.store import conditions
from scrubjay.store.conditions import Where
from scrubjay.store.counts import count_by_host
from scrubjay.store.failures import is_of_store, not_read
from scrubjay.store.store import Store
from scrubjay.store.tables import TABLES

ERRORS_SHOWN = 5


@dataclass(eq=False)
class Status(Verb):
    """Reports the state of a home in numbers."""

    _upkeep: Upkeep
    _reindex: Reindex

    def model(self) -> dict[str, Any]:
        """Return the model's name, the dimension of its vectors, and its state."""
        return {
            "model": self._settings().model,
            "dimension": self._store.note.dim,
            "available": self._indexer.trouble is None,
        }

    async def report(self) -> dict[str, Any]:
        """Return the state, which includes every acknowledged write; sizes are in bytes.

        If the store cannot be read, return only the reason (`damage`).
        """
        try:
            return await self._report()
        except (RuntimeError, ValueError) as error:
            if not is_of_store(error):
                raise
            return {"damage": self._store.damage or [str(not_read(self._store.path, error, ()))]}

    async def _report(self) -> dict[str, Any]:
        home, store = self._home, self._store
        await self._writer.try_settle()  # if the disk prevents it, `spool` shows the backlog
        visible = conditions.NOT_FORGOTTEN
        from_hooks = conditions.both(visible, conditions.starts_with("source", "hook:"))
        # Some hosts send no answer with their event; it is in their transcript, which may be late or gone.
        from_stop = conditions.both(visible, conditions.equal("source", "hook:stop"))
        unanswered_turns = conditions.both(from_stop, conditions.missing("assistant"))
        waiting = spool.pending(home) + spool.events(home, "answer")
        set_aside = spool.json_files(home.spool_broken)
        stats: list[Any] = [await store.tables.of(name).stats() for name in TABLES]
        fragments = max(int(each["fragment_stats"]["num_fragments"]) for each in stats)
        limit = int(self._settings().disk_limit_gb * 1e9)
        work = {"compactions": self._upkeep.compactions, "failures": self._upkeep.failures}
        return {
            "space_id": store.note.space_id,
            "trouble": self._indexer.trouble,
            "notice": self._indexer.notice,
            "records": await _records(store),
            "captured": await store.count(Turn, from_hooks),
            "without_answer": await store.count(Turn, unanswered_turns),
            "hosts": await self._hosts(from_hooks, unanswered_turns, set_aside[-ERRORS_SHOWN:]),
            "spool": {"waiting": len(waiting), "set_aside": len(set_aside)},
            "shared": _shared(store),
            "disk": {"bytes": await asyncio.to_thread(_size, home.root), "limit": limit},
            "upkeep": {**work, "fragments": fragments},
            "reindex": self._reindex.state,
            "unindexed": await store.passages.unindexed(),
            "repairs": list(store.repairs),
            "damage": list(store.damage),
            "peak_rss": _peak_rss(),
            "errors": await asyncio.to_thread(_last_errors, home.log),
            "set_aside": await asyncio.to_thread(spool.reasons, set_aside[-ERRORS_SHOWN:]),
        }

    async def _hosts(
        self, from_hooks: Where, unanswered_turns: Where, set_aside: Sequence[str]
    ) -> dict[str, dict[str, Any]]:
        """Return for each host its counts, the time of its last turn, and its errors in sentences."""
        without_answer = await count_by_host(self._store, unanswered_turns)
        counts_by_side = {
            name: await count_by_host(self._store, conditions.both(from_hooks, conditions.present(column)))
            for name, column in (("prompts", "user"), ("answers", "assistant"))
        }
        moved_reasons = await asyncio.to_thread(_by_host, set_aside)
        hosts = {}
        for host, (turns, last) in (await count_by_host(self._store, from_hooks)).items():
            errors = [unanswered(without_answer[host][0])] if host in without_answer else []
            errors += [f"Moved away: {reason}" for reason in moved_reasons.get(host, ())]
            sides = {
                name: counts[host][0] if host in counts else 0 for name, counts in counts_by_side.items()
            }
            hosts[host] = {"turns": turns, **sides, "last": last.isoformat(), "trouble": errors}
        return hosts


def _shared(store: Store) -> dict[str, Any] | None:
    """Return the place of a shared store and the engine that writes its tables; None for a local store."""
    if store.shared is None:
        return None
    return {"at": store.path, "maintainer": store.shared.lease.holder, "here": store.shared.is_maintainer}


async def _records(store: Store) -> dict[str, int]:
    visible = conditions.NOT_FORGOTTEN
    facts = conditions.both(visible, conditions.LATEST, conditions.NOT_A_SUMMARY)
    return {
        "turns": await store.count(Turn, visible),
        "memories": await store.count(Memory, facts),
        "documents": await store.count(Document, conditions.both(visible, conditions.NOT_A_COMMIT)),
        "commits": await store.count(Document, conditions.both(visible, conditions.A_COMMIT)),
        "passages": await store.passages.count(),
        "waiting_for_vector": await store.passages.count(conditions.NO_VECTOR),
    }


def _by_host(paths: Sequence[str]) -> dict[str, list[str]]:
    """Return the reasons why these envelopes were moved away, by host; many envelopes cannot be read."""
    reasons: dict[str, list[str]] = {}
    for path, reason in zip(paths, spool.reasons(paths), strict=True):
        with suppress(ScrubjayError):
            reasons.setdefault(str(spool.read(path).get("host")), []).append(reason)
    return reasons


def _size(root: str) -> int:
    total = 0
    for folder, _, names in os.walk(root):
        for name in names:
            with suppress(FileNotFoundError):  # compaction may remove files at any time
                total += os.lstat(os.path.join(folder, name)).st_size
    return total


def _peak_rss() -> int | None:
    """Return the peak resident memory of this process in bytes; None if the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if os.uname().sysname == "Darwin" else peak * 1024


def _last_errors(folder: str) -> list[str]:
    """Return the last lines of the logs that report an error; they hold ids and reasons, never content."""
    errors = []
    for name in ("engine.log", "hooks.log"):
        path = os.path.join(folder, name)
        with suppress(OSError), open_regular(path, own=False) as file:
            file.seek(max(0, os.path.getsize(path) - 64_000))
            tail = file.read().decode("utf-8", "replace").split("\n")
            lines = [line.strip() for line in tail if " ERROR " in line or (name == "hooks.log" and line)]
            errors += [f"{name}: {line}"[:300] for line in lines]
    return errors[-ERRORS_SHOWN:]
