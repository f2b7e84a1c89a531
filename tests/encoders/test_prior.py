"""How likely memories answer a question, judged by the question alone."""

import numpy as np
import pytest

from scrubjay.encoders import BUNDLED, open_encoder
from scrubjay.encoders.prior import prior

THINGS = (
    "the message broker",
    "the nightly export",
    "our error tracker",
    "the staging database",
    "the mobile app",
)


@pytest.mark.parametrize("thing", THINGS)
def test_memories_say_what_is_used_and_why_more_often_than_what_it_costs(thing: str) -> None:
    encoder = open_encoder()
    said, unsaid = (
        [encoder.embed_question(f"{words} {thing}").prior for words in each]
        for each in (
            ("why did we choose", "what do we use for", "how do I set up"),
            ("how much do we pay for", "how many people use", "who wrote"),
        )
    )
    assert min(said) > max(unsaid)


def test_a_vector_far_from_every_question_says_no_more_than_another() -> None:
    vectors = np.random.default_rng(0).normal(size=(50, 384)).astype(np.float32)
    assert all(abs(prior(BUNDLED, vector)) <= 3 for vector in vectors)


def test_a_model_without_weights_says_nothing() -> None:
    assert prior("a folder of the user's", np.ones(384, np.float32)) == 0
