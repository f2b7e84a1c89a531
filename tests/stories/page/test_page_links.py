"""Links that open the page, in Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from page_story import Story, in_chromium
from playwright.sync_api import Browser, expect
from playwright.sync_api import Page as Tab
from user import make_user

pytestmark = in_chromium


def test_scrubjay_open_prints_a_link_that_works_once(chromium: Browser, tmp_path: Path):
    user = make_user(tmp_path)
    user.gets("add", "The whimbrel was here first.")
    link = user.gets("open", "--print").strip()
    first, second = chromium.new_context(), chromium.new_context()
    try:
        page = first.new_page()
        page.goto(link)
        expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()
        first.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("button", name="Copy scrubjay setup").click()
        assert page.evaluate("navigator.clipboard.readText()") == "scrubjay setup"
        assert "#key" not in page.url
        page.reload()  # its cookie opens it again
        page.keyboard.press("g")
        page.keyboard.press("f")
        expect(page.get_by_text("The whimbrel was here first.")).to_be_visible()
        (cookie,) = first.cookies()
        assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"
        stranger = second.new_page()
        stranger.goto(link)
        expect(stranger.get_by_text("This link was already used")).to_be_visible()
        stranger.goto(link.partition("#")[0])
        expect(stranger.get_by_text("has not opened a link")).to_be_visible()
        user.gets("stop")
        expect(page.get_by_text("The engine has ended", exact=True)).to_be_visible()
    finally:
        first.close()
        second.close()
        user.types("stop")


def test_a_view_that_is_chosen_before_the_link_is_exchanged_waits_for_the_cookie(
    story: Story, plain_tab: Tab
):
    tab = plain_tab
    exchanges: list[Any] = []
    tab.route("**/enter", lambda route: exchanges.append(route))  # as while the engine loads
    tab.goto(story.link())
    tab.get_by_role("navigation").get_by_role("link", name="Facts").click()
    expect(tab.get_by_text("Not open")).to_have_count(0)
    exchanges[0].continue_()
    expect(tab.locator(".fact").first).to_be_visible()


def test_a_new_link_works_in_a_tab_that_was_not_admitted(story: Story, plain_tab: Tab):
    tab = plain_tab
    tab.goto(story.link().partition("#")[0])
    expect(tab.get_by_text("has not opened a link")).to_be_visible()
    tab.goto(story.link())  # only its fragment differs, so the browser does not load the page again
    expect(tab.locator(".session").first).to_be_visible()
    assert "#key" not in tab.url


def test_a_view_that_is_first_opened_after_the_end_of_the_engine_says_how_to_start_it(
    plain_tab: Tab, tmp_path: Path
):
    user, tab = make_user(tmp_path), plain_tab
    user.gets("add", "The whimbrel was here first.")
    try:
        tab.goto(user.gets("open", "--print").strip())
        expect(tab.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()
    finally:
        user.types("stop")
    expect(tab.get_by_text("The engine has ended", exact=True)).to_be_visible()
    tab.get_by_role("navigation").get_by_role("link", name="Facts").click()
    expect(tab.get_by_role("main")).to_contain_text("Run `scrubjay open` in a terminal")
