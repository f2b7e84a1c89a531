"""MCP over HTTP with third-party clients: the Inspector in both protocol eras, and the conformance suite with
its baseline.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from mcp_calls import TOOLS, served
from node import CALL_SECONDS, installed, node
from user import User

__all__ = ["installed", "served"]  # fixtures


@pytest.mark.long
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_connects_to_the_server_over_http(installed: Path, served: tuple[User, str], era: str):
    user, url = served
    launcher = installed / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    storage = {"MCP_INSPECTOR_SECRET_STORE": "memory", "MCP_STORAGE_DIR": str(user.folder / "inspector")}
    arguments = ["--protocol-era", era, "--format", "json", "--method"]

    def asks(*words: str) -> subprocess.CompletedProcess[str]:
        command = [node(), str(launcher), "--cli", f"{url}/mcp", "--transport", "http", *arguments, *words]
        how = {"env": {**user.env, **storage}, "timeout": CALL_SECONDS}
        return subprocess.run(command, **how, capture_output=True, text=True, check=False)

    listed = asks("tools/list", "--strict")
    assert listed.returncode == 0, listed.stderr
    assert [tool["name"] for tool in json.loads(listed.stdout)["result"]["tools"]] == TOOLS

    def calls(tool: str, **given: str) -> str:
        return asks("tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(given)).stdout

    added = calls("add_memory", content=f"The {era} avocet wades.")
    assert json.loads(added)["result"]["structuredContent"]["action"] == "stored"
    assert f"The {era} avocet wades." in calls("search_memories", query="what does the avocet do?")


@pytest.mark.long
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_conformance_suite_finds_exactly_its_baseline(
    installed: Path, served: tuple[User, str], revision: str
):
    suite = installed / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    baseline = installed / "conformance-baseline.yml"
    url = f"{served[1]}/mcp"
    command = [node(22, installed), str(suite), "server", "--url", url, "--requirements", revision]
    command += ["--expected-failures", str(baseline)]
    how = {"cwd": served[0].folder, "env": served[0].env, "timeout": 4 * CALL_SECONDS}
    done = subprocess.run(command, **how, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "✓ tools-list" in done.stdout and "✓ dns-rebinding-protection" in done.stdout
