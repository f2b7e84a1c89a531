"""The command `scrubjay`: dispatches to the pipe, a hook or a command.

The pipe and the hooks import next to nothing, because clients wait for them.
"""

import os
import sys
from collections.abc import Mapping

INTERRUPTED = 130  # the usual exit code after Ctrl-C
HOOKS = ("user_prompt_submit", "stop", "session_start", "session_end")
USAGES = {
    "stdio": "usage: scrubjay [stdio] [--scope NAME] [--in-process]  (the server that an MCP client starts)",
    "hook": f"usage: scrubjay hook {{{','.join(HOOKS)}}}"
    "  (the hook command of a host; reads its event from standard input)",
}


def main(argv: list[str] | None = None) -> int:
    """Run one command line and return the exit code.

    Without arguments, run `stdio`, which is what a client registers; at a terminal, list the commands.
    """
    arguments = sys.argv[1:] if argv is None else argv
    name = (
        arguments[0]
        if arguments
        else "--help"
        if sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty()
        else "stdio"
    )
    topic = arguments[1:2] if name == "help" else [name] if {"-h", "--help"} & {*arguments[1:]} else []
    if topic and topic[0] in USAGES:
        print(USAGES[topic[0]])
        return 0
    if name == "stdio" or name == "--in-process" or name.partition("=")[0] == "--scope":
        return stdio(arguments[1:] if name == "stdio" else arguments, os.environ)
    if name == "--version":
        from scrubjay import VERSION

        print(f"scrubjay {VERSION}")
        return 0
    if name == "hook":
        return hook(arguments[1:])
    try:
        from scrubjay.cli.parser import run

        return run(arguments or [name], os.environ)
    except KeyboardInterrupt:  # including during imports
        return INTERRUPTED


def stdio(arguments: list[str], env: Mapping[str, str]) -> int:
    """Run the pipe of the client on standard input and output.

    With --in-process, for systems where no other process may be started, this process is also the engine.
    """
    from scrubjay.errors import ScrubjayError
    from scrubjay.home.paths import default_root
    from scrubjay.pipe import stdio as pipe
    from scrubjay.wire.hello import hello_from, working_dir

    hello = hello_from("pipe", env, working_dir(), os.getpid())
    scope, in_process, mistake = _read_stdio(arguments)
    if scope:
        hello = hello.copy(scope=scope)
    if mistake := mistake or _scope_mistake(hello.scope):
        print(f"scrubjay: {mistake}", file=sys.stderr)
        return 2
    try:
        root = default_root(dict(env))
        exit_code = pipe.main(root, hello, env, in_process=in_process)
        if exit_code != pipe.MUST_SERVE:
            return exit_code
        from scrubjay.cli.serve import serve

        return serve(root, auto=True, client=lambda leave: pipe.attach(root, hello, env, leave))
    except ScrubjayError as error:
        print(f"scrubjay: {error}", file=sys.stderr)
        return 1


def _read_stdio(arguments: list[str]) -> tuple[str | None, bool, str]:
    """Return the scope, True if --in-process is given, and a sentence about a wrong argument or ""."""
    scope, in_process, rest = None, False, list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--in-process":
            in_process = True
        elif word == "--scope" and rest:
            scope = rest.pop(0)
        elif word.startswith("--scope="):
            scope = word.partition("=")[2]
        else:
            hint = "; the options of a command follow its name" if not word.startswith("-") else ""
            return scope, in_process, f"{word!r} is not an argument of stdio{hint}\n{USAGES['stdio']}"
    return scope, in_process, ""


def _scope_mistake(scope: str | None) -> str:
    if not scope:
        return ""  # most clients name no scope, so they need not wait for the import
    from scrubjay.home.scopes import is_scope

    allowed = "must be 1 to 100 letters (A to Z), digits or . _ : -"
    return "" if is_scope(scope) else f"scope = {scope[:80]!r}: {allowed}"


def hook(arguments: list[str]) -> int:
    """Run a hook script as a console command; it never fails, so a wrong name is its only error."""
    from scrubjay.hooks import bootstrap

    name = arguments[0].replace("-", "_") if arguments else ""
    if name not in HOOKS:
        print(USAGES["hook"], file=sys.stderr)
        return 1
    event = "".join(word.capitalize() for word in name.split("_"))
    bootstrap.start("claude-code", event)  # ends the process within the deadline, with exit code 0
    return 0
