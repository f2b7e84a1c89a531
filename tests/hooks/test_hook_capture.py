"""Which turns the hooks record, and under which key: pairing, queues, repeated and racing Stops, policy,
redaction.
"""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from claude_code_host import Host
from small_disk import BALLAST, fill, small_disk

from scrubjay.engine.background import prompts
from scrubjay.home import openings, spool
from scrubjay.home.capture_policy import write_capture
from scrubjay.home.kept import copy_of
from scrubjay.home.paths import open_home
from scrubjay.home.settings import Settings

__all__ = ["small_disk"]  # a fixture

GITHUB = "gh" + "p_" + "a7Gk29xPq41LmZ0uR5tW8yB3nC6vD1eF1234"


def test_without_ids_an_answer_belongs_to_the_latest_prompt(host: Host) -> None:
    for at in range(2):
        host.exchange(f"Question number {at}", f"Answer number {at}")
    turns = host.turns()
    assert [turn[1:] for turn in turns] == [
        ("Question number 0", "Answer number 0"),
        ("Question number 1", "Answer number 1"),
    ]
    assert len({turn[0] for turn in turns}) == 2


def test_an_id_that_only_the_answer_has_is_the_key(host: Host) -> None:
    host.prompt("Rename tick() please")
    host.stop("Renamed to advance().", prompt_id="p1")
    host.stop("Renamed to advance(), tests too.", prompt_id="p1")
    assert host.turns() == [
        ("p1", "Rename tick() please", "Renamed to advance()."),
        ("p1", "Rename tick() please", "Renamed to advance(), tests too."),
    ]


def test_a_prompt_that_names_the_one_before_it_is_still_paired_in_order(host: Host) -> None:
    host.prompt("First question", prompt_id="p0")
    host.stop("First answer", prompt_id="p1")
    host.prompt("Second question", prompt_id="p1")
    host.stop("Second answer", prompt_id="p2")
    assert host.turns() == [
        ("p1", "First question", "First answer"),
        ("p2", "Second question", "Second answer"),
    ]


@pytest.mark.parametrize("ids", [("p1", "p2", "p3"), (None, None, None)])
def test_queued_prompts_form_one_turn_in_order(host: Host, ids: tuple) -> None:
    for text, prompt_id in zip(("Fix the bug", "in loop.py", "and test it"), ids, strict=True):
        host.prompt(text, prompt_id=prompt_id)
    for answer in ("Fixed and tested.", "Fixed and tested, all green."):
        host.stop(answer, prompt_id=ids[-1])
    first, again = host.turns()
    assert first[1:] == ("Fix the bug\n\nin loop.py\n\nand test it", "Fixed and tested.")
    assert again == (first[0], first[1], "Fixed and tested, all green.")
    assert ids[-1] in (first[0], None)
    one, other = host.envelopes()
    assert one.args["ts"] == other.args["ts"]
    host.exchange("Next question", "Next answer", prompt_id="p9")
    assert host.turns()[-1] == ("p9", "Next question", "Next answer")


@pytest.mark.parametrize("ids", [("p1", "p2", "p3"), (None, None, None)])
def test_events_repeated_after_a_power_cut_give_the_same_turns(host: Host, ids: tuple) -> None:
    for text, prompt_id in zip(("Fix the bug", "in loop.py", "Next question"), ids, strict=True):
        host.prompt(text, prompt_id=prompt_id)
        if text != "Fix the bug":
            host.stop(f"Done: {text}", prompt_id=prompt_id)
    kept = {path: Path(path).read_bytes() for path in spool.events(host.home)}
    once = host.turns()
    for path in spool.pending(host.home):
        os.unlink(path)
    for path, content in kept.items():
        Path(path).write_bytes(content)
    assert host.turns() == once
    assert [turn[1] for turn in once] == ["Fix the bug\n\nin loop.py", "Next question"]


def test_events_that_waited_for_an_engine_are_paired_as_if_read_at_once(host: Host) -> None:
    began = time.time_ns() - 3_600 * 10**9
    place = {"scope": host.scope, "folders": [str(host.project)], "capture": "all", "min_length": 10}
    place |= {"v": 1, "host": "claude-code", "session_id": "s1", "records": True}
    for number, answer in enumerate(("Renamed to advance().", "And its tests.")):
        at = began + number * 300 * 10**9
        for kind, after in (("prompt", 0), ("answer", 60 * 10**9)):
            event = {**place, "id": f"event-{kind}-{number}", "kind": kind, "time_ns": at + after}
            event |= {"prompt": None if after else "Go on, please", "answer": answer if after else None}
            spool.write_event(open_home(host.home.root), event)
    assert host.said() == [
        ("Go on, please", "Renamed to advance()."),
        ("Go on, please", "And its tests."),
    ]


def transcript(host: Host, *lines: tuple[str, Any, dict]) -> str:
    """Write a transcript of (kind, content, more fields), each line with an id of its own."""
    path = host.project / "transcript.jsonl"
    with path.open("a", encoding="utf-8") as file:
        for kind, content, more in lines:
            at = file.tell()
            entry = {
                "type": kind,
                "uuid": f"u{at}",
                "sessionId": host.session_id,
                "message": {"content": content},
            }
            file.write(json.dumps({**entry, **more}) + "\n")
    return str(path)


def said(text: str) -> list[dict]:
    return [{"type": "text", "text": text}]


@pytest.mark.parametrize("ids", [("p1", "p2", "p3"), (None, None, None)])
def test_an_interrupted_prompt_is_a_turn_of_its_own(host: Host, ids: tuple) -> None:
    named = [{"promptId": each} if each else {} for each in ids]
    push = {"type": "tool_use", "name": "Bash", "input": {"command": f"git push https://{GITHUB}@github.com"}}
    path = transcript(
        host,
        ("user", "Push it to production", named[0]),
        ("assistant", [*said(f"I push with {GITHUB}."), push], {}),
        ("user", [{"type": "tool_result", "content": "[Request interrupted by user for tool use]"}], {}),
        ("user", "[Request interrupted by user for tool use]", {}),
        ("user", "No, to staging", named[1]),
        ("assistant", [{"type": "tool_use", "name": "Read", "input": {"file_path": "deploy.py"}}], {}),
        ("user", "and run the tests", named[2]),
    )
    for text, prompt_id in zip(
        ("Push it to production", "No, to staging", "and run the tests"), ids, strict=True
    ):
        host.prompt(text, prompt_id=prompt_id, transcript_path=path)
    for answer in ("Pushed.", "Pushed, all green."):
        host.stop(answer, prompt_id=ids[-1], transcript_path=path)
    stopped, first, again = host.envelopes()
    assert (stopped.transcript_path, first.transcript_path) == (path, path)
    assert stopped.args["ts"] < first.args["ts"] == again.args["ts"]
    assert host.turns() == [
        (ids[0] or "u0", "Push it to production", None),  # the rest is taken from the transcript
        (first.args["prompt_id"], "No, to staging\n\nand run the tests", "Pushed."),
        (first.args["prompt_id"], "No, to staging\n\nand run the tests", "Pushed, all green."),
    ]
    assert host.log() == ""


def test_a_prompt_that_the_service_failed_is_not_part_of_the_next(host: Host) -> None:
    path = transcript(
        host,
        ("user", "Push it please", {"promptId": "p1"}),
        ("assistant", said("API Error: 529 overloaded"), {"isApiErrorMessage": True}),
        ("user", "Again please", {"promptId": "p2"}),
    )
    host.prompt("Push it please", prompt_id="p1", transcript_path=path)
    host.exchange("Again please", "Pushed.", prompt_id="p2", transcript_path=path)
    assert host.turns() == [("p1", "Push it please", None), ("p2", "Again please", "Pushed.")]


def test_a_session_that_ends_is_compared_with_its_transcript(host: Host) -> None:
    host.exchange("Push it please", "Pushed.", prompt_id="p1")
    host.fire("session_end", reason="other")
    assert host.turns() == [("p1", "Push it please", "Pushed.")] and host.log() == ""
    (path,) = spool.json_files(host.home.reconcile)
    request = spool.read(path)
    assert (request["session_id"], request["transcript_path"]) == (host.session_id, "/t/s.jsonl")


@pytest.mark.parametrize("ids", [("p1", "p2"), (None, None)])
@pytest.mark.parametrize("end", ["session_end", "killed"])
def test_prompts_waiting_at_the_end_of_a_session_become_turns_with_the_transcripts_ids(
    host: Host, tmp_path: Path, ids: tuple, end: str
) -> None:
    path = transcript(
        host,
        ("user", "Push it to production", {"promptId": ids[0]} if ids[0] else {}),
        ("assistant", said("I push."), {}),
        ("user", "[Request interrupted by user]", {}),
    )
    host.prompt("Push it to production", prompt_id=ids[0], transcript_path=path)
    host.prompt("No, to staging", prompt_id=ids[1], transcript_path=path)
    for _ in range(2):
        if end == "killed":
            an_hour_later(host, tmp_path)
        else:
            host.fire(end, transcript_path=path)
    stopped, alone = host.envelopes()
    assert host.turns()[0] == (ids[0] or "u0", "Push it to production", None)
    assert host.turns()[1][1:] == ("No, to staging", None) and ids[1] in (alone.args["prompt_id"], None)
    assert stopped.transcript_path == alone.transcript_path == path  # from which the rest is taken
    host.stop("To staging, then.", prompt_id=ids[1], transcript_path=path)  # late, but the same turn
    assert host.turns()[2] == (alone.args["prompt_id"], "No, to staging", "To staging, then.")
    assert host.log() == ""


def an_hour_later(host: Host, root: Path) -> dict:
    """The opening of another session that begins an hour after the host's last event."""
    host.take()
    (folder,) = Path(host.home.prompts).iterdir()
    os.utime(folder, (time.time() - prompts.QUIET_S - 60,) * 2)
    return Host(root, "another-session").fire("session_start", source="startup")


def test_a_session_gets_its_opening_although_the_disk_refuses_writes(small_disk: Path) -> None:
    host = Host(small_disk)
    host.prompt("Push it to production", prompt_id="p1")
    openings.write(host.home, host.scope, "- Never push to main.", None)
    host.take()
    fill(small_disk)
    assert "Never push to main." in str(an_hour_later(host, small_disk))
    os.unlink(small_disk / BALLAST)
    assert host.turns() == []
    an_hour_later(host, small_disk)
    assert host.turns() == [("p1", "Push it to production", None)]


def test_a_prompt_that_may_still_be_answered_waits(host: Host, tmp_path: Path) -> None:
    host.prompt("Push it to production", prompt_id="p1")
    host.fire("session_start", source="compact")
    Host(tmp_path, "another-session").fire("session_start", source="startup")
    assert host.turns() == []


@pytest.mark.parametrize("way", ["pause", "off", "folder"])
@pytest.mark.parametrize("end", ["stop", "session_end", "killed"])
def test_a_prompt_whose_answer_must_not_be_recorded_is_a_turn_without_an_answer(
    host: Host, tmp_path: Path, way: str, end: str
) -> None:
    elsewhere = str(host.project / "clients")
    place = {"cwd": elsewhere} if way == "folder" else {}
    path = transcript(
        host,
        ("user", "Rename tick() please", {"timestamp": "2026-03-05T12:01:00Z"}),
        ("assistant", said("The client wants to sell."), place),
    )
    host.prompt("Rename tick() please", transcript_path=path)
    host.policy(
        **{
            "pause": {"paused": True},
            "off": {"capture": "off"},
            "folder": {"excluded": [elsewhere]},
        }[way]
    )
    if end == "killed":
        an_hour_later(host, tmp_path)
    elif end == "stop":
        host.stop("The client wants to sell.", transcript_path=path, **place)
    else:
        host.fire(end, transcript_path=path, **place)
    assert host.said() == [("Rename tick() please", None)]
    (alone,) = host.envelopes()
    assert (alone.scope, alone.capture, alone.host) == (host.scope, "all", "claude-code")
    assert host.log() == ""


@pytest.mark.parametrize("ids", [("p1", "p2"), (None, None)])
def test_the_answer_to_a_prompt_said_in_a_pause_is_not_paired_with_the_prompt_before(
    host: Host, ids: tuple
) -> None:
    host.prompt("Rename tick() please", prompt_id=ids[0])  # its host was killed
    host.policy(paused=True)
    host.prompt("Look at what the client wrote", prompt_id=ids[1])
    host.policy()
    host.stop("They want to merge.", prompt_id=ids[1])
    assert host.said() == [("Rename tick() please", None)]


def test_the_answer_to_a_prompt_said_in_a_pause_without_a_hook_is_not_recorded(host: Host) -> None:
    path = transcript(
        host,
        ("user", "Look at what the client wrote", {"timestamp": "2026-03-05T12:01:00Z"}),
        ("assistant", said("They want to merge."), {}),
        ("user", "Rename tick() please", {"timestamp": "2026-03-05T12:05:00Z"}),
        ("assistant", said("Renamed to advance()."), {}),
    )
    host.policy(pauses=[["2026-03-05T12:00:00Z", "2026-03-05T12:03:00Z"]])
    host.stop("They want to merge.", transcript_path=path)
    host.stop("Renamed to advance().", transcript_path=path)
    assert host.said() == [(None, "Renamed to advance().")]


def test_an_answer_is_not_given_to_a_prompt_when_the_transcript_names_another(host: Host) -> None:
    path = transcript(
        host,
        ("user", "Push it to production", {"promptId": "p1"}),
        ("assistant", said("I push."), {}),
        ("user", "[Request interrupted by user]", {}),
        ("user", "No, to staging", {"promptId": "p2"}),
    )
    host.prompt("Push it to production", prompt_id="p1", transcript_path=path)
    host.stop("Pushed to staging.", prompt_id="p2", transcript_path=path)  # the hook of its prompt was lost
    assert host.turns() == [
        ("p1", "Push it to production", None),  # the engine takes the rest from the transcript
        ("p2", None, "Pushed to staging."),
    ]


@pytest.mark.parametrize("end", ["session_end", "pause"])
def test_a_prompt_is_recognised_by_its_id_in_the_transcript(host: Host, end: str) -> None:
    """An engine that compared the two before stored it under that id, and a late Stop finds it."""
    path = transcript(host, ("user", "Push it please", {}), ("user", "[Request interrupted by user]", {}))
    host.prompt("Push it please", transcript_path=path)
    if end == "pause":
        host.policy(paused=True)
        host.stop("Pushed.", transcript_path=path)
        host.policy(since="2026-03-05T12:03:00Z")
    else:
        host.fire(end, transcript_path=path)
    host.stop("Pushed it after all.", transcript_path=path)
    assert [(turn[0], turn[1]) for turn in host.turns()] == [("u0", "Push it please")] * 2


def test_a_prompt_said_in_a_folder_excluded_later_is_not_recorded(host: Host) -> None:
    host.prompt("Rename tick() please")
    host.policy(excluded=[str(host.project)])
    host.stop("Renamed to advance().")
    host.fire("session_end")
    assert host.turns() == [] and host.log() == ""


def test_an_error_of_the_service_is_not_an_answer(host: Host) -> None:
    host.exchange("Push it please", "API Error: Request rejected (429)", prompt_id="p1")
    assert host.turns() == [("p1", "Push it please", None)]


@pytest.mark.parametrize("kind", ["fifo", "device", "folder", "gone"])
def test_a_transcript_that_is_not_a_file_blocks_nothing(host: Host, kind: str) -> None:
    path = str(host.project / "transcript")
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        os.mkdir(path)
    path = "/dev/zero" if kind == "device" else path
    for text in ("Push it please", "Test it"):
        host.prompt(text, transcript_path=path)
    host.stop("Done with both.", transcript_path=path)
    assert host.said() == [("Push it please\n\nTest it", "Done with both.")]
    assert host.log() == ""


@pytest.mark.parametrize("name", ["capture.json", "engine.json", "log/hooks.log", "project/.git"])
def test_a_file_that_is_a_fifo_blocks_nothing(host: Host, name: str) -> None:
    open_home(host.home.root)
    os.mkfifo(host.project / ".git" if "project" in name else os.path.join(host.home.root, name))
    started = time.monotonic()
    host.exchange("Push it please", "Pushed.", prompt_id="p1")
    assert time.monotonic() - started < 3  # a hook that waits gives up after 2 or 5 s
    assert name == "log/hooks.log" or "deadline" not in host.log()
    assert host.raw("Stop", b"no JSON") == {}
    assert len(host.turns()) == (0 if name == "capture.json" else 1)


def test_a_prompt_queued_behind_the_answered_one_waits_for_its_own_answer(host: Host) -> None:
    host.prompt("First question", prompt_id="p1")
    host.prompt("Second question", prompt_id="p2")
    host.stop("First answer", prompt_id="p1", stop_hook_active=True)
    host.stop("Second answer", prompt_id="p2")
    assert host.turns() == [
        ("p1", "First question", "First answer"),
        ("p2", "Second question", "Second answer"),
    ]


@pytest.mark.parametrize("ids", [{"prompt_id": "p1"}, {}])
def test_two_hooks_that_race_give_the_same_turn(host: Host, ids: dict) -> None:
    for process in [host.start("user_prompt_submit") for _ in range(2)]:
        with process:
            process.communicate(
                host.payload("user_prompt_submit", prompt="Rename tick() please", **ids), timeout=30
            )
    racing = [host.start("stop") for _ in range(4)]
    for process in racing:
        assert process.stdin
        process.stdin.write(host.payload("stop", last_assistant_message="Renamed to advance().", **ids))
        process.stdin.close()
    for process in racing:
        assert process.wait(30) == 0
        assert process.stdout and process.stderr
        assert process.stdout.read() == b"{}\n"
        process.stdout.close()
        process.stderr.close()
    assert len(host.turns()) == 4
    assert len(set(host.turns())) == 1
    assert host.turns()[0][1] == "Rename tick() please"
    assert host.log() == ""


def test_an_answer_without_a_saved_prompt_is_recorded_alone_and_once(host: Host) -> None:
    for _ in range(2):
        host.stop("Renamed to advance().")
    host.stop("Something else entirely.")
    host.stop("With an id of the host.", prompt_id="p7")
    one, again, other, named = host.turns()
    assert one == again != other
    assert (one[1], one[2]) == (None, "Renamed to advance().")
    assert named == ("p7", None, "With an id of the host.")


def test_a_prompt_without_an_answer_text_is_recorded_for_the_transcript_to_complete(host: Host) -> None:
    host.prompt("Rename tick() please", prompt_id="p1")
    host.stop(None, prompt_id="p1")
    assert host.turns() == [("p1", "Rename tick() please", None)]


def test_sessions_and_strange_ids_never_mix(host: Host, tmp_path: Path) -> None:
    ids = ["../../etc", "a" * 200, "A", "a", "con", "p.1", "\u043f"]
    for at, name in enumerate(ids):
        host.fire("user_prompt_submit", session_id=name, prompt=f"Question number {at}", prompt_id=name)
    for at, name in enumerate(ids):
        host.fire("stop", session_id=name, last_assistant_message=f"Answer number {at}", prompt_id=name)
    assert host.turns() == [
        (name, f"Question number {at}", f"Answer number {at}") for at, name in enumerate(ids)
    ]
    assert len(os.listdir(host.home.prompts)) == len(ids)
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("home", "project")] == []


def test_a_subagents_session_is_not_the_users(host: Host) -> None:
    host.prompt("Rename tick() please", prompt_id="p1")
    assert host.stop("A subagent's answer.", prompt_id="p1", agent_id="a1", agent_type="Explore") == {}
    assert host.turns() == []
    host.stop("Renamed to advance().", prompt_id="p1", agent_type="main")
    assert len(host.turns()) == 1


@pytest.mark.parametrize(
    "source", ["system", "loop_wakeup", "schedule_wakeup", "poll_event", "whatever_comes"]
)
def test_a_prompt_not_typed_by_the_user_and_its_answer_are_not_recorded(host: Host, source: str) -> None:
    host.prompt("Check the queue now", prompt_id="p1", source=source)
    host.stop("The queue is empty.", prompt_id="p1")
    assert host.turns() == []
    host.prompt("Rename tick() please", prompt_id="p2", source="sdk")
    host.stop("Renamed to advance().", prompt_id="p2")
    assert host.turns() == [("p2", "Rename tick() please", "Renamed to advance().")]


@pytest.mark.parametrize(
    "prompt",
    ["<task-notification>\n<task-id>b1</task-id></task-notification>", "<bash-input>ls</bash-input>"],
)
def test_a_prompt_written_by_the_host_is_not_recorded(host: Host, prompt: str) -> None:
    host.exchange(prompt, "The background job is done.", prompt_id="p1")
    assert host.turns() == []


@pytest.mark.parametrize(
    "values",
    [
        {"paused": True},
        {"capture": "off"},
        {"excluded": ["PROJECT"]},
        {"capture": "odd"},
        {"min_length": "x"},
    ],
)
def test_a_prompt_excluded_by_the_user_leaves_no_trace(host: Host, values: dict) -> None:
    host.policy(**json.loads(json.dumps(values).replace("PROJECT", str(host.project))))
    (host.project / "deep").mkdir()
    for cwd in (host.project, host.project / "deep"):
        host.exchange("Rename tick() please", "Renamed to advance().", prompt_id="p1", cwd=str(cwd))
        host.fire("session_start", source="startup", cwd=str(cwd))
    assert host.turns() == []
    written = b"".join(path.read_bytes() for path in Path(host.home.root).rglob("*") if path.is_file())
    assert b"Rename" not in written
    assert b"Renamed" not in written


@pytest.mark.parametrize("values", [{"paused": True}, {"capture": "off"}, {"excluded": ["PROJECT"]}])
@pytest.mark.parametrize("ids", [("p1", "p2"), (None, None)])
def test_the_answer_to_an_unrecorded_prompt_is_not_recorded_either(
    host: Host, values: dict, ids: tuple
) -> None:
    """The pause ended, or the host changed folder, before the answer arrived."""
    host.policy(**json.loads(json.dumps(values).replace("PROJECT", str(host.project))))
    host.prompt("Look at what the client wrote", prompt_id=ids[0])
    host.policy()
    host.stop("They want to merge.", prompt_id=ids[0])
    assert b"merge" not in b"".join(Path(path).read_bytes() for path in spool.events(host.home))
    host.exchange("Rename tick() please", "Renamed to advance().", prompt_id=ids[1])
    assert host.said() == [("Rename tick() please", "Renamed to advance().")]


@pytest.mark.parametrize("ids", [("p1", "p2"), (None, None)])
@pytest.mark.parametrize("way", ["pause", "folder"])
def test_an_answer_given_during_a_pause_is_not_read_from_the_transcript(
    host: Host, ids: tuple, way: str
) -> None:
    """Its prompt was submitted before the pause, and is a turn of its own."""
    named = [{"promptId": each} if each else {} for each in ids]
    began, resumed, later = (f"2026-03-05T12:0{minute}:00Z" for minute in (1, 3, 5))
    place = {"cwd": str(host.project / "clients")} if way == "folder" else {}
    path = transcript(
        host,
        ("user", "Rename tick() please", {**named[0], "timestamp": began}),
        ("assistant", said("The client wants to sell."), {"timestamp": began, **place}),
        ("user", "And its tests", {**named[1], "timestamp": later}),
    )
    host.policy()
    host.prompt("Rename tick() please", prompt_id=ids[0], transcript_path=path)
    hidden = {"paused": True} if way == "pause" else {"excluded": [str(host.project / "clients")]}
    host.policy(**hidden)
    host.stop("The client wants to sell.", prompt_id=ids[0], transcript_path=path, **place)
    host.policy(**({"since": resumed} if way == "pause" else hidden))
    host.exchange("And its tests", "Renamed to advance().", prompt_id=ids[1], transcript_path=path)
    recorded = host.said()
    assert recorded == [("Rename tick() please", None), ("And its tests", "Renamed to advance().")]


@pytest.mark.parametrize("ids", [("p1", "p2"), (None, None)])
def test_an_interrupted_unrecorded_prompt_is_not_part_of_the_next(host: Host, ids: tuple) -> None:
    named = [{"promptId": each} if each else {} for each in ids]
    path = transcript(
        host,
        ("user", "Look at what the client wrote", named[0]),
        ("assistant", said("They want to merge."), {}),
        ("user", "[Request interrupted by user]", {}),
        ("user", "Rename tick() please", named[1]),
    )
    host.policy(paused=True)
    host.prompt("Look at what the client wrote", prompt_id=ids[0], transcript_path=path)
    host.policy()
    host.exchange("Rename tick() please", "Renamed to advance().", prompt_id=ids[1], transcript_path=path)
    assert host.said() == [("Rename tick() please", "Renamed to advance().")]


def test_an_excluded_project_stays_excluded_through_a_link_and_after_cd(host: Host, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(host.project)
    host.policy(excluded=[str(tmp_path / "link")])
    host.stop("Renamed to advance().", prompt_id="p1")
    host.env["CLAUDE_PROJECT_DIR"] = str(host.project)
    host.stop("Renamed to advance().", prompt_id="p1", cwd="/")
    assert host.turns() == []


def test_a_policy_whose_file_and_copy_are_damaged_records_nothing_and_says_so(host: Host) -> None:
    write_capture(open_home(host.home.root), Settings(), datetime.now(UTC))
    for path in (host.home.capture, copy_of(host.home.capture)):
        Path(path).write_text("{")
    host.stop("Renamed to advance().", prompt_id="p1")
    assert host.turns() == []
    assert "capture.json cannot be read" in host.log()


@pytest.mark.parametrize("way", ["gone", "fifo", "folder", "garbage"])
def test_the_copy_of_a_damaged_policy_is_followed(host: Host, way: str) -> None:
    write_capture(open_home(host.home.root), Settings(capture="salient"), datetime.now(UTC))
    os.remove(host.home.capture)
    if way == "fifo":
        os.mkfifo(host.home.capture)
    elif way == "folder":
        os.mkdir(host.home.capture)
    elif way == "garbage":
        Path(host.home.capture).write_text("{")
    host.exchange("thanks", "You are very welcome", prompt_id="p1")
    host.exchange("ok", "We decided to rename tick() to advance().", prompt_id="p2")
    assert [turn[0] for turn in host.turns()] == ["p2"]
    assert host.log() == ""


def test_an_exchange_too_short_or_not_salient_is_skipped_and_not_queued(host: Host) -> None:
    host.policy(capture="salient")
    host.exchange("thanks", "You are very welcome", prompt_id="p1")
    host.exchange("ok", "We decided to rename tick() to advance().", prompt_id="p2")
    assert host.turns() == [("p2", "ok", "We decided to rename tick() to advance().")]
    assert host.envelopes()[0].capture == "salient"


def test_queued_prompts_do_not_add_up_to_the_least_length(host: Host) -> None:
    for text in ("go on", "yes", "and on"):
        host.prompt(text, prompt_id=text[:2])
    host.stop("Done.", prompt_id="an")
    assert host.turns() == []
    for text in ("go on", "and add the tests"):
        host.prompt(text)
    host.stop("Done.")
    assert [turn[1] for turn in host.turns()] == ["go on\n\nand add the tests"]


def test_secrets_and_private_parts_never_reach_the_disk(host: Host) -> None:
    host.prompt(f"Use {GITHUB} and <private>my diagnosis</private> please", prompt_id="p1")
    waiting = b"".join(path.read_bytes() for path in Path(host.home.prompts).rglob("*") if path.is_file())
    host.stop(f"I used {GITHUB} and password={'hunter' + '22'}. <private>also this", prompt_id="p1")
    written = b"".join(path.read_bytes() for path in Path(host.home.root).rglob("*") if path.is_file())
    for secret in (GITHUB.encode(), b"diagnosis", b"hunter" + b"22", b"also this"):
        assert secret not in waiting + written
    assert host.turns() == [
        (
            "p1",
            "Use [redacted:github-token] and  please",
            "I used [redacted:github-token] and password=[redacted:password].",
        )
    ]
    assert host.envelopes()[0].redacted == 5


def test_an_answer_does_not_repeat_a_secret_that_only_its_prompt_names(host: Host) -> None:
    secret = "kestrel" + "771199"
    prompt, answer = f"The password is {secret}", f"Noted: anna has {secret}."
    path = transcript(host, ("user", prompt, {"promptId": "p1"}), ("assistant", said(answer), {}))
    host.exchange(prompt, answer, prompt_id="p1", transcript_path=path)
    assert host.turns() == [
        ("p1", "The password is [redacted:password]", "Noted: anna has [redacted:secret].")
    ]


def test_invalid_or_too_long_text_is_made_to_fit(host: Host) -> None:
    host.prompt("a\x00b\ud800c \U0001f426 question", prompt_id="p1")
    host.stop("x" * 1_500_000, prompt_id="p1")
    _, user, assistant = host.turns()[0]
    assert user == "abc \U0001f426 question"
    assert len(assistant) == 1_000_000
    assert assistant.endswith("[cut: 500,060 more characters]")


def test_a_secret_at_the_cut_leaves_no_fragment(host: Host) -> None:
    for at, place in enumerate((999_990, 1_000_000, 1_004_080)):
        text = "x " * (place // 2) + GITHUB + " and the end" * 1000
        host.stop(text, prompt_id=f"p{at}")
    for _, _, assistant in host.turns():
        assert "ghp_" not in assistant and assistant.endswith("more characters]")


def test_a_valid_named_scope_takes_precedence(host: Host) -> None:
    for named in ("team:jay", "*", "two words", "x" * 101):
        host.env["SCRUBJAY_SCOPE"] = named
        host.stop("Renamed to advance().", prompt_id="p1")
    assert [envelope.scope for envelope in host.envelopes()] == ["team:jay", *[host.scope] * 3]


def test_old_prompts_are_not_kept(host: Host) -> None:
    for at in range(23):
        host.exchange(f"Question number {at}", f"Answer number {at}", prompt_id=f"p{at}")
    host.take()
    (folder,) = Path(host.home.prompts).iterdir()
    assert len(list(folder.iterdir())) == 20
    os.utime(folder, (1, 1))
    host.fire("session_start", source="startup")
    host.take()
    assert os.listdir(host.home.prompts) == []
