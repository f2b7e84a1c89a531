"""`scrubjay setup`: finds the assistants on this machine, connects them, tests that, and disconnects them.

Each host is handled separately: a problem with one is reported and does not affect the others.
"""

import argparse
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from pathlib import Path
from typing import Any, NamedTuple

from scrubjay import VERSION
from scrubjay.cli.clients import Clients, find_clients
from scrubjay.cli.command import Place, confirm
from scrubjay.cli.display import plural, print_answer
from scrubjay.errors import EngineError, InputError, ScrubjayError
from scrubjay.home.scopes import nearest, project_folders
from scrubjay.home.settings import load
from scrubjay.hosts.additions import Plugin
from scrubjay.hosts.changes import Change, Draft, connecting, disconnecting, write
from scrubjay.hosts.installation import console_command, hear_hook
from scrubjay.hosts.machine import Machine, this_machine
from scrubjay.hosts.table import BY_NAME, HOSTS, Host

SERVER_SECONDS = 20.0  # for the server to list its tools, which needs no engine
PROMPT = "Does the hook of Scrubjay receive this prompt?"
_TEST_VARIABLES = ("PATH", "LANG", "SYSTEMROOT", "TEMP", "TMP")  # variables that the test of a hook inherits


@dataclass
class Step:
    """The plan for one host, and its result."""

    host: Host
    found_by: str | None
    drafts: list[Draft] = field(default_factory=list)
    trouble: str = ""  # why nothing was or can be done
    plugins: list[Plugin] = field(default_factory=list)  # plugins that bring hooks and server
    memories: list[str] = field(default_factory=list)  # folders with files of the host's own memory
    tried: list[str] = field(default_factory=list)  # results of the tests

    @property
    def files(self) -> list[str]:
        """The files to write or remove."""
        return [draft.path for draft in self.drafts if draft.changes]


def setup(place: Place, options: argparse.Namespace) -> int:
    """Connect the assistants on this machine: tools, capture and recall."""
    clients = find_clients(place.env, place.cwd)
    hosts = _chosen_hosts(options.only, clients, remove=options.remove)
    machine = this_machine(place.env)._replace(projects=tuple(project_folders(place.home)))
    has_tools = load(place.home.config).inject == "edit"
    plan = _Plan(place, machine, clients, hosts, options.remove, has_tools)
    steps = [plan.step(host) for host in hosts]
    pending = [step for step in steps if step.files]
    if not options.json:
        for step in steps:
            print(f"{step.host.title} ({step.host.name}): {step.found_by or 'the program was not found'}")
            for line in _plan_lines(step, remove=options.remove):
                print(f"    {line}")
    confirmed = bool(pending) and not options.dry_run and _has_agreed(options, pending)
    if confirmed:
        for step in pending:
            plan.carry_out(step)
    completed = [step for step in pending if confirmed and not step.trouble]
    if not options.dry_run and not options.remove and (confirmed or not pending):
        _run_tests(place, [step for step in steps if not step.trouble])
    facts = {
        "removes": options.remove,
        "wrote": [path for step in completed for path in step.files],
        "hosts": [_facts(step) for step in steps],
    }
    print_answer(facts, _final_lines(steps, completed, pending, options), as_json=options.json)
    is_unconfirmed = bool(pending) and not confirmed and not options.dry_run
    return int(is_unconfirmed or any(step.trouble for step in steps))


def _chosen_hosts(only: str | None, clients: Clients, *, remove: bool) -> list[Host]:
    """Return the hosts that `only` names, else the installed and, to remove, the connected ones.

    Raises InputError if a name is unknown.
    """
    if only is None:
        connected = clients.connected() if remove else []
        return [host for host in HOSTS if host.name in clients.installed or host in connected]
    names = [name.strip().lower() for name in only.split(",") if name.strip()]
    for name in names:
        if name not in BY_NAME:
            suggestion = nearest(name, BY_NAME) or f" Known ones: {', '.join(BY_NAME)}."
            raise InputError(f"There is no assistant {name[:80]!r}.{suggestion}")
    return [host for host in HOSTS if host.name in names]


class _Plan(NamedTuple):
    """What all steps need: the chosen hosts, and the state of this machine before the first step."""

    place: Place
    machine: Machine
    clients: Clients
    hosts: list[Host]
    remove: bool
    has_tools: bool  # the user wants a hook before tools

    def step(self, host: Host) -> Step:
        """Return the plan for a host; nothing is written."""
        from scrubjay.histories.memory_files import memory_files  # late: every command imports this module

        step = Step(host, self.clients.installed.get(host.name), plugins=host.plugins(self.machine))
        files = memory_files(host.name, self.machine)
        step.memories = sorted({os.path.dirname(file.path) for file in files})
        try:
            if self.remove:
                changes = [*self._unshared_changes(host), *host.traces(self.machine)]
                step.drafts = disconnecting(self.place.home, changes)
            elif not step.plugins:
                changes = host.changes(self.machine, self.place.named_root, has_tools=self.has_tools)
                step.drafts = connecting(self.place.home, changes)
        except ScrubjayError as error:
            step.trouble = str(error)
        return step

    def _unshared_changes(self, host: Host) -> list[Change]:
        """Return our changes to this host's files that no other connected host needs."""
        root = self.place.named_root
        served = {server.host.name for server in self.clients.servers}
        others = [other for other in HOSTS if other.name in served and other not in self.hosts]
        shared = [change for other in others for change in other.changes(self.machine, root, has_tools=True)]
        ours = host.changes(self.machine, root, has_tools=True)
        return [change for change in ours if change not in shared]

    def carry_out(self, step: Step) -> None:
        """Carry out a step on the current files, because two hosts may share a file."""
        current = self.step(step.host)
        step.trouble = current.trouble
        try:
            write(self.place.home, current.drafts)
        except ScrubjayError as error:
            step.trouble = str(error)
        for plugin in step.plugins if self.remove and not step.trouble else ():
            shutil.rmtree(plugin.folder, ignore_errors=True)


def _has_agreed(options: argparse.Namespace, pending: Sequence[Step]) -> bool:
    """Return True if the user agrees, by option or in answer to a question."""
    if options.yes or options.json or not sys.stdin.isatty():
        return bool(options.yes)
    count = plural(len(pending), "assistant")
    question = f"Remove Scrubjay from {count}?" if options.remove else f"Connect {count}?"
    return confirm(question, default=True)


def _plan_lines(step: Step, *, remove: bool) -> Iterator[str]:
    host = step.host
    if step.trouble:
        yield f"cannot be done: {step.trouble}"
        return
    if not remove:
        features = ["tools", *(["capture"] if host.capture else [])]
        yield ", ".join(features) + (f", recall injected at {host.recall}" if host.recall else "")
        if host.proof == "documents":
            yield "built from its documentation, not tested with the real program"
        if host.lacks:
            yield host.lacks
        if step.plugins:
            yield f"already, by its plugin {' and '.join(plugin.name for plugin in step.plugins)}"
        elif not step.drafts:
            yield "not connected: none of its folders exists yet; start it once, then repeat this"
        elif not step.files:
            yield "connected already"
        elif host.click:
            yield f"needs you: {host.click}"
    elif not step.files:
        yield "nothing to remove"
    if step.memories and (step.files or not remove):
        count = plural(len(step.memories), "folder")
        yield f"its own memory ({count}) is {'no longer read' if remove else 'read, and never written'}"
    for draft in step.drafts:
        if draft.changes:
            verb = "removes" if draft.then is None else "writes" if draft.now is None else "changes"
            yield f"{verb} {draft.path}"


def _run_tests(place: Place, steps: Sequence[Step]) -> None:
    """Run the registered commands as their hosts would, and add the results to the steps."""
    clients = find_clients(place.env, place.cwd)
    tool_counts: dict[str, int] = {}
    for step in steps:
        servers = [server.command for server in clients.servers if server.host == step.host]
        try:
            for server in servers[:1]:
                tool_counts[server] = tool_counts.get(server) or _count_tools(place, server)
                step.tried.append(f"the server lists {plural(tool_counts[server], 'tool')}")
            if hook_command := _prompt_hook(step.host, clients):
                step.tried.append(_test_hook(place, step.host, hook_command))
        except EngineError as error:
            step.trouble = str(error)


def _count_tools(place: Place, server: str) -> int:
    """Return how many tools the server lists to a client. Raises EngineError if it lists none."""
    init_params = {"protocolVersion": "2025-06-18", "capabilities": {}}
    init_params["clientInfo"] = {"name": "scrubjay-setup", "version": VERSION}
    requests = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": init_params},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    is_direct = os.path.basename(server).removesuffix(".exe") == "scrubjay"  # else it is a runner such as uvx
    command = [os.path.expanduser(server)] if is_direct else console_command()
    try:
        process = subprocess.run(
            command,
            input="".join(json.dumps(request) + "\n" for request in requests).encode(),
            env=dict(place.env),
            cwd=place.cwd,
            capture_output=True,
            timeout=SERVER_SECONDS,
            check=False,
        )
        answers = [json.loads(line) for line in process.stdout.splitlines()]
        tools = next(answer["result"]["tools"] for answer in answers if answer.get("id") == 2)
    except (OSError, subprocess.TimeoutExpired, ValueError, StopIteration, KeyError) as error:
        sentence = f"The server {server} did not list its tools ({type(error).__name__})."
        raise EngineError(f"{sentence} `scrubjay doctor` may show why.") from error
    return len(tools)


def _test_hook(place: Place, host: Host, command: list[str]) -> str:
    """Try the registered hook in a temporary home; return what it did. Raises EngineError if it failed."""
    with tempfile.TemporaryDirectory(prefix="scrubjay-setup-") as folder:
        session = f"setup-{secrets.token_hex(6)}"
        root = os.path.join(folder, "home")
        env = {name: place.env[name] for name in _TEST_VARIABLES if name in place.env}
        env |= {"HOME": folder, "SCRUBJAY_HOME": root, "SCRUBJAY_SCOPE": "scrubjay-setup"}
        payload = host.payload(session, folder, PROMPT)
        started = time.perf_counter()
        hear_hook(payload, env, folder, command)
        duration = f"{(time.perf_counter() - started) * 1000:.0f} ms"
        is_stored = any(PROMPT.encode() in path.read_bytes() for path in Path(root, "spool").rglob("*.json"))
    if PROMPT in json.dumps(payload) and not is_stored:
        raise EngineError(f"The hook {' '.join(command)} received a prompt and wrote nothing.")
    return f"its hook {'took a prompt' if is_stored else 'runs'} ({duration})"


def _prompt_hook(host: Host, clients: Clients) -> list[str] | None:
    """Return the command registered for this host's prompts, without a prefix `env` that sets its home."""
    words = clients.hook(host.name, host.prompt_event or "")
    if words and words[0] == "env":
        return list(dropwhile(lambda word: "=" in word, words[1:]))
    return words


def _facts(step: Step) -> dict[str, Any]:
    host = step.host
    return {
        "host": host.name,
        **{name: getattr(host, name) for name in ("title", "recall", "click", "lacks")},
        **{name: bool(getattr(host, name)) for name in ("tools", "capture")},
        **{name: getattr(step, name) for name in ("found_by", "trouble", "memories", "tried")},
        "tried_with_the_real_program": host.proof,
        "plugins": [plugin.name for plugin in step.plugins],
        "files": [{"path": draft.path, "changes": draft.changes} for draft in step.drafts],
    }


def _final_lines(
    steps: Sequence[Step], completed: Sequence[Step], pending: Sequence[Step], options: argparse.Namespace
) -> Iterator[str]:
    """Yield the final messages."""
    if options.remove and not pending and not any(step.trouble for step in steps):
        yield "Nothing to remove: no assistant here has an entry of Scrubjay."
        return
    if not steps:
        yield "No assistant that Scrubjay knows was found on this machine. Install one and repeat this,"
        yield "or give any MCP client the command `scrubjay` (`mcp.json.example` has a block for each)."
        return
    yield ""
    for step in steps:
        if step.tried:
            yield f"{step.host.title}: {', '.join(step.tried)}."
        if step.trouble:
            yield f"{step.host.title}: PROBLEM: {step.trouble}"
    if options.dry_run:
        yield "Nothing was written (--dry-run)."
    elif pending and not completed and not any(step.trouble for step in pending):
        yield "Nothing was written; --yes writes without a question."
    elif options.remove:
        count = plural(len(completed), "assistant")
        yield f"Scrubjay was removed from {count}. Its memories stay in its home."
    else:
        for step in completed:
            if step.host.click:
                yield f"{step.host.title} needs a step from you: {step.host.click}"
        if f"{os.sep}archive-v" in sys.prefix:  # uv's temporary folder for `uvx`
            yield "This installation is temporary: `uv tool install scrubjay`, then set up again."
        if any(step.host.capture for step in completed):
            yield "New sessions are captured from now on; `scrubjay doctor` shows what was received."
        if completed:
            yield "`scrubjay import --from all` reads earlier sessions; `scrubjay setup --remove` undoes all."
