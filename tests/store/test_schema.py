"""Records survive a round trip to disk."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows_made import a_turn
from said import fact

from scrubjay.engine.core import Core
from scrubjay.home.paths import Home
from scrubjay.models.records import Document, Memory, Passage, Turn
from scrubjay.store.changes import Change
from scrubjay.store.schema import arrow_schema
from scrubjay.store.store import Store

PAGE = (Path(__file__).parents[2] / "server" / "docs" / "tables.md").read_text(encoding="utf-8")
letters = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30)
moments = st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC))
values = letters | st.booleans() | st.integers(-(2**50), 2**50) | st.lists(letters, max_size=3)
flat = st.dictionaries(letters, values, max_size=4)
maybe = st.one_of(st.none(), letters)


turns = st.builds(
    a_turn,
    moments,
    id=st.uuids().map(str),
    tags=st.lists(letters, max_size=3).map(tuple),
    metadata=flat,
    expires_at=st.none() | moments,
    session_id=letters,
    turn=st.integers(0, 10**6),
    user=maybe,
    assistant=maybe,
    started_at=moments,
)


@settings(max_examples=25)
@given(row=turns)
async def test_a_record_survives_a_round_trip_through_lancedb(store: Store, row: Turn):
    store.stage(Change(row))
    await store.flush()
    assert (await store.get(Turn, [row.id])) == {row.id: row}


@pytest.mark.parametrize("model", [Turn, Memory, Document, Passage])
def test_a_schema_has_every_field_of_its_model_and_only_the_id_is_required(model):
    schema = arrow_schema(model, dim=4)
    assert schema.names == [*model.model_fields, "vector"]
    assert [field.name for field in schema if not field.nullable] == ["id"]


def test_the_page_on_tables_names_every_column():
    named = set(re.findall(r"`(\w+)`", PAGE))
    for model in (Turn, Memory, Document, Passage):
        assert set(model.model_fields) <= named, model


async def test_the_lines_on_the_page_search_a_home_without_scrubjay(
    core: Core, home: Home, capsys: pytest.CaptureFixture[str]
):
    await fact(core, "The staging database listens on port 5433.")
    await core.writer.settle()
    lines = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    await asyncio.to_thread(exec, lines.replace("~/.local/share/scrubjay/data", home.data), {})
    assert "listens on port 5433" in capsys.readouterr().out
