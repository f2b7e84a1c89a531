"""Code words are found whole and in parts, in any spelling, anywhere in a turn; searched as an MCP client
does.
"""

from __future__ import annotations

from typing import Any

import pytest
from asked import call
from mcp import Client
from said import SCOPE, document, embedded, fact, facts, search, texts, turn

from scrubjay.engine.core import Core

pytestmark = pytest.mark.long

FILLER = (
    "Why is the build slow today?",
    "The gateway drops idle sockets after a minute.",
    "We moved the ledger to another region.",
    "Rounding of refunds is settled now.",
    "The nightly job was late because of a lock.",
)
# No word of theirs collides in the hashing encoder with a word of a question about the HTTP client.
OTHERS = (
    "Why is a build so slow?",
    "A router drops quiet sockets after an hour.",
    "Her ledger moved into another region.",
    "One nightly job hung because of a lock.",
)
BUILDS = [
    f"Build {number}-{part} runs on host {number * 31 + part}." for number in range(1, 4) for part in range(4)
]
FULL_HASH = "3f2a9c1d0b8e4f5a6c7d3f2a9c1d0b8e4f5a6c7d"


FILE = "src/app/http_client.py"
TOUCHED: dict[str, dict[str, Any]] = {
    "a path in the text": {"user": f"Please open {FILE} and look."},
    "a file that no text names": {"user": "Make it retry twice.", "assistant": "Done.", "files": [FILE]},
    "a file of a turn with its own summary": {
        "user": "Again.",
        "summary": "Retries were added.",
        "files": [FILE],
    },
    "a file of another speaker's turn": {"text": "I am on it.", "role": "Dana", "files": [FILE]},
    "a class in the answer's code": {"user": "Show me.", "assistant": "```python\nclass HttpClient:\n```"},
    "a member of a module": {"user": "Why?", "assistant": "`net.http_client.get` is called twice."},
    "in kebab case": {"user": "Bump the http-client package."},
    "as a flag": {"user": "Run it with --http-client=curl."},
    "as a constant": {"user": "Unset HTTP_CLIENT first."},
    "in Windows' spelling": {"user": "Open C:\\src\\HttpClient.cs please."},
}


@pytest.mark.parametrize("touched", TOUCHED)
async def test_a_turn_that_touched_a_file_is_found_by_its_class_and_vice_versa(client: Client, touched: str):
    for number, said in enumerate(OTHERS):
        await call(
            client, "record_turn", session_id=f"other-{number}", user=said, assistant="Fine, nothing else."
        )
    await call(client, "record_turn", session_id="it", **TOUCHED[touched])
    for query in ("HttpClient", FILE, "what did we change in http-client?", "http_client"):
        found, _ = await call(client, "search_memories", query=query, top_k=3)
        assert found["results"][0]["session_id"] == "it", query


WORDS = [  # the text, then possible questions
    ("user_profile_id", ["user_profile_id", "userProfileId", "UserProfileID", "user profile", "profile_id"]),
    ("getUserByName", ["getUserByName", "get_user_by_name", "getUser"]),
    (
        "test_a_lock_held_by_the_dead_is_free_again",
        ["test_a_lock_held_by_the_dead_is_free_again", "held by the dead"],
    ),
    ("os.path.realpath", ["os.path.realpath", "realpath", "path.realpath"]),
    ("requests.adapters.HTTPAdapter", ["HTTPAdapter", "http_adapter", "requests.adapters", "adapters"]),
    (
        "packages/web/src/LoginForm.tsx",
        ["packages/web/src/LoginForm.tsx", "LoginForm", "login-form", "web/src"],
    ),
    ("--no-verify", ["--no-verify", "no-verify", "noVerify", "no verify"]),
    ("--dry-run=client", ["--dry-run", "dry run"]),
    ("v2.13.0", ["v2.13.0", "2.13.0", "v2.13", "version 2.13"]),
    ("2.0.0-rc.1", ["2.0.0-rc.1", "v2.0.0", "2.0.0"]),
    ("10.20.30.40", ["10.20.30.40"]),
    ("E0425", ["E0425", "e0425", "error 0425"]),
    ("TS2322", ["TS2322", "ts2322", "TS 2322", "2322"]),
    ("ORA-00942", ["ORA-00942", "ora 00942", "ORA00942", "00942"]),
    ("ECONNREFUSED", ["ECONNREFUSED", "econnrefused"]),
    ("ERR_MODULE_NOT_FOUND", ["ERR_MODULE_NOT_FOUND", "ErrModuleNotFound", "module not found"]),
    (FULL_HASH, [FULL_HASH, FULL_HASH[:7], FULL_HASH[:12], FULL_HASH.upper()]),
    ("#4711", ["#4711", "issue 4711"]),
    ("@acme/date-tools", ["@acme/date-tools", "date-tools", "dateTools"]),
    (
        "https://docs.acme.dev/guides/deploy",
        ["https://docs.acme.dev/guides/deploy", "docs.acme.dev", "guides/deploy", "acme.dev"],
    ),
]


@pytest.mark.long
async def test_code_words_are_found_whole_and_in_parts_among_similar_ones(shipped: Core):
    await facts(shipped, (*FILLER, *(f"Yesterday {word} came up again." for word, _ in WORDS)))
    await embedded(shipped)
    for word, queries in WORDS:
        expected = f"Yesterday {word} came up again."
        assert texts(await search(shipped, word, top_k=1)) == [expected]
        for query in queries:
            assert expected in texts(await search(shipped, query, top_k=3)), query


async def test_a_short_hash_is_found_by_the_full_one(core: Core):
    await fact(core, f"Fixed in {FULL_HASH[:7]}.")
    await fact(core, "Fixed in 3f2a9d1.")
    for query in (FULL_HASH, FULL_HASH[:10], FULL_HASH[:7]):
        assert texts(await search(core, query, top_k=1)) == [f"Fixed in {FULL_HASH[:7]}."]


async def test_a_whole_name_is_found_before_its_parts(core: Core):
    await fact(core, "The http proxy talks to one client, an old client, over http.")
    await fact(core, "We renamed http_client.")
    await fact(core, "Client work: bill the http people.")
    assert texts(await search(core, "HttpClient", top_k=1)) == ["We renamed http_client."]


async def test_a_question_about_a_version_does_not_rank_another_version_first(core: Core):
    for version in ("2.12.0", "2.13.1", "2.13.0", "12.13.0", "0.2.13"):
        await fact(core, f"We run v{version} there.")
    assert texts(await search(core, "v2.13.0", top_k=1)) == ["We run v2.13.0 there."]


async def test_code_in_documents_is_found_in_parts_too(core: Core):
    await document(core, "# Retry\n\nclass HttpClient:\n    max_retries = 2\n", scope=SCOPE)
    await turn(core, "a", user="nothing of it")
    assert "HttpClient" in texts(await search(core, "http_client", search_mode="documents"))[0]


@pytest.mark.long
async def test_each_of_many_similar_facts_is_first_for_its_own_numbers(shipped: Core):
    await facts(shipped, BUILDS)
    await embedded(shipped)
    for said in BUILDS:
        query = said.removesuffix(".").replace("runs on", "")
        assert texts(await search(shipped, query, top_k=1)) == [said]
