"""Languages other than English: found by words, quoted, with their neighbours; the default model does not
embed what it cannot read.
"""
# ruff: noqa: RUF001 - letters of other alphabets are the point here

from __future__ import annotations

import time
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from asked import call
from mcp import Client
from said import embedded, fact, search, turn

from scrubjay.encoders import open_encoder
from scrubjay.engine.core import Core
from scrubjay.text import languages
from scrubjay.text.languages import function_words, language_of, without_function_words
from scrubjay.text.terms import query_terms, words

SAID = {  # the text, then possible questions
    "Мы перенесли службу заказов с REST на gRPC.": ["служба gRPC заказов", "ПЕРЕНЕСЛИ СЛУЖБУ"],
    "我们决定把缓存换成Redis,过期时间是十分钟。": ["缓存", "过期时间是多少", "Redis 缓存"],
    "昨日、依存関係を更新しました。": ["依存関係", "依存関係はいつ更新したか"],
    "新しいデータベースはSQLiteに決めた。": ["データベース", "データベースは何に決めた?"],
    "배포는 화요일과 목요일에만 합니다.": ["배포", "배포는 언제 하나요"],
    "La configuración está en el módulo de facturación.": ["configuracion", "módulo facturación"],
    "Der Zugang für Prüfer läuft über den Größenfilter.": ["grössenfilter", "Größenfilter", "prufer zugang"],
    "Η ανάπτυξη γίνεται κάθε Τρίτη.": ["ανάπτυξη", "ΑΝΆΠΤΥΞΗ"],
    "הגיבוי רץ בכל לילה.": ["הגיבוי", "גיבוי הגיבוי לילה"],
    "يعمل النسخ الاحتياطي كل ليلة.": ["النسخ الاحتياطي"],
    "डेटाबेस का बैकअप रात में चलता है।": ["बैकअप", "डेटाबेस बैकअप"],
    "การสำรองข้อมูลทำงานทุกคืน": ["การสำรองข้อมูลทำงานทุกคืน"],
    "İstanbul sunucusu gece yedeklenir.": ["İstanbul", "istanbul sunucusu"],
}


@pytest.mark.parametrize("form", ["NFC", "NFD"])
async def test_a_turn_in_any_language_is_found_by_its_words(core: Core, form: str):
    for said in SAID:
        await fact(core, unicodedata.normalize(form, said))
    await core.store.flush()
    for said, queries in SAID.items():
        for query in queries:
            for spelled in (query, unicodedata.normalize("NFD", query)):
                best = (await core.store.passages.by_words(query_terms(spelled), "true", 1)).row_ids.tolist()
                rows = await core.store.passages.read(best)
                assert [rows[each].text for each in best] == [unicodedata.normalize(form, said)], query


@pytest.mark.parametrize(
    ("said", "query"),
    [
        ("Мы решили хранить пароли с помощью Argon2id.", "хранить пароли с помощью"),
        ("我们决定把订单服务迁移到新的集群。", "把订单服务迁移到"),
        ("昨日、依存関係を更新しました。", "依存関係を更新"),
        ("배포는 화요일과 목요일에만 합니다.", "화요일과 목요일에만"),
        ("La configuración está en el módulo.", "configuración está en el módulo"),
    ],
)
async def test_a_quotation_is_recognised_in_any_language(core: Core, said: str, query: str):
    await fact(core, "Nothing of the kind.")
    await fact(core, said)
    hit = (await search(core, query, top_k=1)).results[0]
    assert hit.memory == said and hit.relevance_score >= 0.9


async def test_a_chinese_turn_has_a_window_too(client: Client):
    for number, said in enumerate(["先看日志。", "缓存的过期时间改成十分钟。", "好的,谢谢。"]):
        await call(client, "record_turn", session_id="会话", user=said, ts=f"2026-03-01T09:0{number}:00Z")
    found, text = await call(
        client, "search_memories", query="缓存过期时间", top_k=1, prev_turns=1, next_turns=1
    )
    assert found["results"][0]["turn"] == 1 and [hit["turn"] for hit in found["related"]] == [0, 2]
    assert text.index("十分钟") < text.index("先看日志") < text.index("谢谢")


async def test_code_names_inside_a_sentence_without_spaces_are_found(core: Core):
    await turn(core, "a", user="http_clientの再試行を直した")
    await turn(core, "b", user="別の話をした")
    await embedded(core)
    assert (await search(core, "HttpClient", top_k=1)).results[0].session_id == "a"


def test_text_that_the_model_cannot_read_gets_no_vector() -> None:
    encoder = open_encoder()
    for unread in ("缓存的过期时间是多少", "订单服务为什么用gRPC", "ฐานข้อมูลใหม่"):
        asked = encoder.embed_question(unread)
        assert not np.any(asked.vector) and asked.tokens is None and asked.prior == 0
    for read in ("What did 小王 say about the cache?", "done 🎉🎉🎉", "куда перенесли службу", "?!"):
        assert np.linalg.norm(encoder.embed_question(read).vector) == pytest.approx(1.0, abs=1e-5)


def test_a_japanese_or_korean_question_gets_no_vector_although_the_vocabulary_spells_it() -> None:
    encoder = open_encoder()
    for unread in ("コーヒーはいくらですか？", "APIのポートは？", "배포는 언제 하나요?"):
        assert not np.any(encoder.embed_question(unread).vector), unread
    assert np.any(encoder.embed_question("What did 田中さん say about the cache?").vector)


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("was ist der port", "de"),
        ("quel est le port de la base", "fr"),
        ("cuál es el puerto de la base", "es"),
        ("qual é a porta do banco", "pt"),
        ("which port does it use", "en"),
        ("", "en"),
    ],
)
def test_a_question_is_in_the_language_of_most_of_its_function_words(question: str, language: str):
    assert language_of(words(question)) == language


def test_only_unspaced_languages_lose_their_function_words_inside_a_run():
    assert without_function_words("我们使用什么包管理器？") == " 包管理器？"
    assert without_function_words("データベースは何ですか") == "データベース "
    assert without_function_words("quelle est la base de données") == "quelle est la base de données"


def test_every_language_has_its_function_words_once_and_sorted():
    for language, own in function_words().items():
        assert len(language) == 2 and len(own) > 50, language
    for line in (Path(languages.__file__).parent / "function_words.tsv").read_text("utf-8").splitlines()[1:]:
        listed = line.split("\t")[1].split()
        assert listed == sorted(set(listed)) and line == line.casefold()


def test_function_words_are_removed_quickly():
    for unit in ("的", "何", "は", "我们", "a", "どこですか"):
        started = time.process_time()
        without_function_words(unit * 100_000)
        assert time.process_time() - started < 1.0
