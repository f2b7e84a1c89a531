"""Data management on the command line: show, export, import, backup, restore, and the size warning. One
engine for all.
"""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest
from user import make_user, newcomer, user

from scrubjay.cli.status import _records
from scrubjay.errors import EngineError
from scrubjay.pipe.client import open_client
from scrubjay.records import exchange
from scrubjay.wire.hello import hello_from

pytestmark = pytest.mark.long

__all__ = ["newcomer", "user"]  # fixtures


def test_a_record_is_shown_in_full_with_its_versions(user):
    old = user.adds("The sparrow proxy listens on port 8080.", "--tag", "proxy")
    new = user.adds("The sparrow proxy listens on port 8081.", "--updates", old)
    page = user.gets("show", old)
    assert f"1 of {old}, replaced; the newest is {new}" in page and "proxy" in page
    assert re.search(
        rf"Of it came:\n  {new[:12]}  .*  updates: The sparrow proxy listens on port 8081\.", page
    )
    assert re.search(rf"It updates:\n  {old[:12]}  ", user.gets("show", new))
    assert json.loads(user.gets("show", new, "--json"))["record"]["version"] == 2
    assert "No memory, turn or document has the id 'nope'" in user.refused("show", "nope")


def test_a_record_says_how_often_it_was_recalled_at_once(user):
    id = user.adds("The heron build needs Java 21.")
    assert re.search(r"^recalled: +never$", user.gets("show", id), re.M)
    user.gets("search", "heron build")
    user.gets("search", "heron Java")
    assert re.search(r"^recalled: +2 times, last 20\d\d-", user.gets("show", id), re.M)
    assert json.loads(user.gets("show", id, "--json"))["record"]["access_count"] == 2


@pytest.mark.long
def test_an_export_is_imported_elsewhere_and_again(user, tmp_path_factory):
    for fact in ("The finch build uses Clang 19.", "The ibis queue is RabbitMQ."):
        user.gets("add", fact)
    assert "written to" in user.gets("export", "all.jsonl")
    streamed = user.gets("export")
    assert streamed.splitlines()[1:] == (user.project / "all.jsonl").read_text("utf-8").splitlines()[1:]
    second = make_user(tmp_path_factory.mktemp("v"))
    try:
        count = len(streamed.splitlines()) - 1
        assert f"{count} records imported, 0 " in second.gets("import", "-", stdin=streamed)
        assert f"0 records imported, {count} " in second.gets("import", str(user.project / "all.jsonl"))
        assert json.loads(second.gets("import", str(user.project / "all.jsonl"), "--json"))["same"] == count
        assert "Clang 19" in second.gets("search", "finch build", "--all")
        refusal = second.types("import", "-", stdin=streamed[:-9]).stderr
        assert refusal.startswith(f"scrubjay: standard input: Line {count + 1} is cut off or damaged")
        assert exchange.FORMAT in second.types("import", "-", stdin="no export\n").stderr
        assert os.listdir(second.home.spool_tmp) == []
    finally:
        second.types("stop")
    assert "is not a file" in user.refused("import", "nowhere.jsonl")


@pytest.mark.parametrize("option", [["--dry-run"], ["--since", "2026-01-01"], ["--scope", "user"]])
def test_an_export_is_not_imported_with_an_option_that_only_histories_have(newcomer, tmp_path, option):
    (tmp_path / "all.jsonl").write_text(json.dumps({"format": exchange.FORMAT, "version": 1}) + "\n")
    refused = newcomer.types("import", str(tmp_path / "all.jsonl"), *option)
    assert refused.returncode == 1 and f"{option[0]} needs --from" in refused.stderr


@pytest.mark.long
def test_a_backup_replaces_a_home_that_no_engine_serves(user):
    folder = str(user.folder / "copy")
    assert "and checked" in user.gets("backup", folder)
    id = user.adds("Written after the backup.")
    assert "`scrubjay stop` ends it" in user.types("restore-backup", folder).stderr
    user.gets("stop")
    assert "--replace replaces it with the backup" in user.refused("restore-backup", folder)
    page = user.gets("restore-backup", folder, "--replace")
    assert "is now the backup of" in page and ".before-" in page
    assert "has the id" in user.refused("show", id)
    assert "is not a complete Scrubjay backup" in user.refused("restore-backup", str(user.project))


def test_a_home_above_its_size_limit_is_warned_about():
    counts = dict.fromkeys(("turns", "memories", "documents", "passages", "waiting_for_vector"), 1)
    engine = {"records": counts, "repairs": [], "errors": [], "scope": "user"}
    for used, is_warned in ((2 * 10**9, True), (1, False)):
        lines = _records(engine | {"disk": {"bytes": used, "limit": 10**9}})
        assert any("TOO MUCH" in text for _, text in lines) is is_warned


@pytest.mark.long
def test_a_killed_reindex_resumes_at_the_next_start_while_the_old_index_answers(user):
    user.gets("add", "The wren scheduler is cron.")
    user.waits_for_vectors()

    def kill(step) -> None:
        os.kill(engine.engine["pid"], signal.SIGKILL)

    hello = hello_from("cli", user.env, str(user.project), os.getpid())
    with open_client(user.home, hello, user.env) as engine, pytest.raises(EngineError):
        engine.call("reindex", {}, kill)
    data = Path(user.home.data)
    assert (data / "building.json").exists() and len(list(data.glob("passages_*.lance"))) == 2
    assert "The wren scheduler is cron." in user.gets("search", "wren scheduler")
    page = user.types("reindex")
    assert page.returncode == 0 and page.stdout.endswith("indexed and embedded.\n")
    assert not (data / "building.json").exists()
    user.gets("stop")
    assert "The wren scheduler is cron." in user.gets("search", "wren scheduler")
    assert len(list(data.glob("passages_*.lance"))) == 1
