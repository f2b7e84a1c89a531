"""The requests of Hebb Mind's page on search, as a shell sends them, against an engine that serves on a port."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from answering import answering
from user import PATIENCE, make_user

SAID = [
    "I moved from my home country four years ago.",
    "Really? From where?",
    "Sweden! Melanie helped me pack.",
    "Do you miss it?",
]
WRITTEN = [
    {
        "content": "User prefers dark mode and compact layout",
        "partition_id": "mem_preference",
        "importance_score": 7.5,
        "tags": ["preference", "ui"],
    },
    {"content": "The deployment failed on Friday for want of disk space", "tags": ["deployment"]},
    *({"content": text, "metadata": {"session_id": "s1", "turn": n}} for n, text in enumerate(SAID)),
]
BASIC = {"query": "UI preferences"}
FILTERED = {"query": "UI preferences", "top_k": 5, "partition_ids": ["mem_preference"], "tags": ["ui"]}
WEIGHTED = {
    "query": "recent deployment issues",
    "top_k": 10,
    "weight_relevance": 2.0,
    "weight_importance": 1.0,
    "weight_recency": 3.0,
}
WINDOWED = {"query": "what country did Melanie move from", "top_k": 10, "prev_turns": 2, "next_turns": 2}


def curl(url: str, body: Any) -> Any:
    """The output of `curl -X POST URL -H "Content-Type: application/json" -d BODY`."""
    command = [
        "curl",
        "-fsS",
        "--retry",
        "3",  # a busy machine may need more than the 8 seconds of one answer
        "-X",
        "POST",
        url,
        "-H",
        "Content-Type: application/json",
        "-d",
        json.dumps(body),
    ]
    return json.loads(
        subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
    )


@pytest.mark.long
@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
def test_the_examples_of_the_page_run_in_a_shell(tmp_path: Path):
    newcomer = make_user(tmp_path)
    with answering(newcomer) as url:
        assert len(curl(f"{url}/api/v1/memories/batch", WRITTEN)) == len(WRITTEN)
        newcomer.waits_for_vectors()

        basic = curl(f"{url}/api/v1/search", BASIC)
        assert basic["results"][0]["memory"]["content"] == WRITTEN[0]["content"]

        filtered = curl(f"{url}/api/v1/search", FILTERED)
        assert [hit["memory"]["partition_id"] for hit in filtered["results"]] == ["mem_preference"]

        weighted = curl(f"{url}/api/v1/search", WEIGHTED)
        assert weighted["results"][0]["memory"]["tags"] == ["deployment"]
        for hit in weighted["results"]:
            parts = 2 * hit["relevance_score"] + hit["importance_score_normalized"] + 3 * hit["recency_score"]
            assert abs(hit["score"] - parts / 6) < 1e-6

        windowed = curl(f"{url}/api/v1/search", WINDOWED)
        found = [hit["memory"] for hit in windowed["results"]] + windowed["related"]
        assert set(SAID) <= {memory["content"] for memory in found}
        assert len({memory["id"] for memory in found}) == len(found)

        narrow = curl(f"{url}/api/v1/search", WINDOWED | {"top_k": 1})
        assert [each["metadata"]["turn"] for each in narrow["related"] if each["reason"] == "window"]
