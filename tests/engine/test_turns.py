"""How a turn is identified, completed and refused."""

from datetime import timedelta

import pytest
from said import SCOPE, embedded, forget, search, stored, texts, turn

from scrubjay.engine.core import Core
from scrubjay.errors import InputError
from scrubjay.models import requests
from scrubjay.models.envelopes import envelope
from scrubjay.models.records import Turn


async def only(core: Core) -> Turn:
    (row,) = await stored(core, Turn)
    return row


async def test_one_side_that_is_private_does_not_lose_the_other(core: Core):
    await turn(core, "a", user="<private>my salary</private>", assistant="The gate is closed.")
    row = await only(core)
    assert (row.user, row.assistant) == (None, "The gate is closed.")
    with pytest.raises(InputError, match="user has no text that may be stored; <private> parts never are"):
        await turn(core, "a", user=" <private>my salary</private> ")


async def test_a_turn_without_a_number_or_with_a_taken_one_gets_the_next(core: Core):
    numbers = [(await turn(core, "a", user=f"question {n}")).turn for n in range(3)]
    assert numbers == [0, 1, 2]
    assert (await turn(core, "a", turn=0, prompt_id="p2", user="other")).turn == 3
    assert (await turn(core, "b", user="another session")).turn == 0


async def test_a_turn_is_recognised_when_it_repeats_the_last_one_with_or_without_a_name(core: Core):
    named = {"prompt_id": "p1", "user": "hi", "assistant": "hello"}
    assert [(await turn(core, "c", **named)).stored for _ in range(2)] == [True, False]
    first = await turn(core, "a", user="hi", assistant="hello")
    # its client was cut off before it heard the answer
    again = await turn(core, "a", user="hi", assistant="hello")
    assert (again.id, again.stored, again.updated) == (first.id, False, False)
    await core.writer.settle()
    assert not (await turn(core, "a", user="hi", assistant="hello")).stored
    dana, kim = {"text": "hi", "role": "Dana"}, {"text": "hi", "role": "Kim"}
    later = kim | {"ts": "2026-04-01"}
    for other in ({"user": "hi"}, {"user": "hi", "assistant": "hello"}, dana, kim, later):
        assert (await turn(core, "a", **other)).stored
    assert not (await turn(core, "a", **later)).stored
    await forget(core, (await turn(core, "b", user="hi")).id)
    assert (await turn(core, "b", user="hi")).stored


@pytest.mark.parametrize("key", [{"turn": 4}, {"prompt_id": "p1"}])
async def test_the_same_number_is_the_same_turn(core: Core, key: dict):
    first = await turn(core, "a", **key, user="hi")
    second = await turn(core, "a", turn=first.turn, assistant="hello")
    assert first.id == second.id and second.updated and not second.stored
    row = await only(core)
    assert (row.user, row.assistant) == ("hi", "hello")


async def test_later_answers_complete_a_turn_and_earlier_parts_of_it_change_nothing(core: Core):
    await turn(core, "a", prompt_id="p", user="do it", assistant="done")
    again = await turn(core, "a", prompt_id="p", assistant="I looked first.\n\ndone")
    assert again.updated
    assert not (await turn(core, "a", prompt_id="p", assistant="done")).updated
    assert (await turn(core, "a", prompt_id="p", assistant="And one more thing.")).updated
    assert (await turn(core, "a", prompt_id="p", user="do it\n\nand test it")).updated  # a queued prompt
    assert (await only(core)).assistant == "I looked first.\n\ndone\n\nAnd one more thing."


@pytest.mark.parametrize(
    ("first", "other", "why"),
    [
        ({"prompt_id": "p", "user": "one thing"}, {"user": "quite another"}, "already has another user text"),
        ({"turn": 0, "role": "Ann", "text": "hi"}, {"role": "Bob"}, "'Ann'"),
    ],
)
async def test_other_words_or_another_speaker_under_the_same_key_are_refused(
    core: Core, first: dict, other: dict, why: str
):
    await turn(core, "a", **first)
    before = await only(core)
    with pytest.raises(InputError, match=why):
        await turn(core, "a", **first | other)
    assert await only(core) == before


async def test_a_speaker_named_user_or_assistant_fills_that_side(core: Core):
    await turn(core, "a", turn=0, role="User", text="hi")
    await turn(core, "a", turn=0, role="assistant", text="hello")
    row = await only(core)
    assert (row.user, row.assistant, row.role, row.text) == ("hi", "hello", None, None)


async def test_a_named_speaker_is_searched_and_shown_with_the_text(core: Core):
    await turn(core, "a", role="Caroline", text="I adopted a tortoise.")
    await turn(core, "a", role="Melanie", text="Congratulations on it!")
    await embedded(core)
    hits = await search(core, "What did Caroline adopt?", top_k=1)
    assert (texts(hits), hits.results[0].role) == (["I adopted a tortoise."], "Caroline")


async def test_a_turn_recorded_late_keeps_its_start_and_position(core: Core):
    await turn(core, "a", user="at ten", ts="2026-03-05T10:00:00Z")
    await turn(core, "a", user="at twelve", ts="2026-03-05T12:00:00Z")
    late = await turn(core, "a", user="at eleven", ts="2026-03-05T11:00:00Z")
    assert late.turn == 2
    places = (await core.store.sessions.of([(SCOPE, "a")]))[SCOPE, "a"].places
    assert [place.turn for place in places] == [0, 2, 1]


LONG = "We decided to take PostgreSQL because of its extensions. " + "It rains in the log file today. " * 40


async def test_a_summary_is_made_and_searched_and_follows_the_completed_turn(core: Core):
    await turn(core, "a", prompt_id="p", user="Which database do we take?")
    await turn(core, "a", prompt_id="p", assistant=LONG)
    row = await only(core)
    assert row.summary and "PostgreSQL" in row.summary and len(row.summary) < len(LONG)
    roles = {piece.role for piece in await core.store.passages.select("true")}
    assert roles == {"user", "assistant", "summary"}


async def test_a_short_turn_has_no_summary_and_is_found_by_the_words_of_both_sides(core: Core):
    said = {"user": "Which database do we take?", "assistant": "PostgreSQL."}
    await turn(core, "a", **said, files=["db.sql"], tools=["Edit"])
    row = await only(core)
    assert row.summary is None
    (together,) = await core.store.passages.select("role = 'summary'")
    assert "database" in together.text and "PostgreSQL" in together.text and "db.sql" in together.text
    assert len(texts(await search(core, "database PostgreSQL"))) == 1


async def test_under_summary_only_a_short_turn_is_found_by_its_gist_alone(core: Core):
    said = {
        "user": "Hi! My brother Tom and I look for a flat. Which of the two should we take?",
        "assistant": "We decided to rent the flat in Leeds, because Tom lives there. Its rent is 900 a month.",
    }
    request = requests.parse(requests.RecordTurn, {"session_id": "a", **said})
    made = envelope("turn", request, scope=SCOPE, source="hook:stop", at=core.clock())
    await core.write(made.model_copy(update={"capture": "summary_only"}))
    await core.writer.settle()
    (piece,) = await core.store.passages.select("true")
    assert piece.text.startswith("Asked: My brother Tom and I look for a flat\nAnswered: ")
    assert "900" not in piece.text and "Which of the two" not in piece.text
    assert texts(await search(core, "flat of my brother Tom")) == [piece.text]


async def test_recently_recorded_turns_have_descriptive_titles(core: Core, now):
    said = {"Could you please rename tick() to advance()?": "Done.", "yes": "I renamed it in 14 files."}
    for n, (user, assistant) in enumerate({**said, "ok": None}.items()):
        await turn(core, "a", user=user, assistant=assistant, ts=now + timedelta(seconds=n))
    titles = [hit.title for hit in await core.lists.latest(5, SCOPE)]
    assert titles == [None, "I renamed it in 14 files", "Rename tick() to advance()?"]


async def test_a_given_summary_is_kept(core: Core):
    await turn(core, "a", prompt_id="p", user="x y z", assistant="long answer", summary="In short: z.")
    await turn(core, "a", prompt_id="p", assistant="long answer, longer")
    assert (await only(core)).summary == "In short: z."


async def test_a_turn_says_when_it_is_indexed(core: Core):
    assert not (await turn(core, "a", turn=0, user="hello")).indexed
    await embedded(core)
    assert (await turn(core, "a", turn=0, user="hello")).indexed


async def test_an_answer_does_not_repeat_a_secret_that_only_its_prompt_names(core: Core):
    secret = "kestrel" + "771199"
    done = await turn(core, "a", user=f"user,password\nanna,{secret}", assistant=f"Noted: anna has {secret}.")
    row = await only(core)
    assert secret not in row.model_dump_json()
    assert (row.assistant, done.redacted) == ("Noted: anna has [redacted:secret].", 2)


async def test_secrets_are_replaced_before_anything_is_written(core: Core):
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    done = await turn(core, "a", user=f"use {secret} for now", metadata={"note": f"key {secret}"})
    assert done.redacted == 2
    row = await only(core)
    assert secret not in row.model_dump_json()
