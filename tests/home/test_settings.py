"""Settings: read from a file, refused with a helpful message, changed one line at a time."""

from __future__ import annotations

import json
import os
import stat
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.errors import HomeError, InputError
from scrubjay.home import capture
from scrubjay.home.capture import DEFAULT, policy
from scrubjay.home.capture_policy import capture_view, captured_since, pauses, write_capture
from scrubjay.home.kept import copy_of
from scrubjay.home.paths import Home
from scrubjay.home.settings import Settings, change, load, with_store
from scrubjay.home.toml_text import with_value

HAND_WRITTEN = """# my own notes

idle_minutes = 30  # "long" lunch
excluded = [
    "/home/me/secret", # not this
    "/tmp/x",
] # end

[nothing]
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "config.toml")


def write(path: str, text: str) -> str:
    Path(path).write_bytes(text.encode())
    return path


def test_a_file_says_only_what_differs_from_the_defaults(path: str) -> None:
    assert load(path) == Settings()
    settings = load(write(path, 'capture = "salient"\nidle_minutes = 0.5\nroots = ["/data"]\n'))
    assert settings == Settings(capture="salient", idle_minutes=0.5, roots=("/data",))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('capture = "everything"', "one of all, salient, summary_only, off"),
        ("capture = 1", "one of all"),
        ("idle_minutes = 0", "a number of minutes from 0.01 to 10,080"),
        ("idle_minutes = true", "a number of minutes"),
        ("idle_minutes = nan", "a number of minutes"),
        ("min_length = 1.5", "a whole number of characters from 0 to 10,000"),
        ('inject = "maybe"', "one of off, session, prompt"),
        ("inject = 1", "one of off, session, prompt"),
        ('excluded = ["relative/folder"]', "a list of absolute folders"),
        ('roots = "data"', "a list of absolute folders"),
        ('model = " "', "a line of text"),
        ("query_prompt = 3", "a text, empty for no prompt at all, or none"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_allowed(path: str, line: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        load(write(path, line))
    assert all(part in str(refused.value) for part in (line.split()[0], says, path))


def test_an_unknown_key_is_refused_with_the_nearest_known_one(path: str) -> None:
    with pytest.raises(InputError, match=r"Did you mean idle_minutes\?$"):
        load(write(path, "idle_minuts = 3"))
    with pytest.raises(InputError, match=r"'qqq' is not a setting\. Known settings: model, "):
        change(path, "qqq", "3")


def test_a_byte_order_mark_of_an_editor_is_no_part_of_the_settings(path: str) -> None:
    Path(path).write_bytes(b"\xef\xbb\xbfmin_length = 12\r\n")
    assert load(path).min_length == 12
    assert change(path, "min_length", "9").min_length == 9
    assert load(path).min_length == 9


def test_a_file_that_cannot_be_read_says_why(path: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not valid TOML"):
        load(write(path, "idle_minutes = = 3"))
    Path(path).write_bytes(b"model = '\xff'")
    with pytest.raises(InputError, match="UTF-8"):
        load(path)
    with pytest.raises(HomeError, match="cannot be read"):
        load(str(tmp_path))


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("idle_minutes", "5", 5),
        ("idle_minutes", "0.25", 0.25),
        ("min_length", "0", 0),
        ("inject", "ON", "prompt"),
        ("inject", "false", "off"),
        ("inject", "Session", "session"),
        ("paused", "no", False),
        ("capture", "Off", "off"),
        ("model", 'C:\\models\\"mine"', 'C:\\models\\"mine"'),
        ("query_prompt", "query: ", "query: "),
        ("query_prompt", "Instruct: recall\nQuery: ", "Instruct: recall\nQuery: "),
        ("query_prompt", "none", None),
        ("document_prompt", "", ""),
        ("excluded", "/a, /b c", ("/a", "/b c")),
        ("roots", "", ()),
        ("excluded", "none", ()),
    ],
)
def test_a_typed_value_is_stored_and_read_back(path: str, key: str, text: str, value: object) -> None:
    settings = change(path, key, text)
    assert getattr(settings, key) == value
    assert load(path) == settings


@pytest.mark.parametrize(
    ("key", "text"),
    [("idle_minutes", "soon"), ("idle_minutes", "5\nmodel = 3"), ("inject", "maybe"), ("roots", "here")],
)
def test_an_invalid_value_leaves_the_file_unchanged(path: str, key: str, text: str) -> None:
    write(path, "min_length = 3\n")
    with pytest.raises(InputError, match="is not possible"):
        change(path, key, text)
    assert Path(path).read_text() == "min_length = 3\n"
    assert os.listdir(os.path.dirname(path)) == ["config.toml"]


def test_changing_a_setting_keeps_comments_and_every_other_line(path: str) -> None:
    write(path, HAND_WRITTEN.replace("[nothing]\n", ""))
    for key, value in (("idle_minutes", "5"), ("excluded", "/a"), ("paused", "true")):
        change(path, key, value)
    changed = 'idle_minutes = 5  # "long" lunch\nexcluded = ["/a"]  # end\n'
    assert Path(path).read_text() == f"# my own notes\n\n{changed}\npaused = true\n"


def test_concurrent_changes_of_settings_are_all_stored(path: str) -> None:
    values = {"min_length": "7", "summary_every": "9", "paused": "true", "capture": "off"}
    with ThreadPoolExecutor() as pool:
        for _ in range(5):
            list(pool.map(lambda pair: change(path, *pair), values.items()))
            kept = load(path)
            assert (kept.min_length, kept.summary_every, kept.paused, kept.capture) == (7, 9, True, "off")
            os.unlink(path)
            os.unlink(copy_of(path))


def test_a_wrong_value_can_be_corrected_by_a_change(path: str) -> None:
    write(path, "idle_minutes = 'soon'\n")
    assert change(path, "idle_minutes", "5").idle_minutes == 5


def test_a_change_is_refused_while_another_line_is_wrong(path: str) -> None:
    write(path, HAND_WRITTEN)
    with pytest.raises(InputError, match="'nothing'"):
        change(path, "idle_minutes", "5")
    assert Path(path).read_text() == HAND_WRITTEN


@given(st.text().filter(lambda text: text.strip() and text.isprintable()))
def test_any_line_of_text_survives_a_round_trip(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = str(tmp_path_factory.getbasetemp() / "round.toml")
    assert change(path, "model", text).model == text == load(path).model


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no POSIX modes and guards its links")
def test_files_are_private_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    link.symlink_to(real)
    change(str(link), "paused", "true")
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    with pytest.raises(HomeError, match="cannot be written"):
        change(str(tmp_path / "absent" / "config.toml"), "paused", "true")


def test_pauses_are_recorded_for_imports(home: Home, now: datetime) -> None:
    times = [now + timedelta(hours=hour) for hour in range(5)]
    off, paused = Settings(capture="off"), Settings(paused=True)
    for settings, at in zip((Settings(), paused, off, Settings(), off), times, strict=True):
        write_capture(home, settings, at)
    stamps = [at.isoformat() for at in times]
    assert pauses(home) == [(stamps[1], stamps[3]), (stamps[4], None)]


def test_hooks_see_only_what_they_need(home: Home, now: datetime) -> None:
    settings = Settings(capture="off", excluded=("/a",), model="secret")
    write_capture(home, settings, now)
    view = json.loads(Path(home.capture).read_text())
    times = {"since": now.isoformat(), "pauses": [[now.isoformat(), None]]}
    defaults = {"min_length": 10, "paused": False, "inject": "session", "effect": 0}
    assert view == {"capture": "off", "excluded": ["/a"], **defaults, **times}
    assert policy(view).capture == "off"
    assert policy(capture_view(Settings())) == DEFAULT


def test_a_changed_preference_is_dated_and_an_unchanged_one_is_not(home: Home, now: datetime) -> None:
    write_capture(home, Settings(), now)
    assert captured_since(home) is None
    write_capture(home, Settings(excluded=("/a",)), now)
    assert captured_since(home) == now
    write_capture(home, Settings(), now + timedelta(hours=1))
    write_capture(home, Settings(model="another"), now + timedelta(hours=2))
    for hour, paused in ((3, True), (4, False)):  # whose times are recorded as pauses
        write_capture(home, Settings(inject="off", paused=paused), now + timedelta(hours=hour))
    assert captured_since(home) == now + timedelta(hours=1)


def damage(path: str, way: str) -> None:
    if os.path.lexists(path):
        os.remove(path)
    if way == "fifo":
        os.mkfifo(path)
    elif way == "folder":
        os.mkdir(path)
    elif way != "gone":
        Path(path).write_text("[" * 100_000 if way == "deep" else way)


WAYS = pytest.mark.parametrize("way", ["gone", "fifo", "folder", "{", "[]", "deep"])


@WAYS
def test_the_copy_of_a_policy_applies_while_the_file_is_damaged(home: Home, now: datetime, way: str) -> None:
    write_capture(home, Settings(), now)
    write_capture(home, Settings(capture="salient"), now)
    view = capture.read(home)
    damage(home.capture, way)
    assert capture.read(home) == view and captured_since(home) == now
    write_capture(home, Settings(capture="salient"), now + timedelta(hours=1))  # the file is repaired
    assert json.loads(Path(home.capture).read_text()) == view


@WAYS
def test_a_policy_is_unknown_while_its_file_and_copy_are_damaged(home: Home, now: datetime, way: str) -> None:
    write_capture(home, Settings(), now)
    damage(home.capture, way)
    damage(copy_of(home.capture), "{")
    with pytest.raises((OSError, ValueError)) as caught:
        capture.read(home)
    assert not isinstance(caught.value, FileNotFoundError)  # as in a new home, whose policy is the default
    write_capture(home, Settings(), now)
    assert captured_since(home) == now and capture.read(home)["since"] == now.isoformat()


@pytest.mark.parametrize("since", ["\ud800", 7, [[1]]])
def test_a_foreign_date_in_the_policy_stops_no_engine(home: Home, now: datetime, since: object) -> None:
    Path(home.capture).write_text(json.dumps({**capture_view(Settings()), "since": since}))
    write_capture(home, Settings(), now)
    assert capture.read(home)["since"] == (since if isinstance(since, str) else now.isoformat())


@pytest.mark.parametrize(("line", "means"), [("true", "prompt"), ("false", "off"), ('"session"', "session")])
def test_inject_as_a_boolean_keeps_its_meaning(path: str, line: str, means: str) -> None:
    assert load(write(path, f"inject = {line}\n")).inject == means


@pytest.mark.parametrize("store", ["s3://bucket", "s3://my.bucket/team/a=b/", "none"])
def test_a_store_is_a_bucket_or_the_homes_own_folder(path: str, store: str) -> None:
    assert change(path, "store", store).store == (None if store == "none" else store)
    assert with_store(Settings(), store).store == (None if store == "none" else store)
    assert with_store(Settings(store="s3://bucket"), None).store == "s3://bucket"


@pytest.mark.parametrize(
    "store",
    [
        "db://name",
        "s3:/bucket",
        "s3://B",
        "/a/folder",
        "gs://bucket",
        "s3://bucket/x?y",
        "s3://bucket/../x y",
    ],
)
def test_any_other_store_is_refused(path: str, store: str) -> None:
    with pytest.raises(InputError, match="give s3://bucket/prefix, or none"):
        change(path, "store", store)
    with pytest.raises(InputError, match=r"SCRUBJAY_STORE = .* is not possible; give s3://bucket/prefix"):
        with_store(Settings(), store)


LONG_LIST = 'c = [\n  "p", # in\n  "q"\n] # out'
LONG_TEXT = "d = '''\na = 5\n''' # end"
STATEMENTS = ["# no\u2028te", "", "a = 1", 'b = "x # y"  # z', LONG_LIST, LONG_TEXT, "e = true#"]
documents = st.lists(st.sampled_from(STATEMENTS), unique=True).map("\n".join)
keys = st.sampled_from("abcdef")
values = st.one_of(
    st.text(st.characters(codec="utf-8")),
    st.integers(-(10**9), 10**9),
    st.booleans(),
    st.lists(st.text('ab\\"#,', max_size=3)),
)


@given(documents, keys, values | st.none())
def test_a_key_is_set_or_removed_and_every_other_statement_stays(text: str, key: str, value: object) -> None:
    changed = with_value(text, key, value)
    others = {name: each for name, each in tomllib.loads(text).items() if name != key}
    assert tomllib.loads(changed) == (others if value is None else {**others, key: value})
    rest = (each for each in STATEMENTS if each in text and not each.startswith(f"{key} ="))
    assert all(statement in changed for statement in rest)


def test_a_new_line_ends_as_the_others_do() -> None:
    assert with_value("b = 1\r\nc = 1", "a", 2) == "b = 1\r\nc = 1\r\na = 2\r\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = 1 # one", "a = 2  # one\n"),
        ("a = '#' # one\nb = 1", "a = 2  # one\nb = 1"),
        ("a = [ # in\n1] # out\n", "a = 2  # out\n"),
    ],
)
def test_a_comment_after_the_value_stays(before: str, after: str) -> None:
    assert with_value(before, "a", 2) == after


@pytest.mark.parametrize("since", ["0001-01-01T00:00:00", "0001-01-01T00:00:00+05:00"])
def test_the_earliest_date_of_a_policy_is_read_without_an_error(home: Home, since: str) -> None:
    Path(home.capture).write_text(json.dumps({"since": since}))
    first = captured_since(home)
    assert first is not None and first.replace(tzinfo=None) == datetime(1, 1, 1)
