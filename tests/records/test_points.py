"""The points of a session's summary, and the turns that say them."""

from datetime import UTC, datetime

from scrubjay.models.records import Turn
from scrubjay.records.session_summaries import points_of

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)


def _turn(number: int, user: str, assistant: str) -> Turn:
    times = dict.fromkeys(("created_at", "updated_at", "last_accessed_at", "started_at"), AT)
    about = {"scope": "dir_demo__1", "partition_id": "mem_episodic", "source": "test", "session_id": "one"}
    return Turn(id=f"turn_{number}", turn=number, user=user, assistant=assistant, **about, **times)


def test_each_point_of_a_summary_leads_to_the_turn_that_says_it():
    turns = [
        _turn(3, "Which port?", "We decided: the **heron** listens on `8421`.\n\nThe wren keeps its port."),
        _turn(4, "And the tests? They fail.", "Understood. I removed the two old ones."),
    ]
    summary = (
        "Outcome: the heron listens on 8421. Understood. I removed the two\u2026\n"
        "Asked: They fail; and the tests?\nFiles: src/heron.py\nSummary by claude-code: All of it was done."
    )
    assert [(each.label, each.text, each.turn) for each in points_of(summary, turns)] == [
        ("Outcome", "the heron listens on 8421.", 3),
        ("Outcome", "I removed the two\u2026", 4),
        ("Asked", "and the tests?", 4),
        ("", "Summary by claude-code: All of it was done.", None),
    ]
