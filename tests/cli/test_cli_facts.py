"""Facts on the command line: versions, similar facts, forgetting, restoring, and the profile. One engine for
all of them.
"""

from __future__ import annotations

import re
import subprocess

import pytest
from mcp import Client, StdioServerParameters
from user import newcomer, user

from scrubjay.hosts.installation import console_command

pytestmark = pytest.mark.long

__all__ = ["newcomer", "user"]  # fixtures


def test_a_fact_gets_a_new_version_and_its_history_can_be_read(user):
    old = user.adds("The sparrow proxy listens on port 8080.")
    page = user.gets("add", "The sparrow proxy listens on port 8081.")
    new = page.split()[2].rstrip(".")
    assert f"add it again with `--updates ID`. Older: {old}: The sparrow proxy listens on port 8080." in page
    page = user.gets("add", "The sparrow proxy listens on port 8081.", "--updates", old)
    assert page == f"Saved as {new}, version 2.\n"
    page = user.gets("search", "sparrow proxy port", "--facts", "--history")
    assert "-1 updates 20" in page and f"{old[:12]}: The sparrow proxy listens on port 8080." in page
    assert old[:12] not in user.gets("list")
    assert "more than one" not in user.gets("add", "The sparrow proxy is nginx.", "--extends", new)
    assert "has a newer version" in user.refused("add", "The sparrow proxy is off.", "--updates", old)


async def test_distilled_facts_are_listed_and_taken_back_and_what_was_given_is_listed(user):
    assert "no distilled facts" in user.gets("review")
    user.says("The owlery opens at nine, because owls sleep late.", "Noted.", session="owls", turn=0)
    user.gets("status", "--start")
    start = console_command()
    server = StdioServerParameters(command=start[0], args=start[1:], env=user.env, cwd=str(user.project))
    async with Client(server) as client:
        read = {"query": "distill", "options": {"search_mode": "undistilled"}}
        assert "owls/0" in (await client.call_tool("search_memories", read)).content[0].text
        fact = {"content": "The owlery opens at nine, because owls sleep late.", "tags": ["distilled"]}
        options = {"metadata": {"turn": "owls/0"}}
        assert not (await client.call_tool("add_memory", fact | {"options": options})).is_error
    page = user.gets("review")
    assert "owls/0" in page and "The owlery opens at nine" in page and "1 distilled fact." in page
    id = page.split()[0]
    assert "1 distilled fact." in user.gets("review", id)
    for undo in ([], ["--undo"]):
        assert "'mem_0' is not a distilled fact" in user.refused("review", *undo, "mem_0")
    assert "1 distilled fact taken back" in user.gets("review", "--undo", id)
    assert "no distilled facts" in user.gets("review") and id in user.gets("restore", id)
    assert "1 distilled fact taken back" in user.gets("review", "--undo")
    assert "no distilled facts" in user.gets("review", "--undo")
    assert "--runs = 0: must be" in user.refused("review", "--runs", "0")
    assert "--last = 0: must be" in user.refused("given", "--last", "0")
    assert "Not enough yet" in user.gets("effect")
    (line, _) = user.gets("given", "--last", "1").splitlines()
    assert "search_memories" in line and "token" in line and "owl" not in line.replace("sparrow", "")


def test_a_fact_on_standard_input_may_have_another_encoding(user):
    for number, text in enumerate(["The café of Zürich opens at 8.", "The café of Zürich opens at 9."]):
        command = [*console_command(), "add", "-", "--tag", f"cafe{number}"]
        data = text.encode("cp1252" if number else "utf-16")
        subprocess.run(command, input=data, env=user.env, cwd=user.project, capture_output=True, check=True)
        assert text in user.gets("search", "café", "--tag", f"cafe{number}")


def test_forgotten_facts_are_shown_on_request_and_can_be_restored(user):
    id = user.adds("The heron queue is RabbitMQ.")
    asked = user.types("forget", "--query", "heron queue")
    assert (asked.returncode, id in asked.stdout) == (1, True) and "This needs a terminal" in asked.stderr
    assert "Nothing was forgotten." in user.gets("forget", "--query", "heron queue", "--dry-run")
    page = user.gets("forget", "--query", "heron queue", "--yes", "--reason", "moved")
    assert f"{id}: forgotten: searches no longer find it." in page
    assert "RabbitMQ" not in user.types("search", "heron queue").stdout  # which may find nothing at all
    assert re.search(r"\(forgotten on 20.*: moved\)", user.gets("search", "heron queue", "--forgotten"))
    assert user.gets("restore", id) == f"{id} is restored: searches find it again.\n"
    assert user.gets("restore", id, id) == f"{id} is not forgotten; nothing changed.\n" * 2
    assert f"{id}: forgotten" in user.gets("forget", "--content", "the heron queue is RabbitMQ.")
    assert "No memory, turn or document has the id 'mem_0'" in user.refused("restore", "mem_0")
    assert "No record is given." in user.refused("forget")
    asked = user.gets("forget", "--query", "glacier kayak")
    assert asked == "No fact or turn in sparrow is about 'glacier kayak'.\nNothing was forgotten.\n"


def test_forgetting_an_older_version_says_that_searches_find_the_newer_one(user):
    old = user.adds("The egret gate opens at six.")
    new = user.gets("edit", old, "The egret gate opens at seven.").split()[2].rstrip(",")
    said = user.gets("forget", old)
    assert f"Searches still find the newer version: `scrubjay forget {new}` forgets that too." in said
    assert "newer" not in user.gets("forget", new)
    assert "newer" not in user.gets("forget", old)


def test_a_purge_lists_what_it_deletes_asks_first_and_cannot_be_undone(user):
    id = user.adds("The ibis key is 4711-ibis-0815.")
    assert "This needs a terminal" in user.types("forget", id, "--purge").stderr
    user.gets("forget", id)
    page = user.gets("forget", id, "--purge", "--yes")
    assert "The ibis key" in page and "1 record permanently deleted from the disk." in page
    assert "No memory, turn or document" in user.refused("restore", id)
    assert f"{id} was deleted with --purge, which cannot be undone." in user.refused("undo")


def test_the_profile_shows_lasting_and_new_facts(user):
    user.gets("add", "The finch build uses Clang 19.")
    page = user.gets("profile")
    assert "Recent:" in page and "The finch build uses Clang 19." in page and "facts in" in page
    assert "--tokens = 5: must be at least 50" in user.refused("profile", "--tokens", "5")
