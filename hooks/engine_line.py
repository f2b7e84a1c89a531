"""Sends an event to the engine over its socket, or asks it for text within a short time limit.

It never starts an engine, and needs none, because the event is already on disk.
"""

from __future__ import annotations

import json
import os
import time

from scrubjay.home.files import read_regular
from scrubjay.wire.address import engine_facts
from scrubjay.wire.hello import encode, line_of

CONNECT_S = 0.05
MAX_ANSWER = 64 * 1024  # bytes


def tell(home, hello, event):
    """Send an event without waiting for an answer; return True if it was sent."""
    connection = _send(home, hello, event, CONNECT_S)
    if connection:
        connection.close()
    return connection is not None


def ask(home, hello, event, key, wait_s):
    """Return the engine's first answer with `key` within `wait_s` seconds, or None."""
    deadline = time.monotonic() + wait_s
    connection = _send(home, hello, event, min(CONNECT_S, wait_s))
    if connection is None:
        return None
    try:
        received = b""
        while len(received) < MAX_ANSWER:
            head, newline, rest = received.partition(b"\n")
            if newline:
                answer, received = json.loads(head), rest
                if isinstance(answer, dict) and key in answer:
                    return answer
                continue
            connection.settimeout(max(deadline - time.monotonic(), 0.001))
            chunk = connection.recv(65536) if time.monotonic() < deadline else b""
            if not chunk:
                return None
            received += chunk
    except (OSError, ValueError):
        return None
    finally:
        connection.close()
    return None


def _send(home, hello, event, wait_s):
    """Send hello and event; return the connected socket, or None if no engine answers."""
    facts = engine_facts(home)
    address, path = facts.get("address"), facts.get("socket")
    if not address and not os.path.exists(path):
        return None
    try:
        # importing this C module takes 0.4 ms, but importing `socket`, with its enums and selectors, 7 ms
        import _socket as socket
    except ImportError:
        import socket
    connection = socket.socket(socket.AF_INET if address else socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(wait_s)
        connection.connect((str(address[0]), int(address[1])) if address else path)
        if facts.get("token_file"):
            token = read_regular(facts["token_file"], MAX_ANSWER).decode("ascii")
            hello = hello.copy(token=token)
        connection.sendall(encode(hello) + line_of(event))
    except (OSError, ValueError, LookupError, TypeError):
        connection.close()
        return None
    return connection
