"""The main job, with real processes: turns of one session are found in another, and by no client without
access.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from assistant import engines, until

from scrubjay.home import spool

SESSION = [
    ("Why is the atlas gateway so slow?", "Each REST call opens a new connection to the atlas service."),
    ("What would you do about it?", "Either pool connections or stream over gRPC."),
    ("Let us decide.", "Decision: the atlas service moves to gRPC, because streaming halves the latency."),
    ("Who writes the proto files?", "The platform team keeps them in the repository named contracts."),
    ("Fine, and the deadline?", "The gateway flips its flag in March."),
]


def test_a_decision_of_one_session_is_found_in_another_with_its_neighbours(user, opens):
    for turn, (prompt, answer) in enumerate(SESSION):
        user.says(prompt, answer, session="tuesday", turn=turn)
    user.says("How do I centre a div?", "With flexbox, on the parent.", session="monday", turn=0)
    assert not engines(user.home.root)
    other = opens()
    asked = {"query": "why did we choose gRPC for the atlas service?", "top_k": 1}
    found = other.get("search_memories", **asked, prev_turns=1, next_turns=1)
    (hit,) = found["results"]
    assert "Decision: the atlas service moves to gRPC" in hit["memory"]
    assert (hit["session_id"], hit["turn"], hit["source"]) == ("tuesday", 2, "hook:stop")
    assert hit["scope"].startswith("repo_sparrow__")
    assert [(near["turn"], near["reason"]) for near in found["related"]] == [(1, "window"), (3, "window")]
    assert "pool connections" in found["related"][0]["memory"] and "degraded" not in found
    whole = other.ask("resources/read", uri=f"scrubjay://turn/{hit['id']}")["result"]["contents"][0]["text"]
    assert "\n[turn 2 of session tuesday" in whole and "Let us decide." in whole
    assert user.gets("status").startswith("captured 6 of 6 turns\n")


def test_a_session_opens_with_the_last_one_with_and_without_a_running_engine(user, opens):
    assert user.opens("monday") == ""
    user.says(*SESSION[2], session="monday", turn=0)
    assert user.opens("tuesday") == ""  # turns that wait in the spool cannot be shown yet
    client = opens()
    client.call("add_memory", content="Never push to main.", is_static=True)
    # a hook waits 0.2 s for a busy engine, or until the opening is ready
    answers: list[str] = []
    until(lambda: answers.append(user.opens("tuesday")) or "Never push" in answers[-1], "an opening")
    told = answers[-1]
    for text in ("Last session: ", "atlas service moves to gRPC", "Never push to main."):
        assert text in told
    client.leave()
    user.gets("stop")
    until(lambda: not engines(user.home.root), "the engine ends")
    assert user.opens("wednesday") == told
    assert not engines(user.home.root)  # a hook starts none
    assert "inject = session" in user.gets("status")
    user.gets("forget", "--content", "Never push to main.")
    assert "Never push" not in user.opens("wednesday")
    user.gets("config", "inject", "off")
    assert user.opens("wednesday") == ""


def test_turns_captured_without_an_engine_are_stored_once_and_in_order(user, opens):
    for number in range(12):
        user.says(
            f"Question number {number} about the atlas", f"Answer number {number}", session="s", turn=number
        )
    # a hook that the host fires again
    user.says("Question number 11 about the atlas", "Answer number 11", session="s", turn=11)
    assert len(spool.events(user.home, "answer")) >= 12 and not engines(user.home.root)
    found = opens().get("search_memories", query="question about the atlas", session_id="s", top_k=100)
    hits = found["results"]
    said = {hit["turn"]: hit["memory"] for hit in hits}
    assert len(hits) == 12 and sorted(said) == list(range(12))
    assert all(text.count(f"number {number}") == 2 for number, text in said.items())
    until(lambda: not spool.pending(user.home) + spool.events(user.home), "the spool is empty")


def test_a_scope_never_leaks_into_another(user, opens):
    folders = [repository(user.folder / name) for name in ("alpha", "beta")]
    (folders[0] / "src").mkdir()
    alpha, beta = opens(cwd=folders[0] / "src"), opens(cwd=folders[1])
    alpha.get("record_turn", session_id="shared", user="The launch code of the zebra is 4711.")
    alpha.get("add_memory", content="The zebra's launch code is kept in the vault.")
    alpha.get("add_document", content="# Zebra\n\nThe launch code is 4711.\n", custom_id="codes")
    modes = ({"search_mode": mode} for mode in ("hybrid", "documents"))
    for arguments in ({}, {"session_id": "shared"}, {"scope": "user"}, *modes):
        assert beta.recall("launch code of the zebra", **arguments) == []
    assert beta.get("search_documents", query="zebra launch code")["results"] == []
    assert "no document" in beta.call("search_documents", query="zebra", doc_id="codes")["content"][0]["text"]
    assert beta.get("record_turn", session_id="shared", user="A session of the same name.")["turn"] == 0
    near = {"top_k": 1, "prev_turns": 20, "next_turns": 20}
    assert beta.get("search_memories", query="session of the same name", **near)["related"] == []
    assert len(alpha.recall("launch code of the zebra", search_mode="hybrid")) == 3
    by_name = beta.recall("launch code of the zebra", scope="*", search_mode="hybrid")
    assert len(by_name) >= 3


def repository(folder: Path) -> Path:
    subprocess.run(
        ["git", "init", "-q", str(folder)],
        check=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder.parent)},
        timeout=20,
    )
    return folder
