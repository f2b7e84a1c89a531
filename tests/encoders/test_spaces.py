"""Vector spaces: what makes two of them different, what does not, and what the canaries detect."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from berts import save_bert
from hashing_encoder import HashingEncoder

from scrubjay.encoders import DRIFT_LIMIT, Encoder, Space, drift, open_encoder
from scrubjay.encoders.folder import Prompts, prompts_of
from scrubjay.encoders.protocol import CANARY_DOCUMENTS, CANARY_QUERY

SPACE = Space(
    model="bundled", weights="a" * 64, tokenizer="b" * 64, dim=384, pooling="mean", max_seq_length=256
)


def canary_vectors(encoder: Encoder) -> np.ndarray:
    return np.vstack([encoder.embed_query(CANARY_QUERY), encoder.embed_documents(CANARY_DOCUMENTS)])


def test_a_space_keeps_its_identity_between_versions_of_scrubjay() -> None:
    # Stores hold this number: if it changes, every user's vectors are recomputed.
    assert SPACE.space_id == "7ee71dbe7e5cd273"


OTHER = Space(
    model="other",
    weights="c" * 64,
    tokenizer="c" * 64,
    dim=256,
    pooling="cls",
    normalised=False,
    max_seq_length=128,
    query_prompt="query: ",
    document_prompt="passage: ",
    precision="int8",
)


@pytest.mark.parametrize("field", Space.model_fields)
def test_whatever_changes_vectors_changes_the_identity(field: str) -> None:
    assert SPACE.model_copy(update={field: getattr(OTHER, field)}).space_id != SPACE.space_id


def test_an_encoder_with_another_prompt_has_another_space() -> None:
    plain, prompted = open_encoder(), open_encoder(query_prompt="question: ")
    assert plain.space.space_id != prompted.space.space_id
    assert drift(canary_vectors(plain), canary_vectors(prompted)) > DRIFT_LIMIT
    assert np.array_equal(prompted.embed_query("why?"), plain.embed_query("question: why?"))


@pytest.mark.long
def test_a_moved_model_keeps_its_space(tmp_path: Path) -> None:
    here = save_bert(tmp_path / "here" / "small")
    before = open_encoder(str(here)).space
    there = here.rename(tmp_path / "small")
    assert open_encoder(str(there)).space == before


def test_canaries_notice_another_model_of_the_same_width() -> None:
    one, other = canary_vectors(HashingEncoder()), canary_vectors(HashingEncoder("other"))
    assert one.shape == (4, 64)
    assert drift(one, canary_vectors(HashingEncoder())) == 0
    assert drift(one, other) > DRIFT_LIMIT


@pytest.mark.long
def test_canaries_notice_a_changed_length_limit(tmp_path: Path) -> None:
    folder = save_bert(tmp_path / "small")
    usual = canary_vectors(open_encoder(str(folder)))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 24}')
    assert drift(usual, canary_vectors(open_encoder(str(folder)))) > DRIFT_LIMIT


def test_canaries_of_another_width_have_the_greatest_distance() -> None:
    assert drift(np.ones((4, 3), np.float32), np.ones((4, 5), np.float32)) == 2


def test_runtime_noise_is_tolerated_and_eight_bit_noise_is_not() -> None:
    chance = np.random.default_rng(3)
    canaries = chance.standard_normal((4, 384)).astype(np.float32)
    canaries /= np.linalg.norm(canaries, axis=1, keepdims=True)
    noise = chance.standard_normal(canaries.shape).astype(np.float32) / np.sqrt(384)
    # 1 - cos is about 5e-9 and 5e-3; the latter was measured for 8-bit arithmetic.
    assert drift(canaries, canaries + 1e-4 * noise) < DRIFT_LIMIT < drift(canaries, canaries + 0.1 * noise)


@pytest.mark.parametrize(
    ("named", "default", "expected"),
    [
        ({}, None, Prompts()),
        ({"query": "", "document": ""}, None, Prompts()),
        ({"query": "q: ", "passage": "p: ", "corpus": "c: "}, None, Prompts("q: ", "p: ")),
        ({"all": "x: "}, "all", Prompts("x: ", "x: ")),
        ({"query": "q: "}, None, Prompts("q: ", "")),
    ],
)
def test_a_models_own_prompts_are_chosen_as_sentence_transformers_does(
    named: dict[str, str | None], default: str | None, expected: Prompts
) -> None:
    assert prompts_of("org/name", named, default, None, None) == expected


@pytest.mark.parametrize(
    ("reference", "query", "document"),
    [
        ("BAAI/bge-small-en-v1.5@abc", "Represent this sentence for searching relevant passages: ", ""),
        ("Snowflake/snowflake-arctic-embed-m-v2.0@abc", "", ""),
        ("intfloat/e5-base-v2@abc", "query: ", "passage: "),
        ("intfloat/multilingual-e5-small@abc", "query: ", "passage: "),
        ("intfloat/multilingual-e5-large-instruct@abc", "", ""),
        ("BAAI/bge-m3@abc", "", ""),
        ("bundled", "", ""),
    ],
)
def test_families_that_only_document_their_prefix_get_it(reference: str, query: str, document: str) -> None:
    assert prompts_of(reference, {}, None, None, None) == Prompts(query, document)


def test_the_users_prompt_precedes_the_models_and_the_models_precedes_the_familys() -> None:
    model = "intfloat/e5-base", {"query": "mine: "}, None
    assert prompts_of(*model, None, None) == Prompts("mine: ")
    assert prompts_of(*model, "", "doc: ") == Prompts("", "doc: ")
