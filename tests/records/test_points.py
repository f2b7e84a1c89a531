"""The points of a session's summary, and the turns that say them."""

from datetime import UTC, datetime

from rows_made import a_turn

from scrubjay.records.session_summaries import points_of

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)


def test_each_point_of_a_summary_leads_to_the_turn_that_says_it():
    turns = [
        a_turn(
            AT,
            turn=3,
            user="Which port?",
            assistant="We decided: the **heron** listens on `8421`.\n\nThe wren keeps its port.",
        ),
        a_turn(
            AT, turn=4, user="And the tests? They fail.", assistant="Understood. I removed the two old ones."
        ),
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
