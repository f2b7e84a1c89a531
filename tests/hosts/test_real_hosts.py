"""Real assistants run our hook: each is installed from npm at a pinned version, configured with
`stub_model.py` as its model, and run with no network but loopback, with a home of its own.

`pytest -m real_hosts -n 0 -o faulthandler_timeout=1200`; it installs up to 400 MB a host into the cache of the tests.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import memories_made
import pytest
from installs import INSTALL_SECONDS, installation
from stub_model import ANSWER, MODEL
from user import User, make_user

pytestmark = pytest.mark.real_hosts

NODE = "26.10.0"  # some of them need a newer one than machines have
PORT = 8099
URL = f"http://127.0.0.1:{PORT}"
RUN_SECONDS = 400  # OpenCode and Kilo without a network wait 97 s for their package manager
ASKED, AGAIN = "Which port does staging listen on?", "And which port did you say?"
# In a network of its own: the stub, then the assistant of a user who types nothing.
INSIDE = """
ip link set lo up || exit 77
"$PYTHON" "$STUB" "$PORT" "$LOG" & stub=$!
for i in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/$PORT) 2>/dev/null && break; sleep 0.1; done
"$@" < "$ASKED"; code=$?
kill $stub; exit $code
"""


@dataclass(frozen=True)
class Assistant:
    """How to install, configure and run one; `write(home)` writes its files."""

    name: str
    package: str
    command: list[str]  # the prompt comes last, or on stdin if `on_stdin`
    write: Callable[[Path], None]
    env: dict[str, str] = field(default_factory=dict)
    tool: str = "search_memories"  # how it names one of our tools to its model
    on_stdin: bool = False


def put(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))


def claude_code(home: Path) -> None:
    """It needs no settings."""


def codex(home: Path) -> None:
    provider = f'name = "Stub"\nbase_url = "{URL}/v1"\nenv_key = "STUB_KEY"\nwire_api = "responses"\n'
    head = f'# a stub\nmodel = "{MODEL}"\nmodel_provider = "stub"\n'
    put(home / ".codex" / "config.toml", f"{head}\n[model_providers.stub]\n{provider}")


def gemini(home: Path) -> None:
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "telemetry": {"enabled": False}}
    put(home / ".gemini" / "settings.json", settings)


def qwen(home: Path) -> None:
    settings = {"security": {"auth": {"selectedType": "openai"}}, "model": {"name": MODEL}}
    put(home / ".qwen" / "settings.json", settings)


def copilot(home: Path) -> None:
    put(home / ".copilot" / "config.json", {})


def provider_in(folder: str, file: str) -> Callable[[Path], None]:
    def write(home: Path) -> None:
        options = {"baseURL": f"{URL}/v1", "apiKey": "sk-stub"}
        models = {MODEL: {"name": "Stub", "limit": {"context": 100_000, "output": 4_000}}}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "Stub", "options": options, "models": models}
        model = f"stub/{MODEL}"
        settings = {"model": model, "small_model": model, "provider": {"stub": provider}, "autoupdate": False}
        put(home / ".config" / folder / file, settings)

    return write


OFFLINE = {
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
}
ASSISTANTS = [
    Assistant(
        "claude-code",
        "@anthropic-ai/claude-code@2.1.330",
        ["claude", "-p"],
        claude_code,
        {"ANTHROPIC_BASE_URL": URL, "ANTHROPIC_API_KEY": "sk-stub", "DISABLE_AUTOUPDATER": "1"},
    ),
    Assistant(
        "codex",
        "@openai/codex@0.169.0",
        ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"],
        codex,
        {"STUB_KEY": "sk-stub"},
    ),
    Assistant(
        "gemini-cli",
        "@google/gemini-cli@0.61.0",
        ["gemini", "-p"],
        gemini,
        {
            "GEMINI_API_KEY": "sk-stub",
            "GOOGLE_GEMINI_BASE_URL": URL,
            "GEMINI_MODEL": "gemini-2.5-flash",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
    ),
    Assistant(
        "qwen-code",
        "@qwen-code/qwen-code@0.24.4",
        ["qwen", "-p"],
        qwen,
        {"OPENAI_API_KEY": "sk-stub", "OPENAI_BASE_URL": f"{URL}/v1", "OPENAI_MODEL": MODEL},
    ),
    Assistant(
        "copilot-cli",
        "@github/copilot@1.0.102",
        ["copilot", "--allow-all-tools", "-p"],
        copilot,
        {
            "COPILOT_PROVIDER_BASE_URL": f"{URL}/v1",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": "sk-stub",
            "COPILOT_MODEL": MODEL,
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        },
    ),
    Assistant(
        "opencode",
        "opencode-ai@1.18.33",
        ["opencode", "run"],
        provider_in("opencode", "opencode.json"),
        OFFLINE,
        on_stdin=True,
    ),
    Assistant(
        "kilo",
        "@kilocode/cli@7.7.7",
        ["kilo", "run"],
        provider_in("kilo", "kilo.json"),
        OFFLINE | {"KILO_DISABLE_MODELS_FETCH": "1", "KILO_DISABLE_AUTOUPDATE": "1", "KILO_TELEMETRY_LEVEL": "off"},
        on_stdin=True,
    ),
]  # fmt: skip


def npm(package: str) -> Path:
    """The folder of a package's commands, installed once."""
    if shutil.which("npm") is None or shutil.which("unshare") is None:
        pytest.skip("real assistants need npm to be installed, and unshare to be kept from the network")

    def install(folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        command = [
            "npm",
            "install",
            "--prefix",
            str(folder),
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
            package,
        ]
        env = os.environ | {"HOME": str(folder)}
        done = subprocess.run(
            command,
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=2 * INSTALL_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"npm could not install {package}:\n{done.stderr[-2000:]}"

    name = package.strip("@").replace("/", "-").partition("@")[0]
    return installation(name, package.encode(), install) / "node_modules" / ".bin"


def ask(assistant: Assistant, user: User, folder: Path, question: str) -> str:
    """The requests that an assistant sends to its model in one run with this prompt, as JSON."""
    log, asked = folder / "requests.jsonl", folder / "asked.txt"
    log.write_text("")
    asked.write_text(question if assistant.on_stdin else "")
    path = f"{npm(assistant.package)}:{npm(f'node@{NODE}')}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    home = {"HOME": str(folder), "SCRUBJAY_HOME": user.home.root, "TMPDIR": str(folder / "tmp"), "PATH": path}
    inside = {
        "PYTHON": sys.executable,
        "STUB": str(Path(__file__).parents[1] / "support" / "stub_model.py"),
        "PORT": str(PORT),
    }
    env = (
        home
        | inside
        | {"LOG": str(log), "ASKED": str(asked), "TERM": "xterm", "LANG": "C.UTF-8"}
        | assistant.env
    )
    (folder / "tmp").mkdir(exist_ok=True)
    command = [*assistant.command, *([] if assistant.on_stdin else [question])]
    done = subprocess.run(
        [
            "unshare",
            "-n",
            "-p",
            "-f",
            "--mount-proc",
            "--kill-child",
            "bash",
            "-c",
            INSIDE,
            "inside",
            *command,
        ],
        env=env,
        cwd=user.project,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("this user may not make a network of its own")
    assert ANSWER in done.stdout, f"{assistant.name} said {done.stdout[-2000:]!r} and {done.stderr[-2000:]!r}"
    return log.read_text()


@pytest.mark.parametrize("assistant", ASSISTANTS, ids=lambda each: each.name)
def test_setup_connects_a_real_assistant_and_its_removal_leaves_nothing(
    assistant: Assistant, tmp_path: Path
) -> None:
    folder = tmp_path / "u"
    folder.mkdir()
    user = make_user(tmp_path)._replace(folder=folder)
    subprocess.run(["git", "init", "-q"], cwd=user.project, check=True)
    assistant.write(folder)
    before = files(folder)
    user.gets("setup", "--yes", "--only", assistant.name)
    connected = files(folder)
    try:
        first = ask(assistant, user, folder, ASKED)
        assert "scrubjay-memory" not in first
        status = captured(user, "1 of 1 turn")
        assert f"{assistant.name}: 1 prompt and 1 answer received" in status
        assert turns(user) == [(assistant.name, ASKED, ANSWER)]
        shown = ask(assistant, user, folder, AGAIN)
        assert "scrubjay-memory" in shown and ASKED in shown  # some write its brackets as entities
        assert assistant.tool in first + shown
        captured(user, "2 of 2 turns")
        past = user.gets("import", "--from", assistant.name, str(folder))
        assert past.endswith("2 turns of 2 sessions: 0 imported, 2 already known\n")
        its_memory_is_kept_in_step(user, folder, assistant.name)
        left = files(folder)
        user.gets("setup", "--remove", "--yes", "--only", assistant.name)
    finally:
        user.types("stop")
    gone = files(folder)
    for path in connected.keys() & gone.keys():
        assert b"scrubjay" not in gone[path], path
        assert left[path] != connected[path] or gone[path] == before[path], path
    newcomer = make_user(tmp_path / "new")  # who starts with the assistant's own files
    try:
        past = newcomer.gets("import", "--from", assistant.name, str(folder))
        assert past.endswith("2 turns of 2 sessions: 2 imported\n")
        assert turns(newcomer) == [(assistant.name, AGAIN, ANSWER), (assistant.name, ASKED, ANSWER)]
    finally:
        newcomer.types("stop")


def its_memory_is_kept_in_step(user: User, folder: Path, name: str) -> None:
    """What a host's own memory says is imported, follows its changes, and outlasts its deletion."""
    kinds = [kind for kind in memories_made.KINDS if kind.host == name and kind.is_users]
    for kind in kinds[:1]:
        other = kind.fact.replace("5433", "5434")
        for said in (kind.fact, other):
            memories_made.write(kind, folder, said)
            user.gets("import", "--from", name)
            page = user.gets("list", "--scope", "user")
            assert said in page
        (line,) = [line for line in page.splitlines() if other in line]
        memories_made.write(kind, folder, "")
        user.gets("import", "--from", name)
        assert other not in user.gets("list", "--scope", "user")
        (id,) = re.findall(r"mem_\w+", line)
        assert "deleted by its host" in user.gets("show", id)
        user.gets("restore", id)
        assert other in user.gets("list", "--scope", "user")


def captured(user: User, count: str) -> str:
    """The output of `status` once so many turns are captured: an answer may come from a transcript a little
    later.
    """
    for _ in range(20):
        status = user.gets("status", "--start")
        if f"captured {count}" in status:
            break
    assert f"captured {count}" in status
    return status


def turns(user: User) -> list[tuple[str, str, str]]:
    """The host and both sides of every turn."""
    lines = [json.loads(line) for line in user.gets("export", "-").splitlines()]
    said = [line for line in lines if line.get("kind") == "turn"]
    return sorted((line["host"], line["user"], line["assistant"]) for line in said)


def files(folder: Path) -> dict[Path, bytes]:
    """The files of assistants below a folder."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path: path.read_bytes() for path in paths}
