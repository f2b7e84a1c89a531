"""Measures the page of `scrubjay open` in Chromium, over a home of 10,000 turns and as many facts.

    python tests/bench/page.py [--turns 10000] [--facts 9500] [--rounds 20] [--kept FOLDER] [--json FILE]

`--kept` stores the filled home there, and reuses it the next time; filling it takes minutes.
Chromium is the one on the path; the engine is the one that `scrubjay open --print` starts.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import figures
import psutil
import scale_text
from figures import Row, any_short, header, report, say, spread, table, timed_row
from homes import COMMAND, Place, is_embedded, rested
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from scrubjay import VERSION
from scrubjay.models.records import Memory, Turn, content_hash
from scrubjay.records.exchange import Header, RecordCounts, first_line, line_of

SEEN = """
  window.seen = new Promise((done) => new MutationObserver((_, watch) => {
    if (!document.querySelector(".session")) return;
    watch.disconnect();
    done(performance.now());
  }).observe(document, { childList: true, subtree: true }));
"""
TYPED = """
  document.querySelector('input[type="search"]').addEventListener("keydown", () => (window.pressed = performance.now()));
  new MutationObserver(() => window.done(performance.now() - window.pressed))
    .observe(document.querySelector(".results"), { childList: true });
"""
WARM = 40  # searches before anything is measured
WINDOW_MS = 2_000  # in which a new window of Chromium has loaded its own pages
QUESTIONS = 4  # that are typed, of some 50 keys each


def main() -> int:
    """Measure and print; the exit code is 1 when something misses its target."""
    parser = figures.options("Measure the page of `scrubjay open`.")
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--facts", type=int, default=9_500)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--kept", type=Path, metavar="FOLDER", help="where the filled home is kept")
    options = parser.parse_args()
    about = header()
    with Place() as place:
        _fill(place, options)
        rows = list(_measured(place, options.rounds, options.turns))
    values = {row.what: row.samples for row in rows}
    meaning = figures.definitions("page")
    report(about, meaning, table(rows), file=options.json, definitions=meaning, values=values)
    return int(any_short(rows))


def _fill(place: Place, options: argparse.Namespace) -> None:
    if options.kept and options.kept.exists():
        shutil.copytree(options.kept, place.home, symlinks=True)
        return
    lines = place.folder / "records.jsonl"
    with lines.open("wb") as file:
        file.writelines(_lines(options.turns, options.facts))
    say(f"importing {options.turns:,} turns and {options.facts:,} facts")
    subprocess.run([COMMAND, "import", str(lines)], env=place.env, cwd=place.project, check=True)
    say("waiting for their vectors")
    place.until("embedded", is_embedded, 3600)
    say("waiting for the summaries of its sessions")
    rested(place.start_engine(), 1800)
    place.stop_engine()
    if options.kept:
        shutil.copytree(place.home, options.kept, symlinks=True, ignore=shutil.ignore_patterns("*.sock"))


def _lines(turns: int, facts: int) -> Iterator[bytes]:
    """An export whose last turn was just said."""
    now = datetime.now(UTC)
    counts = RecordCounts(turns=turns, memories=facts)
    yield first_line(Header(scrubjay=VERSION, exported_at=now, counts=counts))
    shift = now - scale_text.turn(turns - 1).at
    for number in range(turns):
        said = scale_text.turn(number)
        yield line_of(Turn(id=f"turn_{number:024}", session_id=f"session-{said.session:05}", turn=said.place,
                           user=said.user, assistant=said.assistant, host=("claude-code", "codex", "cursor")[said.session % 3],
                           started_at=said.at + shift, **_common(said, "mem_episodic", said.at + shift)))  # fmt: skip
    for number in range(facts):
        said = scale_text.turn(10_000_000 + number)
        yield line_of(Memory(id=f"mem_{number:024}", root_id=f"mem_{number:024}", content=said.assistant,
                             content_hash=content_hash(said.assistant), **_common(said, "mem_semantic", now)))  # fmt: skip


def _common(said: scale_text.Said, partition_id: str, at: datetime) -> dict[str, Any]:
    times = dict.fromkeys(("created_at", "updated_at", "last_accessed_at"), at)
    place = {"scope": scale_text.scope_name(said.scope), "partition_id": partition_id}
    return {**place, "source": "bench", **times}


def _measured(place: Place, rounds: int, turns: int) -> Iterator[Row]:
    engine = place.start_engine()
    with place.client() as client:
        client.initialize()
        for number in range(WARM):
            client.call("search_memories", {"query": scale_text.question(number, turns)[1], "scope": "*"})
    rested(engine)
    before = _resident(engine)
    with sync_playwright() as run:
        path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        browser = run.chromium.launch(executable_path=path, args=["--headless", "--no-sandbox"])
        yield from _first_views(place, browser, rounds)
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.add_init_script(SEEN)
        page = context.new_page()
        page.goto(_link(place))
        page.evaluate("seen")
        rested(engine)
        yield _memory(engine, before)
        yield from _typed(page, turns)
        browser.close()


def _link(place: Place) -> str:
    command = [COMMAND, "open", "--print"]
    return subprocess.run(
        command, env=place.env, cwd=place.project, check=True, capture_output=True, text=True
    ).stdout.strip()


def _first_views(place: Place, browser: Browser, rounds: int) -> Iterator[Row]:
    opened, again, server, sizes = [], [], [], []
    for number in range(rounds):
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.add_init_script(SEEN)
        page = context.new_page()
        received = _received(context, page)
        page.wait_for_timeout(WINDOW_MS)
        page.goto(_link(place))
        opened.append(page.evaluate("seen"))
        sizes.append(sum(received))
        server.append(_server_ms(page))
        page.wait_for_load_state("load")
        page.reload()
        again.append(page.evaluate("seen"))
        server.append(_server_ms(page))
        context.close()
        if not number:
            say(f"the very first view took {opened[0]:.0f} ms, the second {again[0]:.0f}")
    for what, values in (("first view, by a link", opened), ("first view, loaded again", again)):
        yield timed_row(what, "300 ms", values, share=0.5, limit=300.0)
    yield Row("... the call `sessions` in it", "", spread(server), samples={"ms": server})
    yield Row(
        "... bytes, by a link", "150 kB", f"{max(sizes) / 1000:.0f} kB", max(sizes), 150_000, {"bytes": sizes}
    )


def _received(context: BrowserContext, page: Page) -> list[int]:
    """The sizes of all answers, headers included, as they arrive."""
    sizes: list[int] = []
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"])))
    return sizes


def _server_ms(page: Page) -> float:
    return page.evaluate(r"""() => {
      const asked = performance.getEntriesByType("resource").find((each) => /(call\/sessions|enter)$/.test(each.name));
      return asked.responseEnd - asked.requestStart;
    }""")


def _typed(page: Page, turns: int) -> Iterator[Row]:
    page.keyboard.press("/")
    box = page.get_by_role("searchbox", name="Search")
    box.wait_for()
    page.evaluate(TYPED)
    values = []
    for number in range(QUESTIONS):
        box.fill("")
        for key in scale_text.question(number, turns)[1]:
            page.evaluate("window.drawn = new Promise((done) => (window.done = done)); null")
            page.keyboard.press("Space" if key == " " else key)
            values.append(page.evaluate("window.drawn"))
            page.wait_for_timeout(200)
    yield timed_row("keystroke to results", "150 ms", values, limit=150.0)


def _memory(engine: psutil.Process, before: int) -> Row:
    more = _resident(engine) - before
    said = f"{more / 1e6:.1f} MB, {(before + more) / 1e6:.0f} in all"
    return Row("memory more with Today open", "20 MB", said, more, 20e6, {"bytes": more})


def _resident(engine: psutil.Process) -> int:
    """The engine's own bytes, without those of mapped files."""
    with open(f"/proc/{engine.pid}/status", encoding="ascii") as file:
        (line,) = (line for line in file if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    raise SystemExit(main())
