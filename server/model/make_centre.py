"""Makes `multilingual_centre.json` again: the multilingual model's mean state, and how languages differ.

These are the mean over texts in many languages, and the directions in which the languages' means differ most.

    python server/model/make_centre.py FILE

It needs Scrubjay with its extra `multilingual`. Each language counts the same, whatever its number of tokens.
The numbers are rounded, so that machines whose last digits differ write the same file.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from scrubjay.encoders.folder import ModelFolder
from scrubjay.encoders.multilingual import MULTILINGUAL, make, weights_file
from scrubjay.encoders.onnx_folder import GRAPH, OnnxEncoder

TEXTS = {
    "en": (
        "The staging database listens on port 5433.",
        "Maria owns the billing module and reviews every change to it.",
        "We release on Tuesdays, never on a Friday.",
        "Why did the nightly build fail? The token had expired.",
        "I fixed the crash in the parser and added a test.",
        "She is allergic to peanuts and prefers tea.",
    ),
    "de": (
        "Die Testdatenbank lauscht auf Port 5433.",
        "Maria ist für das Abrechnungsmodul zuständig und prüft jede Änderung.",
        "Wir veröffentlichen dienstags, nie an einem Freitag.",
        "Warum ist der nächtliche Build gescheitert? Das Token war abgelaufen.",
        "Ich habe den Absturz im Parser behoben und einen Test ergänzt.",
        "Sie ist gegen Erdnüsse allergisch und trinkt lieber Tee.",
    ),
    "fr": (
        "La base de données de test écoute sur le port 5433.",
        "Maria est responsable du module de facturation et relit chaque changement.",
        "Nous publions le mardi, jamais un vendredi.",
        "Pourquoi la compilation de nuit a-t-elle échoué ? Le jeton avait expiré.",
        "J'ai corrigé le plantage de l'analyseur et ajouté un test.",
        "Elle est allergique aux cacahuètes et préfère le thé.",
    ),
    "es": (
        "La base de datos de pruebas escucha en el puerto 5433.",
        "María es responsable del módulo de facturación y revisa cada cambio.",
        "Publicamos los martes, nunca un viernes.",
        "¿Por qué falló la compilación nocturna? El token había caducado.",
        "Corregí el fallo del analizador y añadí una prueba.",
        "Es alérgica a los cacahuetes y prefiere el té.",
    ),
    "pt": (
        "O banco de dados de testes escuta na porta 5433.",
        "A Maria é responsável pelo módulo de cobrança e revê cada mudança.",
        "Publicamos às terças, nunca à sexta.",
        "Por que a compilação noturna falhou? O token tinha expirado.",
        "Corrigi a falha no analisador e acrescentei um teste.",
        "Ela é alérgica a amendoim e prefere chá.",
    ),
    "it": (
        "Il database di prova ascolta sulla porta 5433.",
        "Maria è responsabile del modulo di fatturazione e rivede ogni modifica.",
        "Pubblichiamo il martedì, mai di venerdì.",
        "Perché la compilazione notturna è fallita? Il token era scaduto.",
        "Ho corretto il blocco del parser e aggiunto un test.",
        "È allergica alle arachidi e preferisce il tè.",
    ),
    "pl": (
        "Testowa baza danych nasłuchuje na porcie 5433.",
        "Maria odpowiada za moduł rozliczeń i sprawdza każdą zmianę.",
        "Wydajemy we wtorki, nigdy w piątek.",
        "Dlaczego nocna kompilacja się nie powiodła? Token wygasł.",
        "Naprawiłem awarię parsera i dodałem test.",
        "Jest uczulona na orzeszki i woli herbatę.",
    ),
    "ru": (
        "Тестовая база данных слушает порт 5433.",
        "Мария отвечает за модуль оплаты и проверяет каждое изменение.",
        "Мы выпускаем по вторникам, никогда в пятницу.",
        "Почему упала ночная сборка? Срок токена истёк.",
        "Я исправил падение парсера и добавил тест.",
        "У неё аллергия на арахис, и она предпочитает чай.",
    ),
    "tr": (
        "Test veritabanı 5433 numaralı bağlantı noktasını dinliyor.",
        "Faturalama modülünden Maria sorumlu ve her değişikliği inceliyor.",
        "Salı günleri yayınlıyoruz, asla cuma günü değil.",
        "Gece derlemesi neden başarısız oldu? Belirtecin süresi dolmuştu.",
        "Ayrıştırıcıdaki çökmeyi düzelttim ve bir test ekledim.",
        "Yer fıstığına alerjisi var ve çayı tercih ediyor.",
    ),
    "zh": (
        "测试数据库监听 5433 端口。",
        "计费模块由玛丽亚负责，每个改动都由她审核。",
        "我们每周二发布，从不在周五发布。",
        "夜间构建为什么失败了？令牌过期了。",
        "我修复了解析器的崩溃，并加了一个测试。",
        "她对花生过敏，更喜欢喝茶。",
    ),
    "ja": (
        "テスト用データベースはポート 5433 で待ち受けている。",
        "請求モジュールはマリアが担当し、変更をすべて確認する。",
        "リリースは火曜日で、金曜日には決して行わない。",
        "夜間ビルドはなぜ失敗したのか。トークンの期限が切れていた。",
        "パーサーのクラッシュを直して、テストを追加した。",
        "彼女はピーナッツアレルギーで、お茶のほうが好きだ。",
    ),
    "ko": (
        "테스트 데이터베이스는 5433 포트에서 수신합니다.",
        "청구 모듈은 마리아가 맡고 모든 변경을 검토합니다.",
        "우리는 화요일에 배포하고 금요일에는 절대 하지 않습니다.",
        "야간 빌드가 왜 실패했나요? 토큰이 만료되었습니다.",
        "파서의 충돌을 고치고 테스트를 추가했습니다.",
        "그녀는 땅콩 알레르기가 있고 차를 더 좋아합니다.",
    ),
    "ar": (
        "قاعدة بيانات الاختبار تستمع على المنفذ 5433.",
        "ماريا مسؤولة عن وحدة الفوترة وتراجع كل تغيير.",
        "ننشر يوم الثلاثاء، وليس يوم الجمعة أبدا.",
        "لماذا فشل البناء الليلي؟ انتهت صلاحية الرمز.",
        "أصلحت انهيار المحلل وأضفت اختبارا.",
        "لديها حساسية من الفول السوداني وتفضل الشاي.",
    ),
    "hi": (
        "परीक्षण डेटाबेस पोर्ट 5433 पर सुनता है।",
        "बिलिंग मॉड्यूल मारिया के पास है और वह हर बदलाव की समीक्षा करती है।",
        "हम मंगलवार को जारी करते हैं, शुक्रवार को कभी नहीं।",
        "रात का बिल्ड क्यों विफल हुआ? टोकन की अवधि समाप्त हो गई थी।",
        "मैंने पार्सर का क्रैश ठीक किया और एक परीक्षण जोड़ा।",
        "उसे मूँगफली से एलर्जी है और उसे चाय पसंद है।",
    ),
}
PROMPTS = ("query: ", "passage: ")
DIGITS = 3
DIRECTIONS = 8  # of 13; 6 to 10 are a plateau on the dev half of tests/bench/languages.tsv
WIDTH = 384


def removed(encoder: OnnxEncoder) -> dict[str, list[Any]]:
    """Return the mean over languages of their texts' mean states, with both prompts, and the directions."""
    means = np.array(
        [
            np.mean(
                [encoder.states(prompt + text).mean(axis=0) for prompt in PROMPTS for text in texts], axis=0
            )
            for texts in TEXTS.values()
        ]
    )
    centre = means.mean(axis=0)
    directions = np.linalg.svd(means - centre)[2][:DIRECTIONS]
    directions *= np.sign(directions.sum(axis=1, keepdims=True))  # either sign would do
    return {
        "centre": [round(float(value), DIGITS) for value in centre],
        "languages": [[round(float(value), DIGITS + 1) for value in each] for each in directions],
    }


def main() -> None:
    """Write the file that the command names."""
    parser = argparse.ArgumentParser(description="Make the centre of the multilingual model again.")
    parser.add_argument("file", type=Path)
    file = parser.parse_args().file
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / MULTILINGUAL
        make(weights_file(), folder, {"centre": [0.0], "languages": [[0.0] * WIDTH]})
        encoder = OnnxEncoder(ModelFolder(folder, MULTILINGUAL), folder / GRAPH, None, None)
        file.write_text(json.dumps(removed(encoder)) + "\n")


if __name__ == "__main__":
    main()
