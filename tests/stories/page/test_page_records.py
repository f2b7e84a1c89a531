"""Facts and documents on the page, in Chromium: added, changed, forgotten, restored."""

from __future__ import annotations

import re
from pathlib import Path

from page_story import BIRDS, MINE, Story, go, in_chromium
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect
from said import document, facts, silent

from scrubjay.models.kept import KeptMemoryFiles
from scrubjay.models.requests import Forget

pytestmark = in_chromium


def test_code_in_a_fact_is_shown_as_code_and_a_summary_does_not_repeat_its_title(story: Story, tab: Tab):
    scope = "dir_fen__0123456789abcdef"
    story.adds("`bittern boom` starts it.", scope=scope)
    lines = "\n\n".join(f"The {bird} of the fen is counted in month {at}." for at, bird in enumerate(BIRDS))
    paper = story.does(lambda core: document(core, f"# Fen\n\n{lines}\n", scope=scope, title="Fen"))
    go(tab, f"#/facts?in={scope}")
    expect(tab.locator(".fact code")).to_have_text("bittern boom")
    go(tab, f"#/document/{paper.id}")
    summary = tab.locator(".card", has=tab.get_by_role("heading", name="Summary"))
    expect(summary.locator(".prose")).to_contain_text("of the fen")
    expect(summary.locator(".prose")).not_to_contain_text(re.compile("^Fen"))


def test_a_list_of_facts_shows_what_follows_their_first_line(story: Story, tab: Tab):
    scope = "dir_moor__0123456789abcdef"
    story.adds("Birds of the moor\nThe curlew calls\nat dawn.", scope=scope)
    go(tab, f"#/facts?in={scope}")
    expect(tab.locator(".fact a")).to_have_text("Birds of the moor The curlew calls at dawn.")
    story.adds("Count them so:\n\n```\nbirds count\n```", scope=scope)
    expect(tab.locator(".fact code")).to_have_text(" birds count ")
    expect(tab.locator(".fact a").first).to_have_text("Count them so: birds count")


def test_new_facts_are_kept_edited_and_forgotten_by_keyboard(story: Story, tab: Tab):
    scope = "dir_new__0123456789abcdef"
    older = story.adds("The siskin feeds on pine.", scope=scope, tags=["distilled"])
    for text in ("The siskin left.", "The siskin nests in May.", "The siskin sings at 5."):
        story.adds(text, scope=scope)
    story.adds("The siskin feeds on alder.", scope=scope, tags=["distilled"], updates=[older.id])
    go(tab, f"#/facts?in={scope}")
    tab.get_by_role("link", name="Look through 4 new ones").click()
    card = tab.get_by_label("A new fact")
    expect(card).to_contain_text("The siskin feeds on alder.")
    tab.keyboard.press("f")  # takes a distilled fact back: what it replaced is current again
    expect(tab.get_by_text("1 distilled fact taken back.")).to_be_visible()
    expect(card).to_contain_text("The siskin sings at 5.")
    tab.keyboard.press("k")
    expect(card).to_contain_text("The siskin nests in May.")
    tab.keyboard.press("e")
    tab.get_by_label("The current value").fill("The siskin nests in June.")
    tab.get_by_role("button", name="Save and keep").click()
    expect(card).to_contain_text("The siskin left.")
    tab.keyboard.press("f")
    expect(tab.get_by_role("heading", name="All looked through")).to_be_visible()
    tab.get_by_role("link", name="All facts").click()
    rows = tab.locator(".item.fact")
    expect(rows).to_have_count(3)
    for text in ("feeds on pine", "sings at 5", "nests in June"):
        expect(rows.filter(has_text=text)).to_have_count(1)


def test_facts_that_do_not_agree_are_shown_together_and_one_is_forgotten_by_keyboard(story: Story, tab: Tab):
    scope = "dir_apart__0123456789abcdef"
    for text in ("The teal nests by the lake.", "The teal does not nest by the lake."):
        story.adds(text, scope=scope)
    go(tab, f"#/facts?in={scope}")
    tab.get_by_label("Which").select_option("contradicting")
    expect(tab.locator(".pair .item.fact")).to_have_count(2)
    tab.get_by_role("link", name="Look through these 2").click()
    card = tab.get_by_label("A fact", exact=True)
    expect(card).to_contain_text("The teal does not nest by the lake.")
    expect(card).to_contain_text("It may contradict")
    tab.keyboard.press("f")
    expect(tab.get_by_role("heading", name="No contradictions")).to_be_visible()


def test_facts_are_found_and_narrowed_and_say_what_became_of_them(story: Story, tab: Tab):
    scope, files = "dir_found__0123456789abcdef", {"source": "Codex memory", "path": "/memory.md"}

    def memory(*notes: str) -> KeptMemoryFiles:
        entries = [{"content": note, "scope": scope} for note in notes]
        return KeptMemoryFiles.model_validate({"machine": "m", "memories": [{**files, "entries": entries}]})

    story.does(lambda core: core.past.memories(memory("The knot winters here.", "The ruff left.")))
    story.does(lambda core: core.past.memories(memory("The knot winters here.")))
    for port in (5433, 6000):
        story.adds(f"The staging database of the knot listens on port {port}.", scope=scope, tags=["ports"])
    go(tab, f"#/facts?in={scope}")
    row = tab.locator(".item.fact")
    expect(row.filter(has_text="winters")).to_contain_text("from Codex memory")
    expect(row.filter(has_text="5433")).to_contain_text("older")
    tab.get_by_label("Which").select_option("forgotten")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("deleted by its host")
    tab.get_by_label("Which").select_option("")
    tab.get_by_label("From", exact=True).select_option("Codex memory")
    expect(row).to_have_count(1)
    tab.get_by_label("From", exact=True).select_option("")
    tab.get_by_label("Find in facts").fill("PORT 6000")
    expect(row.filter(has_text="winters")).to_have_count(0)
    tab.reload()
    expect(row).to_have_text(re.compile("port 6000"))


def test_facts_are_added_changed_forgotten_and_restored(tab: Tab):
    go(tab, f"#/facts?in={MINE}")
    tab.get_by_text("Add a fact").click()
    tab.get_by_label("One fact, understandable on its own").fill("The siskin feeds on alder.")
    tab.get_by_role("button", name="Save", exact=True).click()
    tab.get_by_role("link", name="The siskin feeds on alder.").click()
    tab.get_by_text("Change it").click()
    tab.get_by_label("The current value").fill("The siskin feeds on birch.")
    tab.get_by_role("button", name="Save as a new version").click()
    expect(tab.get_by_role("heading", name="Versions")).to_be_visible()
    expect(tab.get_by_text("The siskin feeds on alder.")).to_be_visible()
    tab.get_by_role("button", name="Forget …").click()
    tab.get_by_label("Reason").fill("It flew away.")
    tab.get_by_role("button", name="Forget", exact=True).click()
    expect(tab.get_by_text(re.compile("Forgotten on .*: It flew away."))).to_be_visible()
    tab.get_by_role("button", name="Restore").click()
    tab.get_by_role("button", name="Delete permanently …").click()
    dialog = tab.get_by_role("dialog")
    expect(dialog).to_contain_text("2 records will be deleted")
    dialog.get_by_role("button", name="Cancel").click()
    expect(tab.get_by_role("heading", name="A fact")).to_be_visible()
    tab.get_by_role("button", name="Delete permanently …").click()
    dialog.get_by_role("button", name="Delete permanently").click()
    expect(tab.get_by_role("heading", name="Facts")).to_be_visible()
    expect(tab.get_by_text("siskin feeds")).to_have_count(0)


def test_several_facts_are_forgotten_at_once_and_restored(tab: Tab):
    go(tab, f"#/facts?in={MINE}")
    for bird in ("wren", "robin"):
        tab.get_by_label(f"Choose: The {bird} nests").check()
    tab.get_by_role("button", name="Forget …").click()
    tab.get_by_role("button", name="Forget", exact=True).click()
    expect(tab.get_by_role("link", name="The wren nests")).to_have_count(0)
    tab.get_by_role("button", name="Undo").click()
    expect(tab.get_by_role("link", name="The wren nests")).to_be_visible()


def test_facts_deleted_in_another_tab_are_skipped_and_the_notice_counts_the_rest(story: Story, tab: Tab):
    scope = "dir_gone__0123456789abcdef"
    texts = [f"The {bird} left." for bird in BIRDS[:3]]
    first, *_ = story.does(lambda core: facts(core, texts, scope=scope))
    go(tab, f"#/facts?in={scope}")
    for text in texts:
        tab.get_by_label(f"Choose: {text}").check()
    tab.get_by_role("button", name="Forget …").click()
    tab.evaluate("id => import('./engine.js').then(({ call }) => call('purge', { ids: [id] }))", first.id)
    tab.get_by_role("button", name="Forget", exact=True).click()
    expect(tab.get_by_text("2 facts forgotten.")).to_be_visible()
    tab.get_by_role("button", name="Undo").click()
    expect(tab.get_by_text("2 facts restored.")).to_be_visible()
    expect(tab.locator(".item.fact")).to_have_count(2)


def test_restoring_a_replaced_fact_does_not_claim_that_searches_find_it(story: Story, tab: Tab):
    old = story.adds("The shrike hunts here.", scope=MINE)
    go(tab, f"#/facts/{old.id}")
    tab.get_by_role("button", name="Forget …").click()
    story.adds("The shrike left.", scope=MINE, updates=[old.id])
    tab.get_by_role("button", name="Forget", exact=True).click()
    tab.get_by_role("button", name="Undo").click()
    why = "1 fact restored, but searches leave it out: a newer version has replaced it."
    expect(tab.get_by_text(why)).to_be_visible()


def test_an_open_fact_follows_changes_by_others_except_during_editing(story: Story, tab: Tab):
    first = story.adds("The ouzel sings at 5.", scope=MINE)
    go(tab, f"#/facts/{first.id}")
    said = tab.locator(".card.big .prose")
    expect(said).to_have_text("The ouzel sings at 5.")
    second = story.adds("The ouzel sings at 6.", scope=MINE, updates=[first.id])
    expect(said).to_have_text("The ouzel sings at 6.")
    tab.get_by_text("Change it").click()
    words = tab.get_by_label("The current value")
    words.fill("The ouzel sings at")
    # the list of facts in another tab shows that the update arrived
    other = tab.context.new_page()
    other.goto(f"{tab.url.partition('#')[0]}#/facts?in={MINE}")
    expect(other.get_by_text("Live", exact=True)).to_be_visible()
    third = story.adds("The ouzel sings at 7.", scope=MINE, updates=[second.id])
    expect(other.get_by_text("The ouzel sings at 7.")).to_be_visible()
    expect(words).to_have_value("The ouzel sings at")
    expect(said).to_have_text("The ouzel sings at 6.")
    tab.get_by_text("Change it").click()
    expect(said).to_have_text("The ouzel sings at 7.")
    go(other, f"#/facts/{third.id}")
    expect(other.locator(".card.big .prose")).to_have_text("The ouzel sings at 7.")
    go(tab, "#/facts")
    story.does(lambda core: core.removal.forget(Forget(id=third.id, purge=True), MINE, "test"))
    expect(other.get_by_role("heading", name="It no longer exists")).to_be_visible()


def test_a_dropped_file_becomes_a_document(tab: Tab, tmp_path: Path):
    go(tab, f"#/documents?in={MINE}")
    note = tmp_path / "siskins.md"
    note.write_text("# Siskins\n\nThe siskin feeds on alder.\n")
    tab.get_by_label("Files to add").set_input_files(str(note))
    row = tab.get_by_role("link", name="Siskins")
    expect(row).to_be_visible()
    row.click()
    expect(tab.get_by_label("Its text")).to_contain_text("The siskin feeds on alder.")


def test_markdown_is_shown_as_such_and_an_unreadable_file_with_its_reason(
    story: Story, tab: Tab, tmp_path: Path
):
    folder = tmp_path / "aviary" / "docs"
    folder.mkdir(parents=True)
    (folder / "guide.md").write_text(
        "# Guide\n\nRead **this** at [home](https://example.org).\n\n- [x] done\n  1. deeper\n\n"
        "| name | port |\n|---|---|\n| `api` | 80 |\n| `a\\|b` | 81 |\n\n> <b>quoted</b>\n"
    )
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    scope = "dir_aviary__0123456789abcdef"
    story.does(lambda core: core.ingest.run([str(folder)], scope=scope, source="test", report=silent))
    go(tab, f"#/documents?in={scope}")
    expect(tab.get_by_role("heading", name=re.compile("^docs"))).to_be_visible()
    expect(tab.locator(".item.document", has_text="aviary / docs/broken.pdf")).to_contain_text("is not a PDF")
    tab.get_by_role("link", name="Guide").click()
    text = tab.get_by_label("Its text")
    expect(text.locator("h3")).to_have_text("Guide")
    expect(text.locator("strong")).to_have_text("this")
    expect(text.locator("ul > li ol > li")).to_have_text("deeper")
    expect(text.locator("tbody td code")).to_have_text(["api", "a|b"])
    expect(text.locator("tbody td")).to_have_text(["api", "80", "a|b", "81"])
    expect(text.locator("blockquote")).to_have_text("<b>quoted</b>")
    expect(text.locator("a, b")).to_have_count(0)
    tab.get_by_text("As written").click()
    expect(tab.get_by_label("Its text")).to_contain_text("**this**")
