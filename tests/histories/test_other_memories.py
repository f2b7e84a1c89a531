"""Reading the stores of other memory products without changing them."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stores_made import MEMORIES, make
from user import User, make_user

from scrubjay.histories.disk import Disk, files_below
from scrubjay.histories.stored import LONGEST, Fact, Session
from scrubjay.histories.table import HISTORIES
from scrubjay.hosts.machine import Machine

BY_NAME = {each.host: each for each in HISTORIES}
OLDEST = "claude-mem, its first versions"
NAMES = [name for name in MEMORIES if name != OLDEST]


def read(name: str, place: Path, scratch: Path) -> list[Session | Fact]:
    """Read everything in a store."""
    history = BY_NAME[name]
    with Disk(str(scratch)) as disk:
        files = files_below(str(place), history.fits, history.deep)
        return [each for path, at in files for one in history.stored(disk, path, at) for each in one.read()]


@pytest.fixture
def facts(tmp_path: Path) -> Callable[..., dict[str, Fact]]:
    def read_facts(name: str, place: Path | None = None) -> dict[str, Fact]:
        place = place or make(name, tmp_path / "theirs")
        (tmp_path / "scratch").mkdir(exist_ok=True)
        found = read(name, place, tmp_path / "scratch")
        assert all(isinstance(each, Fact) and each.source == name for each in found)
        assert len({each.id for each in found}) == len(found)
        return {each.content: each for each in found}

    return read_facts


def test_claude_mems_observations_and_summaries_are_facts_of_their_session(facts):
    found = facts("claude-mem")
    observed = found["Pool leak fixed\n\nThe poller leaked connections.\n\n- Rows were not closed"]
    assert observed.created_at == "2026-06-01T07:46:40+00:00"
    assert (observed.project, observed.session_id) == ("api", "host-1")
    assert observed.tags == ("bugfix", "problem-solution")
    assert observed.metadata == {"files": ["pool.go", "x.go"]}
    summary = found[
        "Request: Why is the pool exhausted?\nLearned: Rows keep connections.\nCompleted: Closed the rows."
    ]
    assert summary.tags == ("session-summary",) and summary.created_at == "2026-06-01T08:46:40+00:00"
    merged = found["An old text"]  # a worktree's, which became the project's
    assert merged.created_at is None and merged.project == "heron"
    assert len(found) == 3


def test_a_store_of_the_first_claude_mem_is_read_too(facts, tmp_path):
    (fact,) = facts("claude-mem", make(OLDEST, tmp_path / "old")).values()
    assert (fact.content, fact.session_id) == ("Use WAL in the API.", "host-0")


def test_records_deleted_in_mcp_memory_service_are_left_out(facts):
    (fact,) = facts("mcp-memory-service").values()
    assert fact == Fact(
        "mcp-memory-service",
        "9f2c",
        "Use WAL in the API.",
        created_at="2025-12-01T00:00:00+00:00",
        updated_at="2025-12-01T01:00:00+00:00",
        tags=("db", "decision"),
        metadata={"source": "claude", "score": '{"a": 1}'},
    )


def test_mem0s_history_becomes_versions(facts):
    (fact,) = facts("mem0").values()
    assert fact.content == "Kim prefers coffee" and fact.id == "m1"
    assert fact.earlier == (("Kim prefers tea", "2026-01-02T10:00:00+00:00"),)
    assert fact.created_at == "2026-01-02T10:00:00+00:00"
    assert fact.updated_at == "2026-03-01T09:00:00+00:00"


def test_hebb_minds_facts_keep_importance_and_session_and_expired_ones_are_left_out(facts):
    found = facts("hebb-mind")
    assert len(found) == 2
    rule = found["Use WAL."]
    assert (rule.importance, rule.tags, rule.project) == (7.5, ("db",), None)
    assert rule.metadata == {"partition": "mem_semantic", "source": "claude-code"}
    (turn,) = (each for each in found.values() if each.session_id == "s1")
    assert turn.project == "api" and turn.metadata["turn"] == 3


def test_server_memory_gives_a_fact_per_observation_and_relation(facts, tmp_path):
    found = facts("server-memory")
    assert set(found) == {"Kim: Prefers tea", "Kim: Lives in Oslo", "Kim works at Acme"}
    assert found["Kim: Prefers tea"].tags == ("person",)
    changed = os.stat(tmp_path / "theirs" / "memory.jsonl").st_mtime
    assert all(abs(_seconds(each.created_at) - changed) < 1 for each in found.values())


def test_basic_memorys_observations_and_the_rest_of_a_note_are_facts(facts):
    found = facts("basic-memory")
    decision = found["Storage: Use WAL in the API #durability (2026)"]
    assert decision.tags == ("decision", "db", "api", "durability") and decision.project is None
    assert decision.created_at == "2026-05-01T08:00:00+00:00"
    assert decision.updated_at == "2026-05-02T08:00:00+00:00"
    assert decision.metadata == {"permalink": "notes/storage", "type": "note"}
    assert found["Plain: The port is 5433."].project == "api"
    (rest,) = found.keys() - {decision.content, "Plain: The port is 5433."}
    assert rest.startswith("# Storage") and "- relates_to [[Pool]]" in rest and "WAL" not in rest


def test_mempalaces_drawers_are_facts_of_their_wing(facts):
    found = facts("mempalace")
    assert set(found) == {"Where do logs go? To syslog.", "Use WAL."}
    assert found["Use WAL."].project == "api" and found["Use WAL."].tags == ("db", "facts")
    assert (
        found["Use WAL."].created_at is not None and _seconds(found["Use WAL."].created_at) == 1_777_716_000
    )


def test_a_palace_made_from_a_transcript_is_replaced_by_the_transcript(tmp_path):
    transcript = tmp_path / ".claude" / "projects" / "-w-api" / "s1.jsonl"
    transcript.parent.mkdir(parents=True)
    said = [
        {"type": "user", "message": {"content": "Where do logs go?"}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "To syslog."}]}},
    ]
    about = {"sessionId": "s1", "cwd": "/w/api", "timestamp": "2026-05-01T09:00:00Z"}
    lines = [json.dumps({**about, "uuid": str(number), **each}) for number, each in enumerate(said)]
    transcript.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = read("mempalace", make("mempalace", tmp_path / "palace", str(transcript)), tmp_path)
    (session,) = (each for each in found if isinstance(each, Session))
    assert (session.host, session.id, session.folder) == ("claude-code", "s1", "/w/api")
    assert [turn["assistant"] for turn in session.turns] == ["To syslog."]
    assert [each.content for each in found if isinstance(each, Fact)] == ["Use WAL."]


@pytest.mark.parametrize("name", NAMES)
def test_reading_a_store_does_not_change_it(name, tmp_path):
    theirs = tmp_path / "theirs"
    place = make(name, theirs)
    (tmp_path / "scratch").mkdir()

    def state() -> dict[str, tuple[str, int]]:
        files = [path for path in theirs.rglob("*") if path.is_file()]
        return {str(p): (hashlib.sha256(p.read_bytes()).hexdigest(), p.stat().st_mtime_ns) for p in files}

    before = state()
    first, again = read(name, place, tmp_path / "scratch"), read(name, place, tmp_path / "scratch")
    assert first == again and first
    assert state() == before and not list((tmp_path / "scratch").iterdir())


def test_a_long_text_becomes_facts_cut_at_line_ends(facts, tmp_path):
    lines = [f"Line {number} of a very long note about nothing." for number in range(600)]
    (tmp_path / "Diary.md").write_text("\n".join(lines), encoding="utf-8")
    found = facts("basic-memory", tmp_path / "Diary.md")
    assert len(found) == 4 and all(len(each) <= LONGEST for each in found)
    same = [line for each in found for line in each.splitlines() if line] == ["Diary", *lines]
    assert same  # compared beforehand: explaining a difference of such texts takes a minute


@pytest.mark.parametrize("name", ["claude-mem", "mcp-memory-service", "mem0", "hebb-mind", "mempalace"])
@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\x00 and then nothing"])
def test_a_foreign_store_is_refused(name, content, tmp_path):
    file = {"mcp-memory-service": "sqlite_vec.db", "mempalace": "chroma.sqlite3"}.get(
        name, "claude-mem hebb history.db"
    )
    path = tmp_path / file
    path.write_bytes(content)
    with pytest.raises((OSError, ValueError, sqlite3.Error)):
        read(name, path, tmp_path)


@pytest.mark.parametrize(
    ("name", "platform", "env", "expected"),
    [
        ("claude-mem", "linux", {}, "/home/kim/.claude-mem/claude-mem.db"),
        ("claude-mem", "linux", {"CLAUDE_MEM_DATA_DIR": "/d"}, "/d/claude-mem.db"),
        ("mcp-memory-service", "linux", {}, "/home/kim/.local/share/mcp-memory/sqlite_vec.db"),
        ("mcp-memory-service", "darwin", {}, "/home/kim/Library/Application Support/mcp-memory/sqlite_vec.db"),
        ("mcp-memory-service", "win32", {}, r"C:\Users\kim\AppData\Local\mcp-memory\sqlite_vec.db"),
        ("mcp-memory-service", "linux", {"MCP_MEMORY_SQLITE_PATH": "/x.db"}, "/x.db"),
        ("mem0", "win32", {}, r"C:\Users\kim\.mem0\history.db"),
        ("mem0", "linux", {"MEM0_DIR": "/m"}, "/m/history.db"),
        ("hebb-mind", "darwin", {}, "/home/kim/.hebb/hebb.db"),
        ("server-memory", "linux", {"MEMORY_FILE_PATH": "/kim.jsonl"}, "/kim.jsonl"),
        ("basic-memory", "linux", {}, "/home/kim/.basic-memory/config.json"),
        ("mempalace", "win32", {}, r"C:\Users\kim\.mempalace\palace"),
    ],
)  # fmt: skip
def test_each_store_is_found_where_its_program_keeps_it(name, platform, env, expected):
    home = r"C:\Users\kim" if platform == "win32" else "/home/kim"
    assert list(BY_NAME[name].places(Machine(env, home, platform))) == [expected]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (".claude.json", '{"mcpServers": {"memory": {"env": {"MEMORY_FILE_PATH": "/m/kim \\"1\\".jsonl"}}}}'),
        (".codex/config.toml", "[mcp_servers.memory.env]\nMEMORY_FILE_PATH = '/m/kim \"1\".jsonl'\n"),
        (".cursor/mcp.json", '{// mine\n "env": {"MEMORY_FILE_PATH": "/m/kim \\"1\\".jsonl",},}'),
    ],
)
def test_the_file_of_server_memory_is_found_in_a_hosts_configuration(file, text, tmp_path):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(text, encoding="utf-8")
    package = tmp_path / ".npm/_npx/0a1b/node_modules/@modelcontextprotocol/server-memory/dist/memory.jsonl"
    package.parent.mkdir(parents=True)
    places = list(BY_NAME["server-memory"].places(Machine({}, str(tmp_path), "linux")))
    assert places == ['/m/kim "1".jsonl', str(package)]


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """A user who has used all of them before."""
    user = make_user(tmp_path_factory.mktemp("c"))
    places = {
        "claude-mem": ".claude-mem",
        "mcp-memory-service": ".local/share/mcp-memory",
        "basic-memory": ".basic-memory",
        "server-memory": ".npm/_npx/0a1b/node_modules/@modelcontextprotocol/server-memory/dist",
        "mem0": ".mem0",
        "hebb-mind": ".hebb",
        "mempalace": ".mempalace/palace",
    }
    for name, place in places.items():
        make(name, user.folder / place)
    yield user
    user.types("stop")


@pytest.mark.long
def test_a_user_imports_every_memory_once_and_finds_the_current_facts(collector: User):
    counted = collector.gets("import", "--from", "all", "--dry-run")
    assert counted.endswith("together     15 facts\n")
    assert collector.gets("import", "--from", "all").endswith("15 facts: 15 imported\n")
    assert collector.gets("import", "--from", "all").endswith("15 facts: 0 imported, 15 already known\n")
    found = collector.gets("search", "what does Kim prefer to drink")
    assert "Kim prefers coffee" in found and "Kim prefers tea" not in found
    scopes = {each["folder"]: each["scope"] for each in _projects(collector, "claude-mem,mem0")}
    assert scopes == {"api": "api", "heron": "heron", None: "user"}


def test_a_secret_in_another_memory_is_replaced_and_a_correction_there_is_a_new_version(
    collector: User, tmp_path: Path
):
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    path = make("mem0", tmp_path / "copy")
    collector.gets("import", "--from", "mem0", str(path))
    with sqlite3.connect(path) as store:
        row = (
            "h5",
            "m1",
            "Kim prefers coffee",
            f"Kim logs in by {token}",
            "UPDATE",
            None,
            "2026-07-01T00:00:00Z",
        )
        store.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, 0, NULL, 'user')", row)
    store.close()
    page = collector.gets("import", "--from", "mem0", str(path))
    assert "1 fact: 0 imported, 1 updated\n" in page and "1 secret" in page
    assert "1 already known" in collector.gets("import", "--from", "mem0", str(path))
    assert token not in collector.gets("export")


def _projects(user: User, names: str) -> list[dict[str, Any]]:
    return list(json.loads(user.gets("import", "--from", names, "--json"))["projects"])


def _seconds(instant: str | None) -> float:
    from datetime import datetime

    assert instant is not None
    return datetime.fromisoformat(instant).timestamp()


VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.binary(max_size=8),
    st.text(max_size=12),
    st.sampled_from(
        ["[]", "[1]", '["a"]', "{}", '{"a": [1]}', "[" * 3000, "2026-02-30", "9999-12-31T23:59:59"]
    ),
)


@pytest.mark.parametrize("name", ["claude-mem", "mcp-memory-service", "mem0", "hebb-mind", "mempalace"])
@given(data=st.data())
def test_any_value_in_their_columns_gives_facts_or_a_reason(name, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd", numbered=True)
    path = make(name, folder)
    with closing(sqlite3.connect(path)) as store:
        store.execute("PRAGMA synchronous = OFF")
        tables = [row[0] for row in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = data.draw(st.sampled_from(sorted(tables)))
        columns = [row[1] for row in store.execute(f'PRAGMA table_info("{table}")') if not row[5]]
        for column in data.draw(st.lists(st.sampled_from(columns), min_size=1, unique=True)):
            store.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = ?', (data.draw(VALUES),))
        store.commit()
    try:
        found = read(name, path, folder)
    except (OSError, ValueError, sqlite3.Error):
        return
    for fact in found:
        assert isinstance(fact, Fact) and fact.id and fact.content.strip() and 0 <= fact.importance <= 10
        json.dumps([fact.metadata, fact.created_at, fact.updated_at, fact.earlier])
