"""Token codes: what is stored of a passage's tokens, and how a question's tokens are matched against it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.encoders import TokenEncoder, open_encoder
from scrubjay.encoders.token_codes import BITS, matches, signs

TEXTS = ["The zebra crossing in Kampala was repainted.", "", "of the", "naïve café — “quoted”", "word " * 900]


def states(seed: int, tokens: int, dim: int = 384) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((dim, tokens)).astype(np.float32)


@given(
    st.integers(0, 99),
    st.integers(1, 9),
    st.lists(st.integers(0, 9), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
)
def test_a_passage_is_matched_the_same_whatever_else_is_in_the_batch(seed, asked, lengths, random):
    question = signs(states(seed, asked))
    codes = [signs(states(seed + at + 1, length)).tobytes() for at, length in enumerate(lengths)]
    found = matches(question, codes)
    assert found.shape == (len(codes), asked)
    alone = np.vstack([matches(question, [code]) for code in codes])
    assert np.array_equal(found, alone)
    shuffled = list(range(len(codes)))
    random.shuffle(shuffled)
    assert np.array_equal(matches(question, [codes[at] for at in shuffled]), found[shuffled])


@given(st.integers(0, 99), st.integers(1, 9), st.integers(1, 9))
def test_an_additional_token_never_lowers_a_match(seed, few, more):
    question, tokens = signs(states(seed, 4)), signs(states(seed + 1, few + more))
    assert np.all(matches(question, [tokens.tobytes()]) >= matches(question, [tokens[:few].tobytes()]))


@pytest.mark.parametrize("dim", [384, 64, 100, 1024])
def test_a_match_estimates_the_greatest_cosine_from_signs(dim: int):
    mine, theirs = states(1, 12, dim), states(2, 30, dim)
    theirs[:, :6] = mine[:, :6] + 0.5 * theirs[:, :6]
    exact = ((mine / np.linalg.norm(mine, axis=0)).T @ (theirs / np.linalg.norm(theirs, axis=0))).max(axis=1)
    found = matches(signs(mine), [signs(theirs).tobytes()])[0]
    assert np.all(np.abs(found - exact) < 0.4)
    assert found[:6].min() > found[6:].max()
    assert np.allclose(matches(signs(mine), [signs(mine * 7).tobytes()]), 1.0)


def test_a_passage_without_tokens_matches_like_an_unrelated_one():
    question = signs(states(1, 3))
    assert np.array_equal(matches(question, [b"", b""]), np.zeros((2, 3)))
    assert matches(question, []).shape == (0, 3)


def test_codes_are_the_same_as_in_existing_homes():
    """Codes are stored: another seed, layout or rotation would make every home's codes noise without an
    error.
    """
    ramp = np.linspace(-1, 1, 384, dtype=np.float32)
    held = signs(np.stack([ramp, np.sin(40 * ramp)], axis=1)).tobytes()
    assert held.hex() == "619da879ef9e4597ebdffb4fab04f3c7813971cf67c9fcacfde9fa2235b08965"
    assert len(held) == 2 * BITS // 8


def test_the_bundled_model_gives_tokens_with_the_same_vectors():
    encoder = open_encoder()
    assert isinstance(encoder, TokenEncoder)
    embedded = encoder.embed_passages(TEXTS)
    assert np.array_equal(embedded.vectors, encoder.embed_documents(TEXTS))
    first, *others = [len(code) * 8 // BITS for code in embedded.codes]
    assert first > 3 and others == [0, 0, 3, 254]
    asked = encoder.embed_question("where is the zebra crossing?")
    assert np.array_equal(asked.vector, encoder.embed_query("where is the zebra crossing?"))
    assert asked.tokens is not None and asked.tokens.shape == (2, BITS // 64)
    assert encoder.embed_question("where is it?").tokens is None


def test_the_words_of_a_prompt_are_not_tokens_of_the_text():
    prompted = open_encoder(query_prompt="look for zebras: ", document_prompt="zebras again: ")
    assert isinstance(prompted, TokenEncoder)
    assert len(prompted.embed_passages(["lions"]).codes[0]) == BITS // 8
    asked = prompted.embed_question("lions").tokens
    assert asked is not None and len(asked) == 1
