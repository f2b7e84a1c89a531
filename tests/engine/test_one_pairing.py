"""The same session captured by hooks, imported from the host's files, or both, gives the same turns.

Each session is made of steps that hypothesis chooses. Hooks run in this process, with the session's own clock;
the engine, its store and the files are real.
"""

import asyncio
import io
import json
import os
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hashing_encoder import HashingEncoder
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from sessions_made import OTHERS, TURNS, Capture, Hook, Line, Made, Restart, append, written

from scrubjay.cli.command import Place
from scrubjay.cli.importer import Importer
from scrubjay.cli.past import capture_policy
from scrubjay.engine.core import Core, open_core
from scrubjay.histories.disk import Disk
from scrubjay.histories.table import HISTORIES
from scrubjay.home.capture_policy import write_capture
from scrubjay.home.paths import Home, open_home
from scrubjay.home.scopes import scope_of
from scrubjay.home.settings import Settings
from scrubjay.hooks import entry
from scrubjay.models.kept import KeptSessions
from scrubjay.models.records import Turn
from scrubjay.models.requests import parse
from scrubjay.transcripts.turn import HOST_WORDS

pytestmark = pytest.mark.long

# A title or summary that the host wrote belongs to the session: it is at the turn that was then the last.
OF_SESSION = {name for name, _ in HOST_WORDS.values()}
PROJECTS = ("sparrow", "swallow", "secret")
STEPS = st.lists(st.sampled_from([*TURNS, *OTHERS]), min_size=1, max_size=9)


class User:
    """A user with one home, whose engine processes hook events and imports."""

    def __init__(self, root: Path, made: Made) -> None:
        self.root, self.now = root, made.now
        root.mkdir()
        self.home: Home = open_home(str(root / "jay"))
        self.env = {"SCRUBJAY_HOME": self.home.root, "HOME": str(made.root)}
        self.env["CLAUDE_PROJECT_DIR"] = str(made.root / "sparrow")
        self.settings = Settings(excluded=(str(made.root / "secret"),))
        Path(self.home.config).write_text(f"excluded = {json.dumps(self.settings.excluded)}\n")
        self.core: Core

    async def opens(self) -> None:
        write_capture(self.home, self.settings, self.now)
        model = lambda *_, **__: HashingEncoder()  # noqa: E731
        self.core = await open_core(self.home, self.settings, lambda: self.now, model)

    async def settles(self) -> None:
        """Wait until the spool is empty and every transcript was read."""
        async with asyncio.timeout(60):
            await self.core.writer.drain()
            while self.core.completion.waiting:
                await asyncio.sleep(0.002)
        await self.core.writer.settle()

    async def lives(self, made: Made) -> None:
        """Run the hooks of a session while it happens."""
        for at, event in made.events:
            self.now = at
            if isinstance(event, Line):
                append(event)
            elif isinstance(event, Hook):
                self.hook(event, at)
                await self.settles()
            elif isinstance(event, Capture):
                self.pauses(event.paused)
            elif isinstance(event, Restart):
                await self.core.close()
                await self.opens()
        await self.settles()

    def hook(self, event: Hook, at: datetime) -> None:
        stdin, stdout = io.BytesIO(json.dumps(event.payload).encode()), io.StringIO()
        now_ns = int(at.timestamp() * 1e9)
        complaint = entry.run("claude-code", None, stdin, stdout, self.env, lambda kind: None, lambda: now_ns)
        assert complaint is None
        log = Path(self.home.log, "hooks.log")
        assert not log.exists(), log.read_text()

    def pauses(self, paused: bool) -> None:
        self.settings = Settings(excluded=self.settings.excluded, paused=paused)
        write_capture(self.home, self.settings, self.now)
        self.core.settings = self.settings

    async def imports(self, made: Made) -> None:
        """Import the host's files after the session, as `scrubjay import --from claude-code` does."""
        paths = list(written(made.events))
        for path in paths:
            os.utime(path, (made.now.timestamp(),) * 2)
        place = Place(self.env, str(made.root), self.home.root)
        importer = Importer(place, capture_policy(self.home), None, None)
        history = next(each for each in HISTORIES if each.host == "claude-code")
        loop = asyncio.get_running_loop()

        class Engine:
            def call(_, method: str, args: dict[str, Any]) -> Any:
                return asyncio.run_coroutine_threadsafe(self._record(args), loop).result(60)

        with Disk(self.home.spool_tmp) as disk:
            found = [each for path in paths for each in history.stored(disk, str(path), made.now.timestamp())]
            await asyncio.to_thread(importer.take, found, Engine(), lambda done, of: None)
        assert not importer.unreadable
        await self.settles()

    async def _record(self, args: dict[str, Any]) -> Any:
        answer = await self.core.past.record(parse(KeptSessions, args).sessions)
        return answer.model_dump(mode="json")

    async def turns(self) -> list[tuple[Any, ...]]:
        rows = await self.core.store.select(Turn, "true")
        names = {self.scope(name): name for name in PROJECTS}
        told = []
        for turn in sorted(rows, key=lambda turn: (turn.started_at, turn.turn)):
            own = {key: value for key, value in turn.metadata.items() if key not in OF_SESSION}
            metadata = json.dumps(own, sort_keys=True, default=str)
            scope = names.get(turn.scope, turn.scope)
            told.append((scope, turn.user or "", turn.assistant or "", turn.tools, metadata))
        return told

    def scope(self, name: str) -> str:
        return scope_of(self.home, str(Path(self.env["HOME"], name)), user_home=self.env["HOME"]) or ""


async def played(steps: list[str], has_ids: bool) -> dict[str, list[tuple[Any, ...]]]:
    told = {}
    with tempfile.TemporaryDirectory() as folder:
        for way in ("live", "imported", "both"):
            root = Path(folder, way)
            made = Made(root / "user", has_ids)
            for name in PROJECTS:
                Path(made.root, name, ".git").mkdir(parents=True)
                Path(made.root, name, ".git", "HEAD").write_text("ref: refs/heads/main\n")
            user = User(root / "scrubjay", made)
            made.play(steps)
            await user.opens()
            if way != "imported":
                await user.lives(made)
            else:
                for at, event in made.events:
                    if isinstance(event, Capture):
                        user.now = at
                        user.pauses(event.paused)
            if user.settings.paused:
                user.now = made.now
                user.pauses(False)
            if way != "live":
                await user.imports(made)
            told[way] = await user.turns()
            told["expected"] = [(Path(each.folder).name, each.user, each.assistant) for each in made.expected]
            await user.core.close()
    return told


def check(steps: list[str], has_ids: bool) -> None:
    told = asyncio.run(played(steps, has_ids))
    expected = sorted(told.pop("expected"))
    for way, turns in told.items():
        assert sorted(turn[:3] for turn in turns) == expected, way
    assert sorted(told["live"]) == sorted(told["imported"]) == sorted(told["both"])


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr("scrubjay.engine.background.completion.DELAYS", (0.0, 0.01))


@pytest.mark.parametrize(("steps", "other", "has_ids"), [(TURNS, "plain", True), (OTHERS, "split", False)])
def test_every_kind_of_turn_and_event_gives_the_same_turns_by_any_route(
    steps: list[str], other: str, has_ids: bool
):
    check([each for step in steps for each in (step, other)], has_ids)


@pytest.mark.parametrize("part", range(5))
def test_any_session_is_the_same_by_any_route(part: int):
    @seed(part)
    @settings(max_examples=10, deadline=None, database=None)
    @given(STEPS, st.booleans())
    def is_the_same(steps: list[str], has_ids: bool) -> None:
        check(steps, has_ids)

    is_the_same()
