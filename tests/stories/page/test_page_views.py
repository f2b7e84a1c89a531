"""What all views of the page share, and its settings, in Chromium."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from page_story import BIRDS, HOSTILE, MINE, TURNS, VIEWS, Story, go, in_chromium
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect
from said import document, facts, turn

from scrubjay.home.settings import change
from scrubjay.text.foreign import visible

pytestmark = in_chromium


@pytest.mark.parametrize("view", ["today", "facts", "documents", "search", "session", "fact", "document"])
def test_stored_text_is_shown_as_plain_text_everywhere(story: Story, tab: Tab, view: str):
    facts = story.does(lambda core: core.lists.memories([MINE], start=0, size=100)).rows
    documents = story.does(lambda core: core.lists.documents([MINE], start=0, size=100)).rows
    for number, text in enumerate(HOSTILE):
        one = next((each.id for each in facts if each.content.startswith(f"hostile {number} ")), None)
        paper = next((each.id for each in documents if each.custom_id == f"h{number}"), None)
        address = {
            "search": f"#/search?q=hostile%20{number}&more=1",
            "session": f"#/session/{MINE}/{quote(f'hostile {text[:20]}', safe='')}",
            "fact": f"#/facts/{one}",
            "document": f"#/document/{paper}",
        }.get(view, f"#/{view}?in={MINE}")
        go(tab, address)
        expect(tab.locator("main h1")).to_have_count(1)
        if view in ("fact", "document", "session"):
            first = visible(text).split("\n")[0][:24]
            expect(tab.locator("main").get_by_text(first).first).to_be_attached()
        if view in ("today", "facts", "documents"):
            break  # they show all of it at once
    assert tab.evaluate("window.struck") is None
    assert tab.locator("main img, main script, main style").count() == 0
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\x1b]", tab.locator("body").inner_text())


def test_names_without_spaces_fit_a_narrow_window(story: Story, tab: Tab):
    scope, session = f"dir_{'w' * 78}__0123456789abcdef", "s" * 190

    async def written(core: Any) -> tuple[str, str]:
        added = await facts(core, [f"{bird} {'v' * 200}" for bird in BIRDS[:3]], scope=scope, tags=["t" * 90])
        paper = await document(core, "# Wide\n\nThe wren.", scope=scope, title="w" * 200)
        await turn(core, session, scope=scope, user="u" * 200, assistant="a" * 200, files=["f" * 150])
        await core.await_vectors([each.id for each in added], 20.0)
        return added[0].id, paper.id

    one, paper = story.does(written)
    tab.set_viewport_size({"width": 320, "height": 800})
    views = [f"{view}?in={scope}" for view in (*VIEWS, f"facts/{one}", f"document/{paper}")]
    for view in [*views, f"session/{scope}/{session}", f"search?q=wren&more=1&in={scope}", "today"]:
        tab.evaluate("document.querySelector('.view').id = 'before'")
        go(tab, f"#/{view}")
        expect(tab.locator("#before")).to_have_count(0)
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), view


@pytest.mark.parametrize("width", [1280, 420])
def test_every_view_fits_its_window_and_names_its_controls(tab: Tab, width: int):
    tab.set_viewport_size({"width": width, "height": 800})
    for view in VIEWS:
        go(tab, f"#/{view}")
        expect(tab.locator("main h1")).to_have_count(1)
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
        nameless = """() => [...document.querySelectorAll("button, input, select, textarea, a, [role]")].filter((each) => {
          const named = each.getAttribute("aria-label") || each.textContent.trim() || each.labels?.length;
          return !named && !each.closest("[aria-hidden]") && each.getAttribute("role") !== "status";
        }).map((each) => each.outerHTML.slice(0, 200))"""
        assert tab.evaluate(nameless) == [], view


def test_the_page_can_be_used_by_keyboard_alone(tab: Tab):
    tab.keyboard.press("?")
    expect(tab.get_by_role("dialog", name="Keys")).to_be_visible()
    tab.keyboard.press("Escape")
    tab.keyboard.press("j")
    tab.keyboard.press("j")
    tab.keyboard.press("k")
    expect(tab.locator(".session").first).to_be_focused()
    tab.keyboard.press("Enter")
    expect(tab.locator("article.turn").first).to_be_visible()
    tab.keyboard.press("Escape")
    expect(tab.locator(".session").first).to_be_visible()
    for key, view in (("f", "Facts"), ("d", "Documents"), ("e", "Settings"), ("t", "Today")):
        tab.keyboard.press("g")
        tab.keyboard.press(key)
        expect(tab.get_by_role("heading", level=1)).to_have_text(view)


def test_light_and_dark_follow_the_system_and_the_switch(tab: Tab):
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    tab.emulate_media(color_scheme="light")
    light = tab.evaluate(ground)
    tab.emulate_media(color_scheme="dark")
    dark = tab.evaluate(ground)
    assert light != dark
    tab.get_by_label("Light or dark").select_option("light")
    assert tab.evaluate(ground) == light
    tab.reload()
    expect(tab.locator(".session").first).to_be_visible()
    assert tab.evaluate(ground) == light


@pytest.mark.parametrize("address", ["#/%", "#/%E0%A4%A", "#/nothing", "#/constructor"])
def test_an_unknown_address_opens_today(tab: Tab, address: str):
    go(tab, "#/facts")
    expect(tab.get_by_role("heading", level=1)).to_have_text("Facts")
    go(tab, address)
    expect(tab.get_by_role("heading", level=1)).to_have_text("Today")
    tab.reload()
    expect(tab.get_by_role("heading", level=1)).to_have_text("Today")


def test_settings_take_effect_and_can_be_reverted(story: Story, tab: Tab):
    go(tab, "#/settings")
    tab.get_by_label("Pause recording").check()
    expect(tab.get_by_text("paused = true.")).to_be_visible()
    assert story.engine.settings.paused
    tab.get_by_role("button", name="Undo").click()
    expect(tab.get_by_label("Pause recording")).not_to_be_checked()
    assert not story.engine.settings.paused
    with tab.expect_download() as download:
        tab.get_by_role("link", name="Export everything").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert json.loads(lines[0])["counts"]["turns"] >= TURNS


def test_the_settings_view_follows_changes_by_others_except_during_typing(story: Story, tab: Tab):
    go(tab, "#/settings")
    expect(tab.get_by_text("Live", exact=True)).to_be_visible()

    async def sets(key: str, value: str) -> None:  # as the command `scrubjay config` does
        change(story.engine.home.config, key, value)
        story.engine.reload()

    length, paused = tab.get_by_label("Leave out prompts"), tab.get_by_label("Pause recording")
    length.press("End")
    length.press("2")
    story.does(lambda _: sets("min_length", "7"))
    story.does(lambda _: sets("paused", "true"))
    expect(paused).to_be_checked()
    expect(length).to_have_value("102")
    length.press("Backspace")
    length.blur()  # with nothing changed
    expect(length).to_have_value("7")
    story.does(lambda _: sets("paused", "false"))
    expect(paused).not_to_be_checked()


def test_a_printed_session_has_no_navigation_and_wraps_its_code(tab: Tab):
    go(tab, f"#/session/{MINE}/session-1")
    expect(tab.locator(".turn").first).to_be_visible()
    tab.emulate_media(media="print")
    expect(tab.get_by_role("navigation")).to_be_hidden()
    expect(tab.locator(".turn pre").first).to_have_css("white-space", "pre-wrap")
