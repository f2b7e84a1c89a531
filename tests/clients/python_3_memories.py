"""Stories of supermemory's Python client 3.62.0: its searches, and its calls about memories and profiles. See
`telling`; every story has a tag of its own.
"""

from __future__ import annotations

import httpx
from supermemory import Supermemory
from telling import done, tell, whole

# -- searches ------------------------------------------------------------------------------------------------


def it_searches_documents_with_every_field(client: Supermemory) -> None:
    text = "\n\n".join(
        f"## Part {n}\n\n" + f"Paragraph {n} tells of bird number {n} and of its long way south. " * 12
        for n in range(8)
    )
    added = client.add(content=text, container_tag="docs", metadata={"kind": "long"}, filepath="/long/way.md")
    done(client, added.id)
    for search in (client.search.documents, client.search.execute):
        options = {"container_tags": ["docs"], "doc_id": added.id, "filepath": "/long/", "limit": 3}
        options |= {"filters": {"and_": [{"key": "kind", "value": "long"}]}, "only_matching_chunks": False}
        options |= dict.fromkeys(("include_full_docs", "include_summary", "rerank", "rewrite_query"), True)
        options |= {"chunk_threshold": 0.3, "document_threshold": 0.0}
        (result,) = whole(search(q="bird number 5", **options)).results
        assert (result.document_id, result.content) == (added.id, text)
        assert result.summary and result.metadata == {"kind": "long"}
        assert result.type == "text" and result.title and 0 <= result.score <= 1
        positions = [chunk.position for chunk in result.chunks]
        assert positions == sorted(set(positions)) and any(chunk.is_relevant for chunk in result.chunks)
    plain = client.search.documents(q="bird number 5", container_tag="docs").results[0]
    assert not {"content", "summary"} & plain.model_fields_set


def it_searches_memories_in_every_mode(client: Supermemory) -> None:
    text, metadata = "The osprey takes fish from the brindlewater.", {"kind": "raptor"}
    done(client, client.add(content=text, container_tag="modes", metadata=metadata).id)
    asked = {"q": "brindlewater", "container_tag": "modes"}
    (fact,) = whole(client.search.memories(**asked)).results
    assert fact.memory and "chunk" not in fact.model_fields_set
    assert (fact.version, fact.metadata) == (1, metadata)
    (chunk,) = whole(client.search.memories(**asked, search_mode="documents")).results
    assert chunk.chunk and "memory" not in chunk.model_fields_set
    assert len(whole(client.search.memories(**asked, search_mode="hybrid", threshold=0)).results) == 1


def it_brings_what_is_included(client: Supermemory) -> None:
    added = client.add(content="The godwit flies eleven days without rest.", container_tag="include")
    fact = done(client, added.id).memories[0]
    change = {"id": fact.id, "new_content": "The godwit flies nine days."}
    newer = whole(client.memories.update_memory(container_tag="include", **change))
    include = dict.fromkeys(("documents", "summaries", "related_memories", "chunks"), True)
    include["forgotten_memories"] = False
    asked = {"container_tag": "include", "include": include}
    (result,) = whole(client.search.memories(q="godwit flies", **asked, threshold=0, limit=5)).results
    assert result.id == newer.id and result.root_memory_id == fact.id and result.version == 2
    (parent,) = result.context.parents
    assert parent.memory == "The godwit flies eleven days without rest."
    assert (parent.relation, parent.version) == ("updates", -1)
    assert parent.updated_at and result.context.children == []
    client.add(content="The sandpiper walks and bobs.", container_tag="include", custom_id="walk")
    (bird,) = client.search.memories(q="sandpiper walks", **asked, limit=1).results
    (document,) = bird.documents
    assert (document.id, document.type) == (client.documents.get("walk").id, "text")
    assert document.created_at and document.summary
    bare = client.search.memories(q="godwit flies", container_tag="include", threshold=0).results[0]
    assert not {"context", "documents", "chunks"} & bare.model_fields_set


def it_filters_memories(client: Supermemory) -> None:
    for n, names in enumerate((["Anna"], ["Ben", "Cleo"], ["Cleo"])):
        metadata = {"n": n, "who": names, "title": f"Walk {n}"}
        client.add(content=f"Walk number {n} along the dyke.", container_tag="filter", metadata=metadata)
    cleo = {"key": "who", "value": "Cleo", "filter_type": "array_contains"}
    below_two = {"key": "n", "value": "2", "filter_type": "numeric", "numeric_operator": "<", "negate": True}
    title = {"key": "title", "value": "WALK 0", "ignore_case": True}
    filters = {"or_": [title, {"and_": [cleo, below_two]}]}
    asked = {"container_tag": "filter", "filters": filters, "threshold": 0}
    found = client.search.memories(q="walk along the dyke", **asked).results
    assert {row.metadata["n"] for row in found} == {0, 2}


# -- memories and profiles -----------------------------------------------------------------------------------


def it_updates_and_forgets_a_memory_by_id_and_by_content(client: Supermemory) -> None:
    added = client.add(content="John prefers dark mode.", container_tag="user_123")
    old = done(client, added.id).memories[0]
    light, reason = "John now prefers light mode", "he may change his mind"
    fields = {"metadata": {"by": "john"}, "forget_after": "2099-01-01T00:00:00Z", "forget_reason": reason}
    fields["temporal_context"] = {"document_date": "2026-01-01", "event_date": ["2026-01-02"]}
    names = {"container_tag": "user_123", "content": "John prefers dark mode."}
    new = whole(client.memories.update_memory(**names, new_content=light, **fields))
    assert (new.version, new.parent_memory_id, new.root_memory_id) == (2, old.id, old.id)
    assert new.metadata["by"] == "john" and new.created_at
    assert new.forget_after.startswith("2099-01-01") and new.forget_reason == reason
    asked = {"q": "mode John prefers", "container_tag": "user_123", "threshold": 0}
    (row,) = client.search.memories(**asked).results
    assert row.memory == new.memory
    gone = whole(client.memories.forget(container_tag="user_123", content=light, reason="asked to"))
    assert gone.forgotten and gone.id == new.id
    assert client.search.memories(**asked).results == []
    shown = client.search.memories(**asked, include={"forgotten_memories": True})
    assert new.id in {row.id for row in shown.results}


def it_shows_a_profile(client: Supermemory) -> None:
    body = {
        "containerTag": "profile",
        "memories": [{"content": "Ada is a botanist.", "isStatic": True}, {"content": "Ada is in Kew."}],
    }
    client.post("/v4/memories", cast_to=httpx.Response, body=body)
    profile = whole(client.profile(container_tag="profile"))
    assert profile.profile.static == ["Ada is a botanist."] and profile.profile.dynamic == ["Ada is in Kew."]
    options = {"q": "where is Ada?", "threshold": 0, "include": ["static", "dynamic", "buckets"]}
    asked = whole(client.profile(container_tag="profile", **options))
    assert {row.memory for row in asked.search_results.results} == {"Ada is a botanist.", "Ada is in Kew."}
    assert asked.search_results.total == 2
    options = {"include": ["static"], "buckets": [], "filters": {"and_": [{"key": "k", "value": "v"}]}}
    few = client.profile(container_tag="profile", **options)
    assert few.profile.static == [] and few.profile.dynamic is None


if __name__ == "__main__":
    tell(globals(), Supermemory)
