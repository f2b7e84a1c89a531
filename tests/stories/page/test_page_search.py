"""The search of the page, in Chromium."""

from __future__ import annotations

import json
import re
from pathlib import Path

from git_made import Repository
from page_story import MINE, Story, go, in_chromium
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect
from said import document

from scrubjay.home.scopes import scope_of

pytestmark = in_chromium


def test_search_lists_documents_apart_and_says_if_code_has_changed(story: Story, tab: Tab, tmp_path: Path):
    made = Repository(tmp_path / "project")
    made.commit({"a.py": "def retry(n):\n    return n * 2\n"})
    scope = scope_of(story.engine.home, str(made.folder))
    assert scope is not None
    story.adds("`retry` doubles the waiting time of the gateway.", scope=scope)
    story.does(
        lambda core: document(core, "# Gateway\n\nIts waiting time doubles.", scope=scope, title="Gateway")
    )
    story.does(lambda core: core.writer.settle())
    story.does(lambda core: core.anchoring.work())
    made.commit({"a.py": "def retry(n):\n    return n * 3\n"})
    go(tab, f"#/search?q=waiting%20time%20of%20the%20gateway&in={scope}")
    memories, documents = tab.locator(".hits").first, tab.locator(".hits.aside")
    expect(memories.locator(".hit").first).to_contain_text("changed since")
    expect(documents.locator(".hit").first).to_contain_text("Its waiting time doubles.")
    expect(memories.locator(".tag.of-chunk")).to_have_count(0)


def test_a_key_is_searched_for_at_once_and_the_last_of_several_fast_ones_too(tab: Tab):
    go(tab, "#/search")
    box = tab.get_by_role("searchbox", name="Search")
    with tab.expect_request("**/call/search") as first:
        box.press("h")
    assert json.loads(first.value.post_data or "")["query"] == "h"
    box.press_sequentially("eron nests", delay=0)
    expect(tab.locator(".hit mark").first).to_have_text("heron")
    expect(tab).to_have_url(re.compile("q=heron[+]nests"))


def test_search_answers_while_typing_and_says_why(tab: Tab):
    tab.keyboard.press("/")
    box = tab.get_by_role("searchbox", name="Search")
    expect(box).to_be_focused()
    box.press_sequentially("the heron nests in hedge 4", delay=20)
    hit = tab.locator(".hit", has_text="The heron nests in hedge 4.")
    expect(hit.locator("mark").first).to_have_text("heron")
    expect(hit.get_by_role("img", name=re.compile("Why: .*words"))).to_be_visible()
    expect(tab.get_by_text(re.compile(r"a model would see [\d,]+ tokens"))).to_be_visible()
    tab.get_by_text("As a model sees it").click()
    expect(tab.get_by_label("What a model sees")).to_contain_text("<recalled-data>")
    tab.get_by_text("As a model sees it").click()
    for kind in ("Facts", "Documents"):
        tab.get_by_role("button", name=kind, exact=True).click()
    expect(tab.locator('.results[aria-busy="false"] .hit').first).to_be_visible()
    expect(tab.locator(".hit .tag.of-memory, .hit .tag.of-chunk")).to_have_count(0)
    box.focus()
    tab.keyboard.press("Enter")
    tab.keyboard.press("Enter")
    expect(tab.locator("[data-here]")).to_be_visible()


def test_going_back_to_a_list_returns_to_the_row_that_was_opened(tab: Tab):
    tab.get_by_role("button", name="Show more of").click()
    expect(tab.locator(".session").nth(60)).to_be_attached()
    row = tab.locator(".session").nth(60)
    href = row.get_attribute("href")
    row.click()
    expect(tab.locator("article.turn").first).to_be_visible()
    assert tab.title() == f"{tab.get_by_role('heading', level=1).inner_text()} · Scrubjay"
    tab.go_back()
    expect(tab.locator(f'.session[href="{href}"]')).to_be_focused()
    expect(tab.locator(f'.session[href="{href}"]')).to_be_in_viewport()
    tab.get_by_role("navigation").get_by_role("link", name="Facts").click()
    tab.get_by_role("navigation").get_by_role("link", name="Today").click()
    expect(tab.get_by_role("heading", name="Today", level=1)).to_be_in_viewport()


def test_a_hit_opens_in_the_chosen_project(tab: Tab):
    for kind in ("memory", "turn", "chunk"):
        go(tab, f"#/search?q=whimbrel&kinds={kind}&in={MINE}")
        tab.locator(f".hit:has(.of-{kind})").first.click()
        expect(tab.locator(".searchbar")).to_have_count(0)
        expect(tab.get_by_label("Project", exact=True)).to_have_value(MINE)
        assert f"in={MINE}" in tab.url


def test_a_slash_in_the_search_keeps_the_words_and_selects_them(tab: Tab):
    go(tab, "#/search?q=heron")
    tab.locator(".hit").first.focus()
    tab.keyboard.press("/")
    box = tab.get_by_role("searchbox", name="Search")
    expect(box).to_be_focused()
    expect(box).to_have_value("heron")
    tab.keyboard.type("wren")
    expect(box).to_have_value("wren")


def test_a_refused_search_does_not_keep_the_hits_of_the_last_one(story: Story, plain_tab: Tab):
    tab = plain_tab
    tab.goto(story.link())
    go(tab, "#/search?q=heron")
    expect(tab.locator(".hit").first).to_be_visible()
    tag = tab.get_by_placeholder("#tag")
    tag.fill("two words!")
    tag.press("Enter")
    expect(tab.get_by_text("tags[0] = 'two words!'")).to_be_visible()
    expect(tab.locator(".hit")).to_have_count(0)
    expect(tab.locator(".results")).to_have_attribute("aria-busy", "false")
