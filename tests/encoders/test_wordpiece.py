"""The tokenizer of the bundled model gives the same tokens as the package `tokenizers`."""

import sys
import unicodedata
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.encoders.bundled import FOLDER, VOCABULARY
from scrubjay.encoders.wordpiece import WordPiece

tokenizers = pytest.importorskip("tokenizers")

MOVED = {0x166D, 0x1734, 0x1885, 0x1886}  # characters whose Unicode category has changed since
NASTY = [
    "",
    " \t\r\n\x0b\x0c\x1c\x85\xa0\u1680\u2028\u2029\u3000",
    "a\x00b\ufffdc\u200bd\u200de\ufefff\u180eg\xadh",
    "ΣΊΣΥΦΟΣ ΟΔΟΣ. İstanbul ẞ ß ﬁ ǅ",
    "e\u0301 é n\u0303\u0323 ậ Å Å \u0345",
    "한국어 각 ᄀ가 가",
    "東京タワーは高い。が 𠀀 豈 \U0002f800 \U0002b820 \U0002b920",
    "🦜👩‍👩‍👧‍👦🇬🇧👍🏽 ☕️",
    "don't x_y a.b:c $5 <a+b=c>^`|~ “q” — …; \u037e \u2126 K",
    "[CLS] [SEP][MASK] [unk] [UNK]s [PAD [PAD]] ##ing [unused1] [ CLS]",
    "a" * 100 + " " + "b" * 101 + " " + "é" * 100 + " " + "각" * 40,
    "नमस्ते ไทย สวัสดี שָׁלוֹם مَرْحَبًا ভাষা",
    "\u0301\u0301 \u3099 \u1100\u1161",
    "https://example.org/a_b?c=%20&d#e C:\\x\\y 0xDEADBEEF 3.14159 1e-9",
]


@cache
def theirs() -> Any:
    alike = tokenizers.BertWordPieceTokenizer(str(FOLDER / VOCABULARY), lowercase=True)
    alike.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return alike


@cache
def ours() -> WordPiece:
    return WordPiece(FOLDER / VOCABULARY)


def is_old(character: str) -> bool:
    """Return True if Unicode 3.2 had the character: both sides know its category."""
    return unicodedata.ucd_3_2_0.category(character) != "Cn" and ord(character) not in MOVED


def check(text: str) -> None:
    encoding = theirs().encode(text, add_special_tokens=False)
    assert ours().ids(text) == encoding.ids
    spans = zip(encoding.tokens, encoding.offsets, strict=True)
    unknown = "".join(text[start:end] for token, (start, end) in spans if token == "[UNK]")
    assert sum(map(str.isalpha, ours().unknown(text))) == sum(map(str.isalpha, unknown))
    places = ours().places(text)
    assert len(places) == len(encoding.ids) or "[" in text  # a special token has no offsets
    assert all(0 <= start < end <= len(text) for start, end in places)


@pytest.mark.parametrize(
    "text", ["Don't rename user_profile_id, naïve Zoë!", "東京 tower\n\tport=8421 (unhappily)", " é" * 60]
)
def test_tokens_have_the_offsets_that_the_package_gives(text: str):
    offsets = theirs().encode(text, add_special_tokens=False).offsets
    assert ours().places(text) == offsets


@pytest.mark.parametrize("text", NASTY)
def test_texts_with_marks_of_any_script_are_cut_as_the_package_cuts_them(text: str) -> None:
    check(text)


PIECES = st.sampled_from([*"aAeéß.,-'[]#0 \n\u0301각東🦜", "[CLS]", "##", "ing", "the", "zebra"])


@given(st.text(st.characters(exclude_categories=["Cs"]).filter(is_old)) | st.lists(PIECES).map("".join))
def test_any_text_is_cut_as_the_package_cuts_it(text: str) -> None:
    check(text)


@pytest.mark.long
def test_every_character_is_read_as_the_package_reads_it() -> None:
    characters = map(chr, range(sys.maxunicode + 1))
    every = [one for one in characters if unicodedata.category(one) not in ("Cs", "Co", "Cn")]
    encodings = theirs().encode_batch([f"a{character}b" for character in every], add_special_tokens=False)
    differing = [
        character
        for character, encoding in zip(every, encodings, strict=True)
        if ours().ids(f"a{character}b") != encoding.ids
    ]
    assert not set(filter(is_old, differing))
    assert not set(differing) & set("".join(ours().tokens))
    assert len(differing) < 1_000
