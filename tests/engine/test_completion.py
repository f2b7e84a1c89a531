"""Turns completed and reconciled from a transcript, with a real file and a real store."""

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest
from said import SCOPE, stored, until

from scrubjay.engine.background import prompts
from scrubjay.engine.core import Core
from scrubjay.home import spool
from scrubjay.home.capture import unanswered
from scrubjay.home.capture_policy import write_capture
from scrubjay.home.settings import Settings
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import Turn
from scrubjay.models.requests import Forget, SearchMemories

pytestmark = pytest.mark.long

ASKED = "Rename tick() to advance() please"
ANSWER = "Renamed tick() to advance() in clock.py and its tests."


def line(kind: str, uuid: str, content, **values) -> str:
    known = {"type": kind, "uuid": uuid, "sessionId": "s1", "timestamp": "2026-03-05T11:00:00Z"}
    return json.dumps({**known, "message": {"role": kind, "content": content}, **values})


def transcript(path: Path, *lines: str) -> str:
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def stop(now, path: str, **args) -> dict:
    known = {"session_id": "s1", "prompt_id": "p1", "user": ASKED, "assistant": ANSWER}
    origin = {"source": "hook:stop", "host": "claude-code", "transcript_path": path}
    made = Envelope(id="envelope_0001", kind="turn", at=now, scope=SCOPE, args=known | args, **origin)
    return made.model_dump(mode="json")


async def settled(core: Core) -> list[Turn]:
    """The turns, once no transcript waits to be read."""

    async def are_read() -> bool:
        return not core.completion.waiting

    await until(are_read)
    return sorted(await stored(core, Turn), key=lambda turn: turn.turn)


async def recorded(core: Core, envelope: dict) -> list[Turn]:
    """The turns, once a hook's envelope is recorded and completed."""
    spool.write(core.home, envelope)
    await core.writer.drain()
    return await settled(core)


async def reconciled(core: Core, path: str, **request: str) -> list[Turn]:
    """The turns, once the session is compared with its transcript."""
    fields = {"session_id": "s1", "transcript_path": path, "scope": SCOPE} | request
    core.completion.reconcile(spool.write_request(core.home, fields, "request"))
    return await settled(core)


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr("scrubjay.engine.background.completion.DELAYS", (0.0, 0.01))


async def test_a_recorded_turn_gets_its_earlier_words_tools_and_files(core: Core, now, tmp_path: Path):
    edit = {"type": "tool_use", "id": "x", "name": "Edit", "input": {"file_path": "src/clock.py"}}
    path = transcript(
        tmp_path / "t.jsonl",
        line("user", "u1", ASKED, promptId="p1"),
        line("assistant", "a1", "Let me look where it is used."),
        line("assistant", "a2", [edit]),
        line("user", "u2", [{"type": "tool_result", "tool_use_id": "x", "content": "ok"}]),
        line("assistant", "a3", ANSWER),
    )
    (turn,) = await recorded(core, stop(now, path))
    assert turn.assistant == f"Let me look where it is used.\n\n{ANSWER}"
    assert (turn.tools, turn.files) == (("Edit",), ("src/clock.py",))


async def test_an_answer_that_no_hook_saw_is_fetched_once_the_transcript_has_it(
    core: Core, now, tmp_path: Path
):
    def event(kind: str, at: str, **data) -> str:
        return json.dumps({"type": kind, "timestamp": at, "data": data})

    before = event("user.message", "2026-03-05T10:00:00Z", content=ASKED)  # the same words, an hour ago
    answered = event("assistant.message", "2026-03-05T10:00:01Z", content="Not now.", toolRequests=[])
    path = transcript(tmp_path / "events.jsonl", before, answered)
    ts = "2026-03-05T11:00:00Z"
    turn, earlier = await recorded(core, stop(now, path, assistant=None, ts=ts) | {"host": "copilot-cli"})
    assert (turn.user, turn.assistant, earlier.assistant) == (ASKED, None, "Not now.")
    report = await core.status.report()
    assert (report["captured"], report["without_answer"]) == (2, 1)
    assert report["hosts"]["copilot-cli"]["trouble"] == [unanswered(1)]
    prompt = event("user.message", "2026-03-05T11:00:01Z", content=ASKED)
    tool = event("assistant.message", ts, content="", toolRequests=[{"name": "edit"}])
    answer = event("assistant.message", ts, content=ANSWER)
    transcript(tmp_path / "events.jsonl", before, answered, prompt, tool, answer)
    again = stop(now, path, assistant=None, ts=ts) | {"id": "envelope_0002", "host": "copilot-cli"}
    turn, earlier = await recorded(core, again)
    assert (turn.assistant, turn.tools, turn.prompt_id) == (ANSWER, ("edit",), "p1")
    assert earlier.assistant == "Not now."
    report = await core.status.report()
    assert (report["without_answer"], report["hosts"]["copilot-cli"]["trouble"]) == (0, [])


async def test_an_answer_that_came_too_late_is_fetched_when_the_session_goes_on(
    core: Core, now, tmp_path: Path
):
    path = tmp_path / "rollout.jsonl"
    path.write_text("")
    await recorded(core, stop(now, str(path), assistant=None, prompt_id="t1") | {"host": "codex"})
    item = {"type": "UserMessage", "content": [{"type": "text", "text": ASKED}]}
    done = {"type": "task_complete", "turn_id": "t1", "last_agent_message": ANSWER}
    events = [{"type": "item_completed", "turn_id": "t1", "item": item}, done]
    path.write_text("".join(json.dumps({"type": "event_msg", "payload": each}) + "\n" for each in events))
    for _ in range(2):
        (turn,) = await reconciled(core, str(path), host="codex")
        assert (turn.user, turn.assistant, turn.prompt_id, turn.host) == (ASKED, ANSWER, "t1", "codex")


async def test_commands_complete_a_turn_and_are_searched(core: Core, now, tmp_path: Path):
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    command = f"GH_TOKEN={token} gh-deploy --canary\nls"
    run = {"type": "tool_use", "name": "Bash", "input": {"command": command}}
    path = transcript(
        tmp_path / "t.jsonl",
        line("user", "u1", ASKED, promptId="p1"),
        line("assistant", "a1", [run]),
        line("user", "u2", [{"type": "tool_result", "tool_use_id": "x", "content": "ok"}]),
        line("assistant", "a2", ANSWER),
    )
    (turn,) = await recorded(core, stop(now, path))
    assert turn.commands == ("GH_TOKEN=[redacted:github-token] gh-deploy --canary",)
    # A search waits 4 s for a commit at most, and a shared disk may stall for longer.
    await core.writer.settle()
    (hit, *_) = (await core.search.memories(SearchMemories(query="gh-deploy"), (SCOPE,))).results
    assert hit.id == turn.id


async def test_turns_that_no_hook_reported_are_recorded_once_redacted(core: Core, now, tmp_path: Path):
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    path = transcript(
        tmp_path / "t.jsonl",
        line("user", "u0", f"Use {secret} to fetch the list of repositories", promptId="p0"),
        line("assistant", "a0", "I began to fetch them."),
        line("user", "u9", "[Request interrupted by user]"),
        line("user", "u1", ASKED, promptId="p1"),
        line("assistant", "a1", ANSWER),
    )
    spool.write(core.home, stop(now, path))
    for _ in range(2):
        await core.writer.drain()
        turns = await reconciled(core, path, host="claude-code")
    assert sorted(turn.prompt_id for turn in turns) == ["p0", "p1"]
    assert {turn.prompt_id: turn.metadata for turn in turns} == {"p0": {"interrupted": True}, "p1": {}}
    assert not any(secret in turn.model_dump_json() for turn in turns)


def spoken(number: int, prompt_id: str | None, answer: str = "Done as you said, and tested.") -> list[str]:
    """The lines of a turn that began `number` minutes after eleven."""
    named = {"promptId": prompt_id} if prompt_id else {}
    at = f"2026-03-05T11:{number:02}:00Z"
    return [
        line("user", f"u{number}", f"Do the thing with number {number}", timestamp=at, **named),
        line("assistant", f"a{number}", answer, timestamp=at),
    ]


async def test_a_turn_known_by_other_words_or_in_another_scope_is_not_fetched(
    core: Core, now, tmp_path: Path
):
    lines = [each for number in (1, 3, 5) for each in spoken(number, None)]
    path = transcript(tmp_path / "t.jsonl", *lines)
    known = [("p-1", 1, "Do thing 1, and a file of the editor", SCOPE), ("p-3", 3, None, "elsewhere")]
    for prompt_id, number, words, scope in [*known, ("p-5", 5, None, SCOPE)]:
        told = {"user": words or f"Do the thing with number {number}", "ts": f"2026-03-05T11:0{number}:04Z"}
        envelope = stop(now, path, prompt_id=prompt_id, assistant="Done as you said, and tested.", **told)
        spool.write(core.home, envelope | {"scope": scope, "id": f"envelope_{number}"})
    await core.writer.drain()
    assert sorted(turn.prompt_id for turn in await reconciled(core, path)) == ["p-1", "p-3", "p-5"]


@pytest.mark.parametrize("prompt_id", ["p1", "p-1"])
async def test_a_purged_turn_is_not_restored_from_its_transcript(
    core: Core, now, tmp_path: Path, prompt_id: str
):
    keys = {1: "p1", 5: "p5"} if prompt_id == "p1" else {1: None, 5: None}
    lines = [each for number, key in keys.items() for each in spoken(number, key)]
    path = transcript(tmp_path / "t.jsonl", *lines)
    for number, key in ((1, prompt_id), (5, "p5")):
        told = {"user": f"Do the thing with number {number}", "ts": f"2026-03-05T11:0{number}:02Z"}
        answer = "Done as you said, and tested."
        envelope = stop(now, path, prompt_id=key, assistant=answer, **told)
        turns = await recorded(core, envelope | {"id": f"envelope_{number}"})
        if number == 1:
            await core.removal.forget(Forget(id=turns[0].id, purge=True), SCOPE, "mcp")
    gone, kept = await reconciled(core, path)
    assert (gone.user, kept.user) == (None, "Do the thing with number 5")


async def test_prompts_queued_for_a_deleted_turn_are_not_restored(core: Core, now, tmp_path: Path):
    lines = [each for number in (1, 2, 3, 5) for each in spoken(number, f"p{number}")]
    path = transcript(tmp_path / "t.jsonl", *lines)
    queued = "\n\n".join(f"Do the thing with number {number}" for number in (1, 2, 3))
    for key, user, ts in (("p3", queued, "2026-03-05T11:01:00Z"), ("p5", None, "2026-03-05T11:05:02Z")):
        told = {"user": user or "Do the thing with number 5", "assistant": "Done as you said, and tested."}
        envelope = stop(now, path, prompt_id=key, ts=ts, **told) | {"id": f"envelope_{key}"}
        turns = await recorded(core, envelope)
        if key == "p3":
            await core.removal.forget(Forget(id=turns[0].id, purge=True), SCOPE, "mcp")
    assert [turn.user for turn in await reconciled(core, path)] == [None, "Do the thing with number 5"]


async def test_a_turn_with_a_waiting_prompt_is_left_to_its_stop_hook_and_a_hidden_one_is_dropped(
    core: Core, now, tmp_path: Path
):
    lines = [each for number in (1, 3, 5) for each in spoken(number, None)]
    path = transcript(tmp_path / "t.jsonl", *lines)
    at = int(now.replace(hour=11).timestamp() * 1e9)
    said = {"session_id": "s1", "scope": SCOPE, "host": None, "capture": "all", "folders": []}
    prompts.save(core.home, "s1", None, None, 0, None, at + 63_000_000_000)  # in an excluded project
    prompts.save(core.home, "s1", None, "Do the thing with number 3", 0, said, at + 181_000_000_000)
    assert [turn.user for turn in await reconciled(core, path)] == ["Do the thing with number 5"]


@pytest.mark.parametrize("settings", [{"paused": True}, {"capture": "off"}])
async def test_no_transcript_is_read_during_a_pause(core: Core, now, tmp_path: Path, settings: dict):
    path = transcript(tmp_path / "t.jsonl", *spoken(1, "p1"))
    core.settings = Settings(**settings)
    told = {"prompt_id": "p1", "user": "Do the thing with number 1", "ts": "2026-03-05T11:01:00Z"}
    spool.write(core.home, stop(now, path, assistant=None, **told))
    await core.writer.drain()
    (turn,) = await reconciled(core, path)
    assert turn.assistant is None


@pytest.mark.parametrize("kind", ["stale", "missing", "fifo", "device", "folder"])
async def test_a_useless_transcript_leaves_the_turn_as_the_hook_gave_it(
    core: Core, now, tmp_path: Path, kind: str
):
    path = tmp_path / "t.jsonl"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "stale":
        transcript(path, line("user", "u1", ASKED, promptId="p1"), "{half a line")
    where = "/dev/zero" if kind == "device" else str(path)
    spool.write(core.home, stop(now, where))
    await core.writer.drain()
    assert [turn.assistant for turn in await reconciled(core, where)] == [ANSWER]


async def test_turns_said_before_capture_was_allowed_are_not_fetched_afterwards(
    core: Core, now, tmp_path: Path
):
    path = transcript(
        tmp_path / "t.jsonl",
        line("user", "u0", "This was said while capture was paused", promptId="p0"),
        line("assistant", "a0", "It was."),
        line("user", "u1", "And this after it", promptId="p1", timestamp="2026-03-05T12:30:00Z"),
        line("assistant", "a1", "It was."),
    )
    write_capture(core.home, Settings(), now - timedelta(days=1))
    write_capture(core.home, Settings(paused=True), now - timedelta(hours=2))
    write_capture(core.home, Settings(), now)
    assert [turn.prompt_id for turn in await reconciled(core, path)] == ["p1"]


async def test_words_said_during_a_pause_are_left_out_of_the_turn_that_spans_it(
    core: Core, now, tmp_path: Path
):
    path = transcript(
        tmp_path / "t.jsonl",
        line("user", "u1", ASKED, promptId="p1"),
        line("assistant", "a0", "The client wants to sell.", timestamp="2026-03-05T11:15:00Z"),
        line("assistant", "a1", ANSWER, timestamp="2026-03-05T11:30:00Z"),
    )
    write_capture(core.home, Settings(), now - timedelta(days=1))
    write_capture(core.home, Settings(paused=True), now - timedelta(minutes=50))
    write_capture(core.home, Settings(), now - timedelta(minutes=40))
    spool.write(core.home, stop(now, path))
    await core.writer.drain()
    assert [(turn.prompt_id, turn.assistant) for turn in await reconciled(core, path)] == [("p1", ANSWER)]


async def test_turns_said_in_an_excluded_folder_are_not_fetched_afterwards(core: Core, tmp_path: Path):
    inside = str(tmp_path / "clients" / "acme")
    path = transcript(
        tmp_path / "t.jsonl",
        line("user", "u0", "Look at what the client wrote", promptId="p0", cwd=inside),
        line("assistant", "a0", "They want to merge.", cwd=inside),
        line("user", "u1", "Now go to the client's folder", promptId="p1", cwd=str(tmp_path)),
        line("assistant", "a1", "They want to sell.", cwd=inside),
        line("user", "u2", "Back to our own code", promptId="p2", cwd=str(tmp_path)),
        line("assistant", "a2", "Here we are again.", cwd=str(tmp_path)),
    )
    core.settings = Settings(excluded=(str(tmp_path / "clients"),))
    turns = [(turn.prompt_id, turn.assistant) for turn in await reconciled(core, path)]
    assert turns == [("p1", None), ("p2", "Here we are again.")]


async def test_a_turn_of_an_unknown_folder_is_not_fetched_once_anything_is_excluded(
    core: Core, tmp_path: Path
):
    path = transcript(
        tmp_path / "t.jsonl",
        line("user", "u0", "Look at what the client wrote", promptId="p0"),
        line("assistant", "a0", "They want to merge."),
    )
    core.settings = Settings(excluded=(str(tmp_path / "clients"),))
    assert await reconciled(core, path) == []
    assert [turn.prompt_id for turn in await reconciled(core, path, cwd=str(tmp_path))] == ["p0"]


async def test_hosts_that_count_their_prompts_give_the_same_ids_in_each_session(core: Core, tmp_path: Path):
    def session(name: str, words: str, at: str) -> str:
        return transcript(
            tmp_path / f"{name}.jsonl",
            line("user", "step-0", words, sessionId=name, timestamp=at),
            line("assistant", f"a-{name}", "Done as you said.", sessionId=name),
        )

    for name, words, at in (("s1", "Count the herons", "09:00"), ("s2", "Count the egrets", "11:00")):
        path = session(name, words, f"2026-03-05T{at}:00Z")
        turns = await reconciled(core, path, session_id=name)
    assert {turn.user for turn in turns} == {"Count the herons", "Count the egrets"}


async def test_a_request_left_while_no_engine_ran_is_handled_and_a_broken_one_is_ignored(
    core: Core, tmp_path: Path
):
    spool.write_request(core.home, {"session_id": 5}, "broken")
    path = transcript(
        tmp_path / "t.jsonl",
        line("user", "u0", "What is the port of the API?", promptId="p0"),
        line("assistant", "a0", "8421, as decided."),
    )
    spool.write_request(core.home, {"session_id": "s1", "transcript_path": path, "scope": SCOPE}, "good")
    for left in spool.json_files(core.home.reconcile):
        core.completion.reconcile(left)
    assert [turn.user for turn in await settled(core)] == ["What is the port of the API?"]
    assert spool.json_files(core.home.reconcile) == []


async def test_after_a_pause_turns_of_a_host_without_timestamps_are_still_completed(
    core: Core, now, tmp_path: Path
):
    said = (("user", "<user_query>Rename it</user_query>"), ("assistant", f"I look.\n\n{ANSWER}"))
    messages = [(role, {"content": [{"type": "text", "text": text}]}) for role, text in said]
    lines = [json.dumps({"role": role, "message": message}) for role, message in messages]
    path = transcript(tmp_path / "chat.jsonl", *lines)
    for hours, settings in ((9, Settings(paused=True)), (8, Settings())):
        write_capture(core.home, settings, now - timedelta(hours=hours))
    envelope = stop(now, path, user=None, prompt_id="a-1", ts=now.isoformat())
    (turn,) = await recorded(core, envelope | {"host": "cursor"})
    assert (turn.user, turn.assistant) == ("Rename it", f"I look.\n\n{ANSWER}")


async def test_two_missed_turns_with_the_same_words_are_two_turns(core: Core, now, tmp_path: Path):
    """For a host without ids; between the two are more turns than a Stop looks at."""

    def at(number: int) -> str:
        return f"2026-03-05T{number // 60:02}:{number % 60:02}:00Z"

    def said(number: int, text: str) -> list[dict]:
        answer = {"content": f"Step {number} of the heron.", "toolRequests": []}
        kinds = (("user.message", {"content": text}), ("assistant.message", answer))
        return [{"type": kind, "timestamp": at(number), "data": data} for kind, data in kinds]

    path = tmp_path / "events.jsonl"
    for last in (60, 120):
        texts = ["continue" if number in (30, 118) else f"Heron {number}?" for number in range(last + 1)]
        lines = [json.dumps(each) + "\n" for n, text in enumerate(texts) for each in said(n, text)]
        path.write_text("".join(lines))
        told = {"user": texts[last], "assistant": f"Step {last} of the heron.", "prompt_id": f"p-{last}"}
        envelope = stop(now, str(path), ts=at(last), **told)
        envelope |= {"host": "copilot-cli", "id": f"envelope_{last}"}
        turns = await recorded(core, envelope)
    assert sum(turn.user == "continue" for turn in turns) == 2
