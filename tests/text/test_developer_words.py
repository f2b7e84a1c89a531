"""The dictionary of developers' words: the kinds in a text, the kinds in a question, and that neither is
shown.
"""
# ruff: noqa: RUF001 - letters of other alphabets are the point here

from __future__ import annotations

import contextlib
import difflib
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from said import document, embedded, fact, search, texts, turn

from scrubjay.cli.command import Place
from scrubjay.cli.doctor import PROBLEM, guarded
from scrubjay.cli.doctor import words as doctor_words
from scrubjay.engine.core import Core, use_words
from scrubjay.errors import InputError
from scrubjay.home.paths import Home
from scrubjay.text import developer_words
from scrubjay.text.developer_words import IN_USE, gloss, read_own, searched_words
from scrubjay.text.languages import function_words
from scrubjay.text.terms import STOP

TSV = Path(developer_words.__file__).parent
DICTIONARY = developer_words.parse(*developer_words._shipped())
PACKAGES = "package manager"


@pytest.fixture(autouse=True)
def shipped() -> Iterator[None]:
    yield
    IN_USE.extend()


def rows(name: str) -> list[list[str]]:
    lines = (TSV / name).read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def names() -> list[tuple[str, list[str]]]:
    """Each name of the shipped file, with its kinds."""
    return [
        (name.strip(), [kind.strip() for kind in kinds.split(";")])
        for spellings, kinds in rows("names.tsv")
        for name in spellings.split(",")
    ]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("We use pnpm.", (PACKAGES,)),
        ("WE USE PNPM!", (PACKAGES,)),
        ("Pnpm's lockfile", (PACKAGES,)),
        ("a pnpmrc file, npmish", ()),  # whole words alone
        ("We use Slack.", ("chat",)),
        ("There is some slack in the plan.", ()),  # another word in lower case
        ("Deployed with .NET 8.", ("programming language",)),
        ("5,000 NET of tax, net worth", ()),
        ("A service in C# on ASP.NET Core", ("programming language", "web framework")),
        ("Rose\u0301 Pine", ("colour theme",)),  # as macOS spells it
        ("AWS Lambda", ("serverless functions", "cloud provider")),  # not AWS and then something else
        ("GitHub Actions builds it", ("continuous integration",)),  # and no code hosting
        ("Postgres is the relational database", ()),  # already has the word
        ("Prisma is the object-relational mapper here", ("schema migrations",)),
        ("Cats love my cat.", ("pet",)),
        ("cat the file", ()),
        ("Go to the settings and go on", ()),
        ("The gateway is written in Go.", ("programming language",)),
        ("Julia owns billing, Hugo and Ray review it, Pascal signs.", ()),
        ("20 °C, vitamin C, plan C", ()),
        ("ses fichiers, nas máquinas, los puertos son 8080, ir a casa, è stata", ()),
        ("Die Datenbank ist groß.", ("relational database",)),
        ("用pnpm安装", (PACKAGES,)),
        ("Redisを使う", ("cache", "NoSQL database", "message queue")),
        ("", ()),
    ],
)
def test_kinds_are_recognised_by_the_names_in_a_text(text: str, kinds: tuple[str, ...]):
    assert DICTIONARY.kinds_in(text) == kinds


def test_a_long_list_of_names_has_only_a_few_kinds():
    listing = "pnpm, Postgres, Jest, Terraform, Slack, Figma, Sentry, Stripe, Vim"
    assert len(DICTIONARY.kinds_in(listing)) == developer_words.MOST_KINDS


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("which package manager do we use?", PACKAGES),
        ("how do I install dependencies", PACKAGES),
        ("welche Paketverwaltung nutzen wir?", PACKAGES),
        ("quel gestionnaire de paquets ?", PACKAGES),
        ("¿qué gestor de paquetes usamos?", PACKAGES),
        ("我们使用什么包管理器？", PACKAGES),
        ("パッケージマネージャーは何ですか", PACKAGES),
        ("welche Datenbank?", "relational database"),
        ("quelle base de données ?", "relational database"),
        (unicodedata.normalize("NFD", "quelle base de données ?"), "relational database"),
        ("用什么向量数据库", "vector database"),
        ("which OS?", "operating system"),
        ("real time operating system", "real-time operating system"),
    ],
)
def test_questions_name_kinds_in_several_languages(question: str, kind: str):
    assert kind in DICTIONARY.asked(question)


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("用什么向量数据库", ("vector database",)),
        ("which vector database?", ("vector database",)),
        ("do we use pnpm?", ()),
    ],
)
def test_only_the_longest_phrase_asks_for_a_kind_and_a_name_never(question: str, kinds: tuple[str, ...]):
    assert DICTIONARY.asked(question) == kinds


def test_a_home_can_replace_and_remove_shipped_words():
    own = "Frobnik, frob CLI\tbuild farm; package manager\r\nExcel\t-\n=Zorp\tchat\n飞书\tchat\nЯндекс\tsearch engine"
    extended = developer_words.parse(*developer_words._shipped(), own)
    assert extended.kinds_in("frobnik") == ("build farm", PACKAGES)
    assert extended.kinds_in("the frob cli") == ("build farm", PACKAGES)
    assert extended.kinds_in("an Excel sheet") == ("spreadsheet",) and extended.kinds_in("in Excel") == ()
    assert extended.kinds_in("Zorp") == ("chat",) and extended.kinds_in("zorp") == ()
    assert extended.kinds_in("我们用飞书") == ("chat",) and extended.kinds_in("через Яндекс") == (
        "search engine",
    )
    assert extended.asked("我们用飞书") == ()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("frobnik", "line 3 = 'frobnik': must be a name, a tab and its kinds"),
        ("frobnik package manager", "line 3 = 'frobnik package manager': must"),
        ("frobnik\t", "line 3 = 'frobnik': must"),
        ("\tpackage manager", "line 3 = 'package manager': must"),
        ("???\tpackage manager", r"line 3: the name '\?\?\?' has no letter or digit"),
    ],
)
def test_a_damaged_line_is_named(line: str, says: str):
    with pytest.raises(InputError, match=says):
        developer_words.parse("", f"# mine\nzorp\tchat\n{line}\n")


def test_the_files_are_sorted_and_have_no_duplicates():
    for file in ("kinds.tsv", "names.tsv"):
        firsts = [row[0].split(",")[0].lstrip("=").casefold() for row in rows(file)]
        assert firsts == sorted(firsts), file
    spelled = [developer_words._plain(name) for name, _ in names()]
    assert sorted(spelled) == sorted(set(spelled))
    languages = [line.split("\t")[0] for line in (TSV.parent / "function_words.tsv").read_text().splitlines()]
    assert sorted(languages[1:]) == sorted(set(languages[1:])) and languages[0].startswith("#")


def test_kinds_are_spelled_consistently():
    """The other kinds spell out an abbreviation, and questions use no other words for them."""
    assert all(len(row) == 3 for row in rows("kinds.tsv"))
    used = {kind for _, kinds in names() for kind in kinds}
    assert set(DICTIONARY.kinds) <= used
    unknown = {kind for kind in used if kind not in DICTIONARY.kinds}
    near = {kind: difflib.get_close_matches(kind, DICTIONARY.kinds, 1, 0.86) for kind in unknown}
    assert not {kind: close for kind, close in near.items() if close}
    often = [kind for kind in unknown if sum(kind in kinds for _, kinds in names()) > 8]
    assert not often, "many names are of a kind that nothing says how to ask by"
    assert not [kind for kind in used if "," in kind]


def test_no_name_is_a_common_word():
    common = set().union(*function_words().values()) | set(STOP)
    found = [name for name, _ in names() if not name.startswith("=") and name.casefold() in common]
    assert found == ["CI"]  # which French has in `ceux-ci`
    asked_by = [each for kind in DICTIONARY.kinds.values() for each in (*kind.others, *kind.foreign)]
    assert [each for each in asked_by if each.casefold() in common] == ["CI"]


EVERYDAY = """
about after again all at back bar base batch beam bear board book boot box branch brew build cargo case cat chart
check chef clean clear close cloud coffee cold common compass copy core crystal cube cut dart data date day deep
dev do done door down dry ease edge end excel fast feed file find fine fire fish flat flow fly form free front
full gate gem get ghost go gold good green group hand harbor hash have head help hive home hot hub image in info
iron job join keep key kind kit known label lab leaf less level light line linear link list live load local lock
log look loop mail main make man map mark match matter meet memory metal mine mint mode moon more most move much
name near need nest new next node none note notion now number object off old on one open order out over pack page
parcel part pass past path pick pin ping place plain plan play plot plus point port post power press print probe
process pulse pump pure push put queue quick race rack radix rails ray read ready real realm record red release
remix report rest ring rise road rock room root round row rule run safe sail salt same save scheme scrub send
sense set share shell ship shiny short show side signal simple single site size slack slow small smart snap snow
soap solid some sound space spark speed spring square stack stage start state station steam step stone stop store
storm story stream string strong style sun swift switch table tag take talk tap task team tempo term test text
then thread through tide time to token tool top touch tower track train tree true trust try turn unity unit up
use user vault version view wait wall water wave way web week well west whale while white wide wild will wind
window windows wire word work world wrap write yes zero zoom
""".split()


def test_no_everyday_word_counts_as_a_tool():
    kinds = {word: found for word in EVERYDAY if (found := DICTIONARY.kinds_in(word))}
    assert kinds == {"coffee": ("drink",)}


@pytest.mark.parametrize(
    "unit", ["pnpm ", "Amazon ", "Go ", "a", "a.", "..", "向量", "数据库", "é", "e\u0301", "\t", "="]
)
def test_a_hostile_text_is_read_quickly(unit: str):
    text = unit * (1_000_000 // len(unit))
    started = time.process_time()
    DICTIONARY.kinds_in(text)
    DICTIONARY.asked(text)
    assert time.process_time() - started < 0.1
    line = f"{unit * 100_000}\n"
    started = time.process_time()
    with contextlib.suppress(InputError):
        developer_words.parse("", line)
    assert time.process_time() - started < 0.5


def test_a_gloss_follows_the_dictionary_in_use():
    assert gloss("frobnik and pnpm") == PACKAGES
    before = IN_USE.version
    IN_USE.extend("frobnik\tbuild farm")
    assert gloss("frobnik and pnpm") == f"build farm, {PACKAGES}" and IN_USE.version != before
    assert searched_words("build farm, linter").startswith("build farm linter lint")
    with pytest.raises(InputError):
        IN_USE.extend("frobnik")
    assert gloss("frobnik") == "build farm"
    IN_USE.extend()
    assert gloss("frobnik") == "" and IN_USE.version == before


async def test_a_gloss_is_searched_and_never_shown(core: Core, tmp_path: Path):
    await fact(core, "Atlas uses pnpm, never npm.")
    await fact(core, "The heron nests behind the mill.")
    await turn(core, "s", user="And what lints it?", assistant="Ruff does, with 110 columns.")
    await embedded(core)
    hits = await search(core, "which package manager", include={"explain": True})
    assert texts(hits)[0] == "Atlas uses pnpm, never npm."
    assert texts(await search(core, "welche Paketverwaltung"))[0] == "Atlas uses pnpm, never npm."
    linted = await search(core, "which linter", include={"explain": True}, prev_turns=1)
    assert "Ruff does" in linted.model_dump_json()
    await core.exchange.export(str(tmp_path / "all.jsonl"), None, lambda *_: None)
    exported = (tmp_path / "all.jsonl").read_text()
    shown = hits.results[0].model_dump_json() + linted.results[0].model_dump_json() + exported
    assert "pnpm, never npm" in exported
    for kind in (PACKAGES, "package registry", "linter", "formatter"):
        assert kind not in shown.lower()
    rows = await core.store.passages.select("true")
    assert rows and not [row for row in rows if "package" in row.text or "linter" in row.text]


async def test_only_facts_and_short_turns_are_embedded_with_a_gloss(core: Core):
    long = "We use pnpm. " + "The heron nests behind the mill, as it did before. " * 8
    said = {
        "fact": (await fact(core, "Atlas uses pnpm.")).id,
        "bare": (await fact(core, "The heron nests.")).id,
        "turn": (await turn(core, "s", user="With pnpm?", assistant=long)).id,
        "page": (await document(core, "We use pnpm.")).id,
    }
    await core.writer.settle()
    rows = await core.store.passages.select("true")
    by = {(name, row.role): row for row in rows for name, id in said.items() if row.record_id == id}
    glossed = by["fact", None]
    assert glossed.text == "Atlas uses pnpm." and glossed.embed_text == f"Atlas uses pnpm. ({PACKAGES})"
    assert "install dependencies" in glossed.search_text
    assert (by["bare", None].embed_text, by["bare", None].search_text) == (None, "The heron nests.")
    assert by["turn", "user"].embed_text == f"With pnpm? ({PACKAGES})"
    assert by["turn", "assistant"].embed_text is None and PACKAGES in by["turn", "assistant"].search_text
    assert by["page", None].embed_text is None and PACKAGES not in by["page", None].search_text


def test_the_doctor_names_the_damaged_line_of_a_home(home: Home, tmp_path: Path):
    place = Place({}, str(tmp_path), home.root)
    assert list(guarded("words", doctor_words, place)) == []
    Path(home.words).write_bytes(b"\xef\xbb\xbf# mine\nFrobnik\tpackage manager\n")  # as Notepad writes
    (good,) = guarded("words", doctor_words, place)
    assert good.verdict == "ok" and read_own(home)[0].startswith("# mine")
    for content, says in (
        (
            b"Frobnik\tpackage manager\nzorp chat\n",
            "line 2 = 'zorp chat': must be a name, a tab and its kinds.",
        ),
        (b"Frobnik\tpackage manager\nz\xffrp\tchat\n", "line 2 is not UTF-8."),
        (b"x" * 1_000_001, "it cannot be read: it has more than 1,000,000 bytes."),
    ):
        Path(home.words).write_bytes(content)
        (bad,) = guarded("words", doctor_words, place)
        assert (
            bad.verdict == PROBLEM and f"{home.words}, {says}" in bad.message and "words.tsv" in bad.message
        )
        use_words(home)  # which the engine does
        assert gloss("frobnik") == "" and gloss("pnpm") == PACKAGES and not IN_USE.is_whole
    Path(home.words).unlink()
    Path(home.words).mkdir()
    (bad,) = guarded("words", doctor_words, place)
    assert bad.verdict == PROBLEM and "cannot be read" in bad.message
