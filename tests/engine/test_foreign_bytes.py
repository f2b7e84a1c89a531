"""Any bytes in a file of a home, in a client's line or in a request's body are read or refused.

Each parser gets valid bytes that were cut, flipped, repeated and stuffed, and JSON of any shape. It may raise
only its documented exceptions. `--hypothesis-profile=explore` looks for new examples.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from damaged import JSON, damaged, like
from hypothesis import given
from hypothesis import strategies as st
from said import SCOPE, turn

from scrubjay.engine.engine import Engine
from scrubjay.errors import EngineError, HomeError, InputError
from scrubjay.home import capture, capture_policy, openings, scopes, settings, spool
from scrubjay.home.partitions import PartitionBook
from scrubjay.home.paths import Home, open_home
from scrubjay.home.scope_settings import ScopeBook
from scrubjay.http_api import tokens
from scrubjay.models.filters import parse_filter
from scrubjay.transcripts import formats, matching
from scrubjay.transcripts.turn import fields_of
from scrubjay.wire import address, hello, messages


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return open_home(str(tmp_path / "home"))


def check(parse: Callable[[], object], *expected: type[Exception]) -> None:
    """Call a function that may raise only these exceptions, with a message."""
    try:
        parse()
    except expected as error:
        assert str(error)


HELLO = hello.hello_from("pipe", {"SCRUBJAY_SCOPE": "a"}, "/a", 7, scope=SCOPE)
CAPTURE = {"v": 1, "capture": "all", "paused": False, "excluded": ["/a"], "inject": "off", "min_length": 3}
CAPTURE |= {"since": "2026-03-05T12:00:00+00:00", "summary_every": 20}
SOUND: dict[str, dict[str, Any]] = {  # by the attribute of `Home` that names the file
    "scopes": {
        "v": 1,
        "scopes": {SCOPE: {"paths": {"/a": None}, "origins": ["x"]}},
        "merged": {"old": SCOPE},
    },
    "engine_json": {"socket": "/a/engine.sock", "pid": 7, "version": "1.0", "http": None},
    "tokens": {"v": 1, "tokens": [{"name": "a", "digest": "0" * 64, "tag": None, "read_only": False}]},
    "partitions": {"v": 1, "scopes": {SCOPE: {"mem_food": {"name": "Food", "description": "What they eat"}}}},
    "scope_settings": {"v": 1, "scopes": {SCOPE: {"name": "A", "context": "B", "buckets": {"food": "C"}}}},
}
READERS: dict[str, Callable[[Home], Any]] = {
    "scopes": lambda home: scopes.is_scope(scopes.scope_of(home, home.root) or ""),
    "engine_json": lambda home: address.engine_facts(home).keys() & {"socket", "address"},
    "tokens": lambda home: tokens.match("sm_guess", tokens.load(home)),
    "partitions": lambda home: PartitionBook(home).of([SCOPE]),
    "scope_settings": lambda home: ScopeBook(home).of(SCOPE),
}
TOML = b'inject = "prompt"  # a comment\nroots = ["/a", "/b"]\nidle_minutes = 3\nchat_capture = "all"\n'
ENVELOPE = {
    "v": 1,
    "id": "abcdefgh01",
    "kind": "turn",
    "at": "2026-03-05T12:00:00Z",
    "scope": SCOPE,
    "source": "hook:stop",
    "host": "claude-code",
    "capture": "all",
    "redacted": 0,
    "args": {"session_id": "s", "prompt_id": "p", "user": "Which owls?", "assistant": "Barn owls."},
}
LINES = [
    {"type": "user", "uuid": "a", "message": {"content": "Which owls?"}, "timestamp": "2026-03-05T12:00:00Z"},
    {
        "type": "assistant",
        "message": {"content": [{"type": "text", "text": "Barn owls."}], "stop_reason": "end_turn"},
    },
    {
        "type": "assistant",
        "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]},
    },
    {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "And kites?"}},
    {"type": "user", "message": {"content": [{"type": "text", "text": "[Request interrupted by user]"}]}},
]
CALL = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"forget","arguments":{"id":"x"}}}'


@given(damaged(hello.encode(HELLO)) | like(json.loads(hello.encode(HELLO))))
def test_any_line_is_a_hello_or_an_error(line: bytes):
    check(lambda: hello.decode(line), EngineError)


@given(damaged(CALL) | st.binary(max_size=60))
def test_any_line_of_a_client_can_be_glanced_at(line: bytes):
    seen = messages.glance(messages.well_formed(line))
    assert seen.key is None or seen.key[1] is not None


@given(like(CAPTURE))
def test_any_capture_policy_is_read_or_refused(home: Home, data: bytes):
    Path(home.capture).write_bytes(data)
    capture_policy.captured_since(home)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict):
        check(lambda: capture.policy(value), InputError)


@given(damaged(TOML))
def test_any_config_is_read_or_refused(home: Home, data: bytes):
    Path(home.config).write_bytes(data)
    check(lambda: settings.load(home.config), InputError, HomeError)


@given(like({"scope": SCOPE, "text": "Owls.", "until": None}))
def test_any_opening_file_gives_a_text_or_nothing(home: Home, data: bytes):
    os.makedirs(home.openings, exist_ok=True)
    openings.write(home, SCOPE, "Owls.", None)
    Path(openings._path(home, SCOPE)).write_bytes(data)
    assert isinstance(openings.read(home, SCOPE, 0.0), dict | None)


@pytest.mark.parametrize("name", SOUND)
@given(st.data())
def test_any_other_file_of_a_home_is_read_and_only_damaged_tokens_are_refused(
    home: Home, name: str, data: st.DataObject
):
    Path(getattr(home, name)).write_bytes(data.draw(like(SOUND[name])))
    try:
        read = READERS[name](home)
    except HomeError as error:
        assert name == "tokens" and str(error)
    else:
        assert (read is None) if name == "tokens" else read  # no token has the guessed key
    scopes.list_scopes(home)


FILTER = b'{"AND": [{"key": "status", "value": "open", "negate": false}]}'


@given(JSON | damaged(FILTER).map(lambda data: data.decode("latin-1")))
def test_any_filter_is_read_or_refused(given_filter: Any):
    check(lambda: parse_filter(given_filter), ValueError)


@given(st.lists(st.sampled_from(LINES), max_size=4), st.data())
def test_any_transcript_gives_turns(said: list[dict[str, Any]], data: st.DataObject):
    sound = b"\n".join(json.dumps(line).encode() for line in said)
    found = formats.turns(data.draw(damaged(sound)).split(b"\n"), "claude-code")
    matching.placed(found, [("p", "Which owls?", None), (None, "x\n\ny", None)])
    matching.ended_before(found, ["Which owls?"], str)
    for turn_ in found:
        json.dumps(fields_of(turn_, str))


NONSENSE = st.fixed_dictionaries(dict.fromkeys(ENVELOPE, JSON)).map(lambda made: json.dumps(made).encode())


@given(st.lists(like(ENVELOPE) | NONSENSE, min_size=1, max_size=4))
async def test_any_envelope_is_taken_or_moved_away_and_blocks_no_other(engine: Engine, files: list[bytes]):
    core = await engine.core()
    for number, data in enumerate(files):
        Path(engine.home.spool_new, f"{number:020}-broken00.json").write_bytes(data)
    told = await turn(core, "later", user="Which kites?", assistant="Red ones.")
    await core.writer.settle()
    assert told.id and not spool.pending(engine.home)
