"""Source files: one chunk for each definition that fits, named by its enclosing definitions, in any
language.
"""

from __future__ import annotations

import itertools
from textwrap import indent

import pytest

from scrubjay.text.chunking import CODE_SIZE, chunks
from scrubjay.text.chunking.grammars import LANGUAGES

BODY = "\n".join(f"        total = total + {n}  # step {n} of a long calculation" for n in range(30))
PYTHON = f'''"""A module."""
import os
import sys

LIMIT = 10


class Store:
    """Keeps things."""

    def __init__(self):
        self.things = []  # in the order in which they came; nothing is ever taken away

    # What is kept last
    # comes out first.
    @property
    def last(self):
        """The last of the things that were put in, or an error if there is none of them; it stays where it is and can be had again."""
        return self.things[-1]

    def calculate(self, total):
{BODY}
        return total


def main():
    """Opens the store, asks it for the last of the things that it keeps, and prints what it was given for an answer to that."""
    print(Store().last)
'''


def of(
    text: str, language: str | None = "python", size: int = CODE_SIZE
) -> list[tuple[tuple[str, ...], str]]:
    return [(chunk.headings, text[chunk.start : chunk.end]) for chunk in chunks(text, "code", language, size)]


def one_with(
    text: str, said: str, language: str = "python", size: int = CODE_SIZE
) -> tuple[tuple[str, ...], str]:
    (found,) = [found for found in of(text, language, size) if said in found[1]]
    return found


def test_a_definition_that_fits_is_one_chunk_under_its_name() -> None:
    assert one_with(PYTHON, "def main", size=400)[0] == ("main",)
    assert one_with(PYTHON, "def main", size=400)[1].endswith("print(Store().last)")


def test_a_method_knows_its_class_and_keeps_its_comment_and_decorator() -> None:
    headings, text = one_with(PYTHON, "def last", size=400)
    assert headings == ("Store", "last")
    assert text.startswith("# What is kept last\n    # comes out first.\n    @property")


def test_a_function_that_is_too_long_is_cut_between_statements_and_each_part_has_its_name() -> None:
    parts = [(headings, text) for headings, text in of(PYTHON) if "total" in text]
    assert len(parts) > 2
    assert {headings for headings, _ in parts} == {("Store", "calculate")}
    assert all(text.startswith(("def calculate", "total", "return")) for _, text in parts)


def test_small_statements_are_merged() -> None:
    assert of("import os\nimport sys\n\nLIMIT = 1\n") == [((), "import os\nimport sys\n\nLIMIT = 1")]


def test_multi_byte_characters_do_not_shift_positions() -> None:
    text = "NAME = 'é漢字🙂'\n" * 60 + "\n\ndef später():\n    return '🙂'\n"
    assert one_with(text, "später")[1].endswith("def später():\n    return '🙂'")
    assert all(
        line.startswith(("NAME", "def", "    return"))
        for _, piece in of(text)
        for line in piece.splitlines()
        if line
    )


def test_a_source_with_syntax_errors_is_still_cut() -> None:
    text = PYTHON.replace("self.things = []", "self.things = [").replace("LIMIT = 10", "LIMIT = = 10")
    assert any(headings[-1:] == ("main",) for headings, _ in of(text, size=400))


FILL = "\n".join(f"    step({n}); // one of the many steps that make this long" for n in range(12))
SOURCES = {
    "bash": (f"deploy() {{\n{FILL.replace('//', '#')}\n}}\n", ("deploy",)),
    "c": (f"static int *deploy(int argc, char **argv)\n{{\n{FILL}\n}}\n", ("deploy",)),
    "cpp": (f"namespace app {{\nclass Deployer {{\npublic:\n  void deploy() {{\n{FILL}\n  }}\n}};\n}}\n", ("app", "Deployer", "deploy")),
    "csharp": (f"namespace App {{\npublic class Deployer {{\n  public void Deploy() {{\n{FILL}\n  }}\n}}\n}}\n", ("App", "Deployer", "Deploy")),
    "go": (f"package main\n\nfunc (d *Deployer) Deploy(x int) error {{\n{FILL}\n}}\n", ("(d *Deployer) Deploy",)),
    "java": (f"public class Deployer {{\n  @Override\n  public void deploy() {{\n{FILL}\n  }}\n}}\n", ("Deployer", "deploy")),
    "javascript": (f"export const deploy = async () => {{\n{FILL}\n}};\n", ("deploy",)),
    "php": (f"<?php\nclass Deployer {{\n  public function deploy() {{\n{FILL}\n  }}\n}}\n", ("Deployer", "deploy")),
    "ruby": (f"module App\n  class Deployer\n    def deploy\n{FILL.replace('//', '#')}\n    end\n  end\nend\n", ("App", "Deployer", "deploy")),
    "rust": (f"impl Deploy for Deployer {{\n  fn deploy(&self) {{\n{FILL}\n  }}\n}}\n", ("Deploy Deployer", "deploy")),
    "tsx": (f"export function Deploy(props: Props) {{\n{FILL}\n  return <b>{{props.name}}</b>;\n}}\n", ("Deploy",)),
    "typescript": (f"export class Deployer {{\n  deploy(name: string): void {{\n{FILL}\n  }}\n}}\n", ("Deployer", "deploy")),
    "python": (f"class Deployer:\n  def deploy(self):\n{FILL.replace('//', '#')}\n", ("Deployer", "deploy")),
}  # fmt: skip


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_chunks_name_their_enclosing_definition_in_every_language(language: str) -> None:
    text, path = SOURCES[language]
    assert one_with(text, "step(7)", language, 400)[0] == path


def repeated(line: str) -> str:
    return "".join(line.replace("N", str(n)) for n in range(40))


OTHERS = [
    ("kotlin", f"class A {{\n\n    fun deploy(name: String) {{\n{indent(FILL, '    ')}\n    }}\n}}\n", "step(7)", ("A", "deploy")),
    ("lua", f"-- Deploys.\nfunction deploy(name)\n{FILL.replace('//', '--')}\nend\n", "step(7)", ("deploy",)),
    ("sql", "CREATE TABLE users (\n  id int,\n" + repeated("  column_N varchar(200),\n") + ");", "column_9 ", ("users",)),
    ("css", ".card > .title {\n" + repeated("  --colour-N: red;\n") + "}\n", "colour-9:", (".card > .title",)),
    ("json", '{\n  "jobs": {\n' + repeated('    "job-N": "runs step N",\n') + '    "z": 1\n  }\n}\n', '"job-9"', ("jobs",)),
    ("yaml", "jobs:\n  build:\n" + repeated("    - run: step N of the build\n"), "step 9 ", ("jobs", "build")),
    ("toml", "[project]\n" + repeated('keyN = "a value of N"\n') + "\n[tool.x]\na = 1\n", "key9 ", ("project",)),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text", "said", "headings"), OTHERS)
def test_other_languages_are_cut_by_their_indentation(
    language: str, text: str, said: str, headings: tuple[str, ...]
) -> None:
    assert one_with(text, said, language, 400)[0] == headings


LONG_COMMENTS = {
    "kotlin": ("  /**\n   * Says {n}.\n   */\n  @Throws\n  fun f{n}(a: Int) {{\n{body}\n  }}\n\n", "class A {\n"),
    "scala": ("  /** Says {n}.\n    *\n    */\n  @tailrec\n  def f{n}(a: Int) = {{\n{body}\n  }}\n\n", "object A {\n"),
    "lua": ("--- Says {n}.\n-- @param a number\nfunction f{n}(a)\n{body}\nend\n\n", ""),
    "powershell": ("<#\n.SYNOPSIS\nSays {n}.\n#>\nfunction f{n} {{\n{body}\n}}\n\n", ""),
    "elixir": ('  @doc """\n  Says {n}.\n\n  Often.\n  """\n  @spec f{n}(a)\n  def f{n}(a) do\n{body}\n  end\n\n', "defmodule A do\n"),
    "dart": ("  /// Says {n}.\n  @override\n  Future<int> f{n}(int a) async {{\n{body}\n  }}\n\n", "class A {\n"),
    "cpp": ("/** Says {n}. */\ntemplate <typename T>\nT f{n}(const T& a) {{\n{body}\n}}\n\n", ""),
    "javascript": ("// Says {n}.\nmodule.exports.f{n} = function (a) {{\n{body}\n}};\n\n", ""),
}  # fmt: skip


@pytest.mark.parametrize("language", LONG_COMMENTS)
def test_a_function_is_one_chunk_under_its_name_with_the_comment_above_it(language: str) -> None:
    part, head = LONG_COMMENTS[language]
    body = "\n".join(f"    step({n}); // one of the steps that make this long" for n in range(6))
    text = head + "".join(part.format(n=n, body=body) for n in range(10, 18))
    for n in range(11, 18):
        headings, piece = one_with(text, f"Says {n}.", language)
        assert (
            headings[-1].endswith(f"f{n}") and piece.count("step(5)") == 1 and f"Says {n + 1}." not in piece
        )


def test_an_item_of_yaml_is_named_by_its_name() -> None:
    steps = "".join(
        f"  - name: step {n}\n    run: |\n" + f"      echo a line of step {n}\n" * 12 for n in range(4)
    )
    assert one_with(f"steps:\n{steps}", "- name: step 2", "yaml", 400)[0] == ("steps", "step 2")


def test_an_edit_in_one_function_changes_only_its_chunks() -> None:
    functions = [
        f"def function_{n}(value):\n"
        + "".join(f"    value += {n * k}\n" for k in range(n % 30 + 1))
        + "    return value\n"
        for n in range(400)
    ]
    was = {piece for _, piece in of("\n\n".join(functions))}
    functions[200] = functions[200].replace("    return value", "    value *= 2\n    return value")
    assert len([piece for _, piece in of("\n\n".join(functions)) if piece not in was]) <= 3


def test_a_source_that_the_parser_rejects_is_cut_by_its_indentation() -> None:
    text = "".join(f"def function_{n}(value):\n    return value + {n}\n\n" for n in range(25_000))
    found = chunks(text, "code", "python")
    assert len(text) > 1_000_000 and len(found) > 1000
    assert all(text.startswith("def ", chunk.start) for chunk in itertools.islice(found, 50))
