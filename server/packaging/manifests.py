"""Writes the manifests of every installation channel, from pyproject.toml and the code.

    python server/packaging/manifests.py                write the manifests in the repository
    python server/packaging/manifests.py --links        print the links that add it to Cursor and VS Code
    python server/packaging/manifests.py --bundle FILE  write the MCPB bundle for Claude Desktop

It is next to its output and does not ship, because only publishing needs it. A plugin registers the console
script `scrubjay-hook`, whose path survives upgrades: Codex asks again about a changed command, and Windows
has no `python3`.
"""

import argparse
import base64
import json
import re
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scrubjay import VERSION
from scrubjay.hosts.machine import Machine
from scrubjay.hosts.table import BY_NAME, Ours, events
from scrubjay.mcp_server.catalog import OFFERS
from scrubjay.mcp_server.prompts import PROMPTS, Prompt, instructions

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = "server/packaging"
PLUGIN = f"{PACKAGING}/plugin"
MCPB, GEMINI = f"{PACKAGING}/mcpb", f"{PACKAGING}/gemini"

REGISTRY_NAME = "io.github.scrubjay/scrubjay"  # the registry only accepts it from that GitHub account
SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
SUMMARY = "Remembers what was said and done in your coding assistants, on your machine."  # at most 100
NEEDS = "It runs the commands scrubjay and scrubjay-hook: install these first."
SERVER = {"command": "scrubjay", "args": []}

BUNDLED = ("pyproject.toml", "README.md", "LICENSE", "server/scrubjay", "hooks")


def project() -> dict[str, Any]:
    """Return the `[project]` table of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def author() -> dict[str, str]:
    """Return the copyright holder, as manifests name an author."""
    match = re.search(r"^Copyright \(c\) \d+ (.+)$", (ROOT / "LICENSE").read_text(encoding="utf-8"), re.M)
    assert match is not None
    return {"name": match[1]}


def manifests() -> dict[str, dict[str, Any]]:
    """Return the object of every manifest, by its path in the repository."""
    return {
        f"{PACKAGING}/server.json": _server_json(),
        f"{MCPB}/manifest.json": _mcpb(),
        f"{GEMINI}/gemini-extension.json": _gemini(),
        f"{GEMINI}/hooks/hooks.json": {"hooks": _hooks("gemini-cli")},
        **_plugin(),
        **_marketplaces(),
    }


def _plugin() -> dict[str, dict[str, Any]]:
    """Return the files of the one plugin folder for Claude Code, Codex and Cursor.

    Claude Code finds `hooks/hooks.json` by itself, and refuses a plugin that names it again. Codex and Cursor
    read the files that their manifests name instead of it.
    """
    about = {
        "name": "scrubjay",
        "version": VERSION,
        "description": f"{SUMMARY} {NEEDS}",
        "author": author(),
        "license": project()["license"],
        "keywords": project()["keywords"],
    }
    project_folder = {"CURSOR_PROJECT_DIR": "${workspaceFolder}"}
    return {
        f"{PLUGIN}/.claude-plugin/plugin.json": about,
        f"{PLUGIN}/hooks/hooks.json": {"hooks": _hooks("claude-code", "win32")},
        f"{PLUGIN}/.mcp.json": {"mcpServers": {"scrubjay": SERVER}},
        f"{PLUGIN}/.codex-plugin/plugin.json": {
            **about,
            "mcpServers": "./.mcp.json",
            "hooks": "./hooks/codex.json",
            "skills": "./skills/",
            "interface": {
                "displayName": "Scrubjay",
                "shortDescription": SUMMARY,
                "longDescription": f"{project()['description']} {NEEDS}",
                "developerName": author()["name"],
                "category": "Productivity",
                "capabilities": ["Read", "Write"],
            },
        },
        f"{PLUGIN}/hooks/codex.json": {"hooks": _hooks("codex")},
        f"{PLUGIN}/.cursor-plugin/plugin.json": {
            **about,
            "displayName": "Scrubjay",
            "mcpServers": "./mcp.json",
            "hooks": "./hooks/cursor.json",
            "skills": "./skills/",
        },
        f"{PLUGIN}/mcp.json": {"mcpServers": {"scrubjay": {**SERVER, "env": project_folder}}},
        f"{PLUGIN}/hooks/cursor.json": {"version": 1, "hooks": _hooks("cursor")},
    }


def commands() -> dict[str, str]:
    """Return the text of every command's file, by its path in the repository.

    Claude Code, Codex and Cursor read the same skills. Only a user starts one, so that no session pays for
    its description: the front matter says so to Claude Code and Cursor, `openai.yaml` to Codex.
    """
    files = {}
    for prompt in PROMPTS:
        files[f"{PLUGIN}/skills/{prompt.name}/SKILL.md"] = _skill(prompt)
        files[f"{PLUGIN}/skills/{prompt.name}/agents/openai.yaml"] = _USERS_ALONE
        files[f"{GEMINI}/commands/scrubjay/{prompt.name}.toml"] = _gemini_command(prompt)
    return files


_USERS_ALONE = "policy:\n  allow_implicit_invocation: false\n"


def _skill(prompt: Prompt) -> str:
    hint = f"argument-hint: {json.dumps(f'[{prompt.argument.name}]')}\n" if prompt.argument else ""
    about = f"name: {prompt.name}\ndescription: {json.dumps(prompt.description)}\n{hint}"
    return f"---\n{about}disable-model-invocation: true\n---\n\n{instructions(prompt)}\n"


def _gemini_command(prompt: Prompt) -> str:
    """Return a command of Gemini CLI, which puts what was typed after it in the place of `{{args}}`."""
    typed = f"\n/scrubjay:{prompt.name}{' {{args}}' if prompt.argument else ''}"
    about = f"description = {json.dumps(prompt.description)}\n"
    return f"{about}prompt = {json.dumps(instructions(prompt) + typed, ensure_ascii=False)}\n"


def _marketplaces() -> dict[str, dict[str, Any]]:
    """Return the lists at the repository's root in which each host finds the plugin."""
    source = f"./{PLUGIN}"
    entry = {"name": "scrubjay", "source": source, "version": VERSION, "description": SUMMARY}
    market = {"name": "scrubjay", "owner": author(), "metadata": {"description": SUMMARY}}
    codex_entry = {
        "name": "scrubjay",
        "source": {"source": "local", "path": source},
        "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
        "category": "Productivity",
    }
    return {
        ".claude-plugin/marketplace.json": {**market, "plugins": [entry]},
        ".cursor-plugin/marketplace.json": {
            **market,
            "plugins": [{name: entry[name] for name in ("name", "source", "description")}],
        },
        ".agents/plugins/marketplace.json": {
            "name": "scrubjay",
            "interface": {"displayName": "Scrubjay"},
            "plugins": [codex_entry],
        },
    }


def _gemini() -> dict[str, Any]:
    return {
        "name": "scrubjay",
        "version": VERSION,
        "description": f"{SUMMARY} {NEEDS}",
        "mcpServers": {"scrubjay": SERVER},
    }


def _server_json() -> dict[str, Any]:
    """Return the entry of the MCP registry, whose description may have 100 letters."""
    home = {"name": "SCRUBJAY_HOME", "description": "Where it keeps its data.", "format": "filepath"}
    return {
        "$schema": SERVER_SCHEMA,
        "name": REGISTRY_NAME,
        "title": "Scrubjay",
        "description": SUMMARY,
        "version": VERSION,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": "scrubjay",
                "version": VERSION,
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                "environmentVariables": [{**home, "isRequired": False, "isSecret": False}],
            }
        ],
    }


def _mcpb() -> dict[str, Any]:
    """Return the manifest of the bundle, in which uv installs the package.

    `--project` and not `--directory`: the latter would make the bundle the folder, and so the project, that
    the client works in.
    """
    run = ["run", "--quiet", "--no-editable", "--project", "${__dirname}", "scrubjay"]
    return {
        "manifest_version": "0.4",
        "name": "scrubjay",
        "display_name": "Scrubjay",
        "version": VERSION,
        "description": SUMMARY,
        "long_description": project()["description"],
        "author": author(),
        "license": project()["license"],
        "keywords": project()["keywords"],
        "server": {
            "type": "uv",
            "entry_point": "server/scrubjay/__main__.py",
            "mcp_config": {"command": "uv", "args": run, "env": {}},
        },
        "tools": [{"name": offer.name, "description": offer.description} for offer in OFFERS],
        "compatibility": {
            "platforms": ["darwin", "linux", "win32"],
            "runtimes": {"python": project()["requires-python"]},
        },
    }


class _Published(Ours):
    """What a host runs once the package is installed: the console script, wherever it is."""

    def hook(self, event: str | None = None, *, stable: bool = False) -> list[str]:
        return ["scrubjay-hook", "--host", self.host]


def _hooks(host: str, platform: str = "linux") -> dict[str, Any]:
    """Return the handlers that `scrubjay setup` registers with a host; those for Windows need no shell."""
    part = BY_NAME[host].capture[0]
    us = _Published(Machine({}, "", platform), host)
    return {event: [us.handler(part, event)] for event in events(part)}


def cursor_link() -> str:
    """Return the link that adds the server to Cursor; GitHub only shows https links."""
    server = {**SERVER, "env": {"CURSOR_PROJECT_DIR": "${workspaceFolder}"}}
    config = base64.b64encode(json.dumps(server, separators=(",", ":")).encode()).decode()
    return f"https://cursor.com/install-mcp?name=scrubjay&config={quote(config, safe='')}"


def vscode_link() -> str:
    """Return the link that adds the server to VS Code."""
    config = quote(json.dumps(SERVER, separators=(",", ":")), safe="")
    return f"https://insiders.vscode.dev/redirect/mcp/install?name=scrubjay&config={config}"


def text_of(manifest: dict[str, Any]) -> str:
    """Return the text of a manifest's file."""
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


def write_manifests() -> None:
    """Write every manifest and command to its place in the repository."""
    texts = {path: text_of(manifest) for path, manifest in manifests().items()} | commands()
    for path, text in texts.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")


def bundle_files() -> Iterator[Path]:
    """Yield the files of the repository that go into the bundle with its manifest."""
    for name in BUNDLED:
        path = ROOT / name
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (file for file in inside if file.is_file() and "__pycache__" not in file.parts)


def write_bundle(path: Path) -> None:
    """Write the MCPB bundle; the same files make the same bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr(zipfile.ZipInfo("manifest.json"), text_of(_mcpb()))
        for file in bundle_files():
            entry = zipfile.ZipInfo(file.relative_to(ROOT).as_posix())
            bundle.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Write the manifests of every channel.")
    parser.add_argument("--links", action="store_true", help="print the links for Cursor and VS Code instead")
    parser.add_argument("--bundle", metavar="FILE", type=Path, help="write the MCPB bundle instead")
    options = parser.parse_args()
    if options.links:
        sys.stdout.write(f"{cursor_link()}\n{vscode_link()}\n")
    elif options.bundle:
        write_bundle(options.bundle)
    else:
        write_manifests()


if __name__ == "__main__":
    main()
