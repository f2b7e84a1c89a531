"""The traffic between a client and its engine: bytes, limits, a stalled reader, and the end of input."""

from __future__ import annotations

import json
import time

import pytest
from clients import ON_POSIX, command_line, root, start, until

__all__ = ["root", "start"]  # fixtures

pytestmark = [ON_POSIX, pytest.mark.long]


def test_ids_keep_their_type_and_lines_their_bytes(start):
    client = start()
    client.open()
    client.write(
        '{ "jsonrpc":"2.0",  "id":"é\\u00e9", "method":"tools/call", '
        '"params":{"arguments":{"a":"ü\\n"}} }\r\n'.encode()
    )
    answer = client.hear()
    assert answer["id"] == "éé" and json.loads(answer["result"]["content"][0]["text"]) == {"a": "ü\n"}
    client.call(1)
    client.call("1")
    assert {str(type(client.hear()["id"])) for _ in range(2)} == {"<class 'int'>", "<class 'str'>"}


def test_a_line_above_the_limit_is_refused_and_the_next_one_answered(start):
    client = start()
    client.open()
    client.write(b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"text":"')
    for _ in range(65):
        client.write(b"x" * (1 << 20))
    client.write(b'"}}\n')
    answer = client.hear()
    assert answer["id"] == 5 and "33554432 bytes" in answer["error"]["message"]
    client.call(6)
    assert client.hear()["id"] == 6


def test_a_client_that_does_not_read_does_not_stop_the_others_and_loses_nothing(root, start):
    stalled, lively = start(), start()
    stalled.open(), lively.open()
    for id in range(30):
        stalled.call(id, bytes=1 << 20)
    with command_line(root) as engine:
        until(lambda: engine.call("status", {})["clients"] == 2, "the stalled client was cut off")
    lively.call("quick")
    assert lively.hear()["id"] == "quick"
    assert sorted(stalled.hear()["id"] for _ in range(30)) == list(range(30))


def test_the_end_of_input_does_not_wait_forever(start, tmp_path):
    client = start()
    client.open()
    client.call(1, wait=str(tmp_path / "never"))
    before = time.monotonic()
    assert client.leave() == 0
    assert time.monotonic() - before < 15  # the time limit of a call, and a margin


def test_a_last_line_without_a_newline_is_answered(start):
    client = start()
    client.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    client.process.stdin.close()
    assert client.hear()["id"] == 1


def test_an_invalid_message_is_answered_and_does_not_affect_later_ones(start):
    client = start()
    bad_ids = ("null", "true", "[1]", '{"a":1}', "1e400")
    lines = ["5", "{}", "[]", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', '{"jsonrpc":"2.0","id":1}']
    lines += [f'{{"jsonrpc":"2.0","id":{each},"method":"ping"}}' for each in bad_ids]
    for line in lines:
        client.write(line.encode() + b"\n")
        answer = client.hear()
        assert answer["error"]["code"] == -32600 and answer["id"] == (1 if line == lines[4] else None), line
    assert client.open()["id"] == 0


def test_a_line_that_is_not_json_is_answered_with_a_parse_error_without_an_id(start):
    client = start()
    for line in (
        "junk",
        '{"jsonrpc":"2.0","id":1,"method":"ping"',
        '{"jsonrpc":"2.0","id":1,"method":"\xff}',
        f'{{"jsonrpc":"2.0","id":{"9" * 5_000},"method":"ping"}}',
        '{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":2,"method":"ping"}',
    ):
        client.write(line.encode("latin-1") + b"\n")
        answer = client.hear()
        assert answer["error"]["code"] == -32700 and answer["id"] is None, line
    assert client.open()["id"] == 0
