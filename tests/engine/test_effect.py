"""Sessions with and without an opening are compared by their turns."""

from datetime import UTC, datetime, timedelta

from scrubjay.engine.verbs.effect import ENOUGH, compare
from scrubjay.home import given
from scrubjay.models.records import Turn

START = datetime(2026, 3, 1, tzinfo=UTC)


def turns(session: str, day: int, *prompts: str) -> list[Turn]:
    fields = {"scope": "heron", "partition_id": "mem_episodic", "source": "test", "session_id": session}
    fields |= dict.fromkeys(("created_at", "updated_at", "last_accessed_at"), START)
    said = []
    for number, prompt in enumerate(prompts):
        began = START + timedelta(days=day, minutes=number)
        numbered = {"id": f"{session}/{number}", "turn": number, "started_at": began}
        said.append(Turn(**fields, **numbered, user=prompt, assistant="It is 5433."))
    return said


def test_sessions_without_an_opening_that_ask_again_show_in_the_comparison():
    said = turns("first", 0, "Which port does the heron queue use?")
    arms = {}
    for number in range(ENOUGH):
        arms[f"o{number}"], arms[f"w{number}"] = "opening", given.WITHHELD
        said += turns(f"o{number}", 1 + number, f"Write module {number}a of {number}b", "Now the tests")
        said += turns(
            f"w{number}", 1 + number, "Which port does the heron queue use now?", f"No, file {number}"
        )
    found = compare(said, arms)
    repeats, corrections, tokens = found.signs
    assert (found.opened, found.withheld) == (ENOUGH, ENOUGH)
    assert (repeats.opened, repeats.withheld, repeats.least, repeats.most) == (0, 50, -50, -50)
    assert (corrections.opened, corrections.withheld) == (0, 50) and tokens.least <= tokens.most < 0


def test_few_sessions_give_no_number():
    said = [*turns("o", 1, "Write the exporter"), *turns("w", 2, "Write the importer")]
    found = compare(said, {"o": "opening", "w": given.WITHHELD, "gone": "opening"})
    assert (found.opened, found.withheld, found.signs) == (1, 1, ())
