"""Which identifiers a question names, and which piece of code introduces one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.search.retrieval.chunks import defines, identifiers

NAME = frozenset({"Engine"})


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Engine", {"Engine"}),
        ("how does open_store work?", {"open_store"}),
        ("where is retrieval.chunks.rank_chunks defined", {"rank_chunks"}),
        ("what does `run` return", {"run"}),
        ("who calls flush()?", {"flush"}),
        ("std::make_unique and HttpClient", {"make_unique", "HttpClient"}),
        ("Why did we move the engine?", set()),
        ("", set()),
    ],
)
def test_words_spelled_like_identifiers_are_names_in_a_question(question: str, names: set[str]) -> None:
    assert identifiers(question) == names


@pytest.mark.parametrize(
    "text",
    [
        "class Engine(Base):\n    pass",
        "    async def Engine(self):",
        "func (s *Server) Engine() error {",
        "pub struct Engine {",
        "export const Engine = () => 1",
        "Engine = TypeVar('Engine')",
        "interface Engine { run(): void }",
        "CREATE TABLE x; create table Engine (id int)",
        "Engine() {\n  echo 1\n}",
        "## The Engine\n\ntext",
        "### `http.Engine(url)`\n",
        "#### Class: Engine ####\n",
        "type Engine = string",
    ],
)
def test_a_definition_is_recognised_in_any_language(text: str) -> None:
    assert defines(text, NAME)


@pytest.mark.parametrize(
    "text",
    [
        "run(Engine())",
        "Engine()\n",
        "return Engine.start()",
        "x = Engine",
        "class EngineRoom: ...",
        "if Engine == 1:",
        "my_Engine = 2",
        "# Engine\n\nStarts the pumps.",  # the title of a whole document
        "# In the Engine all pumps are blue",  # a comment, or a heading about it
        "## Why the Engine stops\n",
        "Install the package Engine first",
    ],
)
def test_a_use_is_not_a_definition(text: str) -> None:
    assert not defines(text, NAME)


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_question_and_text_are_accepted(question: str, text: str) -> None:
    defines(text, identifiers(question))
