"""Daily work at a terminal: sessions, lists, edits, undo, notes, colours and completion, as real processes."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from user import PATIENCE, User, newcomer, user

from scrubjay.cli import notes
from scrubjay.cli.display import columns
from scrubjay.hosts.installation import console_command
from scrubjay.models.records import SUMMARY

__all__ = ["newcomer", "user"]  # fixtures

SESSION = "3f2b8c1a-1111-4111-8111-111111111111"


@pytest.fixture(scope="module")
def teller(user: User) -> User:
    """The user, after a session of two turns and three facts."""
    user.says("Where are the feature flags kept?", "In flags.toml at the root.", session=SESSION, turn=0)
    user.says("Which library reads them, please?", "We chose openfeature.", session=SESSION, turn=1)
    user.says("How long do tokens live today?", "They live for twelve hours.", session="tokens", turn=0)
    for text, tag in (("The heron nests in May.", "birds"), ("The wren sings at five.", "birds")):
        user.gets("add", text, "-t", tag)
    user.waits_for_vectors()
    return user


def _on_terminal(user: User, *words: str, env: dict[str, str], typed: bytes = b"") -> str:
    """Return what a command prints on a terminal."""
    above, below = pty.openpty()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), below)
    command = [*console_command(), *words]
    with subprocess.Popen(command, env=user.env | env, cwd=user.project, **streams) as process:
        os.close(below)
        os.write(above, typed)
        said = b""
        while True:
            try:
                more = os.read(above, 4096)
            except OSError:  # the other side is closed
                break
            said += more
            if not more:
                break
        assert process.wait(PATIENCE) == 0, said
    os.close(above)
    return said.decode()


# Searching.


def test_a_search_that_finds_nothing_has_exit_code_1(teller):
    done = teller.types("search", "heron", "--since", "2001-01-01", "--until", "2001-01-02")
    assert (done.returncode, done.stderr) == (1, "") and done.stdout.startswith("No memory answers this")
    assert teller.types("documents", "heron").returncode == 1
    assert "heron" in teller.gets("search", "-n", "1", "when does the heron nest")


@pytest.mark.parametrize("words", ["xyzzy plugh", "asdfghjkl", "blorptastic quuxify"])
def test_words_without_a_meaning_find_nothing_instead_of_doubtful_records(teller, words):
    done = teller.types("search", *words.split())
    assert (done.returncode, "Doubtful" in done.stdout) == (1, False)


def test_show_takes_several_ids(teller):
    turns = json.loads(teller.gets("list", "--session", SESSION, "--json"))
    ids = [turn["id"] for turn in turns]
    text = teller.gets("show", *ids)
    assert text.index("openfeature") < text.index("flags.toml")
    found = json.loads(teller.gets("show", *ids, "--json"))
    assert [each["record"]["id"] for each in found] == ids


def test_an_export_into_a_folder_that_does_not_exist_names_the_folder(teller):
    missing = str(teller.project / "missing")
    refused = teller.refused("export", f"{missing}/all.jsonl")
    assert f"There is no folder {missing!r}" in refused


# Sessions and lists.


def test_sessions_are_listed_and_one_is_shown_whole_by_its_short_id(teller):
    rows = teller.gets("sessions").splitlines()
    assert [row.split()[2] for row in rows] == ["tokens", "3f2b8c1a"] and "2 turns" in rows[1]
    page = teller.gets("show", "3f2b8c1a")
    order = [page.index(text) for text in ("3f2b8c1a/0", "flags.toml", "3f2b8c1a/1", "openfeature")]
    assert order == sorted(order) and "twelve hours" not in page
    assert teller.gets("sessions", "3f2b8c1a") == page
    assert len(json.loads(teller.gets("show", SESSION, "--json"))["turns"]) == 2
    assert "`scrubjay sessions` lists them" in teller.refused("list", "--session", "nothing")


def test_a_list_has_only_facts_only_turns_or_one_session(teller):
    def ids(*words: str) -> list[str]:
        return [row.split()[2] for row in teller.gets("list", *words).splitlines()]

    assert [each[:4] for each in ids("--facts")] == ["mem_", "mem_"]
    assert ids("-t") == ["tokens/0", "3f2b8c1a/1", "3f2b8c1a/0"]
    assert ids("--session", "3f2b8c1a") == ["3f2b8c1a/1", "3f2b8c1a/0"]


def test_a_list_says_nothing_twice(teller):
    for turn in (0, 1):
        teller.says("Run the linter again, please.", "It found nothing.", session="again", turn=turn)
    texts = [row.split(maxsplit=4)[4] for row in teller.gets("list").splitlines()]
    assert len(texts) == len(set(texts)) and sum("linter" in text for text in texts) == 1
    teller.gets("forget", "again/0", "again/1")


def test_a_list_has_every_record_that_begins_like_another(teller):
    for turn, result in enumerate(("Three tests failed.", "All of them passed.")):
        teller.says("Run the gull tests again.", result, session="gulls", turn=turn)
    for text in ("Use Redis for gulls.", "Use Postgres for gulls."):
        teller.gets("add", f"Decision\n\n{text}")
    lines = teller.gets("list", "-n", "4").splitlines()
    assert [sum(words in line for line in lines) for words in ("Decision", "gull tests")] == [2, 2]
    teller.gets("forget", "gulls/0", "gulls/1", *(line.split()[2] for line in lines if "Decision" in line))


def test_tags_are_listed_with_their_number_of_records(teller):
    assert teller.gets("tags").split() == ["2", "birds"]


def test_no_command_prints_a_name_that_only_the_store_knows(teller):
    for name in ("3f2b8c1a/0", teller.gets("list", "--facts").split()[2]):
        assert "mem_episodic" not in (page := teller.gets("show", name)) and "mem_semantic" not in page


# Changes.


def test_an_edit_is_a_new_version_and_undo_takes_back_forget_restore_and_edit(teller):
    first = teller.adds("Staging is at heron.example.org.")
    second = re.findall(r"mem_\w+", teller.gets("edit", first, "Staging is at wren.example.org."))[0]
    assert "newer version" in teller.refused("edit", first, "x")
    teller.gets("forget", second)
    assert second[:12] not in teller.gets("list")
    assert f"`scrubjay restore {second}`" in teller.gets("restore", first)
    assert "restored" in teller.gets("undo")  # the forget
    assert second[:12] in teller.gets("list")
    teller.gets("forget", second)
    teller.gets("restore", second)
    assert "forgotten again" in teller.gets("undo")  # the restore
    assert "restored" in teller.gets("undo")  # the forget before it
    third = re.findall(r"mem_\w+", teller.gets("undo"))[0]  # the edit
    assert "heron.example.org" in teller.gets("show", third)
    assert "wren.example.org" not in teller.gets("list", "-f")
    teller.gets("forget", third, "--purge", "--yes")


@pytest.mark.long
def test_an_edit_without_words_opens_the_editor(teller, tmp_path):
    fact = teller.adds("The build uses Clang 18.")
    env = {"EDITOR": "sed -i s/18/19/"}
    assert "version 2" in _on_terminal(teller, "edit", fact, env=env)
    assert "Clang 19" in teller.gets("list", "--facts")
    assert "needs a terminal" in teller.refused("edit", fact)
    in_latin = f"import sys; open(sys.argv[1], 'wb').write({'The café uses Clang.'.encode('cp1252')!r})"
    env = {"EDITOR": f"{shlex.quote(sys.executable)} -c {shlex.quote(in_latin)}"}
    newest = teller.gets("list", "--facts").split()[2]
    assert "version 3" in _on_terminal(teller, "edit", newest, env=env)
    assert "The café uses Clang." in teller.gets("list", "--facts")


# Notes.


@pytest.mark.long
def test_an_export_as_notes_is_found_again_by_index_and_leaves_out_what_is_forgotten(teller, tmp_path):
    gone = teller.adds("The kestrel is forgotten.")
    teller.gets("forget", gone)
    folder = tmp_path / "notes"
    teller.gets("export", "--markdown", str(folder))
    (facts,) = folder.glob("*/facts.md")
    assert "- The heron nests in May. #birds" in facts.read_text() and "kestrel" not in facts.read_text()
    sessions = {file.name: file.read_text() for file in folder.glob("*/sessions/*.md")}
    (flags,) = (text for name, text in sessions.items() if "3f2b8c1a" in name)
    assert f'session: "{SESSION}"' in flags and "**assistant:** We chose openfeature." in flags
    assert "is not empty" in teller.refused("export", "--markdown", str(folder))
    teller.gets("index", str(folder), "--scope", "vault")
    found = teller.gets("documents", "when does the heron nest", "--scope", "vault")
    assert "The heron nests in May." in found


def test_notes_know_the_source_of_a_summary():
    assert notes.SUMMARY == SUMMARY


# Colours and completion.


@pytest.mark.skipif(os.name == "nt", reason="a pseudo-terminal")
def test_there_are_colours_on_a_terminal_but_not_in_a_pipe_with_no_color_or_on_a_dumb_one(teller):
    assert "\x1b[36mmem_" in _on_terminal(teller, "list", env={"TERM": "xterm"})
    for env in ({"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in _on_terminal(teller, "list", env=env)
    assert "\x1b" not in teller.gets("list")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_a_real_bash_completes_commands_options_and_folders(newcomer):
    script = f"""
    source <({shlex.join(console_command())} completion bash)
    complete_line() {{
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _shtab_scrubjay; echo "${{COMPREPLY[@]}}"
    }}
    mkdir -p nest
    complete_line scrubjay sess
    complete_line scrubjay search --expl
    complete_line scrubjay exclude ne
    """
    shell = ["bash", "-c", script]
    done = subprocess.run(
        shell, env=newcomer.env, cwd=newcomer.project, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["sessions", "--explain", "nest"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_their_completion_too(newcomer, shell):
    script = newcomer.gets("completion", shell)
    assert "sessions" in script and "explain" in script


def test_chinese_text_fits_a_narrow_terminal(teller):
    teller.adds("苍鹭站在浅水里等待鱼类" * 12)
    env = {"COLUMNS": "60", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    for words in (["list"], ["search", "苍鹭"]):
        text = _on_terminal(teller, *words, env=env)
        assert "苍鹭站在" in text and max(map(columns, text.splitlines())) <= 60


def test_the_name_of_a_file_may_have_bytes_that_are_not_utf_8(user):
    word = os.fsdecode(b"caf\xe9")
    (user.project / word).write_text("The cafe opens at nine.\n")
    assert "1 added" in user.gets("index", word)


def test_a_number_limits_the_list_of_documents_as_it_limits_a_search(user):
    for number in range(3):
        (user.project / f"{number}.txt").write_text(f"The gate {number} opens at nine.\n")
    user.gets("index", str(user.project))
    assert len(user.gets("documents", "-n", "2").splitlines()) == 2
    assert len(user.gets("documents", "--last", "1").splitlines()) == 1
    assert "-n = 0: must be" in user.refused("documents", "-n", "0")
