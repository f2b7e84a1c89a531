"""The manifests of every channel: current, of one version, and of the shape that each host reads."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import shlex
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType
from urllib.parse import parse_qs, urlsplit

import jsonschema
import pytest
from ruamel.yaml import YAML

from scrubjay import VERSION
from scrubjay.hooks import bootstrap
from scrubjay.hooks.bootstrap import DEADLINE_S
from scrubjay.hooks.hosts import events as events_of
from scrubjay.mcp_server.prompts import PROMPTS

ROOT = Path(__file__).parents[2]


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("manifests", ROOT / "server/packaging/manifests.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generator = _generator()
MANIFESTS = generator.manifests()

# The rules of the registry's schema of 2025-12-11 for the fields that we use.
SERVER_SCHEMA = json.loads(Path(__file__).with_name("server_schema.json").read_text(encoding="utf-8"))


def existing(pattern: str, *folders: str) -> dict[str, str]:
    files = (file for folder in folders for file in (ROOT / folder).rglob(pattern) if file.is_file())
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}


def test_manifests_and_commands_are_what_the_generator_writes_and_none_is_left_from_before() -> None:
    manifests = {path: generator.text_of(manifest) for path, manifest in MANIFESTS.items()}
    folders = (".agents", ".claude-plugin", ".cursor-plugin", "server/packaging")
    assert existing("*.json", *folders) == manifests, "run python server/packaging/manifests.py"
    folders = (generator.PLUGIN + "/skills", generator.GEMINI + "/commands")
    assert existing("*.*", *folders) == generator.commands(), "run python server/packaging/manifests.py"


def test_every_prompt_is_a_command_of_each_plugin_and_says_how_to_get_its_data() -> None:
    commands = generator.commands()
    for prompt in PROMPTS:
        head, _, skill = commands[f"{generator.PLUGIN}/skills/{prompt.name}/SKILL.md"][4:].partition(
            "\n---\n"
        )
        about = YAML(typ="safe").load(head)
        assert about["name"] == prompt.name and about["description"] == prompt.description
        assert about["disable-model-invocation"] is True
        gemini = tomllib.loads(commands[f"{generator.GEMINI}/commands/scrubjay/{prompt.name}.toml"])
        assert gemini["description"] == prompt.description and skill.strip() in gemini["prompt"]
        assert ("{{args}}" in gemini["prompt"]) == (prompt.argument is not None)
        assert "{typed}" not in skill and prompt.fetch.partition("{typed}")[0] in skill


def test_every_version_equals_the_packages() -> None:
    def versions(value: object) -> list[object]:
        inside = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        own = [value["version"]] if isinstance(value, dict) and "version" in value else []
        return own + [version for each in inside for version in versions(each)]

    shapes = {1}  # Cursor's hooks file declares its version
    assert {each for path in MANIFESTS for each in versions(MANIFESTS[path])} - shapes == {VERSION}


def test_the_registrys_entry_fits_its_schema() -> None:
    jsonschema.validate(MANIFESTS["server/packaging/server.json"], SERVER_SCHEMA)


@pytest.mark.parametrize("market", [".claude-plugin", ".cursor-plugin", ".agents/plugins"])
def test_a_marketplace_points_to_the_plugin(market: str) -> None:
    (entry,) = MANIFESTS[f"{market}/marketplace.json"]["plugins"]
    source = entry["source"]["path"] if isinstance(entry["source"], dict) else entry["source"]
    assert source.startswith("./")
    manifest = {".agents/plugins": ".codex-plugin"}.get(market, market)
    plugin = json.loads((ROOT / source / manifest / "plugin.json").read_text(encoding="utf-8"))
    assert plugin["name"] == entry["name"]
    named = [plugin[key] for key in ("hooks", "mcpServers") if key in plugin]
    assert all((ROOT / source / file).is_file() for file in named)


def test_claude_codes_manifest_omits_the_hooks_that_it_finds_by_itself() -> None:
    plugin = MANIFESTS["server/packaging/plugin/.claude-plugin/plugin.json"]
    assert "hooks" not in plugin and "mcpServers" not in plugin  # named twice, it loads none of the plugin
    assert "server/packaging/plugin/hooks/hooks.json" in MANIFESTS


@pytest.mark.parametrize(
    ("file", "host"),
    [
        ("plugin/hooks/hooks.json", "claude-code"),
        ("plugin/hooks/codex.json", "codex"),
        ("plugin/hooks/cursor.json", "cursor"),
        ("gemini/hooks/hooks.json", "gemini-cli"),
    ],
)
def test_every_hook_runs_our_command_for_its_host_with_a_timeout(file: str, host: str) -> None:
    unit = 1000 if host == "gemini-cli" else 1  # it counts milliseconds
    events = MANIFESTS[f"server/packaging/{file}"]["hooks"]
    assert {events_of(host)[event] for event in events} == {"start", "prompt", "answer", "end"}
    for event, groups in events.items():
        handler = groups[0].get("hooks", groups)[0]
        assert [*shlex.split(handler["command"]), *handler.get("args", ())] == [
            "scrubjay-hook",
            "--host",
            host,
        ]
        assert handler["timeout"] >= 2 * unit * DEADLINE_S[events_of(host)[event]]
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert scripts["scrubjay-hook"] == f"{bootstrap.__name__}:main" and callable(bootstrap.main)


def test_the_install_links_contain_the_command() -> None:
    cursor = parse_qs(urlsplit(generator.cursor_link()).query)
    assert json.loads(base64.b64decode(cursor["config"][0])) == {
        "command": "scrubjay",
        "args": [],
        "env": {"CURSOR_PROJECT_DIR": "${workspaceFolder}"},
    }
    vscode = parse_qs(urlsplit(generator.vscode_link()).query)
    assert json.loads(vscode["config"][0]) == {"command": "scrubjay", "args": []}
    assert cursor["name"] == vscode["name"] == ["scrubjay"]


def test_the_bundle_holds_everything_installed_from_it(tmp_path: Path) -> None:
    generator.write_bundle(tmp_path / "scrubjay.mcpb")
    with zipfile.ZipFile(tmp_path / "scrubjay.mcpb") as bundle:
        names = set(bundle.namelist())
        manifest = json.loads(bundle.read("manifest.json"))
    assert manifest["server"]["entry_point"] in names
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folders = {"scrubjay": "server/scrubjay", "scrubjay.hooks": "hooks"}
    for package in shipped["packages"]:
        folder = folders.get(package) or package.replace("scrubjay", "server/scrubjay", 1).replace(".", "/")
        folder = folder.replace("server/scrubjay/hooks", "hooks")
        assert f"{folder}/__init__.py" in names
    assert {"pyproject.toml", "README.md", "LICENSE", "server/scrubjay/encoders/minilm/model.bin"} <= names
    assert not [name for name in names if name.endswith(".pyc")]


def test_the_image_copies_only_existing_files_that_dockerignore_allows() -> None:
    folder = ROOT / "server/packaging"
    let_in = {
        line[1:]
        for line in (folder / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
        if line.startswith("!")
    }
    copied = re.findall(r"^COPY (?!--)(.+) \S+$", (folder / "Dockerfile").read_text(encoding="utf-8"), re.M)
    sources = {source for line in copied for source in line.split()}
    assert sources == let_in and all((ROOT / source).exists() for source in sources)


def test_the_readme_has_the_links_that_add_the_server():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert generator.cursor_link() in readme and generator.vscode_link() in readme
