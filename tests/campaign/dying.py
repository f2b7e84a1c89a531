"""Jobs of an engine, each in a process of its own that dies by SIGKILL at a step.

A step is a line of the product at which the files of the home differ from those at the previous line, so
every state in which Python code leaves the disk is a step. `change N` is the N-th change of these files seen
by a watching thread: it falls between the lines, in the middle of LanceDB's own work. The product is not
patched: `sys.settrace` reports each line.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from hashing_encoder import HashingEncoder
from said import SCOPE, document, embedded, fact, texts, turn

import scrubjay
from scrubjay.cli import main
from scrubjay.cli.serve import _use_own_scratch
from scrubjay.engine.background.upkeep import IDLE
from scrubjay.engine.core import Core, open_core
from scrubjay.errors import NotFound
from scrubjay.home.paths import open_home
from scrubjay.home.settings import Settings
from scrubjay.models.records import Document, Memory, Turn, is_current
from scrubjay.models.requests import Forget, SearchMemories, parse
from scrubjay.store import conditions
from scrubjay.store.tables import connect

SECRET = "quagga-7731-zorilla"
OTHER = "repo_other_0123456789abcdef"  # a scope
PATIENCE = 240.0  # seconds; the bound of a job
_ROOT = os.path.dirname(scrubjay.__file__)
# Modules whose lines may be steps: those that write, or make others write.
_WATCHED = ("home", "store", "engine", os.path.join("records", "ingest"), os.path.join("cli", "archive.py"))

Job = Callable[[Core, Path], Awaitable[object]]


async def _no_report(*_: object) -> None:
    """Report nothing."""


async def fill(core: Core, folder: Path) -> None:
    """Fill a home of the campaign in several commits, with the secret in a record of each kind."""
    for number in range(8):
        await fact(core, f"The heron of number {number} nests in `reeds/bed_{number * 7}.py`.")
        question, answer = f"Where does ibis {number} feed?", f"In lagoon {number * 3}."
        await turn(core, f"s{number % 3}", prompt_id=f"p{number}", user=question, assistant=answer)
        if number % 4 == 0:
            await core.writer.settle()
    old = await fact(core, "The tern colony has 40 nests.")
    await fact(core, "The tern colony has 55 nests.", updates=[old.id])
    await document(core, "# Terns\n\nTerns come in April.", title="Terns")
    await fact(core, f"The key of the hide is {SECRET}.")
    await turn(core, "s0", prompt_id="k", user=f"The key is {SECRET}.", assistant=f"Noted: {SECRET}.")
    await document(core, f"# Keys\n\nThe key of the gate is {SECRET}.", title=f"On {SECRET}")
    await embedded(core)


async def _prepare(folder: Path) -> None:
    core = await opened(str(folder / "first"))
    await fact(core, "The curlew calls at night.")
    await document(core, "# Curlews\n\nCurlews have long bills.", title="Curlews")
    await fact(core, f"The key of the boat is {SECRET}.")
    await _export(core, folder)
    await core.close()
    os.rename(folder / "export.jsonl", folder / "import.jsonl")
    core = await opened(str(folder / "home"))
    await fill(core, folder)
    kept = [record.id for record in await records(core) if SECRET not in text_of(record)]
    (folder / "acknowledged").write_text("".join(f"{each}\n" for each in kept))
    await core.backup.make(str(folder / "backup"), lambda *_: None)
    await fact(core, "Written after the backup.")
    await embedded(core)
    await core.close()
    (folder / "docs").mkdir()
    for name, text in (("owls", "Owls fly without a sound."), ("keys", f"The key of the loft is {SECRET}.")):
        (folder / "docs" / f"{name}.md").write_text(f"# On {name}\n\n{text}\n")


async def _age(root: str) -> None:
    """Remove from a home what the first Scrubjay did not have."""
    database = await connect(os.path.join(root, "data"))
    table = await database.open_table("passages_1")
    for index in await table.list_indices():
        if index.columns == ["tied"]:
            await table.drop_index(index.name)
    await table.drop_columns(["facets", "tied"])
    await (await database.open_table("turns")).drop_columns(["purged_at"])


def prepare(folder: str) -> None:
    """Make `home` in a folder, and next to it what the jobs need."""
    asyncio.run(_prepare(Path(folder)))


def age(root: str) -> None:
    """Turn a home into one that the first Scrubjay wrote."""
    asyncio.run(_age(root))


async def _write(core: Core, folder: Path) -> None:
    said = [
        await fact(core, "The plover rests on the northern spit."),
        await fact(core, f"The spare key is {SECRET}, too."),
        await turn(core, "s9", prompt_id="q", user="Who rests there?", assistant=f"{SECRET} does."),
        await document(core, "# Plovers\n\nPlovers run and stop.", title="Plovers", custom_id="plovers"),
    ]
    with open(folder / "acknowledged", "a") as file:
        file.write("".join(f"{each.id}\n" for each in said))
    await core.writer.settle()


async def _compact(core: Core, folder: Path) -> None:
    for _ in range(2):  # after the second a new connection is taken
        await core.upkeep.tidy(IDLE._replace(fragments=0, unindexed=0))


async def _purge(core: Core, folder: Path) -> None:
    for record in await records(core):
        if SECRET in text_of(record):
            try:
                await core.removal.forget(Forget(id=record.id, purge=True), record.scope, "test")
            except NotFound:  # it went with another
                continue


async def _forget(core: Core, folder: Path) -> None:
    for record in await records(core):
        if isinstance(record, Memory) and "heron" in record.content:
            await core.removal.forget(Forget(id=record.id), record.scope, "test")
            if "number 3" in record.content:
                await core.removal.restore(record.id, "test")


async def _index(core: Core, folder: Path) -> None:
    await core.ingest.run([str(folder / "docs")], scope=SCOPE, source="test", report=_no_report)
    await core.writer.settle()


async def _export(core: Core, folder: Path) -> None:
    await core.exchange.export(str(folder / "export.jsonl"), None, lambda *_: None)


async def _import(core: Core, folder: Path) -> None:
    await core.exchange.load(str(folder / "import.jsonl"), "test", lambda *_: None)


async def _backup(core: Core, folder: Path) -> None:
    if not (folder / "copy").exists():
        await core.backup.make(str(folder / "copy"), lambda *_: None)


async def _filled(core: Core, folder: Path) -> None:
    """The job is to open a home, and the work that this starts."""
    while core.reindex.is_running or core.store.building is not None or not core.store.note.complete:
        await asyncio.sleep(0.01)


JOBS: dict[str, Job] = {
    "write": _write,
    "compaction": _compact,
    "reindex": lambda core, folder: core.reindex.run(),
    "purge": _purge,
    "forget": _forget,
    "import": _import,
    "export": _export,
    "index": _index,
    "backup": _backup,
    "merge": lambda core, folder: core.scopes.merge(SCOPE, OTHER),
    "start": _write,  # of a home that does not exist yet
    "upgrade": _filled,  # of a home that an older Scrubjay wrote
    "restore": _filled,  # before the engine opens the home
}


async def records(core: Core) -> list[Turn | Memory | Document]:
    """Every record on disk, in no particular order."""
    kinds: tuple[type[Any], ...] = (Turn, Memory, Document)
    return [row for kind in kinds for row in await core.store.select(kind, conditions.EVERY_ROW)]


def text_of(record: Turn | Memory | Document) -> str:
    if isinstance(record, Turn):
        return f"{record.user} | {record.assistant}"
    return f"{record.title}: {record.content}" if isinstance(record, Document) else record.content


async def opened(root: str) -> Core:
    home = open_home(root)
    _use_own_scratch(home)
    return await open_core(home, Settings(), lambda: datetime.now(UTC), lambda *_, **__: HashingEncoder())


async def _do(root: str, name: str, folder: Path) -> None:
    core = await opened(root)
    await JOBS[name](core, folder)
    await core.close()


def do(root: str, name: str, step: str | None, found: str) -> None:
    """Do a job, and die at a step; without a step, write the list of steps to `found`."""
    folder = Path(root).parent
    os.makedirs(root, mode=0o700, exist_ok=True)
    watch = Steps(folder, step)
    if name == "restore":
        os.environ |= {"SCRUBJAY_HOME": root, "HOME": str(folder)}
        watch.begin()
        assert main(["restore-backup", str(folder / "backup"), "--replace"]) == 0
    else:
        watch.begin()
        asyncio.run(asyncio.wait_for(_do(root, name, folder), PATIENCE))
    watch.end()
    Path(found).write_text(json.dumps(watch.found))


class Steps:
    """The steps of one run, and the kill at one of them."""

    def __init__(self, folder: Path, step: str | None) -> None:
        self._step = step
        self._times: Counter[tuple[str, int, str]] = Counter()
        self._folders = Folders(str(folder))
        self._over = False
        self.found: list[str] = []

    def begin(self) -> None:
        if self._step is not None and self._step.startswith("change "):
            threading.Thread(target=self._look, daemon=True).start()
        else:
            threading.settrace(self._called)
            sys.settrace(self._called)

    def end(self) -> None:
        self._over = True
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        self.found += [f"change {number + 1}" for number in range(len(self.found))]

    def _called(self, frame: FrameType, event: str, arg: object) -> Any:
        path = frame.f_code.co_filename
        if not path.startswith(_ROOT) or not path[len(_ROOT) + 1 :].startswith(_WATCHED):
            return None
        return self._line

    def _line(self, frame: FrameType, event: str, arg: object) -> Any:
        key = frame.f_code.co_filename[len(_ROOT) + 1 :], frame.f_lineno, event
        self._times[key] += 1
        name = f"{key[0]}:{key[1]} {frame.f_code.co_name} {event} {self._times[key]}"
        if name == self._step:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._step is None and self._folders.changed():
            self.found.append(name)
        return self._line

    def _look(self) -> None:
        changes = 0
        while not self._over:
            changes += self._folders.changed()
            if self._step == f"change {changes}":
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.0005)


class Folders:
    """The subfolders of a folder, and when an entry was last created, renamed or removed in each.

    Nothing that matters is ever overwritten in place.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._times: dict[str, int] = {}
        self.changed()

    def changed(self) -> bool:
        """Return True if there was a change since the last call."""
        try:
            if self._times and all(os.stat(path).st_mtime_ns == at for path, at in self._times.items()):
                return False
        except FileNotFoundError:
            pass
        self._times = dict(_times(self._root))
        return True


def _times(folder: str) -> Iterator[tuple[str, int]]:
    try:
        yield folder, os.stat(folder).st_mtime_ns
        with os.scandir(folder) as entries:
            below = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return
    for path in below:
        yield from _times(path)


async def _look_at(root: str, name: str) -> dict[str, Any]:
    folder = Path(root).parent
    acknowledged = folder / "acknowledged"
    ids = acknowledged.read_text().split() if acknowledged.exists() else []
    core = await opened(root)
    await core.writer.catch_up()
    there = {record.id for record in await records(core)}
    lost = [each for each in ids if each not in there]
    await JOBS[name](core, folder)
    await _filled(core, folder)
    await embedded(core)
    rows = await records(core)
    now = datetime.now(UTC)
    held = sorted(
        [type(row).__name__, row.scope, text_of(row), is_current(row, now), row.forgotten_at is None]
        for row in rows
        if not isinstance(row, Memory) or row.source == "test"  # summaries come by themselves
    )
    passages = await core.store.passages.select(conditions.EVERY_ROW, columns=["id", "record_id"])
    indexed = {each for index in await core.store.tables.passages.list_indices() for each in index.columns}
    seen = {
        "lost": lost,
        "held": held,
        "doubled": len(rows) - len({row.id for row in rows}) + len(passages) - len({p.id for p in passages}),
        "bare": await core.store.passages.count(conditions.NO_VECTOR),
        "indexed": sorted(indexed),
        "tied": bool(await core.store.passages.count(conditions.present("tied"))),
        "found": [await found(core, text) for text in ("heron of number 5", "plover rests on the northern")],
        "set_aside": core.writer.set_aside,
    }
    await _purge(core, folder)
    await core.writer.settle()
    seen["gone"] = not any(SECRET in text_of(row) for row in await records(core))
    # While the engine runs: whatever it reports as deleted must be deleted.
    seen["leaked"] = holding(root)
    await core.close()
    seen["leaked"] += holding(root)
    seen["generations"] = len(list(Path(root, "data").glob("passages_*")))
    return seen


async def found(core: Core, text: str) -> bool:
    """Return True if a search for these words finds a text that has them."""
    request = parse(SearchMemories, {"query": text, "scope": "*"})
    return any(text in hit for hit in texts(await core.search.memories(request, SCOPE)))


def holding(root: str) -> list[str]:
    """The files of a home that contain the secret."""
    return [
        str(path)
        for path in Path(root).rglob("*")
        if path.is_file() and any(word in path.read_bytes() for word in (SECRET.encode(), b"zorilla"))
    ]


def look_at(root: str, name: str, answer: str) -> None:
    """Open what a kill left, repeat its job, write down the records; then delete the secret and look for
    it.
    """
    seen = asyncio.run(asyncio.wait_for(_look_at(root, name), PATIENCE))
    Path(answer).write_text(json.dumps(seen))


class Processes:
    """Runs functions of this module in processes of their own, with everything already imported."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([__name__, "scrubjay.engine.core"])

    def run(self, work: Callable[..., None], *arguments: object) -> int:
        """The exit code; -9 for a process that was killed."""
        process = self._context.Process(target=work, args=arguments)
        process.start()
        process.join(2 * PATIENCE)
        assert process.exitcode is not None, f"{work.__name__}{arguments} does not end"
        return process.exitcode
