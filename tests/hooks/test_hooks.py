"""The hooks as a host runs them: every shape of payload, every failure, and never any output that disturbs
the assistant.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from assistant import until
from claude_code_host import EVENTS, HELLO, HOOKS, Engine, Host

from scrubjay.home import given, openings, spool
from scrubjay.home.paths import open_home

PACKAGE = HOOKS.parent / "server" / "scrubjay"
# The parts of the package that hooks use, some of them only when there is something to do.
SHARED = """
    __init__ errors home/__init__ home/capture home/files home/given home/kept home/openings home/paths
    home/repositories home/scopes home/spool hosts/__init__ hosts/facts redaction/__init__ redaction/cuts
    redaction/names redaction/patterns redaction/redact redaction/rules redaction/shapes redaction/tables
    redaction/words transcripts/__init__ transcripts/book transcripts/claude_code transcripts/failures
    transcripts/formats transcripts/injected transcripts/json_lines transcripts/matching transcripts/turn wire/__init__
    wire/address wire/hello
""".split()


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "fork"])
def test_a_starting_session_requests_a_comparison_with_its_transcript(host: Host, source: str) -> None:
    assert (
        host.fire("session_start", source=source, model="m", seconds_since_last_response=9, context_tokens=5)
        == {}
    )
    host.take()
    (path,) = spool.json_files(host.home.reconcile)
    assert spool.read(path) == {
        "session_id": host.session_id,
        "transcript_path": "/t/s.jsonl",
        "cwd": str(host.project),
        "scope": host.scope,
        "host": "claude-code",
    }
    assert host.log() == ""


@pytest.mark.parametrize("hook", ["stop", "session_start", "session_end"])
def test_an_engine_is_notified_and_never_waited_for(host: Host, hook: str) -> None:
    host.policy(inject="off")
    with Engine(host.home) as engine:
        host.prompt("Rename tick() please", prompt_id="p1")
        host.fire(hook, last_assistant_message="Renamed to advance().", prompt_id="p1")
        assert engine.hung_up.wait(10)
    hello, event = engine.heard
    assert event == {"event": "drain"}
    assert (hello["protocol"], hello["kind"], hello["cwd"], hello["scope"]) == (
        1,
        "hook",
        str(host.project),
        host.scope,
    )


def test_recalled_text_is_added_to_a_prompt_only_if_the_user_wants_it(host: Host) -> None:
    with Engine(host.home, HELLO, {"text": "- 2026-03-01: tick() was renamed to advance()."}) as engine:
        assert host.prompt("What did we rename tick() to?", prompt_id="p1") == {}
        assert engine.heard == []
        host.policy(inject="prompt")
        answer = host.prompt("What did we rename tick() to?", prompt_id="p2")
    block = "<scrubjay-memory>\n- 2026-03-01: tick() was renamed to advance().\n</scrubjay-memory>"
    assert answer == {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": block}}
    request = engine.heard[1]
    assert (request["event"], request["prompt"], request["max_bytes"]) == (
        "inject",
        "What did we rename tick() to?",
        2048,
    )


def test_a_prompt_tells_the_engine_what_its_session_was_shown(host: Host) -> None:
    host.policy(inject="prompt")
    fact, more = "- 2026-03-01: Never push to main.", "- 2026-03-02 (s/4): tick() is advance()."
    cut = f"- 2026-03-02 (s/5): {'x' * 2048}"  # no hook shows it, because it is too long
    openings.write(open_home(host.home.root), host.scope, f"Quoted.\n{fact}", None)
    host.fire("session_start", source="startup")
    with Engine(host.home, HELLO, {"text": f"Quoted.\n{more}\n{cut}"}) as engine:
        for source in (None, "resume", "compact"):  # after a compaction the model knows only the opening
            if source:
                host.fire("session_start", source=source)
            host.prompt("What did we rename tick() to?")
    told = [set(line["given"]) for line in engine.heard if line.get("event") == "inject"]
    assert told == [set(given.sums(fact)), {*given.sums(fact), *given.sums(more)}, set(given.sums(more))]
    assert "advance" not in Path(spool.session_folder(host.home, host.session_id), "given").read_text()


def test_an_opening_that_cannot_be_noted_is_shown_and_its_session_recorded(host: Host) -> None:
    host.policy(inject="prompt")
    openings.write(open_home(host.home.root), host.scope, "- 2026-03-01: Never push to main.", None)
    blocked = Path(spool.session_folder(host.home, host.session_id))
    blocked.write_text("not a folder")
    said = host.fire("session_start", source="startup")["hookSpecificOutput"]
    assert "Never push to main." in said["additionalContext"]
    assert len(spool.events(host.home, "start")) == 1 and host.log() == ""
    blocked.unlink()
    (blocked / "given").mkdir(parents=True)  # a folder in the place of the file
    with Engine(host.home, HELLO, {"text": "- 2026-03-02 (s/4): tick() is advance()."}):
        assert host.prompt("What did we rename tick() to?", prompt_id="p1")
    host.stop("To advance().", prompt_id="p1")
    assert len(host.turns()) == 1 and host.log() == ""


def test_a_session_gets_the_engines_opening_unless_the_user_does_not_want_it(host: Host) -> None:
    with Engine(host.home, HELLO, {"text": "Quoted.\n- 2026-03-01: Never push to main."}) as engine:
        answer = host.fire("session_start", source="startup")["hookSpecificOutput"]
        host.policy(inject="off")
        assert host.fire("session_start", source="startup") == {}
    assert answer["hookEventName"] == "SessionStart"
    assert "Never push to main." in answer["additionalContext"] and answer["additionalContext"].startswith(
        "<scrubjay-memory>"
    )
    events = [line for line in engine.heard if "event" in line]
    assert [line["event"] for line in events] == ["drain", "opening", "drain"]
    assert (events[1]["session_id"], events[1]["source"]) == (host.session_id, "startup")
    assert host.log() == ""


def test_a_prepared_opening_needs_no_engine(host: Host) -> None:
    openings.write(open_home(host.home.root), host.scope, "Quoted.\n- 2026-03-01: Never push to main.", None)
    for source in ("startup", "clear", None):
        answer = host.fire("session_start", source=source)["hookSpecificOutput"]
        assert "Never push to main." in answer["additionalContext"]
    for source in ("resume", "compact", "fork"):  # whose details the engine knows
        assert host.fire("session_start", source=source) == {}
    host.policy(excluded=[str(host.project)])
    assert host.fire("session_start", source="startup") == {}
    assert host.log() == ""


HINTS = json.loads(Path(__file__).with_name("payloads.json").read_text(encoding="utf-8"))["hints"]


def test_a_memory_is_given_once_a_session_before_its_file_is_edited(host: Host) -> None:
    openings.write(open_home(host.home.root), host.scope, "", None, hints=HINTS)
    edit = {
        "tool_name": "Edit",
        "tool_input": {"file_path": "/work/api/gen.py", "old_string": "a", "new_string": "b"},
    }
    assert host.fire("before_tool", **edit) == {}
    host.policy(inject="edit")
    said = host.fire("before_tool", **edit)["hookSpecificOutput"]
    assert said["hookEventName"] == "PreToolUse" and "Never edit api/gen.py." in said["additionalContext"]
    assert host.fire("before_tool", **edit) == {}
    (note,) = given.read(host.home)
    assert (note.by, note.session, note.facts) == ("edit", host.session_id, 1)
    assert not spool.events(host.home) and host.log() == ""


@pytest.mark.parametrize(
    ("inputs", "is_said"),
    [
        ({"file_path": "/w/api/gen.py", "content": "x"}, True),
        ({"file_path": "/w/api/gen.py"}, False),  # a tool that reads
        ({"file_path": "/w/notapi/gen.py", "content": "x"}, False),
        ({"file_path": "/w/b.py", "old_string": "", "new_string": "flush_all()"}, True),
        ({"file_path": "/w/b.py", "edits": [{"old_string": "", "new_string": "do_flush_all()"}]}, False),
        ({"command": "cd x && make gen"}, True),
        ({"command": "make generate"}, False),
        ({"command": "rm api/gen.py"}, True),
        ({"command": "*** Begin Patch\n*** Update File: api/gen.py\n+x"}, True),
        ({"command": ["bash", "-lc", "make gen"]}, True),
        ({"file_path": "old.py", "content": "x"}, False),
        ({"file_path": "long.py", "content": "x"}, False),  # over 120 tokens
        ({"file_path": "/w/.github/ci.yml", "content": "x"}, True),
        ({"file_path": "/w/github/ci.yml", "content": "x"}, False),
        ({"file_path": "/w/b/.env", "content": "x"}, True),
        ({"file_path": 7, "edits": 7, "command": {}}, False),
    ],
)
def test_a_hint_is_about_exactly_the_file_symbol_or_command(host: Host, inputs: dict, is_said: bool) -> None:
    from scrubjay.hooks import hosts, tools

    openings.write(home := open_home(host.home.root), "s", "", None, hints=HINTS)
    payload = {"session_id": "s", "hook_event_name": "PreToolUse", "tool_input": inputs}
    event = hosts.read("claude-code", payload, {}, "/w")
    assert bool(tools.hint(home, event, "s", 2e9)) is is_said


def test_a_failure_comes_with_what_made_the_command_pass_last_time(host: Host) -> None:
    host.policy(inject="edit")
    openings.write(open_home(host.home.root), host.scope, "", None, hints=HINTS)
    run = {"tool_name": "Bash", "tool_input": {"command": "make"}}
    assert host.fire("after_tool", **run, error="Exit code 1\nopen /a.txt: permission denied") == {}
    said = host.fire("after_tool", **run, error="Exit code 1\nopen /srv/b.txt: No such file")
    assert "make data" in said["hookSpecificOutput"]["additionalContext"]


def test_a_user_is_told_once_a_session_what_it_was_given(host: Host) -> None:
    home, fact = open_home(host.home.root), "Quoted.\n- 2026-03-01: Never push to main."
    openings.write(home, host.scope, fact, None, sessions=2, facts=1)
    said = host.fire("session_start", source="startup")
    assert said["systemMessage"] == "Scrubjay: 2 sessions, 1 fact (11 tokens)"
    with Engine(host.home, HELLO, {"text": fact, "sessions": 1, "facts": 9}):
        assert "systemMessage" not in host.fire("session_start", source="resume")
        host.policy(inject="prompt")
        assert "systemMessage" not in host.prompt("What did we rename tick() to?", prompt_id="p1")
    host.policy(inject="session")
    host.name = "gemini-cli"  # which shows it in the terminal, and on stderr with -p
    assert "systemMessage" in host.fire("session_start", source="startup")
    host.name = "qwen-code"  # whose row names no key for a message
    assert set(host.fire("session_start", source="startup")) == {"hookSpecificOutput"}
    notes = given.read(host.home)
    assert [(each.by, each.tokens, each.sessions, each.facts) for each in notes] == [
        ("opening", 11, 2, 1),
        ("opening", 11, 1, 9),
        ("prompt", 11, 1, 9),
        *[("opening", 11, 2, 1)] * 2,
    ]
    assert {(each.session, each.scope) for each in notes} == {(host.session_id, host.scope)}
    assert "push" not in Path(host.home.log, "given.log").read_text()


def test_one_session_in_so_many_gets_no_opening_and_is_noted(host: Host) -> None:
    openings.write(open_home(host.home.root), host.scope, "- 2026-03-01: Never push to main.", None, facts=1)
    host.policy(effect=1)
    assert host.fire("session_start", source="startup") == {}
    host.policy(effect=0)
    assert host.fire("session_start", source="startup") != {}
    assert [(each.by, each.facts) for each in given.read(host.home)] == [("withheld", 1), ("opening", 1)]
    chosen = [given.is_withheld(f"session-{number}", 4) for number in range(400)]
    assert 60 < sum(chosen) < 140 and chosen == [given.is_withheld(f"session-{n}", 4) for n in range(400)]


def test_the_log_of_what_was_given_stays_small_and_outlives_damage(host: Host) -> None:
    home = open_home(host.home.root)
    for number in range(9_000):
        given.note(home, 1e9 + number, "opening", "s", 7, "a session")
    logs = [Path(home.log, name) for name in ("given.log", "given.log.1")]
    assert all(path.stat().st_size <= given.MAX_BYTES + 200 for path in logs)
    logs[0].write_bytes(logs[0].read_bytes() + b"\xff half a li\n")
    assert given.read(home)[-1] == given.Given("2001-09-09T04:16:39Z", "opening", "asession", "s", 7, 0, 0)


def test_nothing_is_captured_in_the_home_folder_and_the_log_says_why(host: Host) -> None:
    home = open_home(host.home.root)
    openings.write(home, "user", "- 2026-03-01: Never push to main.", None)
    host.project = host.project.parent  # which is HOME
    for place in (str(host.project), "/"):
        assert host.fire("session_start", source="startup", cwd=place) == {}
        assert host.prompt("Rename tick() please", prompt_id="p1", cwd=place) == {}
        assert host.stop("Renamed to advance().", prompt_id="p1", cwd=place) == {}
        assert (
            f"Nothing is recorded in {place}: /, your home folder itself and a folder that no longer exists are not projects."
            in host.log()
        )
    assert (host.envelopes(), spool.json_files(host.home.reconcile), os.listdir(host.home.prompts)) == (
        [],
        [],
        [],
    )
    host.env["SCRUBJAY_SCOPE"] = "home"
    host.stop("Renamed to advance().", prompt_id="p2")
    assert [envelope.scope for envelope in host.envelopes()] == ["home"]


def test_an_opening_that_may_be_wrong_is_not_shown(host: Host) -> None:
    home = open_home(host.home.root)
    openings.write(home, host.scope, "- 2026-03-01: The demo is today.", 1_772_400_000.0)  # expired by now
    assert host.fire("session_start", source="startup") == {}
    openings.write(home, host.scope, "- 2026-03-01: The demo is today.", None)
    host.prompt("Rename tick() please", prompt_id="p1")
    host.stop("Renamed to advance().", prompt_id="p1")  # which no engine has taken yet
    assert host.fire("session_start", source="startup") == {}
    for path in Path(home.openings).iterdir():
        path.write_text("{")
    assert host.fire("session_start", source="startup") == {}
    assert host.log() == ""


def test_an_injection_is_small_has_whole_lines_and_is_stripped_from_captured_text(host: Host) -> None:
    host.policy(inject="prompt")
    text = (
        "<scrubjay-memory>\n"
        + "\n".join(f"- fact {at}: " + "é" * 90 for at in range(30))
        + "\n</scrubjay-memory>"
    )
    with Engine(host.home, HELLO, {"text": text}):
        block = host.prompt("What do we know?", prompt_id="p1")["hookSpecificOutput"]["additionalContext"]
    assert 1500 < len(block.encode()) <= 2048
    lines = block.split("\n")
    assert (lines[0], lines[-1], block.count("scrubjay-memory")) == (
        "<scrubjay-memory>",
        "</scrubjay-memory>",
        2,
    )
    assert all(line.endswith("é" * 90) for line in lines[1:-1])
    host.exchange(f"{block}\nAnd now?", "Nothing more.", prompt_id="p2")
    assert host.turns()[0][1] == "What do we know?\n\nAnd now?"


@pytest.mark.parametrize(
    "says", [[], [{"text": ""}], [{"text": None}], [{"text": "x" * 70_000}], [HELLO, {"error": "no"}]]
)
def test_an_engine_that_does_not_answer_never_delays_a_prompt(host: Host, says: list) -> None:
    host.policy(inject="prompt")
    with Engine(host.home, *says):
        assert host.prompt("What did we rename?", prompt_id="p1") == {}
    assert host.log() == ""


@pytest.mark.parametrize("hook", EVENTS)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"garbage",
        b"{",
        b"null",
        b"[]",
        b"7",
        b'"text"',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b"{}",
        b'{"session_id": ""}',
        b'{"session_id": 7}',
    ],
)
def test_garbage_is_logged_with_its_reason_and_nothing_else_happens(
    host: Host, hook: str, data: bytes
) -> None:
    assert host.raw(hook, data) == {}
    assert host.log().count("\n") == 1
    assert "garbage" not in host.log()
    assert host.turns() == []


@pytest.mark.parametrize("hook", EVENTS)
def test_missing_or_mistyped_fields_never_fail_a_hook(host: Host, hook: str) -> None:
    strange = [None, 7, [], {}, True, "", " ", "x" * 300, "\x00", "\ud800"]
    for value in strange:
        names = tuple(
            "prompt_id prompt last_assistant_message transcript_path cwd source stop_hook_active".split()
        )
        assert host.fire(hook, **dict.fromkeys(names, value)) == {}
    assert host.fire(hook, transcript_path=..., cwd=..., hook_event_name=...) == {}
    assert host.fire(hook, session_id="s" * 201) == {}
    host.envelopes()  # the written event is valid
    assert {line.split(" ", 3)[3] for line in host.log().splitlines()} == {
        "The event has no session_id of 1 to 200 characters; it was ignored."
    }


def test_an_event_of_many_megabytes_is_ignored(host: Host) -> None:
    assert host.stop("x" * 17_000_000) == {}
    assert "more than 8,388,608 bytes" in host.log()
    assert host.turns() == []


@pytest.mark.parametrize("hook", EVENTS)
@pytest.mark.parametrize("root", ["a file", "relative"])
def test_an_unusable_home_is_reported_along_with_an_empty_answer(host: Host, hook: str, root: str) -> None:
    if root == "relative":
        host.env["SCRUBJAY_HOME"] = "memories"
    else:
        Path(host.home.root).write_text("a file where the home should be")
    told = host.complaint(hook, prompt="Rename tick()", last_assistant_message="Renamed.", prompt_id="p1")
    assert re.fullmatch(r"scrubjay: [^\n]+ Set SCRUBJAY_HOME to [^\n]+\n", told)
    assert not (host.project / "memories").exists()


@pytest.mark.parametrize("place", ["spool_new", "prompts", "log"])
def test_a_spool_that_cannot_be_created_is_reported_on_standard_error(host: Host, place: str) -> None:
    host.fire("session_start", source="startup")
    os.rmdir(getattr(host.home, place))
    Path(getattr(host.home, place)).write_text("a file where the folder should be")
    assert "Set SCRUBJAY_HOME" in host.complaint("user_prompt_submit", prompt="Rename tick()", prompt_id="p1")
    assert "Set SCRUBJAY_HOME" in host.complaint("stop", last_assistant_message="Renamed.", prompt_id="p1")


def test_a_host_that_never_closes_its_input_is_abandoned_at_the_deadline(host: Host) -> None:
    with host.start("user_prompt_submit") as process:
        assert process.stdout and process.stdout.read() == b"{}\n"  # while our end of its stdin is open
        assert process.wait(10) == 0
    assert host.log().endswith("deadline - gave up after 1.4 s\n")


@pytest.mark.parametrize("ends", [b"", b"\n"])
def test_a_complete_event_is_handled_while_its_host_keeps_the_pipe_open(host: Host, ends: bytes) -> None:
    said = (
        {"prompt": "Nenne es Z\u00fcrich {", "prompt_id": "p1"},
        {"last_assistant_message": "Ja }", "prompt_id": "p1"},
    )
    for hook, fields in zip(("user_prompt_submit", "stop"), said, strict=True):
        event = {"session_id": "s1", "cwd": str(host.project), **fields}
        data = json.dumps(event, ensure_ascii=False).encode()
        with host.start(hook) as process:
            assert process.stdin and process.stdout
            for piece in (*data.partition(b"}"), ends):  # the first ones end in the middle of the event
                process.stdin.write(piece)
                process.stdin.flush()
            assert process.stdout.read() == b"{}\n"
    assert host.turns() == [("p1", "Nenne es Z\u00fcrich {", "Ja }")]
    assert host.log() == ""


SLOW_DISK = """
import os, sys, time
sync = os.fsync
def slow(descriptor):
    while not os.path.exists(sys.argv[3]):
        time.sleep(0.02)
    sync(descriptor)
os.fsync = slow
sys.path.insert(0, sys.argv[1])
import bootstrap
bootstrap.start("claude-code", sys.argv[2])
"""


@pytest.mark.skipif(os.name == "nt", reason="no process can be forked there")
@pytest.mark.parametrize("event", EVENTS)
def test_a_slow_disk_delays_no_host_and_loses_no_turn(host: Host, tmp_path: Path, event: str) -> None:
    disk_works = tmp_path / "works"
    fields = {"prompt": "Rename tick() please", "prompt_id": "p1"}
    fields |= {"last_assistant_message": "Renamed to advance()."} if event == "stop" else {}
    command = [sys.executable, "-I", "-S", "-c", SLOW_DISK, str(HOOKS), event, str(disk_works)]
    env = {**host.env, "SCRUBJAY_HOME": host.home.root}
    began = time.monotonic()
    done = subprocess.run(
        command,
        input=host.payload(event, **fields),
        env=env,
        cwd=host.project,
        capture_output=True,
        check=False,
        timeout=20,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}\n", b"")
    assert time.monotonic() - began < 1.5 + 1.0  # and a margin for a slow start
    if event == "stop":
        assert host.envelopes() == []
        disk_works.touch()
        until(lambda: len(host.envelopes()) == 1, "the turn is written")
    disk_works.touch()


def test_a_host_that_has_exited_is_not_an_error(host: Host) -> None:
    with host.start("stop") as process:
        assert process.stdin and process.stdout
        process.stdout.close()
        process.stdin.write(host.payload("stop", last_assistant_message="Renamed to advance()."))
        process.stdin.close()
        assert process.wait(10) == 0
    assert len(host.envelopes()) == 1


def test_written_files_are_private(host: Host) -> None:
    host.env["SCRUBJAY_HOME"] = host.home.root
    host.exchange("Rename tick() please", "Renamed to advance().", prompt_id="p1")
    host.raw("stop", b"garbage")
    host.fire("session_start", source="startup")
    for folder, _, files in os.walk(host.home.root):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700, folder
        for file in files:
            assert stat.S_IMODE(os.stat(os.path.join(folder, file)).st_mode) == 0o600, file


def test_the_log_holds_reasons_without_content_and_stays_small(host: Host) -> None:
    Path(host.home.log).mkdir(parents=True)
    Path(host.home.log, "hooks.log").write_text("x" * 600_000)
    host.raw("stop", b'{"session_id": "s1\\n", "prompt": "my secret"')
    assert "my secret" not in host.log()
    assert len(host.log()) < 200
    assert sum(file.stat().st_size for file in Path(host.home.log).iterdir()) < 1_000_000


def test_scripts_of_older_registrations_keep_working(host: Host) -> None:
    for name, fields in (
        ("session_start", {"source": "startup"}),
        ("user_prompt_submit", {"prompt": "Rename tick() please", "prompt_id": "p1"}),
        ("stop", {"last_assistant_message": "Renamed to advance().", "prompt_id": "p1"}),
        ("session_end", {}),
    ):
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(HOOKS / f"{name}.py")],
            input=host.payload(name, hook_event_name=..., **fields),
            env=host.env,
            cwd=host.project,
            capture_output=True,
            check=True,
        )
        assert (done.stdout, done.stderr) == (b"{}\n", b"")
    assert host.turns() == [("p1", "Rename tick() please", "Renamed to advance().")]


def test_the_console_script_for_every_host_runs_the_hook(host: Host) -> None:
    scripts = tomllib.loads((HOOKS.parent / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, function = scripts["scrubjay-hook"].partition(":")
    code = f"import sys; from {module} import {function}; sys.exit({function}())"
    for event, fields in (("UserPromptSubmit", {"prompt": "Rename tick() please"}), ("Stop", {})):
        subprocess.run(
            [sys.executable, "-c", code, "--host=kiro", "--event", event],
            input=host.payload("stop", hook_event_name=..., last_assistant_message="Renamed.", **fields),
            env=host.env | {"PYTHONPATH": os.pathsep.join(sys.path)},
            cwd=host.project,
            check=True,
        )
    assert [(each.host, each.args["assistant"]) for each in host.envelopes()] == [("kiro", "Renamed.")]


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The package with the hooks inside, as pip installs it."""
    package, without = tmp_path / "site-packages" / "scrubjay", shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, package, ignore=without)
    shutil.copytree(HOOKS, package / "hooks", ignore=without)
    return package


def test_installed_scripts_run_from_inside_the_package(host: Host, installed: Path) -> None:
    host.scripts = installed / "hooks"
    host.exchange("Rename tick() please", "Renamed to advance().", prompt_id="p1")
    assert host.turns() == [("p1", "Rename tick() please", "Renamed to advance().")]


def test_a_script_without_its_package_exits_quietly(host: Host, tmp_path: Path) -> None:
    host.scripts = tmp_path / "alone"
    shutil.copytree(HOOKS, host.scripts)
    assert host.stop("Renamed to advance().") == {}


def test_a_damaged_installation_is_logged(host: Host, installed: Path) -> None:
    (installed / "redaction" / "redact.py").write_text("half a li")
    host.scripts = installed / "hooks"
    assert host.stop("Renamed to advance().") == {}
    assert host.log().split(" ", 1)[1].startswith("start - SyntaxError in ")


def test_a_hook_imports_nothing_slow(installed: Path) -> None:
    imports = f"import sys; sys.path.insert(0, {str(installed.parent)!r}); import scrubjay.hooks.entry"
    command = [sys.executable, "-I", "-S", "-c", f"{imports}, scrubjay.hooks.events; print(*sys.modules)"]
    modules = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert not {"typing", "inspect", "dataclasses", "logging", "datetime", "subprocess", "hashlib"} & modules


@pytest.mark.parametrize(
    "path",
    [*sorted(HOOKS.glob("*.py")), *(PACKAGE / f"{name}.py" for name in SHARED)],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_the_code_of_a_hook_is_python_3_9(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
