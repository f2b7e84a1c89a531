"""Imports histories of assistants and other memories, in batches for the engine."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from scrubjay.cli.command import Place
from scrubjay.cli.tally import Tally
from scrubjay.engine.background.pairing import wishes_of
from scrubjay.errors import InputError
from scrubjay.histories.disk import Disk, files_below
from scrubjay.histories.exports import ON_THE_WEB
from scrubjay.histories.keeping import KeptTurn, in_parts, kept_turns, size_of
from scrubjay.histories.memory_files import THIS_MACHINE, MemoryFile, kept_file
from scrubjay.histories.stored import Fact, History, Session, Stored, instant, seconds, with_keys
from scrubjay.home import capture
from scrubjay.home.scopes import (
    NOWHERE,
    USER_SCOPE,
    display_name,
    is_elsewhere,
    is_scope,
    list_scopes,
    project_of,
    scope_elsewhere,
)
from scrubjay.hosts.machine import Machine
from scrubjay.models.fields import MAX_MEMORY
from scrubjay.pipe.client import EngineClient
from scrubjay.redaction.redact import Redactor
from scrubjay.text.languages import is_english
from scrubjay.transcripts.turn import has_ended

STORED = frozenset(("added", "updated", "restored"))  # outcomes of a note that was written
BATCH_TURNS, BATCH_SIZE = 300, 2_000_000  # turns or characters after which the engine is called
# A session changed within this time may go on; its hook then records its last turn.
STILL_OPEN = timedelta(hours=1)
# The errors of a store that is damaged or has another version; a missing column is a LookupError.
_Unreadable = (OSError, ValueError, LookupError, sqlite3.Error)
# An item for the engine, after the tally that counts the engine's answer about it.
_Pair = tuple[Tally, dict[str, Any]]
# The engine's methods that import a batch.
METHODS = {"sessions": "record_sessions", "facts": "import_facts", "memories": "import_memories"}


class Importer:
    """Reads histories one after another, and hands their contents to the engine in batches."""

    def __init__(
        self, place: Place, policy: capture.Policy, since: datetime | None, scope: str | None
    ) -> None:
        self.tallies: dict[tuple[str, str | None], Tally] = {}
        self.unreadable: dict[str, str] = {}
        self.hidden = 0  # facts that their hosts deleted
        self._place, self._policy, self._scope = place, policy, scope
        self._since = instant(since.timestamp()) if since else None
        self._projects: dict[tuple[str, str | None], tuple[str, str | None]] = {}
        self._now = datetime.now().timestamp()
        self._batch: dict[str, list[_Pair]] = {noun: [] for noun in METHODS}
        self._weight = 0.0  # how full the batch is; at 1 it is sent
        self._redacted = 0
        self._secrets: dict[str, int] = {}  # how many secrets were replaced in each file of notes
        self._languages: Counter[bool] = Counter()  # how many turns and facts are in English, and are not

    @property
    def is_mostly_foreign(self) -> bool:
        """Return True if most turns and facts are not in English."""
        return self._languages[False] > self._languages[True]

    def sorted_tallies(self) -> list[Tally]:
        """Return the tallies by program, those with most turns first."""
        return sorted(
            self.tallies.values(),
            key=lambda tally: (tally.host, -tally.counts["turns"], tally.folder or ""),
        )

    def find(
        self, histories: Sequence[History], disk: Disk, machine: Machine, places: Sequence[str] | None
    ) -> list[Stored]:
        """List the histories in these places, or in the usual places of each program, newest first.

        A file in `places` is read whatever its name is.
        Those without times come last: Cursor writes a chat into two stores, and the other has its times.
        """
        items: list[Stored] = []
        for history in histories:
            for place in places or history.places(machine):
                fits = (lambda path: True) if places and os.path.isfile(place) else history.fits
                for path, changed_at in files_below(place, fits, history.deep):
                    with self._noting(path):
                        items += history.stored(disk, path, changed_at)
        return sorted(items, key=lambda stored: (stored.is_timed, stored.at), reverse=True)

    @contextmanager
    def _noting(self, path: str) -> Iterator[None]:
        """Note that a file is unreadable if reading it fails."""
        try:
            yield
        except _Unreadable as error:
            self.unreadable[path] = str(getattr(error, "strerror", None) or error or type(error).__name__)

    def take(
        self, items: Sequence[Stored], engine: EngineClient | None, report: Callable[[int, int], None]
    ) -> None:
        """Import the contents of these histories; without an engine, only count them."""
        for done, stored in enumerate(items):
            report(done, len(items))
            with self._noting(stored.path):
                for content in stored.read():
                    if isinstance(content, Session):
                        self._add_session(content, stored)
                    else:
                        self._add_fact(content)
            self._send(engine, least=1)
        self._send(engine)
        report(len(items), len(items))

    def take_memories(
        self,
        files: Sequence[MemoryFile],
        searched: Sequence[str],
        engine: EngineClient | None,
        machine: Machine,
    ) -> None:
        """Import the files of hosts' memories, and hide what a host has deleted since."""
        oldest = seconds(self._since) or 0.0
        for file in files:
            if file.at >= oldest:
                with self._noting(file.path):
                    self._add_memory_file(
                        kept_file(self._place.home, self._policy, file, machine, self._scope)
                    )
                self._send(engine, least=1)
        self._send(engine)
        if engine is not None and searched:
            request = {"machine": THIS_MACHINE, "memories": [], "searched": list(searched)}
            self.hidden += engine.call(METHODS["memories"], request).get("missing", 0)

    def _add_memory_file(self, arguments: dict[str, Any] | None) -> None:
        if arguments is None:
            return
        key = (arguments["source"], os.path.dirname(arguments["path"]))
        tally = self.tallies.setdefault(key, Tally(*key, USER_SCOPE))
        texts = [note["content"] for note in arguments["entries"]]
        tally.counts += Counter(facts=len(texts), left_out=arguments.pop("left_out"))
        self._secrets[arguments["path"]] = arguments.pop("redacted")
        self._languages.update(map(is_english, texts))
        self._add("memories", tally, arguments, 1, sum(map(len, texts)))

    def _add(self, noun: str, tally: Tally, item: dict[str, Any], turns: int, size: int) -> None:
        """Add an item to the next batch for the engine."""
        self._batch[noun].append((tally, item))
        self._weight += max(turns / BATCH_TURNS, size / BATCH_SIZE)

    def _send(self, engine: EngineClient | None, least: float = 0.0) -> None:
        """Send the batch to the engine, if there is one and the batch has at least this weight."""
        if engine is None or self._weight < least:
            return
        batch, self._batch, self._weight = self._batch, {noun: [] for noun in METHODS}, 0.0
        for noun, pairs in batch.items():
            if pairs:
                self._send_batch(engine, noun, pairs)

    def _send_batch(self, engine: EngineClient, noun: str, pairs: list[_Pair]) -> None:
        """Send a batch to the engine; on refusal, bisect to isolate the bad item."""
        try:
            extra = {"machine": THIS_MACHINE} if noun == "memories" else {}
            answer = engine.call(METHODS[noun], {noun: [item for _, item in pairs], **extra})
        except InputError as error:
            if half := len(pairs) // 2:
                self._send_batch(engine, noun, pairs[:half])
                self._send_batch(engine, noun, pairs[half:])
            else:
                ((tally, item),) = pairs
                name = str(item.get("session_id") or item.get("id"))[:80]
                self.unreadable[f"{tally.host} {name}"] = str(error)
            return
        if noun == "facts":
            pairs[0][0].counts["redacted"] += answer["redacted"]
            outcomes = [{outcome: 1} for outcome in answer["outcomes"]]
        elif noun == "memories":
            outcomes = [Counter(result.get("outcomes", ())) for result in answer["files"]]
            for (tally, item), outcome in zip(pairs, outcomes, strict=True):
                tally.counts["redacted"] += self._secrets[item["path"]] if outcome.keys() & STORED else 0
            self.hidden += sum(result.get("deleted", 0) for result in answer["files"])
        else:
            outcomes = answer["sessions"]
        for (tally, _), outcome in zip(pairs, outcomes, strict=True):
            tally.add(outcome)

    def _add_session(self, session: Session, stored: Stored) -> None:
        session_id = capture.storable(session.id).strip()
        if not session_id or len(session_id) > 200:
            raise ValueError(f"a session in it has no id, so it may not be of {session.host}")
        turns = session.turns
        if turns and not has_ended(turns[-1]) and stored.at > self._now - STILL_OPEN.total_seconds():
            turns = turns[:-1]
        turns_by_tally: dict[Tally, list[KeptTurn]] = {}
        for tally, turn in self._turns(session_id, session._replace(turns=turns), stored.at):
            if turn.arguments is None and tally.scope is not None:
                tally.counts["left_out"] += self._is_requested(turn)
            else:
                turns_by_tally.setdefault(tally, []).append(turn)
        all_turns = [turn for project_turns in turns_by_tally.values() for turn in project_turns]
        timed_by_id = {turn.arguments["prompt_id"]: turn.is_timed for turn in all_turns if turn.arguments}
        for tally, project_turns in turns_by_tally.items():
            turn_count = sum(map(self._is_requested, project_turns))
            if not turn_count:
                continue
            tally.counts.update(sessions=1, turns=turn_count)
            if tally.scope is None:
                tally.counts["left_out"] += turn_count
                continue
            recorded = [turn.arguments for turn in project_turns if turn.arguments]
            self._languages.update(is_english(turn.get("user", "")) for turn in recorded)
            for part in in_parts(recorded):
                part_ids = {turn["prompt_id"] for turn in part}
                item = {
                    "session_id": session_id,
                    "turns": part,
                    "others": [key for key in timed_by_id if key not in part_ids],
                    "untimed": [key for key in timed_by_id if key in part_ids and not timed_by_id[key]],
                    "host": session.host,
                    "scope": tally.scope,
                    "since": self._since,
                    "redacted": self._redacted,
                }
                self._redacted = 0
                self._add("sessions", tally, item, len(part), sum(map(size_of, part)))

    def _is_requested(self, turn: KeptTurn) -> bool:
        """Return True if a turn is not older than the user asked for."""
        return self._since is None or turn.at >= self._since

    def _turns(
        self, session_id: str, session: Session, changed_at: float
    ) -> Iterator[tuple[Tally, KeptTurn]]:
        """Yield each turn with the tally of its project."""
        wishes = wishes_of(self._place.home, self._policy, session_id)
        wishes = wishes._replace(since=0.0, is_elsewhere=session.host in ON_THE_WEB)
        first_folder = next((folder for turn in session.turns for folder in turn["folders"]), None)
        folder, turns = session.folder, with_keys(session_id, session.turns)
        for turn in kept_turns(session_id, turns, folder, wishes, changed_at, self._now, self._cleaner):
            yield self._tally(session.host, turn.folder, session.host, session.folder or first_folder), turn

    def _cleaner(self) -> Callable[[str], str]:
        redactor = Redactor()

        def clean(text: str) -> str:
            earlier = redactor.count
            text = redactor.redact(capture.storable(text))
            self._redacted += redactor.count - earlier
            return capture.cut(text.strip())

        return clean

    def _add_fact(self, fact: Fact) -> None:
        tally = self._tally(fact.source, fact.folder or fact.project, nowhere=USER_SCOPE)
        written_at = instant(seconds(fact.updated_at or fact.created_at))
        if self._since is not None and written_at is not None and written_at < self._since:
            return
        tally.counts["facts"] += 1
        if tally.scope is None:
            tally.counts["left_out"] += 1
            return
        item = {
            "source": fact.source,
            "id": capture.storable(fact.id),
            "scope": tally.scope,
            "content": capture.cut(capture.storable(fact.content), MAX_MEMORY),
            "created_at": instant(seconds(fact.created_at)),
            "updated_at": instant(seconds(fact.updated_at)),
            "earlier": [(capture.storable(text), instant(seconds(when))) for text, when in fact.earlier],
            "session_id": fact.session_id,
            "tags": [tag for tag in fact.tags if is_scope(tag)],
            "importance": fact.importance,
            "metadata": dict(fact.metadata),
        }
        self._languages[is_english(fact.content)] += 1
        self._add("facts", tally, item, 1, len(fact.content))

    def _tally(self, host: str, folder: str | None, nowhere: str, session_folder: str | None = None) -> Tally:
        """Return the tally of a folder's project; `nowhere` is the scope of items without a known project."""
        scope, why = self._scope, None
        if folder is None and self._policy.excluded and nowhere == host and host not in ON_THE_WEB:
            scope, why = None, "their folder is not known, and some folders are excluded"
        elif folder and self._is_excluded(folder):
            scope, why = None, "the folder is excluded"
        elif scope is None and folder and (os.path.isabs(folder) or is_elsewhere(folder)):
            key = (folder, session_folder)
            if key not in self._projects:
                self._projects[key] = project_of(self._place.home, *key)
            folder, scope = self._projects[key]
            why = None if scope else NOWHERE
        elif scope is None:
            scope = self._scope_named(folder) if folder else nowhere
        return self.tallies.setdefault((host, folder), Tally(host, folder, scope, why=why))

    def _is_excluded(self, folder: str) -> bool:
        """Return True if a folder is excluded, or if a project known only by name may be."""
        names = map(os.path.basename, self._policy.excluded)
        return capture.is_excluded(self._policy, folder) or folder in names

    def _scope_named(self, project: str) -> str:
        """Return the scope of a project known only by name."""
        scopes: list[str] = [each["scope"] for each in list_scopes(self._place.home)]
        matches = [scope for scope in scopes if display_name(scope) == project]
        if len(matches) == 1:
            return matches[0]
        return project if is_scope(project) else scope_elsewhere(self._place.home, project)
