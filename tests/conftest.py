"""Fixtures shared by all tests: small, and named for the noun they give."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest
from current import CURRENT
from hashing_encoder import HashingEncoder
from hypothesis import HealthCheck, settings
from mcp import Client
from mcp.server import Server
from said import SCOPE, opened

from scrubjay.encoders import EmbeddingWorker
from scrubjay.engine.caller import Caller, set_caller
from scrubjay.engine.core import Core
from scrubjay.engine.engine import Engine, utc_now
from scrubjay.home.paths import Home, open_home
from scrubjay.home.settings import Settings
from scrubjay.mcp_server.server import build_server
from scrubjay.store.opening import open_at, open_store
from scrubjay.store.store import Store

BUCKET = "scrubjay-tests"

# Machines that run this are shared and slow at times, which says nothing about the code; fixtures over a
# store are meant to be shared.
settings.register_profile(
    "here",
    deadline=None,
    max_examples=30,
    derandomize=True,  # the same examples at each run; `--hypothesis-profile=explore` looks for new ones
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("explore", settings.get_profile("here"), max_examples=500, derandomize=False)
settings.load_profile("here")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the counts of the campaign: `record_property("tally", ...)`."""
    for report in (*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")):
        for name, said in report.user_properties:
            if name == "tally":
                terminalreporter.write_line(f"tally: {said}")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 3, 5, 12, 0, tzinfo=UTC)


@pytest.fixture
def clock(now: datetime) -> Callable[[], datetime]:
    """A clock that advances by a second each time it is read."""
    ticks = iter(range(10**9))
    return lambda: now + timedelta(seconds=next(ticks))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return open_home(str(tmp_path / "home"))


@pytest.fixture
async def store(home: Home) -> Store:
    return await open_store(home.data, dim=64)


@pytest.fixture
async def core(home: Home, clock: Callable[[], datetime]) -> AsyncIterator[Core]:
    """An engine's core over a fresh home, with the hashing encoder for its model."""
    core = await opened(home, clock)
    yield core
    await core.close()


@pytest.fixture
async def engine(home: Home, clock: Callable[[], datetime]) -> AsyncIterator[Engine]:
    """A loaded engine over a fresh home, with the hashing encoder for its model."""
    loaded = Engine(home, clock=clock, open_model=lambda *_, **__: HashingEncoder())
    await loaded.load()
    yield loaded
    await loaded.close()


@pytest.fixture(scope="session")
def mcp_server() -> Server[Any]:
    """The MCP server over the engine of the current test."""
    return build_server(CURRENT)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder that the client works in."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def mode() -> str:
    """The protocol of 2026. Modules about the tools themselves also use the handshake that ended in 2025."""
    return "auto"


@pytest.fixture
async def client(engine: Engine, mcp_server: Server[Any], project: Path, mode: str) -> AsyncIterator[Client]:
    """A client in memory."""
    CURRENT.engine = engine
    set_caller(Caller(scope=SCOPE, folder=str(project)))
    async with Client(mcp_server, mode=mode) as connected:
        assert (connected.protocol_version < "2026") == (mode == "legacy")
        yield connected


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, str]]:
    """Moto's S3 server, which refuses a second conditional write as S3 does, with an empty bucket; the AWS_*
    variables of its client.
    """
    from moto.server import ThreadedMotoServer  # late: it takes two seconds, and few tests need it

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        endpoint = "http://{}:{}".format(*server.get_host_and_port())
        urlopen(Request(f"{endpoint}/{BUCKET}", method="PUT")).close()
        keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
        yield {"AWS_ENDPOINT": endpoint, "AWS_ALLOW_HTTP": "true", **keys}
    finally:
        server.stop()


@pytest.fixture
def place(s3: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """A prefix of its own in the bucket, and the environment variables to reach it."""
    for name, value in s3.items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{uuid4().hex}"


@pytest.fixture
async def start(place: str, tmp_path: Path) -> AsyncIterator[Callable[[str], Awaitable[Core]]]:
    """Starts an engine's core on the bucket, given the name of its home; its lease expires early."""

    async def started(name: str) -> Core:
        worker = EmbeddingWorker(HashingEncoder)
        worker.start()
        store = await open_at(place, dim=64, lease_seconds=8.0)
        core = Core(open_home(str(tmp_path / name)), store, worker, Settings(store=place), utc_now)
        core.start()
        stack.push_async_callback(core.close)
        return core

    async with AsyncExitStack() as stack:
        yield started
