"""A page in real Chromium, over a real engine with a store of 2,000 turns."""

from __future__ import annotations

import asyncio
import shutil
import threading
import tomllib
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hashing_encoder import HashingEncoder
from playwright.sync_api import Page as Tab
from rows_made import a_turn
from said import document, fact, turn

from scrubjay import VERSION
from scrubjay.engine.engine import Engine
from scrubjay.home.paths import open_home
from scrubjay.models.records import Turn
from scrubjay.page.serving import Page, serving
from scrubjay.records.exchange import Header, RecordCounts, first_line, line_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
in_chromium = [
    pytest.mark.long,
    pytest.mark.skipif(
        CHROMIUM is None, reason="No Chromium is installed; on Debian it is the package `chromium`."
    ),
]
MINE, OTHER = "repo_sparrow__0123456789abcdef", "dir_notes__0123456789abcdef"
TURNS, SESSIONS = 2_000, 100
_SHOWN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
TOLD, HOSTILE, SILENT = _SHOWN["told"], _SHOWN["hostile"], {**_SHOWN["silent"], "recall": None}
BIRDS = "wren robin lark crow heron whimbrel dunlin plover curlew godwit".split()
VIEWS = ["today", "search", "facts", "documents", "settings"]


class Story:
    """The engine that all tests of a file share, with the hashing encoder, in a thread with a loop of its own."""

    def __init__(self, folder: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.engine = Engine(open_home(str(folder / "home")), open_model=lambda *_, **__: HashingEncoder())
        self.page: Page | None = None
        self.origin = ""
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self.loop.run_until_complete, args=[self._live()])
        self._ready = threading.Event()

    def __enter__(self) -> Story:
        self._thread.start()
        assert self._ready.wait(100)
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self._over.set)
        self._thread.join(30)
        self.loop.close()

    async def _live(self) -> None:
        await self.engine.load()
        await self._fill()
        async with serving(self.engine, lambda: [SILENT]) as (self.page, self.origin):
            self._ready.set()
            await self._over.wait()
        await self.engine.close()

    async def _fill(self) -> None:
        core, now = await self.engine.core(), datetime.now(UTC)

        await core.exchange.load(
            str(_exported(Path(self.engine.home.root) / "turns.jsonl", now)), "test", lambda *_: None
        )
        for number, bird in enumerate(BIRDS):
            await fact(core, f"The {bird} nests in hedge {number}.", scope=MINE, tags=["nests"])
        await document(core, "# Birds\n\nThe whimbrel is a wader.\n", scope=MINE, title="Birds")
        for number, text in enumerate(HOSTILE):
            await turn(
                core,
                f"hostile {text[:20]}",
                scope=MINE,
                user=text,
                assistant=text,
                tools=[text[:60]],
                files=[text[:60]],
                ts=(now - timedelta(minutes=5)).isoformat(),
            )
            await fact(core, f"hostile {number} {text}", scope=MINE, tags=[f"h{number}"])
            await document(core, f"hostile {text}", scope=MINE, title=text[:80], custom_id=f"h{number}")
        await turn(
            core,
            "hostile wide",
            scope=MINE,
            user="A line of a megabyte.",
            assistant="w" * 1_000_000,
            ts=now.isoformat(),
        )
        for user, assistant in TOLD:
            files = ["/home/kim/sparrow/src/whimbrel.py"]
            await turn(core, "told", scope=MINE, user=user, assistant=assistant, files=files)
        await core.writer.settle()
        core.consolidation.end(MINE, "told")
        await core.writer.derive(core.consolidation._summary((MINE, "told")))
        await core.writer.settle()

    def does(self, work: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
        """Run something with the engine's core, in its own loop."""

        async def done() -> Any:
            return await work(await self.engine.core())

        return asyncio.run_coroutine_threadsafe(done(), self.loop).result(30)

    def adds(self, text: str, **fields: Any) -> Any:
        """Add a fact."""
        return self.does(lambda core: fact(core, text, **fields))

    def link(self) -> str:
        assert self.page is not None
        return self.origin + self.page.invite()


def _exported(path: Path, now: datetime) -> Path:
    """An export of 2,000 turns in 100 sessions of two projects, nine hours apart."""
    turns: list[Turn] = []
    for number in range(SESSIONS):
        bird = BIRDS[number % len(BIRDS)]
        for at in range(TURNS // SESSIONS):
            began, port = now - timedelta(hours=9 * number, minutes=30 - at), 8000 + number
            turns.append(
                a_turn(
                    began,
                    f"turn_{number:04}{at:04}",
                    scope=MINE if number % 3 else OTHER,
                    source="hook:stop",
                    host="claude-code" if number % 2 else "codex",
                    session_id=f"session-{number}",
                    turn=at,
                    user=f"What about part {at} of the {bird} in session {number}?",
                    assistant=f"Part {at} of the {bird} listens on port {port}.\n\n```python\nport = {port}\n```",
                    tools=("Bash",),
                    files=(f"src/{bird}.py",),
                    metadata={"commands": [f"pytest {bird}"]},
                )
            )
    counts = RecordCounts(turns=len(turns), memories=0, documents=0)
    header = Header(scrubjay=VERSION, exported_at=now, scope=None, counts=counts)
    path.write_bytes(b"".join([first_line(header), *map(line_of, turns)]))
    return path


def go(tab: Tab, view: str) -> None:
    """Open a view by its address."""
    tab.evaluate("where => { location.hash = where }", view)
