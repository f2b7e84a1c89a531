"""The memories of hosts as they are read: which notes, of which project, and nothing else."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import memories_made as made
import pytest

from scrubjay.histories.memory_files import MAX_FILE, is_gone, kept_file, memory_files, memory_places
from scrubjay.histories.notes import notes
from scrubjay.home import capture
from scrubjay.home.paths import Home
from scrubjay.home.scopes import USER_SCOPE, scope_of
from scrubjay.hosts.machine import Machine
from scrubjay.models.kept import KeptMemoryFile
from scrubjay.models.requests import parse

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.fixture
def machine(tmp_path: Path, home: Home) -> Machine:
    (tmp_path / "sparrow/.git").mkdir(parents=True)
    (tmp_path / "sparrow/.git/HEAD").write_text("ref: refs/heads/main\n")
    made.write_all(tmp_path)
    return Machine({}, str(tmp_path), sys.platform, (str(tmp_path / "sparrow"),))


def read(kind: made.Kind, machine: Machine, home: Home, policy: capture.Policy = capture.DEFAULT, **more):
    path = str(made.write(kind, Path(machine.user_home), more.pop("fact", None)))
    file = next(each for each in memory_files(kind.host, machine) if each.path == path)
    return kept_file(home, policy, file, machine)


@pytest.mark.skipif(sys.platform != "linux", reason="editors have other folders elsewhere")
@pytest.mark.parametrize("kind", made.KINDS, ids=lambda kind: kind.path.replace("/", "-"))
def test_each_kind_of_file_gives_its_fact_to_its_project_or_to_the_user(
    kind: made.Kind, machine: Machine, home: Home
):
    kept = read(kind, machine, home)
    scope = USER_SCOPE if kind.is_users else scope_of(home, machine.projects[0])
    (entry,) = [each for each in kept["entries"] if kind.fact in each["content"]]
    assert (entry["scope"], kept["source"]) == (scope, f"{kind.host} memory")
    assert len(kept["entries"]) == 1 and kept["is_whole"]
    if kind.text is made.ROLLOUT:
        assert entry["at"].startswith("2026-03-01T09:00") and entry["session_id"].startswith("0199a1b2")
    assert ("proposed" in entry["tags"]) == (kind.text is made.PATCH)


def test_reading_changes_no_byte_and_no_time_of_any_file(machine: Machine, home: Home):
    before = snapshot(Path(machine.user_home))
    for host in dict.fromkeys(kind.host for kind in made.KINDS):
        for file in memory_files(host, machine):
            assert kept_file(home, capture.DEFAULT, file, machine)
    assert snapshot(Path(machine.user_home)) == before


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return the times and bytes of every file and folder, but those of Scrubjay's own home."""
    found = {}
    for path in folder.rglob("*"):
        if not {"home", "jay"} & set(path.relative_to(folder).parts):
            about = path.stat()
            body = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (about.st_mtime_ns, about.st_ctime_ns, body)
    return found


def test_secrets_are_replaced_and_excluded_folders_left_out(machine: Machine, home: Home):
    kind = next(each for each in made.KINDS if each.text is made.CODEX)
    kept = read(kind, machine, home, fact=f"Releases use {TOKEN} of the bot.")
    assert TOKEN not in str(kept) and kept["redacted"] == 1
    excluded = capture.DEFAULT._replace(excluded=(machine.projects[0],))
    kept = read(kind, machine, home, excluded)
    assert (kept["entries"], kept["left_out"], kept["is_whole"]) == ([], 1, False)


def test_a_file_of_an_unknown_project_gets_a_scope_of_its_host(tmp_path: Path, machine: Machine, home: Home):
    kind = made.Kind("claude-code", ".claude/projects/-gone/memory/a.md", made.INDEX)
    assert [each["scope"] for each in read(kind, machine, home)["entries"]] == ["claude-code"]
    excluded = capture.DEFAULT._replace(excluded=(str(tmp_path / "private"),))
    assert read(kind, machine, home, excluded)["entries"] == []


def test_a_transcript_says_whose_memory_lies_next_to_it(tmp_path: Path, machine: Machine, home: Home):
    folder = tmp_path / "wren.api"
    (folder / ".git").mkdir(parents=True)
    slug = "".join(each if each.isalnum() else "-" for each in str(folder))
    kind = made.Kind("claude-code", f".claude/projects/{slug}/memory/a.md", made.INDEX)
    path = made.write(kind, tmp_path)
    (path.parent.parent / "s.jsonl").write_text(f'{{"cwd": "{folder}", "type": "user"}}\n')
    assert [each["scope"] for each in read(kind, machine, home)["entries"]] == [scope_of(home, str(folder))]


def test_a_missing_file_counts_as_deleted_only_if_its_host_is_there(tmp_path: Path, machine: Machine):
    searched = [place for place, _ in memory_places("codex", machine)]
    path = tmp_path / ".codex/memories/MEMORY.md"
    assert not is_gone(str(path), searched)
    path.unlink()
    assert is_gone(str(path), searched) and not is_gone(str(tmp_path / "elsewhere.md"), searched)
    os.rename(tmp_path / ".codex", tmp_path / ".codex.unmounted")
    assert not is_gone(str(path), searched)


def test_a_link_in_a_project_gives_away_no_file_of_the_user(tmp_path: Path, machine: Machine):
    made.write(made.Kind("", "private/diary.md", made.INDEX), tmp_path)
    for folder in (".claude/agent-memory-local/reviewer", ".qwen/team-memory"):
        (tmp_path / "sparrow" / folder / "diary.md").symlink_to(tmp_path / "private/diary.md")
    (tmp_path / "sparrow/.claude/agent-memory").symlink_to(tmp_path / "private")
    files = [*memory_files("claude-code", machine), *memory_files("qwen-code", machine)]
    assert not [file for file in files if file.path.endswith("diary.md")]


@pytest.mark.parametrize(
    "text",
    [
        '---\nname: "\\0"\nthread_id: "\\0"\ndescription: [1]\nmetadata:\n  type: "a b"\nmodified: 2026-13-01\n---\na\0b',
        "thread_id: \0\ncwd: ~\n\n- a\0b",
        f"---\nname: {'9' * 5_000}\n---\n{'word ' * 5_000}",
    ],
)
def test_odd_files_give_notes_that_can_be_stored(text: str, machine: Machine, home: Home):
    kind = made.Kind("claude-code", ".claude/projects/{slug}/memory/heron.md", text.replace("{", "("))
    kept = read(kind, machine, home)
    entries = parse(KeptMemoryFile, {name: kept[name] for name in ("source", "path", "entries")}).entries
    assert entries and all("\0" not in f"{entry}" for entry in entries)


def test_a_file_that_is_too_large_is_refused(machine: Machine, home: Home):
    kind = next(each for each in made.KINDS if each.text is made.CODEX)
    with pytest.raises(ValueError, match="bytes"):
        read(kind, machine, home, fact="x" * MAX_FILE)


@pytest.mark.parametrize(
    "text", ["<!--", "# #", " ", "[Task 1] ", "```\n", "- ", "[", "a:\n", "---\n", "# a\n"]
)
def test_hostile_repetitions_are_split_in_linear_time(text: str):
    began = time.process_time()
    assert len(list(notes(text * (100_000 // len(text)) + "x"))) < 100_000
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- One\n  goes on\n\n  and on\n- Two\n", ["One\ngoes on\nand on", "Two"]),
        ("A paragraph\nof two lines\n\nAnother\n", ["A paragraph\nof two lines", "Another"]),
        ("Run it:\n\n```sh\n# no heading\n- no item\n```\n", ["```sh\n# no heading\n- no item\n```"]),
        ("1. One\n2) Two\n* Three\r\n+ Four\n", ["One", "Two", "Three", "Four"]),
        ("<!-- a\n- comment -->\n_No entries yet._\n\n---\n- [a](a.md) index\n", []),
        ("- One\ngoes on\n- Two\n\nA paragraph\n", ["One\ngoes on", "Two", "A paragraph"]),
        ("- Write `<!-- x -->`.<!-- y -->\n- Two `<!-- z -->`", ["Write `<!-- x -->`.", "Two `<!-- z -->`"]),
        ("Add:\n```html\n<!-- x -->\n```\n", ["```html\n<!-- x -->\n```"]),
        ("---\nname: a\n---\nAll of\n\n- it\n", ["All of\n\n- it"]),
        ("", []),
    ],
)
def test_a_markdown_file_is_split_into_its_notes(text: str, found: list[str]):
    assert [note.content for note in notes(text)] == found
