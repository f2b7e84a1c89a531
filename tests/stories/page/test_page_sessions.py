"""Sessions and turns on the page, in Chromium."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest
from page_story import MINE, TOLD, Story, go, in_chromium
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect
from said import turn

from scrubjay.home import given

pytestmark = in_chromium


def test_today_shows_sessions_by_day_and_new_turns_as_they_come(story: Story, tab: Tab):
    expect(tab.get_by_role("heading", name="Today", level=2)).to_be_visible()
    expect(tab.get_by_role("heading", name="sparrow").first).to_be_visible()
    told = tab.locator(".session", has_text=TOLD[0][0])
    expect(told).to_contain_text("We decided that the whimbrel listens on port 8421")
    expect(told).to_contain_text("Left open: The test of the port is not written yet.")
    silent = tab.get_by_role("listitem").filter(has_text="Cursor")
    expect(silent).to_contain_text("nothing received yet")
    expect(silent).to_contain_text("Cursor waits to be trusted.")
    story.does(
        lambda core: turn(
            core, "right now", scope=MINE, user="Is the dipper awake?", assistant="The dipper sings."
        )
    )
    expect(tab.get_by_text("Is the dipper awake?").first).to_be_visible()
    assert tab.locator(".session").first.inner_text().count("dipper")
    chart = tab.get_by_role("slider", name="Turns per day")
    chart.focus()
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("button", name=re.compile("Day: Yesterday"))).to_be_visible()
    expect(tab.get_by_text("Is the dipper awake?")).to_have_count(0)


def test_the_name_of_a_month_that_has_just_begun_fits_the_chart(tab: Tab):
    tab.clock.set_fixed_time("2026-12-01T12:00:00")
    tab.reload()
    name, chart = tab.get_by_text("Dec", exact=True), tab.get_by_role("slider", name="Turns per day")
    expect(name).to_be_visible()
    text, picture = name.bounding_box(), chart.bounding_box()
    assert text is not None and picture is not None
    assert text["x"] + text["width"] <= picture["x"] + picture["width"] + 1


def test_a_day_is_counted_once_all_of_its_sessions_are_shown(story: Story, tab: Tab):
    scope = "dir_marsh__0123456789abcdef"

    async def fill(core: Any) -> None:
        for number in range(41):
            await turn(
                core,
                f"marsh {number}",
                scope=scope,
                user=f"Which heron is number {number}?",
                assistant="Ada.",
            )

    story.does(fill)
    go(tab, f"#/today?in={scope}")
    heading = tab.get_by_role("heading", name="Today", level=2)
    expect(heading).to_have_text("Today")
    tab.get_by_role("button", name="Show more of 41 sessions").click()
    expect(heading).to_have_text("Today41 turns")


def test_a_project_is_listed_as_soon_as_it_has_a_record(story: Story, tab: Tab):
    listed = tab.locator(".projects a")
    expect(listed.filter(has_text="sparrow")).to_be_visible()
    expect(tab.get_by_text("Live", exact=True)).to_be_visible()
    story.adds("The pipit sings.", scope="dir_meadow__0123456789abcdef")
    expect(listed.filter(has_text="meadow")).to_have_text("meadow1")


def test_waiting_work_has_a_bar_and_is_looked_at_again_until_it_is_done(tab: Tab):
    waiting = [5]

    def answer(route: Any) -> None:
        real = route.fetch()
        status = real.json()
        status["records"]["waiting_for_vector"] = waiting[0]
        route.fulfill(response=real, json=status)

    tab.clock.install()
    tab.route("**/call/status", answer)
    tab.reload()
    bar = tab.get_by_role("progressbar", name="Passages with a vector")
    expect(bar).to_be_visible()
    waiting[0] = 0
    tab.clock.fast_forward(10_000)
    expect(bar).to_be_hidden()


def test_a_session_is_read_turn_by_turn_and_a_turn_has_an_address(tab: Tab):
    go(tab, f"#/session/{MINE}/session-1/7")
    here = tab.locator("[data-here]")
    expect(here).to_contain_text("What about part 7 of the robin in session 1?")
    expect(here).to_be_in_viewport()
    expect(here.locator("pre code")).to_have_text("port = 8001")
    expect(here.locator(".touched")).to_contain_text("src/robin.py")
    expect(here.locator(".touched")).to_contain_text("pytest robin")
    here.get_by_label("Menu of turn 7").click()
    here.get_by_role("button", name="Forget").click()
    expect(tab.locator(".turn.gone")).to_have_count(1)
    tab.get_by_role("button", name="Undo").click()
    expect(tab.locator(".turn.gone")).to_have_count(0)


def test_a_session_is_summed_up_in_points_and_copied_as_markdown(story: Story, tab: Tab):
    given.note(story.engine.home, 1_000.0, "opening", MINE, 214, "told", sessions=2, facts=9)
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    go(tab, f"#/session/{MINE}/told")
    summary = tab.get_by_role("region", name="Summary")
    expect(summary.get_by_role("listitem").first).to_contain_text("We decided that the whimbrel listens")
    expect(tab.locator(".aside")).to_contain_text("src/whimbrel.py #0 #1")
    expect(tab.locator(".aside")).to_contain_text("214 tokens")
    tab.get_by_role("button", name="Copy as Markdown").first.click()
    expect(tab.get_by_text("Copied.")).to_be_visible()
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("# ") and "- Left open: The test of the port is not written yet." in copied
    assert f"**You:** {TOLD[1][0]}\n\n**Assistant:** {TOLD[1][1]}" in copied
    summary.get_by_role("link", name="Turn 1").first.click()
    expect(tab.locator("[data-here]")).to_contain_text(TOLD[1][0])


def test_a_line_of_a_megabyte_is_shown_without_a_pause(tab: Tab):
    go(tab, f"#/session/{MINE}/{quote('hostile wide')}")
    more = tab.get_by_role("button", name=re.compile("Show all 1,000,000 characters"))
    more.click()
    expect(more).to_have_count(0)
    assert len(tab.locator(".answered .prose").text_content() or "") >= 1_000_000
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("again", [False, True], ids=["by a link", "loaded again"])
def test_the_sessions_of_the_first_view_are_asked_for_once_and_before_its_modules_run(
    story: Story, plain_tab: Tab, again: bool
):
    plain_tab.goto(story.link())
    expect(plain_tab.locator(".session").first).to_be_visible()
    if again:
        plain_tab.reload()
        expect(plain_tab.locator(".session").first).to_be_visible()
    names = "performance.getEntriesByType('resource').map((each) => each.name.split('/').at(-1))"
    asked = [name for name in plain_tab.evaluate(names) if name in ("sessions", "enter", "status")]
    assert asked[0] == ("sessions" if again else "enter")
    assert asked.count("sessions") == int(again)


def test_the_first_view_is_light(story: Story, plain_tab: Tab):
    sizes: list[int] = []
    plain_tab.on(
        "response", lambda answer: sizes.append(len(answer.body())) if "news" not in answer.url else None
    )
    plain_tab.goto(story.link())
    expect(plain_tab.locator(".session").first).to_be_visible()
    assert sum(sizes) <= 150_000
