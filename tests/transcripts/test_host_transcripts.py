"""Speakers and texts in the transcripts of every host; the lines are made up, in the shapes of the versions
named next to them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scrubjay.hosts.facts import HOSTS
from scrubjay.transcripts.formats import turns
from scrubjay.transcripts.matching import placed
from scrubjay.transcripts.turn import has_ended

AT = "2026-11-22T18:08:51.660Z"


def codex_response(role: str, text: str, turn: str, *kinds: str) -> dict[str, Any]:
    about = {"turn_id": turn, "content_item_kinds": list(kinds)}
    body = {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}
    body |= {"internal_chat_message_metadata_passthrough": about} if kinds else {}
    return {"timestamp": AT, "type": "response_item", "payload": body}


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": kind, "payload": payload}


def copilot(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": f"e-{kind}", "timestamp": AT}


def gemini(kind: str, number: int, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": f"m{number}", "timestamp": AT, "type": kind, "content": content, **more}


def qwen(kind: str, provenance: str | None, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    about = {"provenance": provenance} if provenance else {}
    return (
        {"type": kind, "sessionId": "s", "uuid": "u1", "timestamp": AT, "message": {"parts": list(parts)}}
        | about
        | more
    )


# By host and version: the lines of a transcript, and the fields of each turn. By host: a turn, then a picture alone;
# the user's answer to a tool, as `words`; a title and a summary.
FILES, PICTURES, QUESTIONS, SUMMARIES = json.loads(
    Path(__file__).with_name("lines.json").read_text()
).values()
FIELDS = ("prompts", "assistant", "tools", "commands", "prompt_id", "session_id")


@pytest.mark.parametrize("name", FILES)
def test_a_transcript_becomes_turns(name: str) -> None:
    found = read(name, FILES[name]["lines"])
    assert [[turn[field] for field in FIELDS] for turn in found] == FILES[name]["turns"]
    assert [has_ended(turn) for turn in found] == [
        bool(turn["assistant"] or turn["interrupted"]) for turn in found
    ]


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_being_written_gives_its_complete_turns(name: str) -> None:
    whole = "\n".join(json.dumps(line) for line in FILES[name]["lines"]).encode()
    for at in range(0, len(whole), 61):
        lines = (whole[:at] + b"\n\xff\n[1]\nnull\n").splitlines(keepends=True)
        for turn in turns(lines, name.split()[0]):
            assert turn["prompts"] and all(turn["prompts"]) and isinstance(turn["assistant"], str)


STRANGE = json.loads(
    '[null, 7, true, "x", [], [7], {}, [{}], [null], {"a": 7}, "\\ud800", {"content": [{"text": 7}]}, 1e300]'
)


@pytest.mark.parametrize("name", FILES)
def test_values_of_another_type_are_skipped(name: str) -> None:
    lines = FILES[name]["lines"]
    for line in lines:
        for path in _paths(line):
            for value in STRANGE:
                other = [json.dumps(_with(each, path, value) if each is line else each) for each in lines]
                for turn in turns(other, name.split()[0]):
                    placed([turn], [(turn["prompt_id"], "\n\n".join(turn["prompts"]), None)])


def test_a_file_of_an_unknown_host_has_no_turns() -> None:
    line = json.dumps({"type": "user", "message": {"content": "Which port?"}})
    assert turns([line], "nobody") == []
    assert len(turns([line], "claude-code")) == len(turns([line], None)) == 1
    described = {name for name, facts in HOSTS.items() if "transcript" in facts}
    assert described == {name.split()[0] for name in FILES} | {"claude-code"}


@pytest.mark.parametrize(
    "text",
    ["<hook_context>", "a </hook_context>", "</system_reminder>", "<b>Which</b>", "<user_query>x", "x > y"],
)
def test_unpaired_tags_are_the_users_words(text: str) -> None:
    (turn,) = turns([json.dumps({"role": "user", "content": text})], "cursor")
    assert turn["prompts"] == [text]


@pytest.mark.parametrize(
    "context",
    [
        "<open_and_recently_viewed_files>\na.py\n</open_and_recently_viewed_files>",
        "<attached_files>\n<code_selection>\npay()\n</code_selection>\n</attached_files>\n<git_status>x</git_status>",
    ],
)
@pytest.mark.parametrize("is_one_block", [True, False])
def test_what_cursor_puts_before_the_users_words_is_not_theirs(context: str, is_one_block: bool) -> None:
    texts = [context, "<user_query>\nWhy is it slow?\n</user_query>"]
    texts = ["\n".join(texts)] if is_one_block else texts
    line = {"role": "user", "message": {"content": [{"type": "text", "text": text} for text in texts]}}
    machine = {"role": "user", "content": "<user_info>\nOS: linux\n</user_info>\n<rules>x</rules>"}
    (turn,) = turns([json.dumps(machine), json.dumps(line)], "cursor")
    assert turn["prompts"] == ["Why is it slow?"]


@pytest.mark.parametrize(("seconds", "place"), [(-3600.0, None), (-5.0, 0), (0.0, 0), (3600.0, 0), (None, 0)])
def test_the_same_words_said_much_earlier_are_another_turn(seconds: float | None, place: int | None) -> None:
    (turn,) = read("vscode", FILES["vscode"]["lines"])
    asked = 1_792_000_000.0
    at = None if seconds is None else asked + seconds  # hosts write the line a little before or after a hook
    assert placed([{**turn, "at": at}], [("p-1", "Which port?", asked)]) == [place]


def _paths(value: Any) -> list[tuple]:
    if not isinstance(value, (dict, list)):
        return [()]
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [(), *((key, *path) for key, each in inner for path in _paths(each))]


def _with(value: Any, path: tuple, new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _with(value[path[0]], path[1:], new)
    return copy


def read(name: str, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return turns([json.dumps(line) for line in entries], name.split()[0])


def pairs(host: str, *entries: dict[str, Any]) -> list[tuple[str, str]]:
    return _pairs(host, *map(json.dumps, entries))


def _pairs(host: str, *lines: str | bytes) -> list[tuple[str, str]]:
    return [("\n\n".join(turn["prompts"]), turn["assistant"]) for turn in turns(lines, host)]


PRICES = [("Cache the price list.", "It is cached.")]


@pytest.mark.parametrize(
    "notice",
    [
        "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>",
        "<skill>\n<name>release</name>\n</skill>",
        "<subagent_notification>\n{}\n</subagent_notification>",
        '<codex_internal_context source="goal">\nKeep working.\n</codex_internal_context>',
        "Another language model started to solve this problem and produced a summary.",
    ],
)
@pytest.mark.parametrize("has_messages", [True, False])
def test_messages_codex_sends_as_the_user_are_not_prompts(notice: str, has_messages: bool) -> None:
    said = [codex("event_msg", type="user_message", message="Cache the price list.")] * has_messages
    answer = codex("event_msg", type="agent_message", message="It is cached.")
    later = codex("event_msg", type="agent_message", message="Carrying on.")
    asked = codex_response("user", "Cache the price list.", "t1")
    assert pairs("codex", asked, *said, answer, codex_response("user", notice, "t2"), later) == PRICES


@pytest.mark.parametrize("notices", [1, 2, 3])
def test_no_answer_to_any_of_the_hosts_notices_joins_the_users_turn(notices: int) -> None:
    asked = codex("event_msg", type="user_message", message="Cache the price list.")
    answer = codex("event_msg", type="agent_message", message="It is cached.")
    later = codex("event_msg", type="agent_message", message="Carrying on.")
    notice = codex_response("user", "<subagent_notification>\n{}\n</subagent_notification>", "t2")
    assert pairs("codex", asked, answer, *[notice, later] * notices) == PRICES
    assert pairs("codex", asked, answer, *[notice] * notices, later) == PRICES


def test_the_answer_to_a_note_of_qwen_itself_does_not_join_the_users_turn() -> None:
    asked = qwen("user", "real_user", {"text": "Cache the price list."})
    answers = [qwen("assistant", None, {"text": text}) for text in ("It is cached.", "Noted.")]
    assert (
        pairs("qwen-code", asked, answers[0], qwen("user", "system", {"text": "Done."}), answers[1]) == PRICES
    )


def test_response_items_are_the_hosts_if_a_rollout_has_user_messages() -> None:
    said = codex("event_msg", type="user_message", message="Cache the price list.")
    answer = codex("event_msg", type="agent_message", message="It is cached.")
    assert pairs("codex", said, answer, codex_response("user", "<new_tag>x</new_tag>", "t2")) == PRICES


def test_an_editors_preamble_is_removed_and_the_request_stays() -> None:
    message = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nCache the price list.\n"
    answer = codex("event_msg", type="agent_message", message="It is cached.")
    assert pairs("codex", codex("event_msg", type="user_message", message=message), answer) == PRICES


@pytest.mark.parametrize(
    "context", ["  <cwd>/srv/app</cwd>", "Current working directory: /srv/app\nSandbox: x"]
)
def test_a_rollout_before_envelopes_is_read(context: str) -> None:
    def item(role: str, text: str) -> dict[str, Any]:
        return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}

    head = {"id": "old", "timestamp": AT, "instructions": None}
    about = item("user", f"<environment_context>\n{context}\n</environment_context>")
    assert pairs("codex", head, about, item("user", PRICES[0][0]), item("assistant", PRICES[0][1])) == PRICES
    (turn,) = turns(map(json.dumps, [head, about, item("user", PRICES[0][0])]), "codex")
    assert (turn["started_at"], list(turn["folders"])) == (AT, ["/srv/app"])


@pytest.mark.parametrize("source", ["skill-release", "autopilot", "agent-docs", "system"])
def test_messages_copilot_sends_as_the_user_are_not_prompts(source: str) -> None:
    lines = [
        copilot("user.message", content="Cache the price list."),
        copilot("user.message", content="Go on.", source=source),
    ]
    assert pairs("copilot-cli", *lines, copilot("assistant.message", content="It is cached.")) == PRICES


def test_the_events_of_copilots_subagents_are_left_out() -> None:
    lines = [
        copilot("user.message", content="Cache the price list."),
        copilot("user.message", content="You explore the code.") | {"agentId": "explorer"},
        copilot("assistant.message", content="I found it.") | {"agentId": "explorer"},
    ]
    assert pairs("copilot-cli", *lines, copilot("assistant.message", content="It is cached.")) == PRICES


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("vscode", PRICES),
        ({"custom": "chatgpt"}, PRICES),
        ({"subagent": "review"}, []),
        ({"internal": "x"}, []),
    ],
)
def test_only_sessions_that_codex_starts_itself_are_left_out(source: object, found: list[tuple[str, str]]):
    lines = [
        codex("session_meta", id="s", source=source),
        codex("event_msg", type="user_message", message="Cache the price list."),
        codex("event_msg", type="agent_message", message="It is cached."),
    ]
    assert pairs("codex", *lines) == found


FILES_NAMED = [
    "Cache the price list.",
    "\n--- Content from referenced files ---",
    "\nContent from @prices.py:\n",
    "PRICES = {}\n--- End of content ---\n",
    "\n--- End of content ---",
]


@pytest.mark.parametrize("separator", ["\n", "\n\n"])
def test_the_files_that_a_prompt_names_are_not_the_users_words(separator: str) -> None:
    whole = separator.join(FILES_NAMED)
    parts = [{"text": text} for text in FILES_NAMED]
    answers = gemini("gemini", 2, "It is cached."), qwen("assistant", None, {"text": "It is cached."})
    assert pairs("gemini-cli", gemini("user", 1, parts), answers[0]) == PRICES
    assert pairs("gemini-cli", gemini("user", 1, whole), answers[0]) == PRICES
    assert pairs("qwen-code", qwen("user", None, *parts), answers[1] | {"uuid": "u2"}) == PRICES
    unclosed = whole.replace("--- End of content ---", "")
    assert pairs("gemini-cli", gemini("user", 1, unclosed))[0][0] == unclosed.strip()


@pytest.mark.parametrize("cut", [1, 20, 110])
def test_a_line_that_a_crash_cut_off_does_not_hide_the_one_written_after_it(cut: int) -> None:
    half = json.dumps(gemini("gemini", 1, "It will be cached."))[:-cut]
    prompt, answer = (
        json.dumps(gemini(kind, 2 + at, PRICES[0][at])) for at, kind in enumerate(("user", "gemini"))
    )
    assert _pairs("gemini-cli", f"{half}{prompt}\n", f"{answer}\n") == PRICES


def test_a_byte_order_mark_does_not_hide_the_first_line() -> None:
    prompt = json.dumps(copilot("user.message", content=PRICES[0][0]))
    answer = json.dumps(copilot("assistant.message", content=PRICES[0][1]))
    assert _pairs("copilot-cli", b"\xef\xbb\xbf" + prompt.encode(), answer) == PRICES


def test_geminis_thoughts_and_its_message_after_a_compression_are_not_answers() -> None:
    thought = {"text": "Weighing.", "thought": True}
    lines = [
        gemini("user", 1, {"text": "Cache the price list."}),
        gemini("gemini", 2, [thought, {"text": "It is cached."}]),
        gemini("user", 3, "<state_snapshot>x</state_snapshot>"),
        gemini("gemini", 4, "Got it. Thanks for the additional context!"),
    ]
    assert pairs("gemini-cli", *lines) == PRICES


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_alone_opens_a_turn_in_any_host(name: str) -> None:
    assert pairs(name.split()[0], *PICTURES[name]) == [*PRICES, ("[image]", "A chart.")]


def test_the_words_before_a_picture_in_an_overlong_line_are_a_prompt() -> None:
    image = "data:image/png;base64," + "A" * 90_000
    line = json.dumps(codex("event_msg", type="user_message", message="Read the chart.", images=[image]))
    answer = json.dumps(codex("event_msg", type="agent_message", message="A spike."))
    (turn,) = turns([line[:65_536] + "\n", answer], "codex")
    assert (turn["prompts"], turn["assistant"]) == (["Read the chart."], "A spike.")
    assert turns([line[:65_536], answer], "codex") == []


@pytest.mark.parametrize("host", QUESTIONS)
def test_the_users_answers_to_a_tool_are_their_words_in_any_host(host: str) -> None:
    words = f"Set up the store.\n\n{QUESTIONS[host]['words']}"
    assert pairs(host, *QUESTIONS[host]["lines"]) == [(words, "")]


def test_other_tool_results_and_unanswered_questions_are_not_the_users_words() -> None:
    asked = copilot(
        "tool.execution_start", toolCallId="c1", toolName="ask_user", arguments={"question": "Q?"}
    )
    declined = copilot("tool.execution_complete", toolCallId="c1", result={"content": "User declined."})
    ran = copilot("tool.execution_start", toolCallId="c2", toolName="bash", arguments={"command": "ls"})
    listed = copilot("tool.execution_complete", toolCallId="c2", result={"content": "User selected: a"})
    said = copilot("user.message", content="Set up the store.")
    assert pairs("copilot-cli", said, asked, declined, ran, listed) == [("Set up the store.", "")]


@pytest.mark.parametrize("host", SUMMARIES)
def test_the_title_and_the_summary_that_a_host_wrote_are_not_turns_but_with_the_last_one(host: str):
    (turn,) = read(host, SUMMARIES[host])
    assert turn["prompts"] == ["mend it"] and turn["title"] == "Mend the pool"
    assert host == "gemini-cli" or turn["recap"] == "The pool leaks; rows are not closed."


def test_what_claude_code_adds_around_its_summary_for_the_model_is_no_part_of_the_summary() -> None:
    intro = "This session is being continued from a previous conversation that ran out of context. Below:\n\n"
    note = "<system-reminder>\nBash, Edit\n</system-reminder>\n"
    details = "\n\nIf you need specific details from before compaction, read the transcript at: /a/b.jsonl"
    older = "\nPlease continue the conversation from where we left it off without asking the user."
    newer = "\nContinue the conversation from where it left off.\n\nThe messages after this summary are kept."
    for before in (f"{intro}Summary:\n", f"{intro}{note}", f"{intro}Analysis:\nLong.\n\nSummary:\n"):
        for after in (details + newer, older, newer, ""):
            content = f"{before}1. The pool leaks.\n\n2. Rows stay open.{after}"
            prompt = {"type": "user", "uuid": "u0", "message": {"content": "mend it"}}
            summary = {**prompt, "uuid": "u1", "isCompactSummary": True, "message": {"content": content}}
            (turn,) = turns([json.dumps(prompt), json.dumps(summary)], "claude-code")
            assert turn["recap"].strip() == "1. The pool leaks.\n\n2. Rows stay open."
