"""The kind of answer that a question wants, such as a port or a reason, and whether a text has one.

"Redis is the cache" does not answer "Which Redis version?": it is about the subject but has no version.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from scrubjay.text.developer_words import gloss

AnswerKind = Literal[
    "reason",
    "duration",
    "money",
    "size",
    "date",
    "number",
    "amount",
    "version",
    "port",
    "person",
    "place",
    "path",
    "address",
    "licence",
    "name",
]
# Characters around an answer in which the question's words count most; 24 to 90 is a plateau.
_NEAR = 40
_BY_NEARNESS = 0.5  # share of nearby words in a sentence's score; 0.3 to 0.5 is a plateau
_NEIGHBOUR = 0.6  # weight of a word in the sentence before or after; 0.3 to 0.9 is a plateau

_TIME = (
    r"(?:ms|µs|ns|s|sec(?:ond)?s?|min(?:ute)?s?|h|hours?|days?|nights?|weeks?|months?|quarters?|years?|"
    r"sekunden?|minuten?|stunden?|tagen?|wochen?|monaten?|jahren?|secondes?|heures?|jours?|semaines?|mois|"
    r"ans?|segundos?|minutos?|horas?|d[ií]as?|semanas?|mes(?:es)?|años?|anos?)"
)
_SIZE = (
    r"(?:[kmgtp]i?b|[kmg]bit(?:/s)?|bytes?|bits?|px|pixels?|rows?|lines?|characters?|zeichen|"
    r"[kmg]?hz|[µmk]?[vaw]|mah|[cmk]?m|kg|g|cores?|x-?small|small|medium|large|x-?large)"
)
_NUMERAL = (
    r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|"
    r"ninety|zwei|drei|vier|fünf|sechs|acht|zehn|deux|trois|quatre|cinq|dos|tres|cuatro|cinco|dois|três|"
    r"quatro)"
)
_COUNT = rf"(?:(?<![\w.,:/#-])\d++(?:[.,]\d++)*+(?![\w/]|[.,]\d)|\b(?:one|{_NUMERAL})\b)"
_MONTH = (
    r"(?:jan(?:uar[yi]?|uary)?|feb(?:ruar[yi]?)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|juli|"
    r"aug(?:ust)?|sep(?:t(?:ember)?)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?|janvier|février|mars|"
    r"avril|juin|juillet|août|septembre|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|"
    r"julio|agosto|septiembre|octubre|noviembre|diciembre|janeiro|fevereiro|março|maio|junho|julho|setembro|"
    r"outubro|novembro|dezembro)"
)
_DAY = (
    r"(?:(?:mon|tues?|wednes|thurs?|fri|satur|sun)days?|(?:mon|diens|donners|frei|sams|sonn)tags?|"
    r"mittwochs?|lundis?|mardis?|mercredis?|jeudis?|vendredis?|samedis?|dimanches?|lunes|martes|miércoles|"
    r"jueves|viernes|sábados?|domingos?|segunda|terça|quarta|quinta|sexta)"
)
_WHICH = r"\b(?:which|what|welche[rnsm]?|quel(?:le)?s?|qué|cu[aá]l|qual|que) (?:[\w./+-]+ ){0,2}?"


class _Kind(NamedTuple):
    """How a question asks for a kind of answer, and what such an answer looks like.

    `asked` matches only the words that name the kind, which an answer need not repeat; words that it should
    repeat are in look-aheads. Both match lower-case text, which is several times as fast as ignoring case;
    `held` matches the original text if it is `cased`.
    """

    name: AnswerKind
    asked: re.Pattern[str]
    held: re.Pattern[str]
    cased: bool


# Countries that are named without "in" before them; the most often named.
_COUNTRIES = "|".join(
    """Argentina Australia Austria Bangladesh Belgium Brazil Bulgaria Canada Chile China Colombia Croatia Cuba
    Cyprus Czechia Denmark Egypt England Estonia Ethiopia Finland France Germany Ghana Greece Hungary Iceland
    India Indonesia Iran Iraq Ireland Israel Italy Jamaica Japan Kenya Korea Latvia Lebanon Lithuania
    Luxembourg Malaysia Malta Mexico Morocco Nepal Netherlands Nigeria Norway Pakistan Peru Philippines Poland
    Portugal Romania Russia Scotland Serbia Singapore Slovakia Slovenia Spain Sweden Switzerland Taiwan
    Thailand Tunisia Turkey Uganda Ukraine Uruguay Venezuela Vietnam Wales""".split()
)


def _kind(name: AnswerKind, asked: str, held: str, *, cased: bool = False) -> _Kind:
    return _Kind(name, re.compile(asked), re.compile(held), cased)


# The wanted kind is the first one here whose pattern matches.
_KINDS = (
    _kind(
        "reason",
        r"\bwhy\b|\bhow come\b|\breasons?\b|\brationale\b|\bwhat (?:caused|made|led)\b|"
        r"\b(?:root )?cause of\b|\bwarum\b|\bwieso\b|\bweshalb\b|\bgrund für\b|\bpourquoi\b|"
        r"\bpor ?qu[eéê]\b|\bpor que\b|为什么|原因|なぜ|どうして|理由",
        r"\b(?:because\b|why\b|warum\b|pourquoi\b|since (?!\d|v\d|mid|last|the (?:start|end)|[a-z]\w+day)|"
        r"so (?:that|the|we|it|an?|no|they|you|nothing|one)\b|due to\b|as (?!a\b|an\b|of\b|if\b|well\b|"
        r"soon\b|long\b|it is\b)\w+ (?:\w+ )?(?:is|are|was|were|has|had|have|does|do|did|would|can|could|"
        r"needs?|\w+s)\b|reason(?:s|ing)?\b|cause[ds]?\b|rejected\b|worse\b|"
        r"not (?:\w+ ){0,2}(?:better|worth|possible|needed|allowed|enough)\b|"
        r"(?:to|would|could) (?:avoid|prevent|keep|save|reduce|stop|protect|lose|survive)\b|otherwise\b|"
        r"could(?: not|n't)\b|cannot\b|too \w+\b|failed\b|broke\b|instead of\b|which would\b|after\b|once\b|"
        r"weil\b|damit\b|denn\b|da (?:der|die|das|sie|er|es|wir)\b|wegen\b|sonst\b|um\b.{1,60}\bzu\b|"
        r"deshalb\b|parce que\b|car\b|afin\b|sinon\b|puisque\b|porque\b|ya que\b|pois\b|para que\b|"
        r"debido\b)|因为|由于|以便|避免|ため|ので|から",
    ),
    _kind(
        "duration",
        r"\bhow (?:long|often|frequently|soon|old)\b|\bhow (?:many|much) (?:more )?(?:ms|(?:milli)?seconds?|"
        r"minutes?|hours?|days?|weeks?|months?|years?|time)\b|\btime-?outs?\b|\bttl\b|\bretention\b|"
        r"\bintervals?\b|\bwie (?:lange|oft|häufig)\b|\bwie ?viele[nr]? (?:sekunden|minuten|stunden|tagen?|"
        r"wochen|monaten?|jahren?)\b|\bcombien de (?:temps|secondes|minutes|jours|heures)\b|"
        r"\bcu[aá]nto (?:tiempo|tarda|dura)\b|\bcada cu[aá]nto\b|\bcu[aá]ntos (?:d[ií]as|segundos|"
        r"minutos)\b|\bquanto tempo\b|\bdurée\b|\bà quelle fréquence\b|多久|多长时间|どのくらい|何日|何分|"
        r"何時間",
        rf"(?:{_COUNT}\s?-?\s?(?:working |business )?|(?<![\w.,])\d++(?:[.,]\d++)*+){_TIME}\b|(?:ms|secs|"
        rf"seconds|minutes|hours|days|ttl|timeout|interval|retention)\w{{0,9}}\W{{0,2}}[:=]\s?\d|"
        r"\b(?:(?:half an|an?|one) (?:second|minute|hour|day|week|month|quarter|year)\b|(?:hourly|nightly|"
        r"daily|weekly|monthly|quarterly|yearly|annually|forever|for ever)\b|"
        rf"(?:every|each) (?:\w+ )?(?:{_TIME}|{_DAY}|morning|evening|commit|release|push|merge)\b|"
        r"(?:täglich|wöchentlich|monatlich|jährlich|stündlich|nächtlich)\b|jede[nrs]? (?:\w+ )?(?:nacht|tag|"
        r"woche|stunde|minute|sekunde|monat|jahr)\b|"
        rf"cada (?:\w+ )?{_TIME}\b|chaque {_TIME}\b|tous les\b|toutes les\b|m?\d+ ?h \d+)|"
        r"(?<!\d)\d++\s?(?:秒|分|時間|小时|天|日|周|週間|个月|か月|ヶ月|年)|毎",
    ),
    _kind(
        "money",
        r"\b(?:how much|what) (?=(?:does|do|did|is|are|was|were|will|would|may|can|"
        r"should)\b.{1,80}\b(?:cost|pay|paid|charge|bill|price|spend)\b)|\b(?:cost|price|fee|salary|"
        r"pricing)s?(?= (?:of|for|per)\b|\W*$)|\b(?:which|what|how much|monthly|yearly|annual|"
        r"cloud) (?:\w+ )?(?:price|cost|fee|bill|budget|salary)\b|\bhow many (?:euros|dollars)\b|"
        r"\bin (?:euros|dollars)\b|\bkoste[tn]?\b|\bkosten\b|\bco[uû]te?(?:nt)?\b|\bcuestan?\b|\bcosto\b|"
        r"\bcusta\b|\bpreis\b|\bprix\b|\bprecio\b|\bpreço\b|成本|价格|费用|多少钱|料金|価格|費用|いくら",
        r"[$€£¥]\s?\d|(?<![\d.,])\d[\d.,]*+\s?[km]?\s?(?:[$€£¥]|(?:usd|eur|gbp|chf|brl|euros?|dollars?|cents?|yen|"
        r"yuan)\b|元|円)|\bfree\b|\bgratis\b|\bkostenlos\b",
    ),
    _kind(
        "size",
        r"\bhow (?:big|large|heavy|wide|tall)\b|\bhow much (?=(?:ram|memory|disk|storage|space|swap)\b)|"
        r"\bwie ?viel (?=(?:ram|speicher|platz)\b)|\bcu[aá]nta memoria\b|\bcombien de (?:ram|mémoire)\b|"
        r"\b(?=memory (?:request|limit|budget)\b)|\b(?:max(?:imum|imal)?|min(?:imum)?|what|which|file|image|"
        r"payload|upload|body|batch|message|chunk) size\b|\bsize (?:limit|of)\b|\bwie (?:groß|schnell|"
        r"schwer|breit)\b|\bqué tamaño\b|\bquelle taille\b|\bqual (?:o )?tamanho\b|多大|大小|サイズ",
        rf"(?:{_COUNT}\s?-?\s?(?:million |thousand )?|(?<![\w.,])\d++(?:[.,]\d++)*+){_SIZE}\b|"
        r"\b(?:\d+ ?[x\xd7] ?\d+|x-?small|small|medium|large|x-?large|\d+[kmgt]i?)\b",
    ),
    _kind(
        "date",
        r"(?:^|[.,;:?!(] ?|\b(?:since|until|till|by|from|and|to|know|remember|me) )when\b(?! (?:i|we|you|it|"
        r"the|a|an|they|he|she)\b)|\bwhat (?:date|day|month|year|time)\b|\bwhich (?:date|day|month|year|"
        r"week(?:day)?)\b|\bdeadline\b|\b(?:due|release|start|end|expiry) date\b|\bwann\b|"
        r"\bum wie ?viel uhr\b|\bquand\b|\bquel jour\b|\bcu[aá]ndo\b|\bqu[eé] d[ií]a\b|\bquando\b|"
        r"\bque dia\b|什么时候|何时|哪天|いつ|何曜日",
        rf"\b(?:\d{{4}}-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|(?:19|20)\d\d\b|\d{{1,2}}(?:st|nd|rd|th)?\.?"
        rf"(?: de| of)? {_MONTH}\b|{_MONTH}\.? \d{{1,4}}\b|"
        r"(?:in|by|since|until|of|last|next|early|late|mid|mid-|im|seit|ende|anfang|mitte|en|depuis|"
        rf"desde|em) {_MONTH}\b|{_DAY}\b|\d{{1,2}}:\d\d\b|"
        rf"(?:\d{{1,2}}|one|{_NUMERAL}) ?(?:am|pm|uhr|utc|o['\u2019]clock)\b|"
        r"(?:today|yesterday|tomorrow|tonight|midnight|noon|mornings?|afternoons?|evenings?|weekends?|"
        rf"nightly|daily|weekly|monthly|quarterly|q[1-4]|easter|christmas|new year)\b)|"
        rf"{_COUNT} (?:working |business )?{_TIME}\b|"
        r"\b(?:last|next) (?:week|month|quarter|year|spring|summer|autumn|fall|winter|sprint|release)\b|"
        r"(?<!\d)\d++\s?[月日点時]|[一二三四五六日月火水木金土]曜|周[一二三四五六日]|星期|毎",
    ),
    _kind(
        "number",
        r"\bhow many\b|\bnumber of\b|\bcount of\b|\bwie ?viele?[nr]?\b|\bcombien\b|\bcu[aá]nt[oa]s?\b|"
        r"\bquant[oa]s?\b|(?<!是)多少|几个|いくつ|何人|何個|何件",
        rf"(?i)(?:(?<![\w.,:/#-])\d++(?:,\d{{3}})*+(?![.,]?\w|/)|(?:only|just|exactly|is|are) one\b|"
        rf"\b{_NUMERAL}\b)(?!\s?-?\s?(?:%|percent\b|prozent\b|{_TIME}\b|{_SIZE}\b|[$€£]|{_MONTH}\b|uhr\b)|"
        r"\.\s|[:=])|\b(?-i:no|none|unlimited|single|both|zero|dozens?|hundreds?|thousands?|a pair)\b",
        cased=True,
    ),
    _kind(
        "amount",
        r"\bhow (?:much|fast|accurate)\b|\bwhat (?=(?:\w+ ){0,2}(?:percent(?:age)?|rate|ratio|limit|"
        r"threshold|share|quota|score|temperature|frequency|resolution|gain|error|level|value|priority)\b)|"
        r"\b(?=(?:limits?|thresholds?|quotas?|rates?|priority|priorität|límites?|limites?|grenze|"
        r"grenzwert)\b)|(?=上限|阈值)",
        rf"{_COUNT}|(?<![\w.,])\d++(?:[.,]\d++)*+\s?(?:%|{_SIZE}|{_TIME})|=\s?\d++",
    ),
    _kind(
        "version",
        r"\bversions?\b|\bversi[oó]n\b|\bvers[aã]o\b|版本|バージョン|\b(?:which|what) release\b|\brelease$|"
        r"\bruns? which\b",
        r"(?i)(?<![\w.])v?\d++\.\d++(?:\.\d++)*+(?:-\w++)?+(?![\w.]*[%€$])(?!\s?-?(?:%|s\b|ms\b|[kMGT]i?B|GB|MB|"
        r"GHz|MHz|V\b|A\b|W\b|mm\b|percent|million|seconds?|minutes?|hours?|days?|points?))|\bv\d+\b|"
        r"\bversion \d|\b(?-i:[A-Z][\w.+#]*|iOS|macOS|postgres|redis|node|python|kafka) \d{1,4}(?:\.\d+|"
        r"\.x)?\b(?!\s*[%:/]|[.,]\d)|[\u3040-\u9fff]\s?\d{1,3}\b|\b\d+\.x\b",
        cased=True,
    ),
    _kind(
        "port",
        r"\bports?\b(?!\w*folio)|\bpuertos?\b|\bporta\b|端口|ポート",
        r"\bport \d\b|(?<![\d.,/-]):?\b\d{2,5}\b(?![.,]?\d|\s?(?:%|percent|frames?|[kmgt]i?b|bytes?|"
        r"minutes?|seconds?|hours?|days?|ms|s|p)\b)",
    ),
    _kind(
        "person",
        r"(?:^|[.,;:?!(] ?|\b(?:and|so|with|to|for|from|by|of|know|remember|me|wonder|mal|und) )who(?:se|"
        r"m)?\b|(?<!\bthe )\b(?:owners?|maintainers?|approvers?|assignees?|accountant)\b|\bwer\b|\bwem\b|"
        r"\bwessen\b|(?:^|[,;:] ?|\b(?:à|avec|de|pour|par) )qui\b|\bqui[eé]n(?:es)?\b|\bquem\b|谁|誰",
        r"(?<=[a-zà-ÿ,:] )[A-Z][a-zà-ÿ]+(?: [A-Z][a-zà-ÿ]+)?\b(?![\w./-]*[\d/])|"
        r"(?<![\w./-])[A-Z][a-zà-ÿ]+(?='s\b| (?:and [A-Z][a-z]+ )?(?:owns?|leads?|maintains?|approves?|"
        r"reviews?|runs?|handles?|plans?|signs?|decides?|writes?|wrote|took|takes?|has|does|did|keeps?|"
        r"looks?|answers?|set|hat|macht|hält|is|was|[a-z]{3,}s)\b)|\b(?:I|we) (?:own|run|maintain|handle|"
        r"review|sign|do)\b|(?<![/.-])\b(?:team|squad|guild|admins|engineers|developers|everyone|anyone)\b|"
        r"[\u4e00-\u9fff]{1,3}(?:负责|さん)|さん|负责|担当",
        cased=True,
    ),
    _kind(
        "place",
        _WHICH + r"(?:region|zone|city|country|town|data ?cent(?:er|re)|location|stadt|land|ville|pays|"
        r"région|ciudad|país|regi[oó]n|região|cidade)\b|\bwhere (?=(?:is|are) .{1,60}\b(?:based|hosted)\b)|"
        r"\bregion of\b|\bwo (?:sitzt|sitzen)\b|哪个(?:城市|地区|区域|国家)|どの(?:都市|リージョン|国)|"
        r"リージョン",
        r"(?i)\b(?:us|eu|ap|sa|ca|me|af|il|mx|cn)-(?:gov-)?(?:north|south|east|west|central)+-?\d[a-f]?\b|"
        r"\b(?:europe|asia|us|australia|northamerica|southamerica)-(?:north|south|east|west|"
        r"central)+\d(?:-[a-f])?\b|\b(?:west|north|east|south|central)(?:europe|us\d?)\b|\b(?:fsn1|nbg1|"
        rf"hel1|fra\d?|ams\d?|cdg|lhr|iad|sjc)\b|(?-i:\b(?:{_COUNTRIES})\b)|"
        r"(?:\b(?:in|at|from|near|bei|aus|à|em) |"
        r"\()(?-i:[A-Z][a-zà-ÿ]{2,}(?: [A-Z][a-zà-ÿ]+)?)\b",
        cased=True,
    ),
    _kind(
        "path",
        r"\b(?:which|what) (?:\w+ )?(?:file|folder|directory|path|module|bucket|table|branch|"
        r"repo(?:sitory)?)s?\b(?! (?:format|size))|\bwhere (?=(?:is|are|do|does|did|was|were|can|should|has|"
        r"have)\b.{1,80}\b(?:defined|implemented|stored?|kept|keep|lives?|located|config(?:ured)?|code|file|"
        r"filed|saved?|saves|put|find|written|writes?|logs?|land|lie|go(?:es)?)\b)|\bpath (?:of|to)\b|"
        r"\bwo (?:liegt|liegen|steht|stehen|finde)\b|\bwelche[rsnm]? (?:datei|ordner|verzeichnis)\b|"
        r"\boù (?:est|sont|se trouve)\b|\bquel (?:fichier|dossier)\b|\bdónde (?:está|se guarda)\b|"
        r"\bonde (?:está|fica)\b|\bqu[eé] (?:archivo|carpeta|fichero)\b|\bqual (?:arquivo|pasta|ficheiro)\b|"
        r"哪个文件|どのファイル|どこに",
        r"(?i)(?<![\w.~:/-])[\w.~:-]*+/[\w.~/-]*\w|\\[\w\\]+|\b(?:in|at|on|under|to|auf|unter) (?:the |our |"
        r"dem |der )?(?-i:[A-Z]\w+)|(?<![\w.-])[\w-]++\.[a-z][a-z0-9]{0,4}\b|`[^`\n]{1,80}`|"
        r"\b[a-z0-9]+_[a-z0-9_]+\b|\b(?:buckets?|folder|directory|vault|table|branch|repo|namespace|disk|s3|"
        r"schema)\b",
        cased=True,
    ),
    _kind(
        "address",
        r"\burls?\b|\b(?:web ?site|web) address\b|\bdomains?\b(?! controller)|\bhost ?names?\b|\b(?:ip|"
        r"e-?mail|registry|server) address(?:es)?\b|\baddress(?:es)? of\b|\bendpoint of\b|\bsubnets?\b|"
        r"\bcidr\b|\bip range\b|\bips?\b(?! address)|\badresse\b|\bdirecci[oó]n\b|\bendereço\b|\bdominio\b|"
        r"\bdomaine\b|\bdomínio\b|域名|地址|ドメイン|アドレス",
        r"https?://\S|(?<![\w.-])[\w-]++(?:\.[\w-]++)*\.(?:com|org|net|io|dev|app|internal|local|test|"
        r"example|cloud|sh|ai|co|eu|de|fr|es|br|jp|cn|lan|corp|tech|systems)\b(?!/\w+[:=])|"
        r"\b\d{1,3}(?:\.\d{1,3}){3}(?:/\d+)?\b|(?<![\w.-])\w[\w.-]*+@\w",
    ),
    _kind(
        "licence",
        r"\b(?:which|what|under) (?=.{0,40}\blicen[cs]es?\b)|\blicen[cs]e (?:of|for)\b|\blizenz\b(?! )|"
        r"\b(?:welche|welcher) lizenz\b|\bquelle licence\b|\bqu[eé] licencia\b|\bqual licença\b|许可证|"
        r"ライセンス",
        r"\b(?:(?:mit|apache|[al]?gpl|bsd|mpl|isc|eupl|cc[- ]by|cc0|unlicense|busl|proprietary|public domain|"
        r"commercial licen[cs]e|kommerzielle\w* lizenz)\b|[al]?gpl)",
    ),
    _kind(
        "name",
        r"\bnames? (?:of|vom|von|der|des|du|de|del|do)\b|\bwie heißt\b|\bcomment s'appelle\b|"
        r"\bcómo se llama\b|\bcomo se chama\b|\bwhat(?:'s| is) (?=.{1,60} called\b)|\b(?:which|"
        r"what) (?=(?:[\w-]+ ){0,2}(?:agency|firm|company|vendor|supplier|manufacturer|cpu|processor|model|"
        r"printer|bank)\b)|\bwelche[rsnm]? (?=(?:firma|agentur|baustein|chip|prozessor|modell|bank)\b)|"
        r"什么名字|名前",
        r"(?<=[a-zà-ÿ,:] )[A-Z][a-zà-ÿ]+(?:[A-Z]\w+)?(?: [A-Z]\w+)?\b(?!['\u2019]s)|\b[A-Z]+[a-z]*-?\d\w*\b|"
        r"\b(?:called|named|namens|heißt|appelé|llamad[oa]|chamad[oa]) \w+|叫|という",
        cased=True,
    ),
)
_BY_NAME = {kind.name: kind for kind in _KINDS}
# Capitalised words that are not names of people.
_NO_PERSON = re.compile(
    rf"(?:{_MONTH}|{_DAY}|the|this|that|these|those|there|it|its|we|they|you|he|she|our|every|each|all|"
    r"some|one|"
    rf"{_NUMERAL}|no|now|here|if|and|but|for|in|on|at|to|as|english|german|french|polish|windows|linux)\b",
    re.IGNORECASE,
)
# A dot within a name or number does not end a sentence.
_SENTENCE = re.compile(
    r"[^.!?;。\uff01\uff1f\n]*+(?:[.!?;](?!\s|$)[^.!?;。\uff01\uff1f\n]*+)*+(?:[.!?;。\uff01\uff1f\n]|$)"
)
_CJK = r"\u3041-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"(?=([{_CJK}]{{2}}))|[^\W_{_CJK}]+")
_NEGATION = re.compile(r"\b\w{2,6}n['\u2019]t\b", re.IGNORECASE)


@lru_cache(maxsize=256)
def wanted(question: str) -> AnswerKind | None:
    """Return the kind of answer that a question wants, None if it may be anything.

    >>> wanted("Which Redis version do we use?"), wanted("who owns billing?"), wanted("what is our CI?")
    ('version', 'person', None)
    """
    plain = question.lower()
    return next((kind.name for kind in _KINDS if kind.asked.search(plain)), None)


def topic(question: str) -> str:
    """Remove the words of a question that only name the wanted kind of answer.

    >>> topic("how many brokers are there?"), topic("Redis version"), topic("what is our CI?")
    ('  brokers are there?', 'Redis  ', 'what is our CI?')
    """
    kind, rest, at = wanted(question), [], 0
    for match in () if kind is None else _BY_NAME[kind].asked.finditer(question.lower()):
        rest.append(question[at : match.start()])
        at = match.end()
    return _NEGATION.sub(" ", " ".join([*rest, question[at:]]))


@lru_cache(maxsize=4096)  # the same passages are top candidates of many questions
def holds(kind: AnswerKind, text: str) -> bool:
    """Return True if a text has an answer of this kind, whatever it is about.

    >>> holds("version", "Redis 7.2 is the cache."), holds("version", "Redis is the cache.")
    (True, False)
    """
    return next(_held(kind, text), None) is not None


def fit(
    kind: AnswerKind | None, weights: Mapping[str, float], text: str, stem: Callable[[str], str]
) -> float:
    """Return how well the best sentence of a text answers, in [0, 1]; 0 without an answer of this kind.

    `weights` maps the stem of each word of the question's `topic` to its weight. A sentence's score is the
    share of them that it has: half of it counts the words near the answer, and words of adjacent sentences
    count less. Without a kind, every sentence counts.


    >>> weights = {"redis": 1.0, "cache": 0.5}
    >>> [fit("version", weights, text, str) for text in ("Redis 7.2 is the cache.", "Redis is the cache.")]
    [1.0, 0.0]
    """
    total = sum(weights.values())
    answers = [] if kind is None else list(_held(kind, text))
    if not total or (kind is not None and not answers):
        return 0.0
    places = [(at, word) for at, word in _words(text, stem) if word in weights]
    if kind is None and not places:
        return 0.0

    def share(start: int, end: int) -> float:
        return sum(weights[word] for word in {word for at, word in places if start <= at < end}) / total

    best, sentences = 0.0, [match.span() for match in _SENTENCE.finditer(text)]
    for number, (start, end) in enumerate(sentences):
        inside = [(first, last) for first, last in answers if start <= first < end]
        if kind is not None and not inside:
            continue
        before, after = sentences[max(number - 1, 0)][0], sentences[min(number + 1, len(sentences) - 1)][1]
        proven = (1.0 - _NEIGHBOUR) * share(start, end) + _NEIGHBOUR * share(before, after)
        if kind is None:
            best = max(best, proven)
        for first, last in inside:
            if all(word in weights for _, word in _words(text[first:last], stem)):
                continue  # the question contains this itself
            near = share(max(start, first - _NEAR), min(end, last + _NEAR))
            best = max(best, _BY_NEARNESS * near + (1.0 - _BY_NEARNESS) * proven)
    return best


@lru_cache(maxsize=256)
def _words(text: str, stem: Callable[[str], str]) -> tuple[tuple[int, str], ...]:
    """Return the position and stem of each word; in Chinese and Japanese, of each pair of characters."""
    return tuple((match.start(), stem((match[1] or match[0]).casefold())) for match in _WORD.finditer(text))


def _held(kind: AnswerKind, text: str) -> Iterator[tuple[int, int]]:
    """Yield the positions of answers of this kind in a text; a tool's name is not a person's."""
    form = _BY_NAME[kind]
    for match in form.held.finditer(text if form.cased else text.lower()):
        name = kind == "person" and match[0][:1].isupper() and not match[0].startswith(("I ", "We "))
        if not (name and (_NO_PERSON.match(match[0]) or gloss(match[0]))):
            yield match.span()
