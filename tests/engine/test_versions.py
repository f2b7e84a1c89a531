"""Versions: which facts replace, extend or derive from which, at any time, and as a model in plain Python."""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from said import SCOPE, fact, forget, opened, search, texts, turn

from scrubjay.engine.core import Core
from scrubjay.engine.writing import Writer
from scrubjay.errors import InputError, NotFound
from scrubjay.home.paths import Home, open_home
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import Memory
from scrubjay.store.opening import open_store


async def kept(core: Core, id: str) -> Memory:
    record = await core.lists.find(id)
    assert isinstance(record, Memory)
    return record


@pytest.mark.parametrize("settled", [True, False], ids=["on disk", "in the same commit"])
async def test_an_update_hides_the_old_version_at_once_and_keeps_the_chain(core: Core, settled: bool):
    first = await fact(core, "The API listens on port 8080.")
    if settled:
        await core.writer.settle()
    second = await fact(core, "The API listens on port 8421.", updates=[first.id])
    assert (second.action, second.version, second.root_id) == ("updated", 2, first.id)
    assert texts(await search(core, "which port does the API listen on")) == ["The API listens on port 8421."]
    third = await fact(core, "The API listens on port 9000.", updates=[second.id])
    assert (third.version, third.root_id) == (3, first.id)
    assert texts(await search(core, "which port does the API listen on")) == ["The API listens on port 9000."]
    old, new = await kept(core, first.id), await kept(core, second.id)
    assert (old.is_latest, old.replaced_at) == (False, new.created_at)
    assert (new.relation, new.parent_ids, new.is_latest) == ("updates", (first.id,), False)
    assert [hit.id for hit in await core.lists.latest(10, SCOPE)] == [third.id]


async def test_a_new_version_inherits_what_it_does_not_name(core: Core):
    given = {"tags": ["api"], "importance": 8.0, "partition_id": "mem_preference", "is_static": True}
    given |= {"expires_at": "2027-01-01", "metadata": {"team": "core", "session_id": "s", "turn": 3}}
    first = await kept(core, (await fact(core, "Alex likes tea.", **given)).id)
    second = await kept(core, (await fact(core, "Alex likes coffee.", updates=first.id, importance=3.0)).id)
    inherited = ("tags", "partition_id", "is_static", "expires_at")
    assert [getattr(second, name) for name in inherited] == [getattr(first, name) for name in inherited]
    assert (second.importance_score, second.metadata) == (3.0, {"team": "core"})
    assert (second.session_id, second.turn) == (None, None)
    third = await fact(core, "Alex likes water.", updates=second.id, expires_at=None, tags=[])
    lasting = await kept(core, third.id)
    assert (lasting.expires_at, lasting.tags) == (None, ())


async def test_an_invalid_parent_is_refused_with_what_to_do(core: Core):
    first = await fact(core, "The build needs Node 18.")
    second = await fact(core, "The build needs Node 20.", updates=[first.id])
    said = await turn(core, "s", user="Which Node?")
    other = await fact(core, "The build needs Node 16.", scope="elsewhere")
    gone = await fact(core, "The build needs Node 14.")
    await forget(core, gone.id, reason="wrong")
    newer = f"has a newer version: {second.id} (version 2, 2026-03-05). Read scrubjay://memory/"
    refused = [
        ({"updates": ["mem_0"]}, NotFound, "updates = 'mem_0': no memory, turn or document has this id."),
        ({"updates": [first.id]}, InputError, newer),
        ({"updates": [said.id]}, InputError, "is a turn, which has no versions."),
        ({"extends": [other.id]}, InputError, "belongs to the scope 'elsewhere'"),
        ({"derives": [gone.id]}, InputError, "was forgotten on 2026-03-05 (wrong). Leave derives out"),
        ({"updates": [second.id], "extends": [second.id]}, InputError, "more than one of updates, extends"),
    ]
    for link, error, says in refused:
        with pytest.raises(error) as caught:
            await fact(core, "The build needs Node 22.", **link)
        assert says.lower() in str(caught.value).lower()
    await core.writer.settle()
    assert await core.store.count(Memory) == 4


async def test_the_second_of_two_updates_of_a_fact_is_told_of_the_first(core: Core):
    first = await fact(core, "The linter is flake8.")
    await fact(core, "The linter is pylint.", updates=[first.id])
    third = await fact(core, "The linter is ruff.", updates=[(await search(core, "linter")).results[0].id])
    with pytest.raises(InputError, match=third.id):
        await fact(core, "The linter is black.", updates=[first.id])
    racing = (fact(core, f"The linter is number {n}.", updates=[third.id]) for n in range(5))
    answers = await asyncio.gather(*racing, return_exceptions=True)
    (winner,) = [answer for answer in answers if not isinstance(answer, InputError)]
    assert sum(f"has a newer version: {winner.id}" in str(answer) for answer in answers) == 4
    assert [hit.id for hit in (await search(core, "linter")).results] == [winner.id]


async def test_a_repeated_update_changes_nothing(core: Core):
    first = await fact(core, "The linter is flake8.")
    second = await fact(core, "The linter is ruff.", updates=[first.id])
    again = await fact(core, "The linter is ruff.", updates=[first.id])
    assert (again.action, again.id, again.version) == ("known", second.id, 2)
    same = await fact(core, "The linter is ruff.", updates=[second.id])
    assert (same.action, same.id) == ("known", second.id)
    other_letters = await fact(core, "The Linter is Ruff.", updates=[second.id])
    assert other_letters.version == 3


async def test_an_already_stored_fact_can_become_a_new_version_of_another(core: Core):
    first = await fact(core, "The API listens on port 8080.")
    second = await fact(core, "The API listens on port 8081.")
    assert second.action == "stored" and second.note and f'updates ["{first.id}"]' in second.note
    linked = await fact(core, "The API listens on port 8081.", updates=[first.id])
    assert (linked.action, linked.id, linked.version, linked.root_id) == ("updated", second.id, 2, first.id)
    assert texts(await search(core, "which port does the API listen on")) == ["The API listens on port 8081."]
    with pytest.raises(InputError, match="newer version"):
        await fact(core, "The API listens on port 8080!!", updates=[first.id])


async def test_links_never_form_a_cycle(core: Core):
    base = await fact(core, "Zebras are striped.")
    above = await fact(core, "Stripes confuse flies.", extends=[base.id])
    with pytest.raises(InputError, match="cycle"):
        await fact(core, "Zebras are striped.", extends=[above.id])
    with pytest.raises(InputError, match="says the same"):
        await fact(core, "Zebras are striped.", derives=[base.id])


async def test_several_facts_may_be_replaced_by_one(core: Core):
    one, two = await fact(core, "The API uses port 1."), await fact(core, "Port 2 is what the API uses.")
    both = await fact(core, "The API uses port 3.", updates=[one.id, two.id])
    assert texts(await search(core, "which port is used by the API")) == ["The API uses port 3."]
    assert (await kept(core, both.id)).parent_ids == (one.id, two.id)
    other = await fact(core, "The API uses port 4.")
    survivor = await fact(core, "The API uses port 3.", updates=[both.id, other.id])
    assert (survivor.id, survivor.version) == (both.id, 2)
    assert texts(await search(core, "which port is used by the API")) == ["The API uses port 3."]
    assert (await kept(core, other.id)).is_latest is False


async def test_as_of_returns_the_facts_and_turns_of_that_time(core: Core):
    moments: list[datetime] = []
    first = await fact(core, "The API listens on port 1.")
    said = await turn(core, "s", user="The API port is one, as we said.", ts=core.clock().isoformat())
    moments.append(core.clock())
    second = await fact(core, "The API listens on port 2.", updates=[first.id])
    moments.append(core.clock())
    await forget(core, second.id)
    await forget(core, said.id)
    moments.append(core.clock())
    await turn(core, "s", user="The API port is three now.", ts=core.clock().isoformat())

    async def known(at: datetime) -> set[str]:
        return set(texts(await search(core, "API port", as_of=at.isoformat(), next_turns=2)))

    assert await known(moments[0]) == {"The API listens on port 1.", "The API port is one, as we said."}
    assert await known(moments[1]) == {"The API listens on port 2.", "The API port is one, as we said."}
    assert await known(moments[2]) == set()
    assert set(texts(await search(core, "API port"))) == {"The API port is three now."}
    then = await search(core, "API port", as_of=moments[0].isoformat(), include={"related_memories": True})
    old = next(hit for hit in then.results if hit.src == "memory")
    assert old.is_latest is False and old.context.children == []
    assert then.related == []
    found = await search(core, "API port", include={"forgotten": True})
    assert len(found.results) == 3
    assert next(hit for hit in found.results if hit.src == "memory").forgotten_at is not None


async def test_as_of_is_unchanged_by_a_reindex(core: Core):
    first = await fact(core, "The API listens on port 1.")
    then = core.clock()
    await fact(core, "The API listens on port 2.", updates=[first.id])
    await core.reindex.run()
    assert texts(await search(core, "API port", as_of=then.isoformat())) == ["The API listens on port 1."]
    assert texts(await search(core, "API port")) == ["The API listens on port 2."]


async def test_an_acknowledged_chain_survives_a_kill_at_any_point(home: Home, clock, now: datetime):
    """Kill it before the commit, and between the commit and the removal of the envelopes."""

    def made(n: int, kind: str, **args) -> Envelope:
        at = now + timedelta(seconds=n)
        return Envelope(id=f"envelope_{n:04d}", kind=kind, at=at, scope=SCOPE, source="test", args=args)  # type: ignore[arg-type]

    async def writer() -> Writer:
        return Writer(home, await open_store(home.data, dim=64), clock, lambda *_: None)

    first = await writer()
    until = (now + timedelta(seconds=5)).isoformat()
    one = await first.write(made(1, "memory", content="The port is 1.", expires_at=until))
    two = await first.write(made(2, "memory", content="The port is 2.", updates=[one.id]))
    three = await first.write(made(3, "memory", content="The port is 3."))
    linked = await first.write(made(4, "memory", content="The port is 3.", updates=[two.id]))
    await first.write(made(5, "forget", id=three.id))
    assert linked.id == three.id
    second = await writer()
    assert await second.drain() == 5 and second.set_aside == 0
    await second._store.flush()  # committed, its envelopes never removed
    third = await writer()
    assert await third.drain() == 5 and third.set_aside == 0
    await third.settle()
    rows = {row.id: row for row in await third._store.select(Memory, "true")}
    chain = [(rows[id].version, rows[id].is_latest) for id in (one.id, two.id, three.id)]
    assert chain == [(1, False), (2, False), (3, True)]
    assert rows[three.id].forgotten_at is not None
    assert [piece.hidden for piece in await third._store.passages.select("true")] == [True, True, True]


STEP = st.tuples(
    st.sampled_from(["add", "updates", "extends", "derives", "forget", "restore"]), st.integers(0, 9)
)


@pytest.mark.long
@settings(max_examples=12)
@given(steps=st.lists(STEP, min_size=3, max_size=14))
async def test_every_chain_has_one_end_and_searches_see_only_the_ends(
    steps: list[tuple[str, int]],
):
    now = datetime.fromisoformat("2026-03-05T12:00:00Z")
    ticks = iter(range(10**6))
    with TemporaryDirectory() as folder:
        home = open_home(str(Path(folder) / "home"))
        core = await opened(home, lambda: now + timedelta(seconds=next(ticks)))
        try:
            await _walk(core, steps)
        finally:
            await core.close()


async def _walk(core: Core, steps: list[tuple[str, int]]) -> None:
    """Apply the steps to the core and to a model of its facts, and note the visible texts at each moment."""
    model: dict[str, dict] = {}
    seen: list[tuple[datetime, set[str]]] = []

    def add(id: str, text: str, root: str | None = None, parents: tuple[str, ...] = ()) -> None:
        model[id] = {"text": text, "root": root, "parents": parents, "replaced": False, "forgotten": False}

    for n, (verb, pick) in enumerate(steps):
        target = list(model)[pick % len(model)] if model else None
        text = f"zebra number{n}"
        if verb == "add" or target is None:
            add((await fact(core, text)).id, text)
        elif verb in ("forget", "restore"):
            forgotten = model[target]["forgotten"]
            model[target]["forgotten"] = verb == "forget"
            if verb == "forget":
                changed = bool((await forget(core, target)).forgotten)
            else:
                changed = (await core.removal.restore(target, "test")).restored
            assert changed == (forgotten != model[target]["forgotten"])
        elif model[target]["forgotten"] or (verb == "updates" and model[target]["replaced"]):
            with pytest.raises(InputError):
                await fact(core, text, **{verb: [target]})
        else:
            done = await fact(core, text, **{verb: [target]})
            add(done.id, text, (model[target]["root"] or target) if verb == "updates" else None, (target,))
            model[target]["replaced"] |= verb == "updates"
        visible = {each["text"] for each in model.values() if not each["replaced"] and not each["forgotten"]}
        seen.append((core.clock(), visible))
        if n % 5 == 4:
            await core.writer.settle()
    assert set(texts(await search(core, "zebra", top_k=50))) == seen[-1][1]
    rows = await core.store.get(Memory, model)
    ends: dict[str, list[Memory]] = {}
    for id, row in rows.items():
        expected = model[id]["parents"], model[id]["root"] or id, not model[id]["replaced"]
        assert (row.parent_ids, row.root_id, row.is_latest) == expected
        ends.setdefault(row.root_id, []).append(row)
    for chain in ends.values():
        assert sorted(row.version for row in chain) == list(range(1, len(chain) + 1))
        assert [row.version for row in chain if row.is_latest] == [len(chain)]
    # A restored record was never forgotten, not even at that time.
    if not any(verb == "restore" for verb, _ in steps):
        for at, then in seen:
            assert set(texts(await search(core, "zebra", top_k=50, as_of=at.isoformat()))) == then
