"""The graph of tags: who occurs with whom, how often, and by which way one comes from one to another."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from scrubjay.http_api.hebb.graph import MOST_EDGES, MOST_IDS, MOST_TAGS, tag_graph

TAGGED = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=5, unique=True), max_size=30).map(
    lambda lists: [(str(n), tags) for n, tags in enumerate(lists)]
)


@given(tagged=TAGGED)
def test_an_edge_counts_the_records_that_carry_both_tags(tagged: list[tuple[str, list[str]]]):
    graph = tag_graph(tagged)
    for (left, right), count in graph.edges.items():
        assert left < right and count == sum({left, right} <= set(tags) for _, tags in tagged)
    for tag, count in graph.counts.items():
        assert list(graph.carriers[tag]) == [id for id, tags in tagged if tag in tags] and count == len(
            graph.carriers[tag]
        )


@given(tagged=TAGGED, start=st.sampled_from("abcdefgh"), end=st.sampled_from("abcdefgh"))
def test_a_way_steps_from_neighbour_to_neighbour_and_is_the_shortest(
    tagged: list[tuple[str, list[str]]], start: str, end: str
):
    graph = tag_graph(tagged)
    way = graph.path(start, end)
    reached = [end in graph.around(start, depth) for depth in range(9)]
    assert bool(way) == any(reached)
    if way:
        assert way[0] == start and way[-1] == end and reached.index(True) == len(way) - 1
        assert all(tuple(sorted(pair)) in graph.edges for pair in pairwise(way))


def test_a_graph_is_bounded_and_keeps_what_is_used_most():
    crowd = [(str(n), [f"t{n % 3_000}", f"t{(n * 7 + 1) % 3_000}", "everywhere"]) for n in range(12_000)]
    graph = tag_graph([*crowd, *((f"x{n}", ["often", "twice"]) for n in range(40))])
    assert len(graph.counts) == MOST_TAGS and len(graph.edges) <= MOST_EDGES
    assert next(iter(graph.counts)) == "everywhere" and graph.edges["often", "twice"] == 40
    assert len(graph.carriers["everywhere"]) == MOST_IDS < graph.counts["everywhere"]
