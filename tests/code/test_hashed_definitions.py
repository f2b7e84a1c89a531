"""What a definition's hash depends on, and which definitions a file has."""

from __future__ import annotations

import pytest

from scrubjay.code.definitions import definitions, digest, lines_of

PYTHON = "def f(n):\n    if n:\n        g()\n    h()\n"
OVERLOADED = "function f(n: string): void;\nfunction f(n: any) { g(n); }\n"
SAME = [
    ("a.py", PYTHON, "def f( n ):\n  # why\n  if n:\n    g()  # what\n\n  h()\n"),
    ("a.js", "function f(n) { return n; }", "/** Says. */\nfunction f(n) {\n  // it\n  return n;\n}\n"),
    ("a.go", "package a\nfunc f() int { return 1 }", "package a\n// One.\nfunc f() int {\n\treturn 1\n}\n"),
    ("a.rs", "fn f() -> u8 { 1 }", "fn f() -> u8 {\n    /* one */ 1\n}\n"),
]
OTHER = [
    ("a.py", PYTHON, PYTHON.replace("    h()", "        h()")),
    ("a.py", 'def f():\n    return "a b"\n', 'def f():\n    return "a  b"\n'),
    ("a.js", "function f(n) { return n; }", "function f(n) { return -n; }"),
    ("a.ts", OVERLOADED, OVERLOADED.replace("string", "number")),
]
NAMES = {
    "a.py": (
        "X = 1\nclass A:\n    y: int = 2\n    @p\n    def f(self):\n        z = 1\n",
        {"X", "A", "A.y", "A.f"},
    ),
    "a.ts": (
        "export const X = 1;\nexport class A { m() { const z = 1; } }\ntype T = string;\ninterface I { n(): T }",
        {"X", "A", "A.m", "T", "I", "I.n"},
    ),
    "a.js": ("const A = require('./a');\nconst B = 1;\nclass C extends A {}\n", {"B", "C"}),
    "a.go": ("package a\nconst X = 1\nfunc (s *S) Do() { z := 1 }\ntype S struct{}", {"X", "S.Do", "S"}),
    "a.rs": ("const X: u8 = 1;\nimpl T for A { fn f(&self) {} }", {"X", "A", "A.f"}),
    "a.cpp": (
        "#define X 1\n#define Y(z) z\nconstexpr int W = 2;\nint n::A::f() { int z = 1; return z; }",
        {"X", "Y", "W", "n.A.f"},
    ),
    "a.h": ("static const int X = 1;\nenum E { Y = 2, Z };\n", {"X", "E", "E.Y", "E.Z"}),
    "a.java": ("enum E { X(1); void f() { int z = 1; } }", {"E", "E.X", "E.f"}),
    "a.php": ("<?php\nclass A { const X = 1; public $y = 2; function f() { $z = 3; } }", {"A", "A.X", "A.f"}),
    "a.sh": ("X=1\nexport Y=2\nf() {\n  z=3\n}\n", {"X", "Y", "f"}),
    "b.js": (
        "exports.f = () => 1;\nmodule.exports.g = 2;\nother.h = 3;\ni = 4;\nclass C { x = 1; }",
        {"f", "g", "C", "C.x"},
    ),
    "b.ts": ("class A { private x: number = 1; }\nenum E { Y = 2 }", {"A", "A.x", "E", "E.Y"}),
    "a.rb": ("class A\n  def f\n    1\n  end\nend\n", {"A", "A.f"}),
}


@pytest.mark.parametrize(("path", "one", "other"), SAME)
def test_comments_and_white_space_do_not_count(path: str, one: str, other: str) -> None:
    assert definitions(path, one.encode()) == definitions(path, other.encode())


@pytest.mark.parametrize(("path", "one", "other"), OTHER)
def test_whatever_else_is_written_counts(path: str, one: str, other: str) -> None:
    assert definitions(path, one.encode())[("f",)] != definitions(path, other.encode())[("f",)]


@pytest.mark.parametrize(("path", "text", "names"), [(path, *each) for path, each in NAMES.items()])
def test_functions_types_and_constants_are_found_but_no_variables(
    path: str, text: str, names: set[str]
) -> None:
    every = definitions(path, text.encode())
    assert {".".join(each) for each in every} == names
    for name in {parts[-1] for parts in every} | {"missing"}:
        wanted = {parts: value for parts, value in every.items() if parts[-1] == name}
        assert definitions(path, text.encode(), {name}) == wanted


def test_broken_source_and_unknown_languages_are_no_error() -> None:
    assert ("f",) in definitions("a.py", b"def f():\n    return 1\n\ndef (((\xff\n")
    assert definitions("a.unknown", b"def f(): pass") == {}


def test_the_lines_of_a_definition_are_known() -> None:
    assert lines_of("a.py", b"X = 1\n\nclass A:\n    def f(self):\n        pass\n")[("A", "f")] == (4, 5)


def test_a_file_has_the_beginning_of_the_hash_that_git_gives_it_whatever_ends_its_lines() -> None:
    assert digest(b"hello\n") == digest(b"hello\r\n") == "ce013625030b"


def test_a_definition_with_lines_in_a_string_keeps_its_hash_with_other_line_ends() -> None:
    content = b'def f():\n    """One.\n\n    Two.\n    """\n'
    assert definitions("a.py", content) == definitions("a.py", content.replace(b"\n", b"\r\n"))
