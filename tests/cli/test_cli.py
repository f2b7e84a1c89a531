"""The command line as a user runs it: real commands as processes, with a home of their own and one engine
for all of them.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from git_made import Repository
from user import PATIENCE, make_project, make_user, newcomer, user

import scrubjay
from scrubjay import VERSION
from scrubjay.cli import main
from scrubjay.cli.command import Place
from scrubjay.cli.parser import build_parser
from scrubjay.cli.table import LISTED
from scrubjay.home.scopes import display_name
from scrubjay.home.settings import describe
from scrubjay.hosts.installation import console_command
from scrubjay.hosts.table import BY_NAME
from scrubjay.text.answers import DOUBTFUL

__all__ = ["newcomer", "user"]  # fixtures


# Help.


@pytest.mark.parametrize("listed", LISTED.values(), ids=lambda listed: listed.name)
def test_every_command_has_help_that_begins_with_the_summary_of_the_table(listed, capsys):
    assert listed.load().__doc__ == listed.summary
    with pytest.raises(SystemExit) as left:
        build_parser().parse_args([listed.name, "--help"])
    page = " ".join(capsys.readouterr().out.split())
    assert left.value.code == 0
    assert page.startswith(f"usage: scrubjay {listed.name}")
    assert listed.summary in page and listed.summary.endswith(".")
    assert "--scope" not in page or "-s NAME, --scope NAME" in page


def test_the_help_lists_every_command_and_describes_scrubjay(newcomer):
    page = newcomer.gets("--help")
    assert "memory of a coding assistant" in page
    for command in LISTED.values():
        assert re.search(rf"^  {command.name} +{re.escape(command.summary)}$", page, re.MULTILINE)


def test_the_version_is_printed(newcomer):
    assert newcomer.gets("--version") == f"scrubjay {VERSION}\n"


def test_the_help_of_setup_names_every_assistant(capsys):
    with pytest.raises(SystemExit):
        main(["setup", "--help"])
    page = " ".join(capsys.readouterr().out.split())
    assert f"only these assistants, separated by commas: {', '.join(BY_NAME)} --json" in page


def test_the_list_of_commands_is_wrapped_to_the_width_of_a_help_text(newcomer):
    page = newcomer.gets("--help")
    assert max(map(len, page.splitlines())) <= 100
    assert (
        page.startswith("Scrubjay is the memory of a coding assistant: ")
        and "\nfew lines that matter.\n" in page
    )


def test_a_pattern_of_a_thousand_folders_is_refused_with_a_sentence(newcomer):
    assert "leads too deep for a pattern; give a folder" in newcomer.refused("index", "*/" * 1500 + "x")


@pytest.mark.parametrize("topic", ["help", "--help", "--version"])
def test_help_about_help_lists_the_commands(capsys, topic):
    assert main(["help", topic]) == 0
    assert "usage: scrubjay [COMMAND]" in capsys.readouterr().out


@pytest.mark.parametrize("words", ["help stdio", "stdio --help", "stdio -h", "help hook", "hook --help"])
def test_the_pipe_and_the_hook_have_help_too(capsys, words):
    assert main(words.split()) == 0
    assert re.match(r"usage: scrubjay \[?(stdio|hook)", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "usage", "near"),
    [
        ("remember", "`scrubjay help` lists the commands", "Did you mean add?"),
        ("list --lats 3", "usage: scrubjay list", "Did you mean --last"),
        ("list --limit 3", "usage: scrubjay list", "Did you mean --last?"),
        ("list --project x", "usage: scrubjay list", "Did you mean --scope?"),
        ("search heron --limit 3", "usage: scrubjay search", "Did you mean --top?"),
        ("search heron --tokn=3", "usage: scrubjay search", "Did you mean --tokens?"),
        ("pause now", "usage: scrubjay pause", "'now'"),
        ("--hlep", "There is no command", "Did you mean --help?"),
        ("search heron -n abc", "usage: scrubjay search", "'abc' is not a whole number"),
        ("add heron --importance abc", "usage: scrubjay add", "'abc' is not a number"),
        ("edit", "usage: scrubjay edit", "the following arguments are required: ID"),
        ("--scope birds list", "usage: scrubjay [stdio]", "the options of a command follow its name"),
    ],
)
def test_a_wrong_word_is_refused_with_the_usage_and_our_nearest_name(capsys, words, usage, near):
    try:
        code = main(words.split())
    except SystemExit as left:
        code = left.code
    said = " ".join(capsys.readouterr().err.split())
    assert code == 2 and usage in said and near in said


def test_ctrl_c_ends_a_command_silently(monkeypatch, capsys):
    class Terminal:
        @property
        def buffer(self) -> bytes:
            raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", Terminal())
    assert main(["add", "-"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_closed_output_pipe_is_not_an_error(newcomer):
    command = [*console_command(), "config"]
    with subprocess.Popen(
        command, env=newcomer.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert (process.stderr.read(), process.wait(PATIENCE)) == (b"", 0)


@pytest.mark.skipif(os.name == "nt", reason="no shell that closes a stream")
@pytest.mark.parametrize(
    ("redirected", "code"), [("list >&-", 0), ("list 2>&-", 0), ("nothing 2>&-", 2), ("add - <&-", 1)]
)
def test_a_command_whose_caller_closed_a_stream_ends_as_with_an_open_one(user, redirected, code):
    command = ["sh", "-c", f"{shlex.join(console_command())} {redirected}"]
    done = subprocess.run(command, env=user.env, cwd=user.project, capture_output=True, timeout=PATIENCE)
    assert done.returncode == code and b"Traceback" not in done.stderr


def test_a_daily_command_imports_only_its_own_modules_and_light_ones():
    package = str(Path(scrubjay.__file__).parent.parent)
    daily = ("search", "list", "sessions", "tags", "show", "why", "add")
    code = (
        f"import sys; sys.path.insert(0, {package!r}); import scrubjay.cli.parser, scrubjay.pipe.client\n"
        "from scrubjay.cli.table import LISTED; LISTED[sys.argv[1]].load(); print(*sys.modules)"
    )
    loaded = {}
    for name in daily:
        command = [sys.executable, "-I", "-S", "-c", code, name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        loaded[name] = set(done.stdout.split())
    heavy = """
        asyncio dataclasses datetime hashlib http.client inspect lancedb logging numpy pathlib pydantic
        scrubjay.text.dates shutil sqlite3 subprocess tempfile tomllib typing
    """
    assert not {(name, each) for name in daily for each in loaded[name] & set(heavy.split())}
    own = {name for name in loaded["add"] if name.startswith("scrubjay.cli.")}
    assert own == {f"scrubjay.cli.{name}" for name in ("command", "display", "parser", "table", "write")}


def test_no_command_imports_the_store():
    code = (
        "import importlib, pkgutil, sys, scrubjay.cli as rooms\n"
        "for each in pkgutil.iter_modules(rooms.__path__): importlib.import_module(f'scrubjay.cli.{each.name}')\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"lancedb", "pyarrow"} & set(done.stdout.split())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_an_unwritable_output_is_reported(newcomer):
    command = [*console_command(), "config"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, env=newcomer.env, stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE
        )
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1) and b"No space left" in done.stderr


def test_an_ascii_terminal_gets_the_whole_output_in_ascii(user):
    said = "The heron of Zürich is called 鷺."
    user.gets("add", said, "--scope", "ascii")
    printed = []
    for more in ([], ["--json"]):
        command = [*console_command(), "list", "--scope", "ascii", *more]
        env = {**user.env, "PYTHONIOENCODING": "ascii"}
        done = subprocess.run(command, env=env, capture_output=True, timeout=PATIENCE)
        assert (done.returncode, done.stderr) == (0, b"")
        printed.append(done.stdout.decode("ascii"))
    assert "Z\\xfcrich" in printed[0] and json.loads(printed[1])[0]["memory"] == said


def test_an_impossible_home_is_explained_in_a_sentence(newcomer):
    Path(newcomer.home.root).write_text("a file")
    assert "cannot be used" in newcomer.refused("list")


# Settings: none of these needs an engine.


@pytest.mark.parametrize("words", ["status", "doctor", "stdio", "setup --yes", "add zebra", "search zebra"])
@pytest.mark.parametrize("variable", ["HOME", "SCRUBJAY_HOME"])
def test_without_a_home_folder_a_command_names_the_variable_to_set_and_writes_nothing(
    tmp_path, words, variable
):
    env = {"PATH": os.environ["PATH"], variable: "relative"}
    command = [*console_command(), *words.split()]
    done = subprocess.run(
        command, env=env, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch("scrubjay: There is no home folder: .* Set SCRUBJAY_HOME to .*\n", done.stderr)
    assert not os.listdir(tmp_path)


def test_every_setting_is_listed_with_its_value_and_description(newcomer):
    page = newcomer.gets("config")
    for key, default, says in describe():
        assert f"{key} = {default}\n    {says}\n" in page


def test_a_changed_setting_is_shown_stored_and_passed_to_hooks(newcomer):
    newcomer.gets("config", "capture", "salient")
    assert newcomer.gets("config", "capture") == "salient\n"
    assert "scrubjay setup" in newcomer.gets("config", "inject", "edit")
    assert "capture = salient   (default: all)" in newcomer.gets("config")
    assert json.loads(Path(newcomer.home.capture).read_text())["capture"] == "salient"


def test_an_unknown_setting_and_a_wrong_value_are_refused_and_change_nothing(newcomer):
    assert "Did you mean capture?" in newcomer.refused("config", "captur")
    assert "Did you mean capture?" in newcomer.refused("config", "captur", "all")
    assert "one of all, salient" in newcomer.refused("config", "capture", "some")
    assert not Path(newcomer.home.config).exists()


def test_a_model_that_is_not_on_disk_is_reported_and_an_impossible_one_refused(newcomer):
    said = newcomer.refused("config", "model", "nosuch")
    assert "'nosuch' is not the name of a model" in said and "Nothing was changed." in said
    assert newcomer.gets("config", "model") == "bundled\n"
    done = newcomer.types("config", "model", "nobody/nothing")
    assert done.returncode == 0
    extra = find_spec("huggingface_hub") is not None
    assert ("`scrubjay pull nobody/nothing`" if extra else '`pip install "scrubjay[onnx]"`') in done.stderr
    assert "is not a model id" in newcomer.refused("pull", "not a model")  # and opens no connection


def test_folders_are_excluded_and_included_again(newcomer):
    odd = newcomer.folder / 'with, comma and "quote"'
    odd.mkdir()
    newcomer.gets("exclude", str(odd))
    newcomer.gets("exclude")
    assert newcomer.gets("config", "excluded") == f"{odd}, {newcomer.project}\n"
    assert f"It is inside {newcomer.project}" in newcomer.refused("include", "src")
    newcomer.gets("include", ".")
    assert json.loads(Path(newcomer.home.capture).read_text())["excluded"] == [str(odd)]


def test_nothing_is_captured_while_paused_or_in_an_excluded_folder(newcomer):
    newcomer.gets("pause")
    newcomer.says("Is this recorded while paused?", "It must not be recorded.", session="p", turn=0)
    newcomer.gets("resume")
    newcomer.gets("exclude")
    newcomer.says("Is this recorded in an excluded folder?", "It must not be recorded.", session="p", turn=1)
    newcomer.gets("include")
    newcomer.says("Is this recorded after all of that?", "Yes, it is recorded now.", session="p", turn=2)
    assert json.loads(newcomer.gets("status", "--json"))["inbox"]["waiting"] == 1


# Hooks.


def test_the_hooks_are_added_to_the_hosts_file_and_removed_again(newcomer):
    shown = json.loads(newcomer.gets("hooks", "show"))
    lines = [entry["hooks"][0]["command"] for entries in shown["hooks"].values() for entry in entries]
    command = lines[0].removeprefix(f"env SCRUBJAY_HOME={newcomer.home.root} ")
    assert len(lines) == 4 and lines[0] != command and os.path.isabs(command.split()[0])
    file = newcomer.folder / ".claude" / "settings.json"
    added = newcomer.gets("hooks", "add")
    assert str(file) in added and "`scrubjay hooks remove` undoes this" in added
    assert json.loads(file.read_text()) == shown
    assert "already" in newcomer.gets("hooks", "add")
    newcomer.gets("hooks", "remove")
    assert not file.exists()
    named = newcomer.folder / "other.json"
    named.write_text("{,}")
    assert "is not valid JSON" in newcomer.refused("hooks", "add", "--settings", str(named))
    assert named.read_text() == "{,}"


def test_the_command_that_undoes_added_hooks_names_the_same_file(newcomer):
    file = newcomer.folder / "my settings.json"
    added = newcomer.gets("hooks", "add", "--settings", str(file))
    undo = re.search("`scrubjay (.+)` undoes this", added)[1]
    assert f"removed from {file}" in newcomer.gets(*shlex.split(undo))


# Status.


def test_status_reads_the_files_and_starts_no_engine(newcomer):
    newcomer.says("Which colour has the jay?", "It is blue.", session="s", turn=0)
    page = newcomer.gets("status")
    assert "No engine is running" in page
    assert "1 turn in the spool will be stored by the next engine" in page
    assert not Path(newcomer.home.data).exists()


def test_stop_without_an_engine_says_so(newcomer):
    assert newcomer.gets("stop") == "No engine is running.\n"


def test_status_counts_captured_turns_rejected_ones_and_open_prompts(user):
    user.says("Where do we keep the session tokens?", "In the table sessions.", session="tokens", turn=0)
    user.says("And how long do they live?", "We decided on 12 hours.", session="tokens", turn=1)
    user.says("Are you still thinking about this one?", None, session="tokens", turn=2)
    page = user.gets("status", "--start")
    assert "captured 2 of 2 turns" in page
    assert "1 prompt without an answer yet" in page
    broken = Path(user.home.spool_new) / f"{1:020d}-broken.json"
    broken.write_text("no JSON")
    user.gets("list")  # reads every acknowledged write, so it meets the broken file
    facts = json.loads(user.gets("status", "--json"))
    assert (facts["captured"], facts["received"], facts["inbox"]["set_aside"]) == (2, 3, 1)
    assert "captured 2 of 3 turns" in user.gets("status")
    assert "PROBLEM  spool" in user.types("doctor").stdout
    for file in Path(user.home.spool_broken).iterdir():
        file.unlink()


def test_a_store_failure_is_printed_as_a_sentence_and_the_engine_goes_on(tmp_path: Path):
    """It used to close the connection, and the command said that the engine had stopped."""
    person = make_user(tmp_path)
    try:
        person.gets("add", "The zebra is striped.")
        engine = json.loads(person.gets("status", "--json"))["engine"]["pid"]
        os.rename(person.home.data, tmp_path / "gone")  # in one step: the engine may still write there
        said = person.refused("list")
        assert said.startswith("scrubjay: list failed. The store in ") and "scrubjay doctor" in said
        assert "No engine is running" not in person.gets("status")
        os.kill(engine, 0)  # which fails if there is no engine
        person.gets("stop")
        assert "Some stored data is damaged" in person.types("search", "zebra").stdout
    finally:
        person.types("stop")


# Writing and looking.


def test_a_fact_is_added_found_listed_and_forgotten(user):
    words = "The release train leaves on Thursdays.".split()
    id = user.adds(*words, "--tag", "release")
    assert f"Already known as {id}" in user.gets("add", "-", stdin="The release train leaves on Thursdays.\n")
    found = user.gets("search", "when does the release train leave", "--facts", "--tag", "release")
    assert "The release train leaves on Thursdays." in found and id[:12] in found and "#release" in found
    assert id[:12] in user.gets("list", "--last", "3")
    assert "searches no longer find it" in user.gets("forget", id, "--reason", "it was a test")
    assert id[:12] not in user.gets("list", "--all")
    assert "No memory, turn or document" in user.refused("forget", "mem_nothing")


def test_a_search_shows_the_best_hit_then_its_neighbours_in_time_order(user):
    for turn, (prompt, answer) in enumerate(
        (
            ("Where are feature flags kept?", "In flags.toml at the root."),
            ("Which library reads the feature flags?", "We chose openfeature, because it reloads by itself."),
            ("Fine, and who may change them?", "Whoever owns the file, by review."),
        )
    ):
        user.says(prompt, answer, session="flags", turn=turn)
    user.gets("list")  # an engine that still starts has no counts
    user.waits_for_vectors()
    page = user.gets("search", "why openfeature library", "--top", "1", "--prev", "1", "--next", "1")
    order = [page.index(text) for text in ("because it reloads by itself", "flags.toml", "by review")]
    assert order == sorted(order)
    heads = re.findall(r"^ +(1?) +\d{4}-\d\d-\d\d \d\d:\d\d  (flags/\d)  sparrow  (.+)$", page, re.MULTILINE)
    assert [(mark, name) for mark, name, _ in heads] == [("1", "flags/1"), ("", "flags/0"), ("", "flags/2")]
    assert heads[0][2].startswith("score 0.") and [why for _, _, why in heads[1:]] == ["next to it"] * 2
    hits = json.loads(user.gets("search", "openfeature", "--top", "1", "--json"))
    assert [hit["turn"] for hit in hits["results"]] == [1]


def test_a_search_without_a_hit_and_an_invalid_date_each_print_a_sentence(user):
    empty = user.folder / "empty"
    empty.mkdir()
    scope = json.loads(user._replace(project=empty).gets("status", "--start", "--json"))["engine"]["scope"]
    nothing = user.types("search", "anything", "--scope", scope).stdout
    assert nothing.startswith("No memory answers this. Searched: empty.")
    assert "--all for every project" in nothing and len(nothing.splitlines()) == 1
    assert "Nothing is recorded in empty" in user.gets("list", "--scope", "empty")
    assert "--since = 'someday'" in user.refused("search", "x", "--since", "someday")
    empty = user.types("search", "x", "--since", "November 11 2019", "--until", "nov 12, 2019").stdout
    assert "No memory answers this from 2019-11-11 to 2019-11-12." in empty
    assert "--tag = 'a b'" in user.refused("add", "x", "--tag", "a b")
    assert "--last = 0" in user.refused("list", "--last", "0")


def test_a_search_marks_doubtful_and_replaced_records(user):
    old = user.adds("The nightly backup runs at three o'clock.")
    user.gets("add", "The nightly backup runs at five o'clock.", "--updates", old)
    user.waits_for_vectors()
    page = user.gets("search", "when does the nightly build run?")
    assert page.startswith(DOUBTFUL) and "five o'clock" in page
    before = user.gets("search", "when does the nightly backup run", "--history")
    assert not before.startswith(DOUBTFUL) and "three o'clock" in before


def test_another_project_does_not_see_what_was_said_in_this_one(user):
    other = make_project(user.folder / "finch")
    user.gets("add", "Sparrow deploys with helm.")
    assert "Searched: finch and the user's own facts." in user.types("search", "helm", cwd=other).stdout
    assert "Sparrow deploys with helm." in user.types("search", "helm", "--all", cwd=other).stdout
    user.types("add", "Finch deploys with rsync.", cwd=other)
    scopes = re.findall(r"^(repo_\S+)", user.gets("scopes"), re.MULTILINE)
    finch, sparrow = (next(name for name in scopes if kind in name) for kind in ("finch", "sparrow"))
    assert "1 record moved" in user.gets("scopes", "merge", finch, sparrow)
    assert "Finch deploys with rsync." in user.gets("search", "rsync")
    assert f"merged into {sparrow}" in user.gets("scopes")
    assert "There is no scope" in user.refused("scopes", "merge", "repo_nothing", sparrow)
    user.gets("add", "Wrens deploy with make.", "--scope", "wren_tag")
    assert "1 record moved" in user.gets("scopes", "merge", "wren_tag", "sparrow")
    assert "Wrens deploy with make." in user.gets("search", "wrens")


# The engine.


def test_a_setting_that_needs_another_engine_says_so(user):
    done = user.types("config", "idle_minutes", "14")
    assert "keeps the old idle_minutes" in done.stderr and "scrubjay stop" in done.stderr
    user.gets("config", "idle_minutes", "15")


@pytest.mark.long
def test_reindex_starts_an_engine_that_follows_the_settings(user):
    user.gets("add", "The nightly build uses Clang 19.")
    user.gets("config", "query_prompt", "query: ")  # another vector space, as with another model
    before = json.loads(user.gets("status", "--json"))["engine"]
    assert "indexed and embedded" in user.gets("reindex")
    after = json.loads(user.gets("status", "--json"))["engine"]
    assert all(after[name] != before[name] for name in ("pid", "space_id")) and after["trouble"] is None
    assert "Clang 19" in user.gets("search", "which compiler builds at night")
    user.gets("config", "query_prompt", "none")


def test_a_manually_started_engine_takes_over_and_ends_at_ctrl_c(user):
    user.gets("list")
    with subprocess.Popen(
        [*console_command(), "serve"], env=user.env, stderr=subprocess.PIPE, text=True
    ) as engine:
        assert "Ctrl-C ends it" in engine.stderr.readline()
        assert "started by hand" in user.gets("status", "--start")
        engine.send_signal(signal.SIGINT)
        assert engine.wait(PATIENCE) == 0


def test_in_the_home_folder_status_says_why_nothing_is_recorded_and_add_asks_for_a_scope(user):
    user = user._replace(project=user.folder)  # which is HOME
    assert "nothing is recorded in" in user.gets("status")
    done = user.types("add", "The zebra merger closes in May.")
    assert done.returncode == 1 and "not projects" in done.stderr and "Name a scope" in done.stderr
    assert "Saved as" in user.gets("add", "--user", "I like zebras best of all.")
    assert "zebras" in user.gets("search", "which animals do I like best, zebras?")


@pytest.mark.long
def test_an_unknown_name_is_refused_with_the_closest_known_one(user):
    (user.folder / "secret").mkdir()
    for words, says in {
        ("exclude", "../secrte"): "Did you mean secret?",
        ("exclude", "no/such/folder"): "There is no folder ",
        ("exclude", ""): "There is no folder ''.",
        ("config", "roots", "/no/such/folder"): "There is no folder '/no/such/folder'.",
        ("search", "heron", "--scope", "usr"): "Did you mean user?",
        ("list", "--scope", "something else"): "There is no scope",
        ("add", "Herons nest.", "--scope", ""): "There is no scope",
        ("add", "A heron.", "--scope", "usre"): "Did you mean user?",
        ("add", "A heron.", "--scope", "my birds"): "scope = 'my birds': must be 1 to 100 letters",
    }.items():
        assert says in user.refused(*words), words
    assert "secr" not in user.gets("config", "excluded")
    assert str(user.folder / "secret") in user.gets("exclude", "../secret")
    assert "This folder does not exist now." in user.gets("exclude", "/no/such/folder")
    user.gets("include", "/no/such/folder")
    assert "Saved as" in user.gets("add", "A heron is grey.", "--scope", "birds")
    assert "Saved as" in user.gets("add", "The wren sings at five.")
    project = display_name(json.loads(user.gets("status", "--json"))["engine"]["scope"])
    assert "wren" in user.gets("search", "wren", "--scope", project)
    assert "heron" in user.gets("search", "heron", "--scope", "birds")
    assert "Did you mean birds?" in user.refused("search", "heron", "--scope", "bird")
    done = user.types("serch", "heron")
    assert (done.returncode, "Did you mean search?" in done.stderr) == (2, True)


def test_a_name_that_no_scope_can_have_is_that_of_a_projects_folder(user):
    for name in ("größe", "my birds"):
        added = user.types("add", f"The crane of {name} is tall.", cwd=make_project(user.folder / name))
        assert added.returncode == 0
        listed = user.gets("list", "--scope", name)
        assert f"The crane of {name}" in listed and f"  {name}  " in listed
        assert f", {name}\n" in user.gets("scopes")
        assert f", {name} (this folder)" in user.types("status", cwd=user.folder / name).stdout


def test_commits_are_indexed_by_command_and_found_by_a_question(user):
    repo = Repository(user.project)
    repo.commit({"a.py": "WAIT = 30\n"}, "Wait 30 s for the gateway\n\nIt is slow on Mondays.")
    assert "1 commit added" in user.gets("index", "--git")
    found = user.gets("search", "why does the gateway wait 30 s?")
    assert "Wait 30 s for the gateway" in found and "Mondays" in found
    assert "Wait 30 s for the gateway" in user.gets("why", "a.py")
    assert "branch" in user.refused("search", "gateway", "--branch", "nowhere")


def test_the_name_of_a_scope_is_looked_up_without_a_lasting_connection(newcomer):
    class PlaceWithEngine(Place):
        connections = 0

        @contextmanager
        def engine(self, **options):
            self.connections += 1
            yield SimpleNamespace(call=lambda method, arguments: {"finch": {}})
            self.connections -= 1

    place = PlaceWithEngine(newcomer.env, str(newcomer.project), newcomer.home.root)
    assert place.scope("finch", may_be_new=False) == "finch" and place.connections == 0
