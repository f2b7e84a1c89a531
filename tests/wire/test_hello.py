"""The first line of each side: its contents, and the error for an invalid line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from scrubjay import VERSION
from scrubjay.errors import EngineError
from scrubjay.home.scopes import is_scope
from scrubjay.models.fields import OneScope
from scrubjay.wire.hello import KINDS, PROTOCOL, Hello, decode, encode, fields_of, hello_from

GOOD = {"protocol": 1, "version": "0.1.0", "kind": "pipe", "project_dir": "/p", "cwd": "/p", "pid": 7}


@given(
    kind=st.sampled_from(KINDS),
    project=st.text(),
    cwd=st.text(),
    pid=st.integers(0, 2**31),
    scope=st.none() | st.text(min_size=1),
    env=st.dictionaries(st.text(), st.text(), max_size=3),
    token=st.none() | st.text(min_size=1),
    replace=st.booleans(),
)
def test_a_hello_survives_a_round_trip(kind, project, cwd, pid, scope, env, token, replace):
    hello = Hello(kind, project, cwd, pid, scope=scope, env=env, token=token, replace=replace)
    line = encode(hello)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert decode(line) == hello


def test_a_hello_has_version_and_protocol_by_default():
    hello = decode(encode(Hello("cli", "/p", "/p", 1)))
    assert (hello.version, hello.protocol) == (VERSION, PROTOCOL)


def test_fields_of_a_newer_client_are_ignored():
    assert decode(json.dumps({**GOOD, "colour": "blue", "protocol": 9}).encode()).protocol == 9


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"kind": "browser"}, "kind must be one of pipe, hook, cli, and is 'browser'"),
        ({"pid": "7"}, "pid must be int, and is '7'"),
        ({"pid": True}, "pid must be int, and is True"),
        ({"version": None}, "version must be str, and is None"),
        ({"scope": 3}, "scope must be str, and is 3"),
        ({"env": {"A": 1}}, "env must map names to strings"),
    ],
)
def test_an_invalid_field_is_named(change, named):
    with pytest.raises(EngineError, match=named):
        decode(json.dumps({**GOOD, **change}).encode())


@pytest.mark.parametrize("line", [b"", b"GET / HTTP/1.1\r\n", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_a_line_that_is_not_an_object_is_refused(line):
    with pytest.raises(EngineError, match="not a JSON object"):
        fields_of(line)


def test_a_client_names_its_project_scope_and_settings():
    env = {
        "CLAUDE_PROJECT_DIR": "/repo",
        "SCRUBJAY_HOME": "/h",
        "SCRUBJAY_SCOPE": "work",
        "SCRUBJAY_X": "1",
        "PATH": "/bin",
    }
    hello = hello_from("pipe", env, "/repo/sub", 9)
    assert (hello.project_dir, hello.cwd, hello.scope, hello.pid) == ("/repo", "/repo/sub", "work", 9)
    assert hello.env == {"SCRUBJAY_SCOPE": "work", "SCRUBJAY_X": "1"}
    assert hello_from("pipe", {"CURSOR_PROJECT_DIR": "/c"}, "/x", 9).project_dir == "/c"
    assert hello_from("pipe", {}, "/x", 9).project_dir == "/x"
    assert hello_from("pipe", env, "/x", 9, scope="named").scope == "named"


@given(st.text(max_size=110))
def test_a_scope_name_follows_the_rules_of_the_models(name: str) -> None:
    try:
        TypeAdapter(OneScope).validate_python(name)
    except ValidationError:
        assert not is_scope(name)
    else:
        assert is_scope(name)
