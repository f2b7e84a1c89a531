"""A missing, altered or different model: word search still answers, the message says how to repair it, and
reindex does.
"""

from __future__ import annotations

import pytest
from assistant import engines, until
from berts import save_bert


@pytest.mark.long
def test_a_missing_model_leaves_word_search_and_is_reported_to_people_and_models(user, opens):
    gone = user.folder / "gone"
    user.gets("config", "model", str(gone))
    client = opens()
    client.get("record_turn", session_id="s", user="The zebra is called Marty.")
    found = client.get("search_memories", query="zebra")
    assert found["results"][0]["memory"] == "The zebra is called Marty."
    sentence = (
        f"The model folder {gone} does not exist. Set it with `scrubjay config model <hub id or folder>`."
    )
    assert found["degraded"].startswith(sentence) and "words alone" in found["degraded"]
    assert sentence in client.call("search_memories", query="zebra")["content"][0]["text"]
    assert sentence in user.gets("status")
    user.gets("config", "model", "bundled")
    client.leave()
    until(lambda: not engines(user.home.root), "the engine without a model ended")
    client = opens()
    assert client.get("search_memories", query="zebra")["results"]
    user.waits_for_vectors()
    found = client.get("search_memories", query="what is the striped animal called?")
    assert found["results"][0]["memory"] == "The zebra is called Marty." and "degraded" not in found


@pytest.mark.long
def test_a_changed_model_is_reported_word_search_answers_and_reindex_embeds_again(user, opens):
    client = opens()
    for number in range(5):
        client.get(
            "record_turn", session_id="s", turn=number, user=f"The zebra number {number} is called Marty."
        )
    user.waits_for_vectors()
    user.gets("config", "model", str(save_bert(user.folder / "small", layers=1)))
    client.leave()
    until(lambda: not engines(user.home.root), "the engine with the old model ended")
    client = opens()
    found = once_loaded(client)
    assert (
        len(found["results"]) == 5
        and "made by another model" in found["degraded"]
        and "`scrubjay reindex`" in found["degraded"]
    )
    assert "made by another model" in user.gets("status")
    assert user.gets("reindex").endswith("indexed and embedded.\n")
    found = client.get("search_memories", query="zebra")
    assert len(found["results"]) == 5 and "degraded" not in found
    assert "searches use meaning and words" in user.gets("status")
    user.waits_for_vectors()
    from safetensors.numpy import load_file, save_file  # installed with the extra

    weights = user.folder / "small" / "model.safetensors"
    tensors = load_file(weights)
    save_file(
        {name: tensor * 1.5 if name.endswith("query.weight") else tensor for name, tensor in tensors.items()},
        weights,
    )
    client.leave()
    until(lambda: not engines(user.home.root), "the engine with the untouched model ended")
    found = once_loaded(opens())  # the same folder, and other weights in it
    assert len(found["results"]) == 5 and "made by another model" in found["degraded"]


def once_loaded(client) -> dict:
    """What a search finds once the model is loaded; torch alone may take longer than a search waits."""
    found = {}

    def loaded() -> bool:
        found.clear()
        found.update(client.get("search_memories", query="zebra"))
        return "being loaded" not in found.get("degraded", "")

    until(loaded, "the model is loaded")
    return found
