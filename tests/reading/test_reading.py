"""Reading files: the text and the metadata of each kind."""

from __future__ import annotations

import hashlib
import io
import json
import posixpath
import quopri
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from email.message import EmailMessage
from pathlib import Path

import files_made as made
import pytest
from lxml import etree
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE

from scrubjay.reading import FileText, kind_of, read, read_file
from scrubjay.text.chunking.chunks import chunks


@pytest.mark.parametrize(
    ("text", "name", "kind", "language"),
    [
        ("one\r\n\ttwo\n", "notes.txt", "text", None),
        ("name,port\natlas,8080\n", "ports.csv", "csv", None),
        ("name\tport\n", "ports.tsv", "tsv", None),
        ('{"a": 1}', "x.json", "json", "json"),
        ('{"a": 1}\n{"a": 2}\n', "x.jsonl", "json", "json"),
    ],
)
def test_text_is_unchanged(text: str, name: str, kind: str, language: str | None) -> None:
    assert read(text.encode(), name) == FileText(text, kind, language=language, encoding="utf-8")


@pytest.mark.parametrize(
    ("fields", "metadata"),
    [
        ("author: Ann Lee\ndate: 2026-03-01\ntags: [a]", {"author": "Ann Lee", "date": "2026-03-01"}),
        ("authors:\n  - name: Ann\n    url: https://a.b\n  - Cy", {"author": "Ann, Cy"}),
        ("aliases:\n  - KeyDance\n  - Key rota", {"aliases": "KeyDance, Key rota"}),
    ],
)
def test_markdown_is_unchanged_and_its_front_matter_is_read(fields: str, metadata: dict[str, str]) -> None:
    text = f'---\ntitle: "The guide"\n{fields}\n---\n\n# Guide\n'
    found = read(text.encode(), "guide.md")
    assert (found.text, found.kind, found.title, found.metadata) == (text, "markdown", "The guide", metadata)


HTML = """<?xml version="1.0"?><!DOCTYPE html><html lang="en"><head><title>Deploying
 with care</title><meta name="author" content="Ann Lee"><meta name="description" content="How to">
<style>p {color: red}</style></head><body><nav><a href="/">Home</a> <a href="/docs">Docs</a></nav>
<main><h1>Deploy<a href="#deploy">¶</a></h1><p>Call <code>user_profile_id</code> and *wait* in my_file_name.</p>
<ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul>
<pre><code class="language-sh">make deploy</code></pre>
<table><tr><th>host</th><th>port</th></tr><tr><td>a|b</td><td>8080</td></tr></table>
<p>See <a href="https://example.org/x">the page</a> and <a href="other.html">the other</a>. <img src="x.png" alt="A map"></p>
<p>REPEATED</p></main><footer>Imprint</footer><script>alert(1)</script><!-- secret --></body></html>""".replace(
    "REPEATED", "It goes on and on. " * 20
)


def test_html_becomes_the_markdown_of_its_content() -> None:
    found = read(HTML.encode(), "page.html")
    assert (found.kind, found.title, found.encoding) == ("html", "Deploying with care", "utf-8")
    assert found.metadata == {"author": "Ann Lee", "subject": "How to"}
    for part in (
        "# Deploy¶",
        "Call `user_profile_id` and *wait* in my_file_name.",
        "- one\n  - inner\n- two",
        "```sh\nmake deploy\n```",
        "| host | port |\n| --- | --- |\n| a\\|b | 8080 |",
        "See [the page](https://example.org/x) and the other. A map",
    ):
        assert part in found.text
    for part in ("Home", "Imprint", "alert", "color", "secret", "<"):
        assert part not in found.text


def test_a_page_without_a_name_is_recognised_by_its_first_bytes() -> None:
    assert read(b"<!DOCTYPE html>\n<p>Hello</p>", "page").text == "Hello"


def test_a_pdf_becomes_pages_with_headings_from_its_bookmarks() -> None:
    data = made.pdf(
        [["A report", "", "1. Scope", "What we did.", "# no heading"], ["Results", "All is well."]],
        title="Report",
        author="Ann",
        headings=["1. Scope", "Results"],
    )
    found = read(data, "report.pdf")
    assert (found.kind, found.title, found.metadata["author"]) == ("pdf", "Report", "Ann")
    assert (
        found.text == "A report\n\n# 1. Scope\n\nWhat we did.\n\\# no heading\n\f\n# Results\n\nAll is well."
    )


def test_a_word_document_becomes_markdown() -> None:
    found = read(made.word(), "deploy.docx")
    assert (found.kind, found.title) == ("docx", "Deploying")
    assert (found.metadata["author"], found.metadata["date"]) == ("Ann Lee", "2026-03-01")
    assert found.text == (
        "# The first step\n\nRun the zebra migration.\n\n- one\n- two\n\n| host | port |\n| --- | --- "
        "|\n| a\\|b | 8080 |\n\n"
        "## Below it\n\nIt calls user_profile_id * 2 and costs 5 €."
    )


def test_slides_become_headings_lists_tables_and_notes() -> None:
    found = read(made.slides(), "roadmap.pptx")
    assert (found.kind, found.title) == ("pptx", "Roadmap")
    assert found.text == (
        "## Slide 1: Where we are\n\n- Shipped\n  - in March\n\nNotes: Say why March.\n\n"
        "## Slide 2\n\n| team | size |\n|---|---|\n| atlas | 4 |\n\nGrouped words"
    )


def test_slides_come_in_the_order_of_the_presentation() -> None:
    deck = made.pptx.Presentation()
    for title in ("made first", "made second"):
        deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = title
    order = deck.slides._sldIdLst
    order.append(order[0])
    text = read(made.saved(deck), "a.pptx").text
    assert text == "## Slide 1: made second\n\n## Slide 2: made first"


def test_a_workbook_becomes_a_table_for_each_sheet() -> None:
    found = read(made.workbook(), "ports.xlsx")
    assert (found.kind, found.title, found.metadata["author"]) == ("xlsx", "Ports", "Ann Lee")
    assert found.text == (
        "# Services\n\n| name | port | since | up |\n|---|---|---|---|\n| atlas 0 | 8080 | 2026-03-01 "
        "| True |\n\n"
        "# Costs\n\n| month | 1.5 |\n|---|---|"
    )


def test_an_office_file_is_recognised_whatever_its_name() -> None:
    assert read(made.word(), "download").kind == "docx"
    assert read(made.workbook(), "ports.docx").kind == "xlsx"
    assert read(made.pdf([["text"]]), "download.txt").kind == "pdf"


def test_json_in_one_long_line_is_reformatted_and_keeps_its_values() -> None:
    long = read(json.dumps({"name": "é", "list": ["word " * 300] * 3}).encode(), "x.json").text
    assert long.startswith('{\n "name": "é",\n "list": [') and json.loads(long)["name"] == "é"
    exact = read(b'{"rate":1.10,"rate":2,"none":[],"text":"a,{b}\\"' + b"x" * 3000 + b'"}', "x.json").text
    assert exact.startswith('{\n "rate": 1.10,\n "rate": 2,\n "none": [],\n "text": "a,{b}\\"x')
    assert read(b"{broken" + b"x" * 3000, "x.json").text.startswith("{broken")


def test_half_a_letter_in_one_long_line_of_json_stays_a_code() -> None:
    line = f'{{"half": "\\ud83e", "whole": "\\ud83e\\udd9c", "long": "{"x" * 3000}"}}'
    assert read(line.encode(), "x.json").text.startswith('{\n "half": "\\ud83e",\n "whole": "🦜",')


def test_letters_in_json_are_read_for_their_codes() -> None:
    line = r'{"name": "M\u00fcller \ud83d\ude00", "path": "C:\\u00fc", "quote": "\u0022", "half": "\ud83d", "\\\u00e9": 1}'
    right = r'{"name": "Müller 😀", "path": "C:\\u00fc", "quote": "\u0022", "half": "\ud83d", "\\é": 1}'
    assert read(f"{line}\n{line}\n".encode(), "a.jsonl").text == f"{right}\n{right}\n"


def test_a_notebook_becomes_prose_and_fenced_code() -> None:
    found = read(made.notebook(), "analysis.ipynb")
    assert found.kind == "notebook"
    assert found.text == (
        "# Analysis\n\nWhat we count.\n\n```python\nprint(1 + 1)\n```\n\n```text\n2\n```\n\n"
        "```text\n<Figure>\n```\n\n```text\nKeyError: 'x'\n```"
    )


def test_a_mail_becomes_its_headers_and_body() -> None:
    found = read(made.mail(), "plan.eml")
    assert (found.kind, found.title) == ("email", "Über the deploy")
    assert found.metadata == {
        "author": "Ann Lee <ann@example.org>",
        "to": "bob@example.org",
        "date": "2026-03-01",
        "subject": "Über the deploy",
    }
    assert found.text == (
        "# Über the deploy\n\nFrom: Ann Lee <ann@example.org>\nTo: bob@example.org\nDate: Sun, 01 Mar "
        "2026 09:30:00 +0100\n"
        "Attachments: plan.pdf\n\nRoll back first. €"
    )
    assert read(made.mail(html=True), "plan.eml").text.endswith("## Plan\n\nRoll **back** €")


@pytest.mark.parametrize(
    ("name", "head", "kind", "language"),
    [
        ("src/app.py", b"", "code", "python"),
        ("C:\\src\\App.TSX", b"", "code", "tsx"),
        ("Makefile", b"", "code", "make"),
        ("run", b"#!/usr/bin/env python3\n", "code", "python"),
        ("run", b"#!/usr/bin/awk -f\n", "text", None),
        ("run", b"#!/usr/bin/env -S deno run\n", "code", "typescript"),
        ("Dockerfile.dev", b"", "code", "docker"),
        (".env.local", b"", "code", "ini"),
        ("LICENSE", b"MIT", "text", None),
        (".gitignore", b"", "text", None),
        ("guide.md", b"", "markdown", None),
        ("data.jsonl", b"", "json", "json"),
    ],
)
def test_the_kind_is_recognised_by_the_name_or_else_the_first_bytes(
    name: str, head: bytes, kind: str, language: str | None
) -> None:
    assert (kind_of(name, head).type, kind_of(name, head).language) == (kind, language)


def test_a_file_is_read_from_its_path(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_bytes(b"print(1)\n")
    digest = hashlib.sha256(b"print(1)\n").hexdigest()
    assert read_file(str(tmp_path / "app.py")) == FileText(
        "print(1)\n", "code", language="python", encoding="utf-8", digest=digest
    )


def test_no_converter_is_imported_before_a_file_needs_it() -> None:
    heavy = "bs4 lxml markdownify mammoth pptx pypdfium2 python_calamine olefile chardet tree_sitter"
    code = f"import sys, scrubjay.reading, scrubjay.text.chunking; print({{*{heavy.split()}}} & {{*sys.modules}})"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "---\ntitle: >-\n  Rotating the keys\n  of the gateway\n---\n# Other",
            "Rotating the keys of the gateway",
        ),
        ("\n\n---\n# a comment\ntitle: Blank first  # of all\n---\nText", "Blank first"),
        ("+++\ntitle = 'In TOML'\ndate = 2026-02-01\n+++\nText", "In TOML"),
        ("# [![Logo](a.png) Whole](https://a.b)\n", "Logo Whole"),
        ('<h1 align="center">\n <img src="a.png"> Whole\n</h1>\n\n## Part\n', "Whole"),
        ("```\n<h1>Code</h1>\n```\n", None),
        ("## Part\n\ntext", None),
        ("Title: In lines\r\nDate: 2026-02-01\r\n\r\n# Other", "In lines"),
    ],
)
def test_a_note_is_titled_by_its_front_matter_or_else_its_first_heading(text: str, title: str | None) -> None:
    assert read(text.encode(), "note.md").title == title


def test_terminal_colour_codes_are_removed() -> None:
    log = "\x1b[31mERROR\x1b[0m \x1b[1mquick\x1b[38;5;208msilver\x1b[0m \x1b]8;;http://a.b\x1b\\link\x1b]8;;\x1b\\ \x1b]0;t\x07end\n"
    assert read(log.encode(), "a.log").text == "ERROR quicksilver link end\n"
    assert read(b"N\x08NA\x08A _\x08l_\x08s", "a.log").text == "NA ls"
    assert read(b"\x1b[1mquicksilver\x1b[0m\x1b[33mworker\x1b[0m", "a.log").text == "quicksilver worker"


LONG = "It goes on and on. " * 20


def page_text(body: str) -> str:
    return read(f"<!DOCTYPE html><html><body>{body}</body></html>".encode(), "a.html").text


@pytest.mark.parametrize(
    ("body", "seen", "unseen"),
    [
        ("<form><h1>Rules</h1><input value='oriole-3'><textarea>a note</textarea></form>", "# Rules|oriole-3|a note", ""),
        ("<select><option>north<option selected>south</select><input type=checkbox checked>ticked", "south|[x] ticked", "north"),
        ("<select><option>north</select><textarea>a note</textarea><input value=x>", "north a note x", ""),
        ("<dialog>Quota: 12 GB</dialog>", "Quota: 12 GB", ""),
        ("<form role=search><input type=search value=x><button>Go</button></form><p>text</p>", "text", "Go"),
        ("<h2><button>How to reset?</button></h2><button aria-expanded=false>What it costs</button>", "## How to reset?|What it costs", ""),
        ("<p>text</p><button>Copy</button>", "text", "Copy"),
        (f"<main><p>{LONG}</p><aside class=warning>Never on Friday.</aside></main>", "Never on Friday.", ""),
        (f"<main><p>{LONG}</p><aside><a href=/a>Other page</a></aside></main>", "on and on", "Other page"),
        (f"<main><p>{LONG}</p><div role=tabpanel hidden>apt install</div><div hidden>draft</div></main>", "apt install", "draft"),
        (f"<article><header>By Ada</header>{LONG}<footer>Revised in May</footer></article><footer>Imprint</footer>", "By Ada|Revised in May", "Imprint"),
        (f"<nav>Home</nav><main>One. {LONG}</main><main>Two. {LONG}</main><footer>Imprint</footer>", "One.|Two.", "Home|Imprint"),
        ("10<sup>6</sup> in 10<sup>-9</sup> s, the 1<sup>st</sup>, a rate<sup><a href=#f>2</a></sup>", "10^6 in 10^-9 s, the 1st, a rate[2]", ""),
        ("port 7443<a href=#f role=doc-noteref><sup>1</sup></a>, 8443<a href=#f epub:type=noteref>2</a>", "port 7443[1], 8443[2]", ""),
        ("1010<sub>2</sub>, log<sub>2</sub>8, V<sub>max</sub>, a<sub>n+1</sub>, 2<sup>n+1</sup>, SO<sub>4</sub><sup>2-</sup>, <sub>set in small print</sub>", "1010₂, log₂8, V_max, a_(n+1), 2^(n+1), SO₄^2-, set in small print", ""),
        ("Donau&shy;dampf&shy;schiff un<wbr>break zero&#8203;width", "Donaudampfschiff unbreak zerowidth", ""),
        (f"<form><input type=search><div>{LONG}</div></form><div class=faq-item><button>What is a knot?</button></div>", "on and on|What is a knot?", ""),
        (f"<form><input type=search><h1>Rules</h1>{LONG}</form><div role=navigation>Home</div>", "# Rules|on and on", "Home"),
        ("<math><msup><mi>r</mi><mn>2</mn></msup><mo>=</mo><mfrac><mi>a</mi><msub><mi>x</mi><mn>1</mn></msub></mfrac></math>", "r^2=a/x₁", ""),
        ("<math><mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><mrow><mn>2</mn><mi>b</mi></mrow></mfrac></math>", "(a+1)/2b", ""),
        ("<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby> <ruby>東京<rt>とうきょう</rt></ruby>", "漢(かん) 東京(とうきょう)", ""),
        ("<ul class=inline-task-list><li class=checked>Ship</li><li>Tell</li></ul>", "- [x] Ship\n- [ ] Tell", ""),
        ("<ul><li><div class='checkbox checkbox-on'></div><span>Ship</span></li><li><div class='checkbox checkbox-off'></div>Tell</li></ul>", "- [x] Ship\n- [ ] Tell", ""),
        ("<fieldset><legend>Login</legend>User</fieldset><details open><summary>More</summary>rest</details><header>By Ada</header>In May<textarea>note</textarea>", "Login\n\nUser\n\nMore\n\nrest\n\nBy Ada\n\nIn May note", ""),
        ("<svg><path d='M0 0'/><text><tspan>Kestrel</tspan><tspan>queue</tspan></text><foreignObject><div>Heron</div></foreignObject></svg><svg><title>icon</title></svg>", "Kestrel queue, Heron", "icon"),
        ("<table><tr><td class=linenos><pre>1\n2</pre><td><pre>import os\nimport re</pre></table>", "```\nimport os\nimport re\n```", "1"),
        ("<pre><code><div class=line><div>if a:</div></div><div class=line><div>    b()</div></div></code></pre>", "```\nif a:\n    b()\n```", ""),
        ("<pre><table><tr><td class=rouge-gutter><pre>1</pre><td><pre># a comment\nputs 2\n</pre></table></pre>", "```\n# a comment\nputs 2\n```", ""),
        ("<pre><span class=ln>1</span>import os\n<span class=ln>2</span>import re</pre>", "```\nimport os\nimport re\n```", ""),
        ("<div class=fragment><div class=line><span class=lineno>1</span>if (a) {</div><div class=line>  b();</div></div>", "```\nif (a) {\n  b();\n```", "1"),
        ("<table><tr><td class=blob-num><td class=blob-code>if a:</td></tr><tr><td class=blob-num><td class=blob-code>    b()</table>", "```\nif a:\n    b()\n```", "|"),
        ("<details><summary>More</summary><div style='display:none;height:0px'>Use the flag.</div></details>", "More\n\nUse the flag.", ""),
        ("<h2>Keys<span class=mw-editsection>[<a>edit</a>]</span></h2><h3>Pool<a class=headerlink href=#p>¶</a></h3>", "## Keys\n\n### Pool", "edit|¶"),
        ("<h1>Loads</h1><p># of retries</p>", "\\# of retries", "\n# of"),
        ("<input type=radio><label>Python</label><label>Rust</label> <label>Port<input value=80></label>", "Python Rust Port 80", ""),
        (f"<h1>Fleet</h1><article>A guest says: {LONG}</article><div>{LONG} The port is 8443. {LONG}</div>", "# Fleet|A guest says|8443", ""),
        (f"<nav>Home</nav><header><h1>Release 4</h1>Sign in</header><main><h2>Ports</h2>{LONG}</main>", "# Release 4\n\n## Ports", "Home|Sign in"),
        ("<div style='DISPLAY: none; color: red'>preview</div><div id=a style='display:none'>answer</div>text", "answer|text", "preview"),
        ("<math><mi>a</mi><mo>=</mo><annotation encoding='application/x-tex'>a=b</annotation></math>", "a=b", "a=a"),
        ("<dialog>Quota: 12 GB</dialog><dialog class=cookie-notice>We use cookies</dialog>", "Quota: 12 GB", "We use"),
        ("<h1>Owls</h1><div class=cookie-consent>We use cookies</div><h2 id=cookie-banner>Banners</h2>", "# Owls|## Banners", "We use"),
        ("<div role=heading aria-level=3>Ports</div><div role=list><span role=listitem>one</span></div><div role=row><span role=cell>A</span><span role=cell>B</span></div>", "### Ports|- one|A\n\nB", ""),
    ],
)  # fmt: skip
def test_a_page_is_read_as_a_person_sees_it(body: str, seen: str, unseen: str) -> None:
    text = page_text(body)
    assert all(part in text for part in seen.split("|"))
    assert not any(part in text for part in unseen.split("|") if part)


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        (
            "<tr><th>Service<th>Stage<th>Port<tr><td rowspan=2>auth<td>prod<td>443<tr><td>test<td>8443",
            ["| Service | Stage | Port |", "| auth | prod | 443 |", "| auth | test | 8443 |"],
        ),
        (
            "<tr><th rowspan=2>Name<th colspan=2>Ports<tr><th>http<th>grpc<tr><td>auth<td>80<td>90",
            ["| Name | Ports http | Ports grpc |", "| auth | 80 | 90 |"],
        ),
        (
            "<caption>Disks</caption><tr><th>Host<th>Disk<tr><td>lark<td><table><tr><th>name<th>size<tr><td>sda<td>4T</table>",
            ["Disks", "| Host | Disk |", "| lark | name: sda, size: 4T |"],
        ),
        (
            "<thead><tr><th rowspan=2>Host<th>Port</thead><tbody><tr><td rowspan=9>lark<td>80<tr><td>81</tbody><tbody><tr><td>owl<td>90",
            ["| Host | Port |", "| lark | 80 |", "| lark | 81 |", "| owl | 90 |"],
        ),
        (
            "<tr><th>Owner<td>Team Blue<tr><th>Port<td>8443",
            ["|  |  |", "| Owner | Team Blue |", "| Port | 8443 |"],
        ),
        ("<tr><td rowspan=2 colspan=2>x<td>1<tr><td>2", ["| x | x | 1 |", "| x | x | 2 |"]),
    ],
)
def test_a_value_is_in_its_row_and_under_its_header(table: str, rows: list[str]) -> None:
    lines = page_text(f"<table>{table}</table>").split("\n")
    assert [line for line in lines if line and "---" not in line] == rows


def test_a_layout_table_is_not_a_table() -> None:
    assert page_text("<table><tr><td><h1>One</h1><td><p>Two</p></table>") == "# One\n\nTwo"


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


@pytest.mark.parametrize(
    ("xml", "text"),
    [
        (
            run("The area ")
            + "<m:oMath><m:r><m:t>a=</m:t></m:r><m:f><m:num><m:r><m:t>b+1</m:t></m:r></m:num><m:den><m:sSup><m:e><m:r><m:t>c</m:t></m:r></m:e>"
            "<m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:den></m:f></m:oMath>" + run(" holds."),
            "The area a=(b+1)/c^2 holds.",
        ),
        (
            "<w:r><w:ruby><w:rt><w:r><w:t>とうきょう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東京</w:t></w:r></w:rubyBase></w:ruby></w:r>",
            "東京(とうきょう)",
        ),
        ('<w:fldSimple w:instr=" REF x "><w:r><w:t>Figure 4</w:t></w:r></w:fldSimple>' + run(" shows"), "Figure 4 shows"),
        (run("10") + '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>-9</w:t></w:r>', "10^-9"),
        (run("1010") + '<w:r><w:rPr><w:vertAlign w:val="subscript"/></w:rPr><w:t xml:space="preserve">2 </w:t></w:r>' + run("is ten"), "1010₂ is ten"),
    ],
)  # fmt: skip
def test_a_word_document_is_read_as_a_person_sees_it(xml: str, text: str) -> None:
    assert " ".join(read(made.word_of(xml), "a.docx").text.split()) == text


def test_headings_of_a_word_document_keep_their_numbers() -> None:
    numbered = '<w:pPr><w:pStyle w:val="Heading{0}"/><w:numPr><w:ilvl w:val="{1}"/><w:numId w:val="99"/></w:numPr></w:pPr>'
    first, second = numbered.format(1, 0), numbered.format(2, 1)
    paragraphs = [first + run("Scope"), second + run("Inside"), first + run("Terms"), second + run("Owl")]
    assert read(made.word_of(*paragraphs, numbered=True), "a.docx").text == (
        "# 1 Scope\n\n## 1.1 Inside\n\n# 2 Terms\n\n## 2.1 Owl"
    )


def test_comments_of_a_word_document_are_read() -> None:
    document = made.docx.Document()
    paragraph = document.add_paragraph("Seen by all.")
    document.add_comment(paragraph.runs, text="Ask the stork", author="Bo", initials="B")
    assert "Ask the stork" in read(made.saved(document), "a.docx").text


def test_an_opendocument_text_becomes_markdown() -> None:
    body = (
        '<text:h text:outline-level="1">Ports</text:h><text:p>10<text:span text:style-name="T1">6</text:span> H'
        '<text:span text:style-name="T2">2</text:span> of<text:s/>all'
        "<text:note><text:note-body><text:p>a note</text:p></text:note-body></text:note></text:p>"
        "<text:list><text:list-item><text:p>one</text:p></text:list-item></text:list>"
        '<table:table><table:table-row><table:table-cell table:number-rows-spanned="2"><text:p>auth</text:p></table:table-cell>'
        "<table:table-cell><text:p>443</text:p></table:table-cell></table:table-row><table:table-row><table:covered-table-cell/>"
        "<table:table-cell><text:p>8443</text:p></table:table-cell></table:table-row></table:table>"
        "<text:tracked-changes><text:deletion><text:p>gone</text:p></text:deletion></text:tracked-changes>"
    )
    style = "".join(
        f'<style:style style:name="{name}"><style:text-properties style:text-position="{position} 58%"/></style:style>'
        for name, position in (("T1", "super"), ("T2", "sub"))
    )
    found = read(made.opendocument("text", body, style), "a.odt")
    assert (found.kind, found.title) == ("odt", "Ports")
    assert found.text == (
        "# Ports\n\n10^6 H₂ of all (a note)\n\n- one\n\n| auth | 443 |\n| --- | --- |\n| auth | 8443 |"
    )


def test_an_opendocument_workbook_has_its_displayed_values() -> None:
    cells = (
        '<table:table-cell table:formula="of:=[.A1]*2"/>'
        "<table:table-cell><office:annotation><text:p>ask Bo</text:p></office:annotation><text:p>25 %</text:p></table:table-cell>"
        '<table:table-cell table:number-columns-repeated="16000"/>'
    )
    empty = '<table:table-row table:number-rows-repeated="1048576"><table:table-cell/></table:table-row>'
    body = f'<table:table table:name="Shares"><table:table-row>{cells}</table:table-row>{empty}</table:table>'
    found = read(made.opendocument("spreadsheet", body), "a.ods")
    assert found.kind == "xlsx" and found.text.startswith("# Shares\n\n| =[.A1]*2 | (comment: ask Bo) 25 % |")


def test_opendocument_slides_include_their_notes() -> None:
    body = (
        '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Plan</text:p></draw:text-box></draw:frame>'
        "<draw:frame><draw:text-box><text:p>Ship it</text:p></draw:text-box></draw:frame>"
        "<presentation:notes><draw:frame><text:p>Say why</text:p></draw:frame></presentation:notes></draw:page>"
    )
    assert read(made.opendocument("presentation", body), "a.odp").text == (
        "## Slide 1: Plan\n\nShip it\n\nNotes: Say why"
    )


def test_a_book_is_read_in_its_order() -> None:
    found = read(made.book("<h1>One</h1>", "<p>Two 10<sup>6</sup></p>", title="The owl"), "a.epub")
    assert (found.kind, found.title, found.text) == ("epub", "The owl", "# One\n\nTwo 10^6")


def test_files_of_older_office_programs_are_read() -> None:
    word = read(made.old("deploy.doc"), "deploy.doc")
    assert (word.kind, word.title, word.metadata["author"]) == ("doc", "Deploying", "Ann Lee")
    assert word.text == (
        "# The first step\n\nRun the zebra migration at the quay.\n\n| host | port |\n|---|---|\n| atlas | |\n"
        "| lark | 8080 |\n\n## Costs in Łódź\n\nIt costs 5 €."
    )
    assert "| tern | 7443 |" in read(made.old("ports.xls"), "ports.xls").text
    rich = (
        rb"{\rtf1\ansi{\info{\title Ports}}Caf\'e9 at 8443.\par {\deleted gone}\u321\'3f\'f3d\u378\'3f\par}"
    )
    found = read(rich, "letter.doc")
    assert (found.kind, found.title, found.text) == ("rtf", "Ports", "Café at 8443.\n\nŁódź")


def test_a_page_without_a_body_tag_keeps_its_main_part() -> None:
    page = b"<!doctype html><title>Ports</title><nav>Home</nav><main><p>Staging</p></main><p>after"
    assert read(page, "a.html").text == "Staging\n\nafter"


def with_part(data: bytes, owner: str, kind: str, part: str, xml: str) -> bytes:
    """An office file in which `owner` refers to another part as rId99."""
    folder, name = posixpath.split(owner)
    relations = f"{folder}/_rels/{name}.rels"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        old = archive.read(relations).decode()
    new = f'<Relationship Id="rId99" Type="urn:relationships/{kind}" Target="/{part}"/></Relationships>'
    changed = {relations: old.replace("</Relationships>", new).encode(), part: xml.encode()}
    return made.repacked(data, changed)


DIAGRAM = "".join(
    f'<d:pt><d:t><a:p xmlns:a="a"><a:r><a:t>{text}</a:t></a:r></a:p></d:t></d:pt>'
    for text in ("Plan", "Build")
)
DIAGRAM = f'<d:dataModel xmlns:d="d"><d:ptLst>{DIAGRAM}</d:ptLst></d:dataModel>'
DRAWING = '<d:relIds xmlns:d="d" xmlns:r="r" r:dm="rId99" r:lo="rId1"/>'


def test_diagrams_of_a_word_document_are_read() -> None:
    document = made.word_of(run("before") + f"<w:r><w:drawing>{DRAWING}</w:drawing></w:r>", run("after"))
    words = read(
        with_part(document, "word/document.xml", "diagramData", "word/d.xml", DIAGRAM), "a.docx"
    ).text
    assert re.findall(r"\w+", words) == ["before", "Plan", "Build", "after"]


def test_slides_have_their_charts_diagrams_formulas_comments_and_merged_cells() -> None:
    deck = made.pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    chart = CategoryChartData()
    chart.categories = ["East", "West"]
    chart.add_series("Sales", (19.5, 21.5))
    slide.shapes.add_chart(XL_CHART_TYPE.PIE, 0, 0, 9, 9, chart)
    table = slide.shapes.add_table(2, 2, 0, 0, 9, 9).table
    table.cell(0, 1).text, table.cell(1, 1).text = "x", "y"
    table.cell(0, 0).merge(table.cell(1, 0))
    table.cell(0, 0).text = "both"
    raised = slide.shapes.add_textbox(0, 0, 9, 9).text_frame.paragraphs[0]
    for text in ("10", "6", " H", "2"):
        raised.add_run().text = text
    raised.runs[1].font._element.set("baseline", "30000")
    raised.runs[3].font._element.set("baseline", "-25000")
    p = "http://schemas.openxmlformats.org/presentationml/2006/main"
    formula = '<a14:m xmlns:a14="m"><m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"><m:r><m:t>n=2</m:t></m:r></m:oMath></a14:m>'
    shape = f'<p:sp><p:txBody><a:p xmlns:a="a">{formula}</a:p></p:txBody></p:sp>'
    frame = f"<p:graphicFrame>{DRAWING}</p:graphicFrame>"
    choice = f'<c:AlternateContent xmlns:c="c" xmlns:p="{p}"><c:Choice>{shape}{frame}</c:Choice><c:Fallback>{shape}</c:Fallback></c:AlternateContent>'
    slide.shapes._spTree.append(etree.fromstring(choice))
    file = with_part(made.saved(deck), "ppt/slides/slide1.xml", "diagramData", "ppt/d.xml", DIAGRAM)
    comment = f'<p:cmLst xmlns:p="{p}"><p:cm><p:text>Ask legal</p:text></p:cm></p:cmLst>'
    file = with_part(file, "ppt/slides/slide1.xml", "comments", "ppt/c.xml", comment)
    text = read(file, "a.pptx").text
    assert "| East | 19.5 |\n| West | 21.5 |" in text
    assert "| both | x |\n|---|---|\n| both | y |" in text
    assert "10^6 H₂" in text and text.count("n=2") == 1
    assert text.endswith("Comment: Ask legal")


def test_headings_of_rich_text_have_their_level() -> None:
    styles = rb"{\stylesheet{\s0 Normal;}{\s3\sbasedon0\b Heading 2;}}"
    rich = (
        rb"{\rtf1%s\pard\s3\b Ports\par\pard\s0 8443\par\pard\outlinelevel0 Hosts\par\pard lark\par}" % styles
    )
    assert read(rich, "a.rtf").text == "## Ports\n\n8443\n\n# Hosts\n\nlark"


def test_a_comment_of_a_shell_is_no_heading_of_a_rich_text_or_a_slide() -> None:
    rich = rb"{\rtf1 make restart\par # wait for the socket\par}"
    deck = made.pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "# wait for the socket"
    slide.notes_slide.notes_text_frame.text = "# then drain"
    for text in (read(rich, "a.rtf").text, read(made.saved(deck), "a.pptx").text):
        assert "\\# wait for the socket" in text
    assert "Notes: \\# then drain" in text


def test_notes_and_page_headers_of_rich_text_are_read() -> None:
    rich = rb"{\rtf1{\header\pard Secret\par}\pard Ports{\footnote Since May} are open\par}"
    assert read(rich, "a.rtf").text.split() == ["Secret", "Ports", "Since", "May", "are", "open"]


def test_text_boxes_of_a_word_document_are_read_once() -> None:
    box = "<w:txbxContent><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:txbxContent>"
    choice = f"<wps:txbx>{box.format('The zebra is drawn.')}</wps:txbx>"
    drawing = "<w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing>{}</w:drawing></mc:Choice>{}</mc:AlternateContent></w:r>"
    both = drawing.format(choice, f"<mc:Fallback><w:pict>{choice}</w:pict></mc:Fallback>")
    alone = drawing.format(choice.replace("zebra", "owl"), "")
    old = (
        f"<w:r><w:pict><v:shape><v:textbox>{box.format('The lark too.')}</v:textbox></v:shape></w:pict></w:r>"
    )
    text = read(made.word_of(f"<w:r><w:t>Before.</w:t></w:r>{both}{alone}{old}"), "a.docx").text
    assert text == "Before.\n\nThe zebra is drawn.\n\nThe owl is drawn.\n\nThe lark too."


def test_an_outlook_message_is_read_as_an_email() -> None:
    found = read(made.old("plan.msg"), "plan.msg")
    assert (found.kind, found.title, found.metadata["to"]) == ("email", "Über the deploy", "bob@example.org")
    assert "Roll back first. €" in found.text and "## notes.txt\n\nThe walrus moves." in found.text


@pytest.mark.parametrize(
    "name", ["deps.dot", "config.pkl", "cube.obj", "trace.out", "Pose.msg", "readme.doc"]
)
def test_text_is_read_whatever_its_name_suggests(name: str) -> None:
    assert read(b"port: Int = 8443\n", name).text == "port: Int = 8443\n"


def mail_of(message: EmailMessage) -> str:
    message["From"], message["Subject"] = "ann@example.org", "Plan"
    return read(bytes(message), "a.eml").text


def test_an_invitation_and_attached_sources_are_read_and_an_unreadable_log_is_not() -> None:
    message = EmailMessage()
    message.set_content("Please come.")
    message.add_alternative("SUMMARY:Meeting", subtype="calendar")
    for name, data in {"a.py": b"def plover(): ...", "b.log": bytes(range(200))}.items():
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    text = mail_of(message)
    assert all(
        part in text
        for part in ("Please come.", "SUMMARY:Meeting", "## a.py\n\n```python\ndef plover(): ...\n```")
    )
    assert "Attachments: a.py, b.log" in text and "## b.log" not in text


def test_no_line_of_a_plain_mail_becomes_a_heading_except_one_above_a_long_rule() -> None:
    message = EmailMessage()
    message.set_content(
        "# df -h\n\nAgenda\n------\n\n```\n# ls\n```\n\nSigned-off-by: A\n---\n a.c | 2\n\nRegards\n-- \nAnn"
    )
    message.add_attachment("# a comment", filename="notes.txt")
    text = mail_of(message)
    parts = (
        "\\# df -h\n",
        "Agenda\n------\n",
        "\n# ls\n",
        "A\n\n---\n",
        "Regards\n\n-- \nAnn",
        "\\# a comment",
    )
    assert all(part in text for part in parts)
    headings = [chunk.headings[-1] for chunk in chunks(text, "email")]
    assert headings == ["Plan", "Agenda", "notes.txt"]


def test_documents_that_are_attached_to_a_mail_are_read() -> None:
    message = EmailMessage()
    message.set_content("See below.")
    pdf = made.pdf([["The zebra report"]])
    for name, data in (
        ("deploy.docx", made.word()),
        ("report", pdf),
        ("cut.pdf", pdf[:9]),
        ("large.pdf", pdf + b"\n" * 1_000_000),
        ("a.zip", b"PK\3\4"),
    ):
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    text = mail_of(message)
    assert "## deploy.docx\n\n# The first step" in text and text.endswith("## report\n\nThe zebra report")
    assert "Attachments: deploy.docx, report, cut.pdf, large.pdf, a.zip" in text
    line = b"From ann@example.org Mon May  6 10:00:00 2024\n"
    assert "zebra" not in read(line + bytes(message), "a.mbox").text


def test_forwarded_mails_and_attached_texts_are_read() -> None:
    inner = EmailMessage()
    inner["From"], inner["Subject"] = "cy@example.org", "Window"
    inner.set_content("<p>It <b>starts</b> in May.</p>", subtype="html")
    outer = EmailMessage()
    outer.set_content("See below.")
    outer.add_attachment(inner)
    outer.add_attachment("The walrus moves.", filename="notes.txt")
    outer.add_attachment("Second part.", disposition="inline")
    assert mail_of(outer) == (
        "# Plan\n\nFrom: ann@example.org\nAttachments: message/rfc822, notes.txt\n\nSee below.\n\n## Window\n\n"
        "From: cy@example.org\n\nIt **starts** in May.\n\n## notes.txt\n\nThe walrus moves.\n\nSecond part."
    )


MAIL = "From: Ann <ann@example.org>\nSubject: {}\nContent-Type: {}\n\n{}\n"


def test_a_mailbox_is_read_as_its_mails() -> None:
    coded = MAIL.format(
        "=?utf-8?q?Gr=C3=B6=C3=9Fe?=", "text/plain\nContent-Transfer-Encoding: base64", "b3dsIDE="
    )
    plain = MAIL.format("Two", "text/plain", "owl 2\n\n>From here on we go.\n\nFrom me, at 10:00\nowl 3")
    line = "From ann@example.org Mon May  6 10:00:00 2024\n"
    for name in ("a.mbox", "Inbox"):
        found = read(f"{line}{coded}\n{line}{plain}".encode(), name)
        assert (found.kind, found.title) == ("email", None)
        assert found.text == (
            "# Größe\n\nFrom: Ann <ann@example.org>\n\nowl 1\n\n"
            "# Two\n\nFrom: Ann <ann@example.org>\n\nowl 2\n\nFrom here on we go.\n\nFrom me, at 10:00\nowl 3"
        )


@pytest.mark.parametrize(
    ("encoding", "kind", "words"),
    [
        ("utf-8-sig", "text/plain; charset=us-ascii", "Größe läuft täglich"),
        ("cp1252", "text/plain", "Größe läuft täglich"),
        ("cp1251", "text/plain; charset=windows-1251", "Сервер готов к работе"),
        ("cp1252", "text/html; charset=iso-8859-1", "it costs 5 €\u2026"),
    ],
)
def test_letters_of_a_mail_are_right_in_its_headers_and_its_text(
    encoding: str, kind: str, words: str
) -> None:
    found = read(MAIL.format(words, kind, words).encode(encoding), "a.eml")
    assert (found.title, found.text) == (words, f"# {words}\n\nFrom: Ann <ann@example.org>\n\n{words}")


def test_coded_words_of_a_subject_are_read_in_the_encoding_that_is_meant() -> None:
    coded = [
        quopri.encodestring(word.encode(code), header=True).decode()
        for word, code in (("朱镕基", "gbk"), ("5 €", "cp1252"))
    ]
    subject = f"=?gb2312?q?{coded[0]}?= =?iso-8859-1?Q?{coded[1]}?="
    assert read(MAIL.format(subject, "text/plain", "text").encode(), "a.eml").title == "朱镕基5 €"


def test_a_form_for_certain_programs_does_not_repeat_the_text() -> None:
    message = EmailMessage()
    message.set_content("The owl is here.")
    message.add_alternative("<amp>The owl is here.</amp>", subtype="x-amp-html")
    message.add_alternative("<p>The owl is here.</p>", subtype="html")
    assert mail_of(message).count("owl") == 1


def test_a_saved_page_and_names_of_inline_files_are_read() -> None:
    page = "--b\nContent-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n<h2>Owl=C3=A9</h2>\n"
    style = "--b\nContent-Type: text/css\n\nbody { color: red }\n--b--"
    saved = read(MAIL.format("Owls", "multipart/related; boundary=b", page + style).encode(), "a.mhtml")
    assert saved.text == "# Owls\n\nFrom: Ann <ann@example.org>\n\n## Owlé"
    file = "--b\nContent-Type: application/pdf\nContent-Disposition: inline; filename=a.pdf\n\n%PDF\n--b--"
    text = read(MAIL.format("Back", "multipart/mixed; boundary=b", file).encode(), "a.eml").text
    assert text.endswith("Attachments: a.pdf")


def test_the_reason_why_a_mail_was_refused_is_read() -> None:
    report = "--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; a\n\nStatus: 5.1.1 no such owl\n--b--"
    text = read(MAIL.format("Back", "multipart/report; boundary=b", report).encode(), "a.eml").text
    assert text.endswith("Reporting-MTA: dns; a\n\nStatus: 5.1.1 no such owl")


@pytest.mark.parametrize(
    ("plain", "wins"),
    [
        ("", False),
        ("Your client shows no HTML.", False),
        ("The HTML is in your browser.", False),
        ("The key is owl, until May.", True),
    ],
)
def test_an_empty_plain_text_part_is_replaced_by_the_html_part(plain: str, wins: bool) -> None:
    message = EmailMessage()
    message.set_content(plain)
    message.add_alternative("<p>The <b>key</b> is owl, until May.</p>", subtype="html")
    assert ("The **key** is owl" not in mail_of(message)) == wins


def rows_drawn(*rows: str) -> str:
    """The text of a PDF with these rows, whose cells are drawn far from each other."""

    def draw(canvas: made.Canvas) -> None:
        for at, row in enumerate(rows):
            for column, cell in enumerate(row.split("|")):
                if cell:
                    canvas.drawString(50 + 270 * column, 780 - 14 * at, cell)

    return read(made.drawn(draw), "a.pdf").text


def test_columns_of_a_pdf_are_read_one_after_the_other() -> None:
    text = rows_drawn(
        "The godwit cache keeps its|The lapwing queue tries again",
        "pages for ninety minutes|eleven times and then parks",
        "and drops them without notice.|the message for a person",
        "|who looks at it on Monday.",
    )
    assert " ".join(text.split()) == (
        "The godwit cache keeps its pages for ninety minutes and drops them without notice. "
        "The lapwing queue tries again eleven times and then parks the message for a person who looks at it on Monday."
    )


def test_a_table_in_a_pdf_becomes_a_table() -> None:
    text = rows_drawn(
        "A list of ports and of who keeps them",
        "Name|Port",
        "auth|443",
        "mail|",
        "wren|7101",
        "",
        "",
        "",
        "That is all.",
    )
    assert "| Name | Port |\n|---|---|\n| auth | 443 |\n| mail | |\n| wren | 7101 |" in text
    assert text.startswith("A list of ports") and text.endswith("That is all.")


def test_fields_and_comments_of_a_pdf_are_read() -> None:
    def draw(canvas: made.Canvas) -> None:
        canvas.drawString(50, 800, "Server name:")
        canvas.acroForm.textfield(name="server", value="oystercatcher-07", x=150, y=790)
        canvas.drawString(50, 760, "Approved:")
        canvas.acroForm.checkbox(name="ok", checked=True, x=150, y=755)
        canvas.acroForm.choice(name="place", value="eu", options=["eu", "us"], x=300, y=600)
        canvas.textAnnotation("Ask the stork", Rect=[10, 10, 30, 30])

    text = read(made.drawn(draw), "a.pdf").text
    assert text.split("\n")[2:] == [
        "server: oystercatcher-07",
        "ok: [x]",
        "place: eu",
        "Comment: Ask the stork",
    ]


def test_page_headers_of_a_pdf_are_included_once() -> None:
    pages = [
        ["Handbook of owls", f"Page {n}", f"Owl {n} is the", "first", "of all", f"that has {n} eggs"]
        for n in (1, 2, 3)
    ]
    text = read(made.pdf(pages), "a.pdf").text
    assert text.count("Handbook of owls") == 1 and "Page 3" not in text
    assert all(f"Owl {n} is the\nfirst" in text and f"that has {n} eggs" in text for n in (1, 3))


def test_a_word_hyphenated_at_a_line_end_of_a_pdf_is_joined_and_keeps_its_own_hyphen() -> None:
    text = read(
        made.pdf([["The infor-", "mation is well-", "known and state-of-the-", "art."]]), "a.pdf"
    ).text
    assert " ".join(text.split()) == "The information is well-known and state-of-the-art."


@pytest.mark.parametrize("page", [0, 90, 270])
def test_lines_that_are_turned_on_a_pdf_page_stay_apart(page: int) -> None:
    def draw(canvas: made.Canvas) -> None:
        canvas.setPageRotation(page)
        canvas.translate(400, 100)
        canvas.rotate(90)
        for number, line in enumerate(("Host Port", "lark 8443", "tern 80")):
            canvas.drawString(0, 100 - 20 * number, line)

    assert read(made.drawn(draw), "a.pdf").text == "Host Port\nlark 8443\ntern 80"


def notebook_of(*outputs: dict[str, object], cells: Sequence[object] = ()) -> str:
    cell = {"cell_type": "code", "source": "run()", "outputs": list(outputs)}
    return read(json.dumps({"cells": [cell, *cells], "metadata": {}}).encode(), "a.ipynb").text


def test_outputs_of_a_notebook_are_read_as_displayed() -> None:
    table = {"data": {"text/plain": "model 0.88", "text/html": "<table><tr><th>model<tr><td>0.88</table>"}}
    assert "| model |\n| --- |\n| 0.88 |" in notebook_of(table)
    prose = {"data": {"text/plain": "<IPython.core.display.Markdown object>", "text/markdown": ["**Good**"]}}
    assert notebook_of(prose) == "```python\nrun()\n```\n\n**Good**"
    log = {"name": "stdout", "text": [f"epoch {n}\n" for n in range(900)] + ["accuracy 0.97"]}
    assert "epoch 1\n" in notebook_of(log) and "accuracy 0.97\n```" in notebook_of(log)
    bar = {"name": "stderr", "text": "  0%\r 50%\r100% done\r\nend\r"}
    assert "```text\n100% done\r\nend" in notebook_of(bar)
    assert "$a/b$" in notebook_of({"data": {"text/plain": "a/b", "text/latex": ["$a/b$"]}})
    values = {"text/plain": "<IPython.core.display.JSON object>", "application/json": {"bird": "veery"}}
    assert '{"bird": "veery"}' in notebook_of({"data": values})
    error = {
        "ename": "KeyError",
        "evalue": "'owl'",
        "traceback": ["\x1b[31mTraceback\x1b[0m", "run.py line 7"],
    }
    assert "Traceback\nrun.py line 7\nKeyError: 'owl'" in notebook_of(error)


def test_an_odd_notebook_cell_affects_no_other_cell() -> None:
    shown = {"output_type": "stream", "text": "shown"}
    odd = [None, {"source": 3}, {"cell_type": "code", "source": None, "outputs": [7, shown]}]
    assert notebook_of(cells=[*odd, {"cell_type": "markdown", "source": "the end"}]).endswith(
        "```text\nshown\n```\n\nthe end"
    )


def test_cells_of_a_workbook_are_read_as_displayed() -> None:
    file = io.BytesIO()
    book = made.xlsxwriter.Workbook(file)
    sheet = book.add_worksheet("Shares")
    sheet.write_row(0, 0, ["name", "share", "time", "sum", "error", 0.1 + 0.2])
    sheet.write_string(1, 0, "tern")
    sheet.write_number(1, 1, 0.125, book.add_format({"num_format": "0.0%"}))
    sheet.write_number(1, 2, 30 / 24 + 5 / 1440, book.add_format({"num_format": "[h]:mm"}))
    sheet.write_formula(1, 3, "=B2*2", value="")
    sheet.write_formula(1, 4, "=1/0", value="#DIV/0!")
    sheet.write_comment(1, 0, "Ask the stork")
    sheet.merge_range(2, 0, 2, 1, "both")
    sheet.write_comment(9, 9, "Ask the crane")
    sheet.insert_textbox(4, 0, "Drawn here")
    book.close()
    assert read(file.getvalue(), "a.xlsx").text == (
        "# Shares\n\n| name | share | time | sum | error | 0.3 |\n|---|---|---|---|---|---|\n"
        "| tern (comment: Ask the stork) | 12.5% | 30:05 | =B2*2 | #DIV/0! | |\n| both | both | | | | |\n"
        "| (comment: Ask the crane) | | | | | |\n\nDrawn here"
    )
