"""Headings of reStructuredText, AsciiDoc, Org, LaTeX and MediaWiki."""

from __future__ import annotations

import pytest

from scrubjay.reading import read
from scrubjay.records.passages import cut_document

RST = """=====
Owls
=====

Install
~~~~~~~
text
-----

Options
~~~~~~~
* port
  ====

.. code-block:: sh

    # no heading

Rollback
^^^^^^^^
===  ===
A    B
===  ===

Late
~~~~
"""
ASCIIDOC = "= Owls\n\n== Install\n\n[source,sh]\n----\n# no heading\n== nor this\n----\n\n=== Options\ntext\n\n== Late\n"
ORG = (
    "#+TITLE: Owls\n* Install\ntext\n** TODO Options :tag:\n#+BEGIN_SRC sh\n# no heading\n* nor this\n#+END_SRC\n"
    "* Late\n"
)
LATEX = (
    "\\title{Owls}\n\\section{Install}\ntext\n\\subsection*[Opt]{Options}\\label{o}\n\\begin{verbatim}\n\\section{no}\n"
    "\\end{verbatim}\n\\section{Late}\n"
)
WIKI = "= Owls =\ntext\n== Install ==\n<pre>\n== no ==\n</pre>\n=== Options ===\ntext\n== Late ==\n"


@pytest.mark.parametrize(
    ("name", "text", "trails"),
    [
        ("a.rst", RST, ["Owls > Install", "Owls > Options", "Owls > Options > Rollback", "Owls > Late"]),
        ("a.adoc", ASCIIDOC, ["Owls > Install", "Owls > Install > Options", "Owls > Late"]),
        ("a.org", ORG, ["", "Install", "Install > Options", "Late"]),
        ("a.tex", LATEX, ["", "Install", "Install > Options", "Late"]),
        ("a.wiki", WIKI, ["Owls", "Owls > Install", "Owls > Install > Options", "Owls > Late"]),
    ],
)
def test_texts_in_other_markups_are_titled_and_cut_at_their_headings(
    name: str, text: str, trails: list[str]
) -> None:
    found = read(text.encode(), name)
    assert (found.kind, found.title, found.text) == ("text", "Owls", text)
    assert [" > ".join(piece.headings) for piece in cut_document(text, "text", name, {})] == trails
    assert read(text.replace("\n", "\r\n").encode(), name).title == "Owls"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.tex", "\\section{Ports of \\texttt{owls} \\label{sec:p}}\ntext", "Ports of owls"),
        ("a.tex", "\\section{The \\emph{x \\textbf{y}} of owls}\ntext", "The \\emph{x y} of owls"),
        ("a.org", "* TODO [#A] Feed the owls :ops:\ntext", "Feed the owls"),
        ("a.md", "## Ports {#ports}\ntext", "Ports"),
    ],
)
def test_a_heading_has_its_words_without_marks_for_programs(name: str, text: str, words: str) -> None:
    assert [piece.headings for piece in cut_document(text, read(text.encode(), name).kind, name, {})] == [
        (words,)
    ]
