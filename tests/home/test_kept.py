"""Settings, scopes and keys that are removed from a home are reported, stay in force, and are restored."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hashing_encoder import HashingEncoder
from stories.conftest import new_user, user
from user import User

from scrubjay.engine.engine import Engine
from scrubjay.errors import InputError
from scrubjay.home import kept, scopes, settings
from scrubjay.home.partitions import Partition, PartitionBook
from scrubjay.home.paths import Home
from scrubjay.home.scope_settings import ScopeBook
from scrubjay.http_api import tokens
from scrubjay.http_api.options import Options, parse_address
from scrubjay.http_api.tokens import Tokens

__all__ = ["new_user", "user"]  # fixtures

NOW = datetime(2026, 3, 5, tzinfo=UTC)


@pytest.fixture
async def filled(home: Home, tmp_path: Path) -> Home:
    """A home in which every file of this kind has content."""
    settings.change(home.config, "capture", "off")
    (tmp_path / "sparrow").mkdir()
    scopes.scope_of(home, str(tmp_path / "sparrow"))
    await ScopeBook(home).keep_context("team", "Birds of this coast.", NOW)
    await PartitionBook(home).make("team", Partition("mem_birds", "Birds"))
    tokens.add(home, NOW, name="laptop")
    return home


FILES = ("config", "scopes", "scope_settings", "partitions", "tokens")


def said(home: Home) -> tuple[object, ...]:
    """The content of all these files."""
    book = ScopeBook(home).of("team").supporting_context, PartitionBook(home).of("team")
    keys = [token.name for token in Tokens(home).now()]
    return settings.load(home.config), scopes.list_scopes(home), *book, keys


async def test_a_removed_file_stays_in_force_and_is_restored(filled: Home) -> None:
    before, paths = said(filled), [getattr(filled, name) for name in FILES]
    contents = [Path(path).read_bytes() for path in paths]
    for path in paths:
        os.remove(path)
    assert said(filled) == before
    assert kept.missing(filled) == paths
    assert kept.restore(filled) == paths and kept.missing(filled) == []
    assert [Path(path).read_bytes() for path in paths] == contents


async def test_a_project_first_seen_after_the_scope_book_was_removed_is_added_to_the_others(
    filled: Home, tmp_path: Path
) -> None:
    (known,) = scopes.list_scopes(filled)
    os.remove(filled.scopes)
    (tmp_path / "wren").mkdir()
    wren = scopes.scope_of(filled, str(tmp_path / "wren"))
    assert [each["scope"] for each in scopes.list_scopes(filled)] == sorted([known["scope"], str(wren)])
    assert filled.scopes not in kept.missing(filled)


async def test_a_damaged_list_is_moved_away_and_its_copy_applies(filled: Home, tmp_path: Path) -> None:
    before = said(filled)
    for name in ("scopes", "scope_settings", "partitions"):
        Path(getattr(filled, name)).write_text('{"v": 1')
    assert said(filled) == before
    scopes.scope_of(filled, str(tmp_path))
    assert len(scopes.list_scopes(filled)) == 2 and Path(f"{filled.scopes}.broken").exists()


async def test_removing_the_keys_or_the_settings_grants_no_access(filled: Home) -> None:
    os.remove(filled.tokens)
    os.remove(filled.config)
    assert [token.name for token in Tokens(filled).now()] == ["laptop"]
    tokens.remove(filled, "laptop")
    os.remove(filled.tokens)
    assert Tokens(filled).now() == ()  # the copy forgets it too: no removed key is restored
    with pytest.raises(InputError):
        Options(parse_address("0.0.0.0:6767")).check(len(tokens.load(filled)))


async def test_an_engine_copies_files_written_by_an_older_one_or_edited_by_a_user(
    filled: Home, clock: Callable[[], datetime]
) -> None:
    for name in FILES:
        os.remove(kept.copy_of(getattr(filled, name)))
    Path(filled.config).write_text("min_length = 7\n")
    Path(filled.partitions).write_text('{"v": 1')
    engine = Engine(filled, clock=clock, open_model=lambda *_, **__: HashingEncoder())
    await engine.load()
    await engine.close()
    os.remove(filled.config)
    assert settings.load(filled.config).min_length == 7
    assert sorted(os.listdir(os.path.dirname(kept.copy_of(filled.config)))) == sorted(
        os.path.basename(getattr(filled, name)) for name in (*FILES, "capture") if name != "partitions"
    )


@pytest.mark.long
def test_the_doctor_reports_missing_files_and_restores_them(user: User) -> None:
    user.gets("config", "min_length", "7")
    user.says("Which port does staging use?", "9443.", session="s", turn=0)
    for path in (user.home.config, user.home.scopes):
        os.remove(path)
    page = user.types("doctor")
    assert page.returncode == 1
    for path in (user.home.config, user.home.scopes):
        assert f"{path} is missing" in page.stdout
    assert "`scrubjay doctor --mend` restores it" in page.stdout
    page = user.types("doctor", "--mend").stdout
    assert "is missing; its copy" not in page and page.count("restored from its copy") == 2
    assert "that could not be read" not in page  # there was nothing to repair in the store
    assert json.loads(Path(user.home.scopes).read_text())["scopes"]


@pytest.mark.parametrize("damaged", [b"\xff\xfepaused = true\n", b"paused = tr", b"min_length = 'x'\n"])
def test_damaged_settings_are_restored_from_their_copy(home: Home, damaged: bytes) -> None:
    settings.change(home.config, "paused", "true")
    Path(home.config).write_bytes(damaged)
    aside = settings.restore_config(home)
    assert settings.load(home.config).paused
    assert aside is not None and Path(aside).read_bytes() == damaged
    assert settings.restore_config(home) is None


def test_damaged_settings_without_an_intact_copy_are_left_unchanged(home: Home) -> None:
    Path(home.config).write_text("paused = tr")
    assert settings.restore_config(home) is None
    Path(kept.copy_of(home.config)).parent.mkdir(exist_ok=True)
    Path(kept.copy_of(home.config)).write_text("paused = tr")
    assert settings.restore_config(home) is None
    assert Path(home.config).read_text() == "paused = tr"
