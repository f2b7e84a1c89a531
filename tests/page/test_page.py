"""The page of `scrubjay open` without a browser: access control, and the answers of its calls."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import httpx2
import pytest
from said import SCOPE, document, fact, search, turn

from scrubjay.encoders.bundled import BundledEncoder
from scrubjay.encoders.token_codes import nearest
from scrubjay.engine.engine import Engine
from scrubjay.home import given
from scrubjay.home.scopes import scope_of
from scrubjay.home.settings import change
from scrubjay.http_api import gateway
from scrubjay.models.envelopes import envelope
from scrubjay.models.requests import RecordTurn, parse
from scrubjay.page import serving as page_serving
from scrubjay.page.calls import CALLS
from scrubjay.page.serving import HEADERS, LINK_SECONDS, MOST_NEWS, Browsers, serving
from scrubjay.search.marking import marked
from scrubjay.text import foreign

pytestmark = pytest.mark.long

STATIC = Path(page_serving.__file__).parent / "static"
OTHER = "http://127.0.0.1:1"  # the origin of another program of this machine


class Browser(NamedTuple):
    """A browser at the page of an engine; it gets its cookie by the key of a link."""

    client: httpx2.AsyncClient
    origin: str
    link: str

    @property
    def path(self) -> str:
        return self.link.partition("#")[0]

    async def enter(self, link: str = "") -> httpx2.Response:
        key = (link or self.link).partition("#key=")[2]
        first = {"call": "sessions", "params": {"size": 1}}
        return await self.client.post(f"{self.path}enter", json={"key": key, **first})

    async def post(self, name: str, headers: dict[str, str] | None = None, **params: Any) -> httpx2.Response:
        return await self.client.post(f"{self.path}call/{name}", json=params, headers=headers)

    async def call(self, name: str, **params: Any) -> Any:
        answer = await self.post(name, **params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def upload(self, name: str, data: bytes) -> httpx2.Response:
        address = f"{self.path}file?name={name}&scope={SCOPE}"
        return await self.client.post(address, files={"file": data}, headers={"origin": self.origin})


@pytest.fixture
async def stranger(engine: Engine) -> AsyncIterator[Browser]:
    """A browser that has a link and has not opened it yet."""
    async with (
        serving(engine, lambda: [{"host": "codex", "tools": True}]) as (page, origin),
        httpx2.AsyncClient(base_url=origin) as client,
    ):
        yield Browser(client, origin, page.invite())


@pytest.fixture
async def browser(stranger: Browser) -> Browser:
    assert (await stranger.enter()).status_code == 200
    return stranger


# Access.


async def test_a_link_opens_the_page_once_in_one_browser(stranger: Browser):
    assert (await stranger.post("home")).status_code == 401
    entered = await stranger.enter()
    assert entered.status_code == 200 and entered.json()["results"] == []  # the first view of the page
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and f"Path={stranger.path}" in cookie
    assert (await stranger.post("home")).status_code == 200
    async with httpx2.AsyncClient(base_url=stranger.origin) as second:
        other = stranger._replace(client=second)
        refused = await other.enter()
        assert refused.status_code == 403 and "already used" in refused.json()["error"]
        assert (await other.post("home")).status_code == 401


async def test_background_work_pauses_while_the_page_is_in_use(stranger: Browser, engine: Engine):
    core = await engine.core()
    assert core._is_resting()
    await stranger.enter()
    assert not core._is_resting()


def test_expired_and_forged_links_open_nothing():
    now = [0.0]
    browsers = Browsers(lambda: now[0])
    key = browsers.invite()
    now[0] = LINK_SECONDS + 1
    assert browsers.admit(key) is None and browsers.admit("") is None and browsers.admit("x" * 43) is None
    cookie = browsers.admit(browsers.invite())
    assert cookie is not None and browsers.is_known(cookie) and not browsers.is_known("")


def test_the_keys_of_links_that_no_browser_opened_are_forgotten():
    now = [0.0]
    browsers = Browsers(lambda: now[0])
    for _ in range(100):
        browsers.invite()
        now[0] += LINK_SECONDS / 2
    assert len(browsers._keys) <= 3


async def test_any_invalid_call_is_answered_with_a_sentence(stranger: Browser):
    half = r'{"key": "\ud83d", "call": "\ud83d", "params": {}}'
    for body in (half, "[" * 100_000, "null", '{"key": "é"}'):
        answer = await stranger.client.post(f"{stranger.path}enter", content=body)
        assert (answer.status_code, "already used" in answer.text) == (403, True)
    assert (await stranger.enter()).status_code == 200
    names = ("id", "ids", "query", "scope", "name", "value", "text", "session_id", "host", "day", "reason")
    values = [json.dumps(dict.fromkeys(names, value)) for value in ("\ud83d", ["\ud83d"], "\0", 10**400)]
    for call in [*CALLS, "%ED%A0%BD"]:
        for body in [half, "[" * 100_000, *values]:
            answer = await stranger.client.post(f"{stranger.path}call/{call}", content=body)
            assert answer.status_code != 500, (call, body[:80], answer.text)


@pytest.mark.parametrize("origin", [OTHER, "https://evil.example", "null"])
async def test_a_page_of_another_origin_is_refused_even_with_the_cookie(browser: Browser, origin: str):
    assert (await browser.post("home", headers={"origin": origin})).status_code == 403
    # a request without an origin, such as one for an image, still has Sec-Fetch-Site
    site = {"sec-fetch-site": "same-site"}
    for path in ("news", "export"):
        assert (await browser.client.get(f"{browser.path}{path}", headers=site)).status_code == 403
    assert (await browser.post("home", headers={"origin": browser.origin})).status_code == 200


async def test_the_page_exists_only_at_the_path_of_its_link(browser: Browser):
    for path in ("/", "/call/home", "/index.html", *(f"{browser.path}..{to}calls.py" for to in ("/", "%2f"))):
        assert (await browser.client.get(path)).status_code in (404, 405)


async def test_every_answer_has_a_strict_content_security_policy(stranger: Browser):
    answers = [
        await stranger.client.get(stranger.path),
        await stranger.client.get(f"{stranger.path}page.js"),
        await stranger.post("home"),
    ]
    for answer in answers:
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    caching = [answer.headers["cache-control"].split(",")[0] for answer in answers]
    assert caching == ["no-store", "private", "no-store"]  # a browser caches only the page's own files
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy


def test_the_page_has_no_script_or_style_in_its_markup_and_loads_nothing_from_elsewhere():
    markup = (STATIC / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*src)|<style|\son\w+=|style=", markup)
    for file in STATIC.iterdir():
        text = file.read_text()
        assert not re.search(r"(?:https?:)?//(?!www\.w3\.org)[a-z0-9-]+\.[a-z]", text), file.name
        markup_calls = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\("
        assert not re.search(markup_calls, text), file.name


def test_the_page_hides_the_same_characters_as_every_other_interface():
    written = "".join(re.findall(r'"((?:\\\\[xu][^"]*|\[[^"]*))"', (STATIC / "dom.js").read_text()))
    written = re.sub(r"\\\\u\{([0-9a-f]+)\}", lambda match: f"\\U{match[1]:0>8}", written)
    ours = re.compile(written.replace("\\\\", "\\"))
    for code in range(0x110000):
        if not 0xD800 <= code < 0xE000:
            assert bool(ours.match(chr(code))) == bool(foreign._HIDDEN.match(chr(code))), hex(code)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_every_text_colour_has_wcag_aa_contrast(theme: int):
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", (STATIC / "style.css").read_text())
    colours = {name: _luminance(both[theme]) for name, *both in pairs}

    def contrast(one: str, other: str) -> float:
        dark, light = sorted((colours[one], colours[other]))
        return (light + 0.05) / (dark + 0.05)

    grounds = ("ground", "paper", "sunk", "wash")
    words = [(word, ground) for word in ("ink", "faint", "accent", "warn") for ground in grounds]
    least = dict.fromkeys([*words, ("on-accent", "accent"), ("ink", "mark")], 4.5)
    least |= {("edge", ground): 3.0 for ground in ("ground", "paper")}  # for the borders of controls
    assert {pair: round(contrast(*pair), 2) for pair, value in least.items() if contrast(*pair) < value} == {}


def _luminance(colour: str) -> float:
    """The relative luminance of WCAG 2.2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


# Its calls.


async def test_sessions_are_listed_latest_first_with_title_host_and_days(engine: Engine, browser: Browser):
    core = await engine.core()
    for session, scope, hour, user, assistant in (
        ("one", SCOPE, "01T09", "Why does the whimbrel test fail?", "The port was taken."),
        ("two", "dir_b__1", "02T09", "Rename the heron module.", "Done."),
        ("two", "dir_b__1", "02T10", "And its tests.", "Done too."),
    ):
        at = f"2026-03-{hour}:00:00Z"
        await turn(core, session, user=user, assistant=assistant, ts=at, scope=scope)
    listed = await browser.call("sessions")
    assert [(each["session_id"], each["turns"]) for each in listed["results"]] == [("two", 2), ("one", 1)]
    assert "heron" in listed["results"][0]["title"] and listed["results"][0]["host"] == "test"
    assert sum(listed["days"].values()) == 3 and listed["total"] == 2
    assert [(host["host"], host["turns"]) for host in listed["hosts"]] == [("test", 3)]
    assert (await browser.call("sessions", scope=SCOPE))["total"] == 1
    assert (await browser.call("sessions", host="another"))["results"] == []
    day = next(iter(listed["days"]))
    assert [each["session_id"] for each in (await browser.call("sessions", day=day))["results"]] == ["one"]
    names = {each["scope"]: each["name"] for each in (await browser.call("home"))["scopes"]}
    assert names == {"dir_b__1": "b", SCOPE: "demo"}


async def test_a_session_is_read_in_pages_and_around_a_turn(engine: Engine, browser: Browser):
    core = await engine.core()
    for number in range(12):
        answer, at = "x" * (30_000 if number == 3 else 3), f"2026-03-01T09:{number:02}:00Z"
        await turn(core, "long", user=f"Question {number}?", assistant=answer, ts=at)
    await fact(core, "The whimbrel listens on 8421.")
    view = await browser.call("session", scope=SCOPE, session_id="long", size=5)
    assert [each["turn"] for each in view["turns"]] == [0, 1, 2, 3, 4] and view["total"] == 12
    long = view["turns"][3]
    assert long["cut"] == {"assistant": 30_000} and len(long["assistant"]) == 20_000
    assert len((await browser.call("record", id=long["id"]))["record"]["assistant"]) == 30_000
    around = await browser.call("session", scope=SCOPE, session_id="long", size=4, turn=8)
    assert 8 in [each["turn"] for each in around["turns"]]
    assert view["recalled"] == []
    (hit, *_) = (await search(core, "Question 7?", top_k=1)).results
    (recalled,) = (await browser.call("session", scope=SCOPE, session_id="long", size=1))["recalled"]
    assert (recalled["turn"], recalled["times"]) == (hit.turn, 1)
    missing = await browser.post("session", scope=SCOPE, session_id="another")
    assert missing.status_code == 404 and "no session" in missing.json()["error"]


async def test_a_search_shows_what_a_model_would_be_shown_and_why(engine: Engine, browser: Browser):
    core = await engine.core()
    kept = await fact(core, "The whimbrel service listens on port 8421.", tags=["ports"])
    await turn(core, "one", user="Where does the whimbrel listen?", assistant="On port 8421.")
    await document(core, "# Whimbrel\n\nThe whimbrel is a wader and a service.", title="Whimbrel")
    found = await browser.call("search", query="whimbrel port", more=True)
    by_src = {hit["src"]: hit for hit in found["results"]}
    assert by_src.keys() == {"memory", "turn", "chunk"}
    assert by_src["memory"]["id"] == kept.id and by_src["memory"]["explain"]["parts"]
    assert {("whimbrel", "word"), ("port", "word")} <= set(map(tuple, by_src["memory"]["marked"]))
    assert "".join(piece for piece, _ in by_src["turn"]["marked"]) == by_src["turn"]["memory"]
    assert "<recalled-data>" in found["text"] and found["tokens"]["rendered"] == -(-len(found["text"]) // 4)
    facts_alone = await browser.call("search", query="whimbrel port", kinds=["memory"], tags=["ports"])
    assert [hit["id"] for hit in facts_alone["results"]] == [kept.id]
    assert (await browser.post("search", query="")).status_code == 400
    counts = await browser.call("record", id=kept.id)
    assert counts["record"].get("access_count", 0) == 0  # looking is not a recall


async def test_a_search_for_one_host_finds_its_turns_at_any_rank(engine: Engine, browser: Browser):
    core = await engine.core()
    for number in range(120):
        said = {"user": f"Whimbrel port {number}?", "assistant": "The whimbrel port is open."}
        await turn(core, f"s{number}", **said)
    await fact(core, "The whimbrel port is 8421.")
    far = {"session_id": "far", "user": "And the heron?", "assistant": "No whimbrel here."}
    options = {"scope": SCOPE, "source": "hook:stop", "host": "codex", "at": core.clock()}
    await core.write(envelope("turn", parse(RecordTurn, far), **options))
    found = await browser.call("search", query="whimbrel port", host="codex")
    assert [hit["session_id"] for hit in found["results"]] == ["far"]
    everywhere = (await browser.call("search", query="whimbrel port"))["results"]
    assert "far" not in [hit.get("session_id") for hit in everywhere]
    assert (await browser.call("search", query="whimbrel port", host="nobody"))["results"] == []
    from_tests = await browser.call("search", query="whimbrel port", host="test", kinds=["turn", "memory"])
    assert from_tests["results"] and {hit["src"] for hit in from_tests["results"]} == {"turn"}


async def test_words_with_a_similar_meaning_are_marked_if_the_model_gives_token_offsets(browser: Browser):
    (pieces,) = (await browser.call("marked", query="which port?", texts=["The ports are 80."]))["results"]
    assert pieces == [["The ", ""], ["ports", "word"], [" are 80.", ""]]  # the hashing encoder has no tokens
    model, text = BundledEncoder(), "The import needs 610 MB."
    asked = model.embed_question("how much memory does it take?").tokens
    assert asked is not None
    cosines = nearest(asked, model.embed_passages([text]).codes[0])
    tokens = [(*place, value) for place, value in zip(model.places(text), cosines.tolist(), strict=True)]
    assert ("MB", "token") in marked("how much memory does it take?", text, tokens)


async def test_a_fact_is_added_changed_forgotten_restored_and_purged(engine: Engine, browser: Browser):
    added = await browser.call("add", content="The heron is on port 8421.", scope=SCOPE, tags=["ports"])
    changed = await browser.call("change", id=added["id"], content="The heron is on port 9000.")
    shown = await browser.call("fact", id=added["id"])
    assert shown["fact"]["id"] == changed["id"] and shown["fact"]["tags"] == ["ports"]
    assert [each["content"] for each in shown["versions"]] == ["The heron is on port 8421."]
    (current,) = (await browser.call("facts"))["results"]
    assert current["content"] == "The heron is on port 9000."
    await browser.call("forget", ids=[changed["id"]], reason="It moved.")
    assert (await browser.call("facts"))["results"] == []
    (gone,) = (await browser.call("facts", which="forgotten"))["results"]
    assert gone["forget_reason"] == "It moved."
    assert (await browser.call("restore", ids=[changed["id"]]))["ids"] == [changed["id"]]
    deleted = (await browser.call("would-purge", ids=[changed["id"]]))["results"]
    assert len(deleted) == 2  # the older version too
    assert len((await browser.call("facts"))["results"]) == 1  # asking deletes nothing
    await browser.call("purge", ids=[changed["id"]])
    assert (await browser.call("facts", which="forgotten"))["results"] == []
    assert (await browser.post("fact", id=added["id"])).status_code == 404


async def test_a_change_of_an_older_version_is_refused_and_says_what_to_do_in_the_browser(
    engine: Engine, browser: Browser
):
    old = await fact(await engine.core(), "The heron nests in May.")
    await browser.call("change", id=old.id, content="The heron nests in June.")  # as in another window
    refused = await browser.post("change", id=old.id, content="The heron nests in July.")
    assert refused.status_code == 400
    sentence = refused.json()["error"]
    assert "version 2" in sentence and "reload the page" in sentence and "scrubjay://" not in sentence


async def test_facts_are_narrowed_by_words_kind_tag_source_and_use(engine: Engine, browser: Browser):
    core = await engine.core()
    heron = await fact(core, "The heron port is 8421.", tags=["ports"])
    wren = await fact(core, "Restart the wren nightly.", partition_id="mem_procedural")
    await browser.call("add", content="The user prefers tabs.", scope=SCOPE)
    core.access.note([heron.id])

    async def found(**asked: Any) -> list[str]:
        return [each["id"] for each in (await browser.call("facts", **asked))["results"]]

    assert await found(words="PORT heron") == [heron.id] and await found(words="port wren") == []
    assert await found(kind="mem_procedural") == [wren.id] and await found(tag="ports") == [heron.id]
    assert set(await found(source="test")) == {heron.id, wren.id}
    assert heron.id not in await found(which="unrecalled") and wren.id in await found(which="unrecalled")
    assert len(await found(which="changed")) == 3
    values = (await browser.call("facts"))["values"]
    assert values["source"] == {"test": 2, "page": 1} and values["tag"] == {"ports": 1}


async def test_new_facts_wait_until_they_are_kept_edited_or_forgotten(engine: Engine, browser: Browser):
    core = await engine.core()
    kept, edited, forgotten = [
        (await fact(core, f"The {bird} nests in May.")).id for bird in ("heron", "wren", "crow")
    ]
    await browser.call("add", content="The user prefers tabs.", scope=SCOPE)  # which needs no look

    async def new() -> set[str]:
        return {each["id"] for each in (await browser.call("facts", which="new"))["results"]}

    assert await new() == {kept, edited, forgotten}
    before = (await browser.call("fact", id=kept))["fact"]["updated_at"]
    await browser.call("keep", ids=[kept])
    assert await new() == {edited, forgotten}
    assert (await browser.call("fact", id=kept))["fact"]["updated_at"] == before
    await browser.call("change", id=edited, content="The wren nests in June.")
    await browser.call("forget", ids=[forgotten])
    assert await new() == set()


async def test_facts_that_do_not_agree_are_listed_together_until_one_is_changed_or_both_are_kept(
    engine: Engine, browser: Browser
):
    core = await engine.core()
    texts = [
        "The heron listens on port 5433.",
        "Deploys of the wren need a review.",
        "The crow nests in May.",
        "The heron listens on port 6000.",
        "Deploys of the wren do not need a review.",
    ]
    old, always, _, new, never = [(await fact(core, text, tags=[text.split()[-1][:-1]])).id for text in texts]

    async def found(**asked: Any) -> Any:
        return await browser.call("facts", which="contradicting", sort="created_at", **asked)

    answer = await found()
    assert [each["id"] for each in answer["results"]] == [never, always, new, old]
    reasons = {each: (rival["id"], rival["reason"]) for each, rival in answer["rivals"].items()}
    assert reasons[never] == (always, "contradict") and reasons[always] == (never, "contradict")
    assert reasons[old] == (new, "newer") and reasons[new] == (old, "older")
    assert [each["id"] for each in (await found(tag="5433"))["results"]] == [new, old]
    await browser.call("keep", ids=[always])
    assert len((await found())["results"]) == 4
    await browser.call("keep", ids=[never])
    await browser.call("forget", ids=[old])
    assert (await found())["results"] == []


async def test_a_fact_says_which_newer_one_overtakes_or_contradicts_it(engine: Engine, browser: Browser):
    core = await engine.core()
    old = await fact(core, "The staging database of the heron listens on port 5433.")
    new = await fact(core, "The staging database of the heron listens on port 6000.")
    found = await browser.call("alike", ids=[old.id, new.id])
    assert found.keys() == {old.id} and (found[old.id]["id"], found[old.id]["reason"]) == (new.id, "newer")
    (like,) = (await browser.call("fact", id=new.id))["like"]
    assert (like["id"], like["reason"]) == (old.id, "update")


async def test_a_session_lists_the_files_that_it_touched_below_its_project(engine: Engine, browser: Browser):
    core = await engine.core()
    for number, name in enumerate(["wren", "heron", "wren"]):
        at, file = f"2026-03-01T09:0{number}:00Z", f"/home/kim/demo/src/{name}.py"
        await turn(core, "one", user="Rename it.", assistant="I renamed it.", files=[file], ts=at)
    outline = await browser.call("outline", scope=SCOPE, session_id="one")
    assert outline["files"] == {"src/wren.py": [0, 2], "src/heron.py": [1]}


async def test_every_answer_has_the_names_of_projects_that_their_scopes_do_not_spell(
    engine: Engine, browser: Browser, tmp_path: Path
):
    assert "x-project-names" not in (await browser.post("home")).headers
    for name in ("größe", "jay"):
        (tmp_path / name).mkdir()
    sized, _ = (str(scope_of(engine.home, str(tmp_path / name))) for name in ("größe", "jay"))
    await turn(await engine.core(), "one", user="How large is it?", assistant="Two metres.", scope=sized)
    sessions = await browser.post("sessions")
    assert json.loads(unquote(sessions.headers["x-project-names"])) == {sized: "größe"}
    assert [each["name"] for each in (await browser.call("home"))["scopes"]] == ["größe"]


async def test_what_models_were_given_is_listed_by_project_and_session(engine: Engine, browser: Browser):
    for number, session in enumerate(["one", "two"]):
        given.note(engine.home, 1_000.0 + number, "opening", SCOPE, 214, session, sessions=2, facts=9)
    given.note(engine.home, 2_000.0, "search_memories", "dir_b__1", 80)
    everywhere = await browser.call("given")
    assert (everywhere["total"], everywhere["tokens"]) == (3, 508)
    assert everywhere["results"][0]["by"] == "search_memories"  # the latest first
    assert (await browser.call("given", scope=SCOPE))["tokens"] == 428
    (line,) = (await browser.call("given", scope=SCOPE, session_id="two"))["results"]
    assert (line["session"], line["tokens"], line["facts"]) == ("two", 214, 9)


async def test_already_deleted_records_are_skipped_and_the_others_are_changed(
    engine: Engine, browser: Browser
):
    core = await engine.core()
    birds = ("heron", "wren", "crow")
    heron, wren, crow = ids = [(await fact(core, f"The {bird} nests in May.")).id for bird in birds]
    await browser.call("purge", ids=[wren])  # as in another tab
    await browser.call("forget", ids=[crow])
    assert await browser.call("forget", ids=[*ids, heron]) == {"ids": [heron]}
    restored = await browser.call("restore", ids=ids)
    assert restored == {"ids": [heron, crow], "gone": [wren], "unseen": {}}
    assert [hit["id"] for hit in (await browser.call("would-purge", ids=ids))["results"]] == [heron, crow]
    assert await browser.call("purge", ids=ids) == {"ids": [heron, crow]}
    assert await browser.call("purge", ids=ids) == await browser.call("forget", ids=ids) == {"ids": []}
    said = await turn(core, "one", user="Is the dipper awake?", assistant="It sings.")
    await browser.call("purge", ids=[said.id])  # its row stays
    assert await browser.call("restore", ids=[said.id]) == {"ids": [], "gone": [said.id], "unseen": {}}


async def test_several_records_that_were_changed_at_once_are_undone_at_once(engine: Engine, browser: Browser):
    core = await engine.core()
    ids = [(await fact(core, f"The {bird} nests in May.")).id for bird in ("heron", "wren")]
    await browser.call("forget", ids=ids)
    await core.changes.undo("test")
    assert {each["id"] for each in (await browser.call("facts"))["results"]} == set(ids)
    await browser.call("forget", ids=ids)
    await browser.call("restore", ids=ids)
    await core.changes.undo("test")
    assert (await browser.call("facts"))["results"] == []


async def test_several_records_are_purged_together_in_the_time_of_one(engine: Engine, browser: Browser):
    core = await engine.core()
    one, *others = [(await fact(core, f"The heron of pond {n} nests in May.")).id for n in range(9)]
    writes = []
    for ids in ([one], others):
        await core.writer.settle()
        before = await core.store.tables.memories.version()
        assert await browser.call("purge", ids=ids) == {"ids": ids}
        writes.append(await core.store.tables.memories.version() - before)
    assert writes[1] < 2 * writes[0]


async def test_a_call_of_the_page_may_take_longer_than_a_request_over_http(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(gateway, "CALL_SECONDS", 0.0)
    assert await browser.call("reindex") == {"passages": 0}


async def test_a_request_cancelled_by_the_page_logs_no_error(
    browser: Browser, caplog: pytest.LogCaptureFixture
):
    host, _, port = browser.origin.removeprefix("http://").partition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    head = (
        f"POST {browser.path}call/home HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
    )
    cookie = f"Cookie: scrubjay={browser.client.cookies['scrubjay']}\r\nContent-Length: 9\r\n\r\n{{"
    writer.write((head + cookie).encode())
    await writer.drain()
    await browser.call("home")  # by now the other request is being read
    writer.close()
    await writer.wait_closed()
    await browser.call("home")
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_an_uploaded_file_becomes_a_document_and_is_replaced_by_the_next_upload(browser: Browser):
    first = (await browser.upload("notes.md", b"# Notes\n\nThe heron nests in May.")).json()
    again = (await browser.upload("notes.md", b"# Notes\n\nThe heron nests in June.")).json()
    assert first["id"] == again["id"] and again["changed"]
    (listed,) = (await browser.call("documents", scope=SCOPE))["results"]
    assert listed["title"] == "Notes" and listed["status"] in ("done", "embedding")
    read = await browser.call("record", id=first["id"])
    assert "June" in read["record"]["content"] and read["length"] == len(read["record"]["content"])
    empty = await browser.client.post(f"{browser.path}file", data={}, headers={"origin": browser.origin})
    assert "file is missing" in empty.json()["error"]
    bad = await browser.upload("x.pdf", b"%PDF-1.4 broken")
    assert bad.status_code == 400 and bad.json()["error"]


async def test_a_file_with_nul_bytes_can_be_uploaded(browser: Browser):
    answer = await browser.upload("notes.txt", "The heron nests in May.".encode("utf-16"))
    assert answer.status_code == 200 and answer.json()["changed"], answer.text


async def test_a_setting_changes_for_hooks_and_engine_at_once(engine: Engine, browser: Browser):
    answer = await browser.call("settings")
    assert answer["hosts"] == [{"host": "codex", "tools": True}]
    shown = {each["key"]: each for each in answer["settings"]}
    assert shown["inject"]["choices"] == ["off", "session", "prompt", "edit"]
    assert shown["excluded"]["folders"] == []
    assert await browser.call("set", key="paused", value="true") == {"value": "true", "restart": False}
    assert engine.settings.paused and json.loads(Path(engine.home.capture).read_text())["paused"]
    assert (await browser.call("set", key="model", value="other"))["restart"]
    refused = await browser.post("set", key="capture", value="perhaps")
    assert refused.status_code == 400 and "summary_only" in refused.json()["error"]


async def test_an_export_is_downloaded_and_leaves_no_file(engine: Engine, browser: Browser):
    await fact(await engine.core(), "The heron is on port 8421.")
    exported = await browser.client.get(f"{browser.path}export")
    assert "attachment" in exported.headers["content-disposition"]
    assert "heron" in exported.text and len(exported.text.splitlines()) == 2
    await browser.call("home")  # over the same connection, so the export is done
    assert [each.name for each in Path(engine.home.scratch).glob("export*")] == []


async def test_an_open_page_receives_news_and_hears_when_the_engine_ends(engine: Engine, browser: Browser):
    core = await engine.core()
    async with browser.client.stream("GET", f"{browser.path}news") as news:
        lines = news.aiter_lines()
        assert await anext(lines) == "event: hello"
        recorded = await turn(core, "one", user="Is anybody there?", assistant="Yes.")
        while not (line := await anext(lines)).startswith('data: {"kind"'):
            pass
        told = {"kind": "turn", "id": recorded.id, "scope": SCOPE, "session_id": "one", "turn": 0}
        assert json.loads(line.removeprefix("data: ")) == told
        assert len(core.listeners) == 1
    assert (await browser.post("nothing")).status_code == 404


async def test_the_engine_can_end_while_a_page_does_not_read_its_events(engine: Engine):
    core = await engine.core()
    async with serving(engine, list) as (page, origin), httpx2.AsyncClient(base_url=origin) as client:
        browser = Browser(client, origin, page.invite())
        await browser.enter()
        async with client.stream("GET", f"{browser.path}news") as news:
            lines = news.aiter_lines()
            assert await anext(lines) == "event: hello"
            (report,), records = core.listeners, []
            core.listeners.append(records.append)
            await turn(core, "one", user="Which port?", assistant="8080.")
            for _ in range(MOST_NEWS + 1):  # the stream cannot run between them
                report(records[0])
            page.close()
            assert "event: end" in [line async for line in lines]


async def test_open_pages_are_notified_of_new_settings(engine: Engine, browser: Browser):
    async with browser.client.stream("GET", f"{browser.path}news") as news:
        lines = news.aiter_lines()
        assert await anext(lines) == "event: hello"
        change(engine.home.config, "paused", "true")  # as the command `scrubjay config` does
        engine.reload()
        while not (line := await anext(lines)).startswith("event:"):
            pass
        assert line == "event: settings"


async def test_nothing_is_sent_when_no_page_is_open(engine: Engine, browser: Browser):
    core = await engine.core()
    async with browser.client.stream("GET", f"{browser.path}news") as news:
        await anext(news.aiter_lines())
        assert core.listeners
    for _ in range(100):  # the server notices that the page is closed when it next runs
        if not core.listeners:
            break
        await turn(core, "one", user="Still there?", assistant="No.")
    assert core.listeners == []


@pytest.mark.parametrize(
    ("name", "params", "sentence"),
    [
        ("chunks", {"id": "doc_1", "start": 2**63 - 1}, "start = 9223372036854775807: must be at most"),
        ("add", {"content": "The wren sings.", "scope": "*"}, "scope = '*': must be 1 to 100 letters"),
        ("forget", {"ids": [""]}, "ids[0] = '': is empty"),
        ("purge", {"ids": ["\0"]}, "ids[0] = '\\x00': contains a NUL character"),
    ],
)
async def test_a_call_with_an_invalid_value_is_refused_and_names_the_field(
    browser: Browser, name: str, params: dict[str, Any], sentence: str
):
    refused = await browser.post(name, **params)
    assert (refused.status_code, refused.json()["error"][: len(sentence)]) == (400, sentence)


async def test_every_call_works_in_an_empty_home_or_says_what_it_needs(browser: Browser):
    for name in CALLS:
        answer = await browser.post(name)
        assert answer.status_code in (200, 400), (name, answer.text)
        if answer.status_code == 400:
            assert answer.json()["error"].endswith("."), name


async def test_the_list_of_sessions_does_not_wait_for_a_busy_store(engine: Engine, browser: Browser):
    core = await engine.core()
    await turn(core, "one", user="Is anybody there?", assistant="Yes.")
    assert (await browser.call("sessions"))["behind"] is None
    async with core.store.lock:  # as while it is compacted
        await turn(core, "two", user="And now?", assistant="Wait.")
        shown = await browser.call("sessions")
        assert [each["session_id"] for each in shown["results"]] == ["one"] and "busy" in shown["behind"]
    shown = await browser.call("sessions")
    assert {each["session_id"] for each in shown["results"]} == {"one", "two"} and shown["behind"] is None


def test_an_engine_loads_the_page_only_when_it_is_opened():
    code = (
        "import sys, scrubjay.cli.serve, scrubjay.engine.core, scrubjay.engine.control, scrubjay.mcp_server.face\n"
        "parts = 'scrubjay.page', 'scrubjay.http_api', 'scrubjay.cli.doctor', 'starlette', 'uvicorn', 'fastapi'\n"
        "loaded = lambda: [part for part in parts if part in sys.modules]\n"
        "print(loaded()); import scrubjay.page.serving; print('fastapi' in loaded())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["[]", "False", ""]
