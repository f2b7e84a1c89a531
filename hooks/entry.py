"""Runs an event: reads the payload, opens the home, applies the user's policy, calls the handler.

Every failure becomes a line of the journal.
"""

from __future__ import annotations

import json
import os
import time
from collections import namedtuple

from scrubjay.errors import InputError, ScrubjayError
from scrubjay.home import capture, scopes, spool
from scrubjay.home.files import read_regular
from scrubjay.home.paths import default_root, open_home
from scrubjay.hooks import events, hosts, journal
from scrubjay.redaction import patterns
from scrubjay.wire.hello import hello_from

PIECE = 1024 * 1024  # bytes read at once
MAX_STDIN = 8 * 1024 * 1024  # bytes; a longer event is not conversation, and redacting it would take 1 s

Call = namedtuple("Call", "home policy event hello now_ns records inject")
"""An event and its context. `hello` names its scope; `records` and `inject` are what the policy allows."""


def run(registered, event_name, stdin, stdout, env, read, clock=time.time_ns):
    """Answer the event on `stdin` (bytes): write the text for its host to `stdout`, or nothing.

    `registered` and `event_name` are the names in the registration, or None; `read(kind)` is called after the
    event has been read. Return why the home, and so its journal, cannot be opened, or None if it was opened.
    """
    home, session_id, name, answer = None, None, "event", ""
    try:
        home = open_home(default_root(env))
        payload = _payload(stdin)
        host = hosts.recognize(payload, env, registered)
        event = hosts.read(host, payload, env, _working_dir(), event_name)
        name = event.kind or name
        read(event.kind)
        session_id = event.session_id
        if event.kind and session_id is None:
            raise InputError("The event has no session_id of 1 to 200 characters; it was ignored.")
        if event.kind in events.TOOLS and not event.is_subagent:
            answer = hosts.answer(event, *events.tool_used(_call_for(home, event, env, clock())))
        elif event.kind and not event.is_subagent:
            loaded = _load_patterns(home)
            answer = hosts.answer(event, *events.HANDLERS[event.kind](_call_for(home, event, env, clock())))
            if patterns.count() > loaded:
                _store_patterns(home)
    except ScrubjayError as error:
        if home is None:
            return str(error)
        journal.note(home, name, session_id, str(error))
    except Exception as error:  # nothing catches it after this: our errors must not disturb an assistant
        journal.note(home, name, session_id, journal.place_of(error))
    stdout.write(answer)
    return None


def _call_for(home, event, env, now_ns):
    policy = _policy(home)
    is_hidden = capture.is_excluded(policy, event.cwd, event.project_dir)
    scope = env.get("SCRUBJAY_SCOPE", "")
    if not scopes.is_scope(scope):
        # As in an import, a turn belongs to the project in whose folder it was said.
        scope = scopes.project_of(home, event.cwd, event.project_dir)[1]
    scope = scope or scopes.scope_of(home, event.project_dir)
    if scope is None:
        sentence = f"Nothing is recorded in {event.project_dir}: {scopes.NOWHERE}"
        raise InputError(f"{sentence} Work in a folder, or set SCRUBJAY_SCOPE.")
    return Call(
        home=home,
        policy=policy,
        event=event,
        hello=hello_from("hook", env, event.cwd, os.getpid(), scope=scope),
        now_ns=now_ns,
        records=not (is_hidden or policy.paused or policy.capture == "off"),
        inject="off" if is_hidden or not hosts.takes_context(event) else policy.inject,
    )


def _policy(home):
    """Return the user's policy, or the default policy if the home has none."""
    try:
        return capture.policy(capture.read(home))
    except FileNotFoundError:
        return capture.DEFAULT
    except (OSError, ValueError) as error:
        raise InputError(
            f"{home.capture} cannot be read ({type(error).__name__}), so nothing is recorded; run `scrubjay "
            "config`."
        ) from None


def _load_patterns(home):
    """Load the patterns that earlier hooks compiled; return their number."""
    try:
        dump = read_regular(home.patterns, patterns.MAX_DUMP)
    except OSError:  # this is the first hook
        dump = b""
    patterns.load(dump)
    return patterns.count()


def _store_patterns(home):
    """Store the compiled patterns for later hooks."""
    try:
        spool.durable_write(home, home.patterns, patterns.dump())
    except OSError:  # such as a full disk, or a path that is not a file
        return  # the next hook tries again


def _payload(stdin):
    """Read the event only until its JSON is complete, because some hosts never close the pipe."""
    raw, payload = b"", None
    while payload is None and len(raw) <= MAX_STDIN and (piece := stdin.read1(PIECE)):
        raw += piece
        if raw.rstrip().endswith(b"}"):
            payload = _parsed(raw)
    if len(raw) > MAX_STDIN:
        raise InputError(f"The event has more than {MAX_STDIN:,} bytes; it was ignored.")
    payload = payload or _parsed(raw)
    if payload is None:
        raise InputError(f"The event is not JSON, in {len(raw):,} bytes; it was ignored.")
    if not isinstance(payload, dict):
        raise InputError(f"The event is a {type(payload).__name__} and not an object; it was ignored.")
    return payload


def _parsed(raw):
    """Return the JSON in the bytes, in which some may not be UTF-8; None if they are not JSON."""
    try:
        text = raw.decode(json.detect_encoding(raw), "replace")
        return json.loads(text, parse_int=float)  # parsing a huge integer is quadratic
    except (ValueError, RecursionError):
        return None


def _working_dir():
    try:
        return os.getcwd()
    except OSError:  # the folder was deleted
        return os.path.sep
