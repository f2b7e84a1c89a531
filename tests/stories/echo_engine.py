"""An engine without a store, for the process tests: real lock, socket and lifetime, and an interface that
answers by itself.

    python echo_engine.py serve VERSION IDLE_SECONDS [auto] [loopback]

Tools: `search_memories` answers with its arguments; `{"die_once": PATH}` makes the engine kill itself the first time,
`{"die": true}` every time; `{"bytes": N}` asks for an answer of N bytes, `{"wait": PATH}` waits until PATH exists.
It notes each line it reads in `heard`. With a file named `fails` in the home it does not start.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys

from scrubjay.engine.process import lifetime
from scrubjay.engine.process.connection import Connection
from scrubjay.home.paths import open_home
from scrubjay.pipe.offer import Offer
from scrubjay.pipe.stdio import attach
from scrubjay.wire import lock
from scrubjay.wire.hello import Hello

# each answer is an engine's
NO_OFFER = {way: {"versions": [], "answers": {}} for way in ("handshake", "modern")}


async def answer(method: str, params: dict, version: str) -> dict:
    if method == "initialize":
        about = {"protocolVersion": "2025-11-25", "capabilities": {}}
        return {**about, "serverInfo": {"name": "echo", "version": version}}
    if method == "tools/list":
        return {"tools": [], "pid": os.getpid()}
    arguments = params.get("arguments", {})
    if arguments.get("die"):
        os.kill(os.getpid(), signal.SIGKILL)
    marker = arguments.get("die_once")
    if marker and not os.path.exists(marker):
        with open(marker, "w"):
            os.kill(os.getpid(), signal.SIGKILL)
    while arguments.get("wait") and not os.path.exists(arguments["wait"]):
        await asyncio.sleep(0.01)
    text = "x" * arguments.get("bytes", 0) or json.dumps(arguments)
    return {"content": [{"type": "text", "text": text}], "pid": os.getpid()}


async def main(root: str, version: str, idle: float, flags: set[str], client: Hello | None = None) -> None:
    """Serve until finished; with `client`, also the one on this process's own standard input, until it
    leaves.
    """
    home = open_home(root)
    held = lock.take(home.engine_lock)
    options = {"auto": "auto" in flags, "loopback": "loopback" in flags}
    life = lifetime.Lifetime(home, held, idle_seconds=idle, version=version, grace_seconds=10, **options)
    heard = open(os.path.join(root, "heard"), "a", buffering=1)  # noqa: SIM115 - for the life of the process

    async def say(connection: Connection, call_id: object, **fields: object) -> None:
        await connection.write_line(json.dumps({"jsonrpc": "2.0", "id": call_id, **fields}))

    async def pipe(connection: Connection) -> None:
        async def reply(message: dict) -> None:
            result = await answer(message["method"], message.get("params", {}), version)
            await say(connection, message["id"], result=result)

        replies = set()
        async for line in connection:
            message = json.loads(line)
            heard.write(f"{os.getpid()} {message['method']}\n")
            if "id" in message:
                replies.add(asyncio.ensure_future(reply(message)))
        for each in replies:
            each.cancel()

    async def cli(connection: Connection) -> None:
        async for line in connection:
            call = json.loads(line)
            if call["method"] == "finish":
                life.finish("asked")
            if call["method"] == "complain":
                error = {"message": "There is no such thing.", "kind": "NotFound"}
                await say(connection, call["id"], error=error)
                continue
            await say(connection, call["id"], progress={"done": 1})
            await say(connection, call["id"], result={"pid": os.getpid(), "clients": len(life.connections)})

    async def background() -> None:
        if client is not None:
            attach(root, client, os.environ, lambda: life.finish("the client left"), offer=Offer(NO_OFFER))

    await life.serve({"pipe": pipe, "cli": cli}, background)


if __name__ == "__main__":
    _, _, engine_version, idle_seconds, *rest = sys.argv
    if os.path.exists(os.path.join(os.environ["SCRUBJAY_HOME"], "fails")):
        sys.exit("The store is upside down.")
    asyncio.run(main(os.environ["SCRUBJAY_HOME"], engine_version, float(idle_seconds), set(rest)))
