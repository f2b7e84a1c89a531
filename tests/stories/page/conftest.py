"""An engine and a browser for each file, and a tab for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from page_story import CHROMIUM, Story
from playwright.sync_api import Browser, expect, sync_playwright
from playwright.sync_api import Page as Tab

PATIENCE = 20_000  # ms


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    with Story(tmp_path_factory.mktemp("s")) as shared:
        yield shared


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as run:
        expect.set_options(timeout=PATIENCE)
        browser = run.chromium.launch(executable_path=CHROMIUM, args=["--headless", "--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def tab(story: Story, chromium: Browser) -> Iterator[Tab]:
    """A tab with the page; any error that it logs fails the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    trouble: list[str] = []
    opened.on(
        "console", lambda said: trouble.append(said.text) if said.type in ("error", "warning") else None
    )
    opened.on("pageerror", lambda error: trouble.append(str(error)))
    opened.on(
        "request",
        lambda asked: (
            trouble.append(asked.url) if not asked.url.startswith((story.origin, "blob:")) else None
        ),
    )
    opened.goto(story.link())
    expect(opened.locator(".session").first).to_be_visible()
    yield opened
    assert opened.evaluate("window.struck") is None
    context.close()
    assert trouble == []


@pytest.fixture
def plain_tab(chromium: Browser) -> Iterator[Tab]:
    """An empty tab of a browser without a cookie."""
    context = chromium.new_context()
    yield context.new_page()
    context.close()
