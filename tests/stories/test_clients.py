"""Third-party clients against the installed command: the MCP Inspector in both protocol eras, and the
TypeScript SDK.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from node import CALL_SECONDS, installed, node
from user import User, user

from scrubjay.hosts.installation import console_command
from scrubjay.mcp_server.prompts import PROMPTS

__all__ = ["installed", "user"]  # fixtures

pytestmark = pytest.mark.long
TOOLS = ["search_memories", "search_documents", "add_memory", "record_turn", "add_document", "forget"]
ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])


def done_by(command: list[str], **place: Any) -> subprocess.CompletedProcess[str]:
    limits = {"timeout": CALL_SECONDS, "check": False}
    return subprocess.run(command, capture_output=True, text=True, **limits, **place)


class Inspector:
    """The MCP Inspector's command line: one process, one connection and one request a call."""

    def __init__(self, folder: Path, user: User) -> None:
        self._start = [
            node(),
            str(folder / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
        ]
        self._user = user
        # it hands its server few variables of its own, and would keep secrets in the system's keychain
        self._env = {
            **user.env,
            "MCP_INSPECTOR_SECRET_STORE": "memory",
            "MCP_STORAGE_DIR": str(user.folder / "inspector"),
        }

    def run(self, *words: str, era: str = "legacy") -> subprocess.CompletedProcess[str]:
        place = ("-e", f"SCRUBJAY_HOME={self._user.home.root}", "--cwd", str(self._user.project))
        options = ("--protocol-era", era, "--format", "json", "--method", *words)
        return done_by([*self._start, "--cli", *console_command(), *place, *options], env=self._env)

    def ask(self, *words: str, era: str = "legacy") -> dict[str, Any]:
        """The result of a request that succeeds."""
        done = self.run(*words, era=era)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return json.loads(done.stdout)["result"]

    def call(self, tool: str, *, era: str = "legacy", **arguments: Any) -> dict[str, Any]:
        """The structured content of a successful tool call, after a look at its text; a search is asked for
        it.
        """
        if tool.startswith("search_"):
            arguments["include"] = {"structured": True}
        result = self.ask(
            "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments), era=era
        )
        assert not result.get("isError") and result["content"][0]["text"]
        return result["structuredContent"]


@pytest.fixture
def inspector(installed: Path, user: User) -> Inspector:
    return Inspector(installed, user)


@ERAS
def test_the_inspector_connects_to_the_server(inspector: Inspector, era: str):
    about = inspector.ask("initialize", era=era)
    assert (about["protocolVersion"] >= "2026") == (era == "modern")
    assert about["serverInfo"]["name"] == "scrubjay" and "search_memories" in about["instructions"]


@ERAS
def test_the_inspector_finds_nothing_wrong_with_the_schemas(inspector: Inspector, era: str):
    done = inspector.run("tools/list", "--strict", era=era)
    assert done.returncode == 0, done.stderr
    assert [tool["name"] for tool in json.loads(done.stdout)["result"]["tools"]] == TOOLS
    assert "warning" not in done.stderr.lower(), done.stderr


@ERAS
def test_the_inspector_calls_every_tool_and_reads_every_resource(inspector: Inspector, user: User, era: str):
    bird = {"legacy": "egret", "modern": "bittern"}[era]
    (user.project / f"{bird}.md").write_text(f"# The {bird}\n\nThe {bird} service is deployed on Fridays.\n")
    turn = inspector.call(
        "record_turn",
        era=era,
        session_id=f"i-{era}",
        user=f"Which port does the {bird} use?",
        assistant="Port 7412.",
    )
    fact = inspector.call(
        "add_memory", era=era, content=f"The {bird} service listens on port 7412.", tags=[bird]
    )
    document = inspector.call("add_document", era=era, path=f"{bird}.md")
    found = inspector.call(
        "search_memories", era=era, query=f"port of the {bird}", search_mode="hybrid", top_k=10
    )
    assert {turn["id"], fact["id"], document["id"]} <= {hit["id"] for hit in found["results"]}
    pages = inspector.call("search_documents", era=era, query=f"when is the {bird} deployed?")
    assert pages["results"][0]["document_id"] == document["id"]
    templates = inspector.ask("resources/templates/list", era=era)["resourceTemplates"]
    assert [each["uriTemplate"] for each in templates] == [
        *(f"scrubjay://{kind}/{{id}}" for kind in ("memory", "turn", "document")),
        "scrubjay://profile/{scope}",
    ]
    for kind, id in (("turn", turn["id"]), ("memory", fact["id"]), ("document", document["id"])):
        (content,) = inspector.ask("resources/read", "--uri", f"scrubjay://{kind}/{id}", era=era)["contents"]
        assert bird in content["text"]
    assert inspector.call("forget", era=era, id=fact["id"])["forgotten"] == 1


@ERAS
def test_the_inspector_lists_every_prompt_and_gets_one_with_its_data(inspector: Inspector, era: str):
    listed = inspector.ask("prompts/list", era=era)["prompts"]
    assert [each["name"] for each in listed] == [prompt.name for prompt in PROMPTS]
    inspector.call("add_memory", era=era, content=f"The {era} spoonbill service listens on port 7413.")
    asked = ("--prompt-name", "recall", "--prompt-args", f"question=Which port does the {era} spoonbill use?")
    (message,) = inspector.ask("prompts/get", *asked, era=era)["messages"]
    assert "7413" in message["content"]["text"] and "Recalled:" in message["content"]["text"]


@ERAS
def test_the_inspector_shows_a_refusal_as_a_result(inspector: Inspector, era: str):
    arguments = ("--tool-args-json", '{"query": "x", "top_k": 0}')
    done = inspector.run("tools/call", "--tool-name", "search_memories", *arguments, era=era)
    assert done.returncode == 5  # a tool said isError
    assert "top_k = 0: must be at least 1." in done.stdout + done.stderr


def test_a_client_of_the_typescript_sdk_records_a_turn_and_finds_it(installed: Path, user: User):
    command = [node(), str(installed / "remember.mjs"), *console_command()]
    done = done_by(command, env=user.env, cwd=user.project)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["protocol"] >= "2026"  # negotiated by itself
    assert [tool["name"] for tool in seen["tools"]] == TOOLS and seen["server"]["name"] == "scrubjay"
    recorded, (hit,) = seen["recorded"]["structuredContent"], seen["found"]["structuredContent"]["results"]
    assert (hit["id"], hit["session_id"], hit["turn"]) == (recorded["id"], "ts", 0) and "Port 7412" in hit[
        "memory"
    ]
    assert "behind the proxy" in seen["contents"][0]["text"]
    assert (
        seen["refused"]["isError"]
        and seen["refused"]["content"][0]["text"] == "top_k = 0: must be at least 1."
    )
