"""The README and its pages match the code: commands, settings, tools and the example configuration."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from scrubjay.cli.parser import build_parser
from scrubjay.engine.engine import Engine
from scrubjay.home.paths import Home
from scrubjay.home.settings import describe
from scrubjay.hosts.changes import OwnFile, connecting
from scrubjay.hosts.entries import JSON, TOML, YAML, parsed
from scrubjay.hosts.installation import console_command
from scrubjay.hosts.machine import Machine
from scrubjay.hosts.table import HOSTS, Host, markdown
from scrubjay.mcp_server.catalog import OFFERS
from scrubjay.mcp_server.server import build_server

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


PAGES = ROOT / "server" / "docs"
SETTINGS = (PAGES / "settings.md").read_text(encoding="utf-8")


def test_the_readme_is_short():
    assert len([word for word in README.split() if any(map(str.isalnum, word))]) <= 1500


def test_the_table_of_assistants_matches_setup():
    assert markdown() in README


def test_every_setting_is_on_its_page_with_its_default():
    for key, default, _ in describe():
        rows = [
            line
            for line in SETTINGS.splitlines()
            if line.startswith("|") and f"`{key}`" in line.split("|")[1]
        ]
        assert rows and default in rows[0], key


def test_every_tool_is_in_the_readme_in_order():
    table = README.partition("## Tools")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [offer.name for offer in OFFERS]


def test_every_command_of_the_readme_and_its_pages_exists():
    pages = [README, *(page.read_text(encoding="utf-8") for page in PAGES.glob("*.md"))]
    named = {name for page in pages for name in re.findall(r"`?scrubjay ([a-z]+)\b", page)} - {
        "stdio",
        "hook",
    }
    parser = build_parser()
    for name in named:
        with pytest.raises(SystemExit) as left:
            parser.parse_args([name, "--help"])
        assert left.value.code == 0, name


def test_the_readme_gives_one_test_command_and_one_demo_command():
    assert len(re.findall(r"^python3 -m venv .* && \.venv/bin/pytest", README, re.MULTILINE)) == 1
    assert len(re.findall(r"^python3 -m venv .* && \.venv/bin/scrubjay demo$", README, re.MULTILINE)) == 1


def written_by_setup(host: Host, folder: Path) -> dict[str, Any]:
    """What `setup` writes of the server into an empty file of this host, with the command of the example."""
    change = host.changes(Machine({}, str(folder), "linux"))[0]
    if isinstance(change, OwnFile):
        text, form = change.content.decode(), JSON
    else:
        (draft,) = connecting(Home(str(folder / "home")), [change])
        text, form = (draft.then or b"").decode(), change.format
    held = parsed(text.replace(console_command()[0], "/absolute/path/to/scrubjay").encode(), form, "")
    return {key: value for key, value in held.items() if key not in ("name", "version")}


def test_the_example_has_for_every_host_what_setup_writes(tmp_path: Path):
    (tmp_path / ".cline").mkdir()
    example = json.loads((ROOT / "mcp.json.example").read_text(encoding="utf-8"))
    form = {"codex": TOML, "goose": YAML}
    blocks = {
        name: parsed(block.encode(), form[name], "") if isinstance(block, str) else block
        for name, block in example.items()
    }
    project = blocks["cursor"]["mcpServers"]["scrubjay"].pop("env")  # for a file of one project
    assert project == {"CURSOR_PROJECT_DIR": "${workspaceFolder}"}
    assert blocks == {host.name: written_by_setup(host, tmp_path) for host in HOSTS}


def test_the_resources_of_the_readme_match_the_server(tmp_path: Path):
    from scrubjay.mcp_server.resources import templates

    async def built() -> None:
        build_server(Engine(Home(str(tmp_path))))

    asyncio.run(built())
    for template in templates():
        assert template.uri_template in README


def test_the_files_the_readme_names_exist():
    for name in re.findall(r"`((?:server|tests|hooks)/[\w./-]+)`", README):
        assert (ROOT / name).exists(), name


def test_the_tested_lines_for_supermemorys_client_are_the_readmes():
    lines = (ROOT / "tests" / "clients" / "newcomer.py").read_text(encoding="utf-8")
    assert (
        f"```python\n{lines}```" in README
    )  # tests/stories/test_http_clients.py runs them with the client itself
