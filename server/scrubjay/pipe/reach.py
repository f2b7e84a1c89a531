"""Reaches the engine of a home: waits for it, starts it, replaces an old one, or gives up.

Any number of clients may do this at once. They share the starting lock, and only its holder may start an
engine.
"""

from __future__ import annotations

import time

from scrubjay.errors import EngineError
from scrubjay.pipe.link import Link, knock
from scrubjay.pipe.spawn import Spawned, engine_log, spawn
from scrubjay.wire.address import engine_facts
from scrubjay.wire.hello import is_newer
from scrubjay.wire.lock import FileLock, check_filesystem, is_held

TYPE_CHECKING = False  # instead of typing.TYPE_CHECKING, whose import would slow down every command
if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrubjay.home.paths import Home
    from scrubjay.wire.hello import Hello

START_SECONDS = 10.0  # how long an engine may take to start
UNREACHABLE_SECONDS = 5.0  # how long an engine that holds the lock may take to answer
TAKEOVER_SECONDS = 40.0  # how long an engine may take to finish: its grace period and a margin
MAX_FAILED_STARTS = 3
FAILURE_WINDOW = 60.0  # seconds in which failed starts count
_KNOCK_SECONDS = 2.0  # how long an engine may take to answer a hello
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.1  # seconds between two tries


def reach(
    home: Home,
    hello: Hello,
    command: list[str] | None,
    env: Mapping[str, str],
    *,
    start_seconds: float = START_SECONDS,
    unreachable_seconds: float = UNREACHABLE_SECONDS,
    max_seconds: float = float("inf"),
    since: float | None = None,
) -> Link:
    """Return a link to the engine of `home`. If none is running, start one with `command`, if given.

    The search ends after `max_seconds`, however long an engine takes to start or to make room. `since` is the
    monotonic time at which a call began to wait; the engine is told how long the call has waited.

    Raises:
        EngineError: the engine refuses this client, cannot be started, or cannot be reached; the message says
            what to do.
        HomeError: the home's locks cannot be used.
    """
    search = _Search(home, hello, command, env, start_seconds, unreachable_seconds, max_seconds)
    pause = _FIRST_PAUSE
    with FileLock(home.starting_lock) as starting_lock:
        while (link := search.knock(starting_lock, since)) is None:
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
    return link


class _Search:
    """A search for an engine: what it has started and seen, and when it gives up."""

    def __init__(
        self,
        home: Home,
        hello: Hello,
        command: list[str] | None,
        env: Mapping[str, str],
        start_seconds: float,
        unreachable_seconds: float,
        max_seconds: float,
    ) -> None:
        self._home, self._hello, self._command, self._env = home, hello, command, env
        self._start_seconds, self._unreachable_seconds = start_seconds, unreachable_seconds
        self._started = time.monotonic()
        self._end, self._hard_end = self._started + start_seconds, self._started + max_seconds
        # The time when we first saw that an engine holds the lock but does not answer.
        self._silent_since: float | None = None
        self._child: Spawned | None = None

    def knock(self, starting_lock: FileLock, since: float | None) -> Link | None:
        """Return a link to the engine, or take the next step; raise EngineError if no step is left."""
        waited = round(time.monotonic() - (self._started if since is None else since), 2)
        link = knock(self._home, self._hello.copy(waited=waited), _KNOCK_SECONDS)
        is_older = link is not None and self._may_replace(link)
        if link is not None and link.refusal is None and not is_older:
            if self._child is not None and starting_lock.read():
                starting_lock.write("")
            return link
        if link is not None:
            link.close()
            if link.refusal and not is_older and not link.answer.get("retry"):
                raise EngineError(link.refusal)
        now = time.monotonic()
        if self._command is not None and starting_lock.acquire():
            # While we hold this lock, no other client can start an engine before ours.
            if is_older:
                _ask_to_finish(self._home, self._hello)
            else:
                self._start_if_needed(self._command, starting_lock, now)
        elif is_held(self._home.engine_lock):
            self._silent_since = self._silent_since or now
        elif self._command is None:
            sentence = f"No engine is running for {self._home.root}."
            raise EngineError(f"{sentence} Any client starts one, or `scrubjay serve`.")
        self._check_time(now)
        return None

    def _may_replace(self, link: Link) -> bool:
        """Return True if the engine was started by a client and is older than we are."""
        version = str(link.answer.get("version", ""))
        is_ours = self._command is not None and bool(link.answer.get("auto"))
        return is_ours and is_newer(self._hello.version, version)

    def _start_if_needed(self, command: list[str], lock: FileLock, now: float) -> None:
        if self._child is not None and self._child.is_alive():
            self._silent_since = None
        elif not is_held(self._home.engine_lock):
            self._child = _start(self._home, command, self._env, lock, self._child)
            self._silent_since = None
            self._end = max(self._end, now + self._start_seconds / 2)  # a second start needs more time
        else:
            self._child, self._silent_since = None, self._silent_since or now

    def _check_time(self, now: float) -> None:
        if self._silent_since and engine_facts(self._home).get("finishing"):
            # The engine makes room as soon as the calls of its other clients have ended.
            self._silent_since, self._end = now, self._started + TAKEOVER_SECONDS
        elif self._silent_since and now - self._silent_since >= self._unreachable_seconds:
            raise EngineError(_unreachable_sentence(self._home))
        if now >= min(self._end, self._hard_end):
            sentence = f"The engine did not answer within {now - self._started:.0f} seconds."
            raise EngineError(f"{sentence} Its log is {engine_log(self._home)}.")


def take_over(home: Home, hello: Hello, *, seconds: float = TAKEOVER_SECONDS) -> FileLock:
    """Take the engine's lock for an engine started by hand; first ask an engine started by a pipe to finish.

    Raises EngineError if the running engine stays, or cannot be reached; HomeError if the home's filesystem
    has no working locks or no hard links.
    """
    check_filesystem(home.root)
    end = time.monotonic() + seconds
    lock = FileLock(home.engine_lock)
    with FileLock(home.starting_lock) as starting_lock:
        starting_lock.acquire(START_SECONDS)  # so that no pipe starts an engine before we have the lock
        while not lock.acquire():
            _ask_to_finish(home, hello)
            if time.monotonic() >= end:
                raise EngineError(_unreachable_sentence(home))
            time.sleep(_LONGEST_PAUSE)
    return lock


def failed_starts(lock: FileLock, now: float) -> tuple[list[float], str]:
    """Return the times of the last minute's failed starts (seconds since 1970), and the last one's reason.

    The text is in the starting lock, whose holder reads and writes it.
    """
    first, _, reason = lock.read().partition("\n")
    times = [float(word) for word in first.split() if word.isdigit()]
    return [failed_at for failed_at in times if 0 <= now - failed_at < FAILURE_WINDOW], reason


def note_failed_start(lock: FileLock, now: float, reason: str) -> None:
    """Record a start that failed at `now`."""
    times, _ = failed_starts(lock, now)
    text = " ".join(str(int(failed_at)) for failed_at in [*times, now])
    lock.write(f"{text}\n{reason.encode('ascii', 'replace').decode()[:1000]}")


def _ask_to_finish(home: Home, hello: Hello) -> None:
    link = knock(home, hello.copy(replace=True), _KNOCK_SECONDS)
    if link is not None:
        link.close()
        if link.refusal and not link.answer.get("retry"):
            raise EngineError(link.refusal)


def _start(
    home: Home, command: list[str], env: Mapping[str, str], lock: FileLock, previous: Spawned | None
) -> Spawned:
    """Start an engine, unless too many starts failed; `previous` is this search's dead engine."""
    now = time.time()
    if previous is not None:
        note_failed_start(lock, now, previous.last_words() or "it ended without a message")
    times, reason = failed_starts(lock, now)
    if len(times) >= MAX_FAILED_STARTS:
        raise EngineError(
            f"The engine failed to start {MAX_FAILED_STARTS} times within {FAILURE_WINDOW:g} seconds. "
            f'Its last message was "{reason}", its log is {engine_log(home)}.'
        )
    return spawn(home, command, env)


def _unreachable_sentence(home: Home) -> str:
    """Describe an engine that holds the lock and does not answer."""
    facts = engine_facts(home)
    who = "it left no address"
    if "pid" in facts:
        who = f"pid {facts['pid']}, version {facts.get('version')}, started {facts.get('started_at')}"
    if _is_engine_here(facts.get("pid")):
        return (
            f"The engine ({who}) does not answer: it is stopped, or hangs. `kill -9 {facts['pid']}` ends it, "
            "and the next client starts another. Acknowledged writes are kept, and turns wait in the spool."
        )
    where = facts.get("socket") or ":".join(str(part) for part in facts["address"])
    return (
        f"An engine ({who}) holds {home.engine_lock}, but does not answer at {where}. It may run in another "
        "container or sandbox: stop it there, or give this client its own home with SCRUBJAY_HOME. "
        "Turns recorded meanwhile wait in the spool."
    )


def _is_engine_here(pid: object) -> bool:
    """Return True if `pid` is an engine visible on this machine; False on any system but Linux."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"scrubjay" in file.read(4_096)
    except OSError:
        return False
