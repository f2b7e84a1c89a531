"""Decides whether the user's policy records an exchange, and cuts texts to the size limit.

Standard library only and Python 3.9 syntax, because hooks decide with it before anything touches the disk.
"""

from __future__ import annotations

import os.path
import re
from collections import namedtuple
from functools import cache

from scrubjay.errors import InputError
from scrubjay.home.files import parsed, read_whole
from scrubjay.home.kept import copy_of

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every hook would pay
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from typing import Any

    from scrubjay.home.paths import Home

CAPTURES = ("all", "salient", "summary_only", "off")
# What a model sees unasked: nothing; an opening of each session; the opening, and lines next to prompts; the
# opening, and lines before edits and commands and at failures.
INJECTIONS = ("off", "session", "prompt", "edit")
MAX_TEXT = 1_000_000  # characters of one side of a turn; a test compares it with models.fields.MAX_TURN_TEXT

Policy = namedtuple("Policy", "capture min_length paused excluded inject effect", defaults=(0,))
"""What hooks may do: `capture` is one of CAPTURES, `min_length` counts characters, `excluded` are paths.

`inject` is one of INJECTIONS.
"""

DEFAULT = Policy(capture="all", min_length=10, paused=False, excluded=(), inject="session")

# Names of files, paths, identifiers, calls, quoted code, versions, and words of rules: one is enough.
_PLACE = (
    r"\w\.(?:py|js|ts|tsx|jsx|go|rs|java|kt|rb|c|h|cc|cpp|cs|php|sql|sh|toml|yaml|yml|json|md|html|css)\b"
    r"|/[\w.-]+/|[a-zA-Z0-9]_[a-zA-Z0-9]|\w\(\)|`[^`\n]+`|[a-z][A-Z][a-z]|#\d|[^\W\d_]\d|\d\.\d"
    r"|\b(?:[Mm]ust|MUST)\b(?! say)|\b(?:[Nn]ever|NEVER)\b(?! mind)"
)
# Announcements of an assistant's next step, which carry no content whatever they name.
_PROGRESS = (
    r"(?:(?:ok|okay|now|first|next|then|so|sure|great|alright|good) )*"
    r"(?:let me|i (?:ll|will|m going to|am going to))(?: (?:now|first|then|also|just|quickly))*"
    r" (?:look|check|run|rerun|read|search|find|see|begin|start by|verify|try|open|inspect|explore|examine"
    r"|take a|dig|think|understand|review|know|proceed|continue)\b"
)
# Words without content of their own, in English, German, French, Spanish and Portuguese, in lower case and
# without apostrophes. Every other word counts as content.
_EMPTY = """
an the this that these those it its me my mine we us our ours you your yours he she they them their one ones
am is are was were be been being do does did done doing have has had having will would can cannot could should
shall may might let lets don doesn didn isn aren wasn weren won wouldn couldn shouldn haven hasn dont doesnt
didnt isnt cant wont ll ve re im ive and or but nor so if then than as of in on at to for from with without by
about into over out up down off through around after before until while since again once now soon later when
where what whats which who whom whose how why here there not no yes nope nah yeah yep yup ok okay okey thing
things something anything everything nothing someone anyone everyone other others another same rest all each
both more most some any few lot lots bit much many little less enough such own two three today tomorrow
yesterday tonight morning evening afternoon night day days week weekend month monday tuesday wednesday
thursday friday saturday sunday moment minute minutes min mins second seconds sec secs time times meanwhile
early late make makes made making get gets got getting go goes going gone went come comes coming came take
takes took taking look looks looked looking see sees seen saw seeing try tries tried trying give gives gave
giving show shows showing tell tells told say says said saying talk talking speak ask asked know knows knew
think thinks thinking thought guess suppose hope hoped hoping wish mean means meant want wants wanted wanna
gonna gotta like likes liked love loves loved enjoy enjoyed need needs needed help helps helped helping
helpful feel feels feeling work works worked working start starts started starting begin stop continue
continuing proceed proceeding run runs running rerun ran execute check checks checked checking finish finished
finishing end complete completed wait waiting hold turn put move read reading write writing open find finding
found fix fixed fixing change changes changed changing create add adding update updated updating commit push
pull undo redo revert review repeat explain explained describe summarize summarise summary rewrite refactor
improve implement improvement elaborate clarify inspect verify confirm proper simply simple simpler easy
easier understand understood sense explanation question questions answer answers result results output code
file files test tests mistake mistakes problem problems issue issues step steps task tasks part parts option
options idea ideas plan version first third last next previous above below fine right correct wrong alright
well good great nice nicely cool neat sweet perfect perfectly awesome amazing excellent brilliant beautiful
wonderful fantastic impressive impressed incredible lovely super superb terrific outstanding magic stunning
gorgeous best better worse worst bad glad happy sorry apologies please pls plz thanks thank thanx thankyou thx
tnx ty tysm cheers appreciate appreciated grateful welcome worries worry trouble pleasure hi hello hey hiya
howdy greetings bye goodbye cya mate buddy dude guys folks friend haha hahaha hehe lol lmao rofl hm hmm hmmm
mhm uh uhm um umm ugh oh ooh ah aha wow whoa yay yikes oops damn brb btw anyway anyways maybe perhaps probably
really very too just even still yet already also actually quite pretty exactly absolutely definitely certainly
totally honestly basically obviously indeed course instead whatever however finally ahead forward back away
together along sound sounds seem seems appear appears side way ready sure expected expect charm closer
relevant existing difference carefully quickly properly correctly pass passed passes passing success
successfully successful mind care matter remains remaining hopefully weather rain raining rainy sun sunny
shining snow snowing cold hot warm wind windy summer winter spring autumn coffee tea beer lunch dinner
breakfast food eat eating ate cake pizza drink hungry thirsty tired exhausted sleep sleepy slept sleeping bed
sick headache bored boring funny joke movie song football cat dog kid kids baby wife husband holiday holidays
vacation birthday fun outside life interesting interested curious wonder wondering sad angry annoyed annoying
weird strange odd smart clever genius hero legend kudos bravo congrats congratulations woohoo solid elegant
clear clearer different approach attempt attempts detail details example examples short shorter shorten brief
briefly quick quicker trick whoops rock rocks catch suggestion suggestions advice apologize apologise
confusion confused confusing terrible horrible awful dreadful freezing sweating asleep awake soup sandwich
snack dessert yum yummy delicious tasty trust shot break walk hurts hurt window stuff kind kinda sort sorta
pleased proud excited exciting luck lucky relax relaxed chill stressed mood neighbor neighbour mom mum dad son
daughter brother sister parents girlfriend boyfriend cooking beach believe remind honest opposite usual normal
nevermind nvm idk imo tbh np yw cu gn gm afk omg wtf asap fyi none somewhere entire whole bunch thankful
kindly dear everybody gentlemen ladies sir madam never five ten dokey gotcha clarifying clarification progress
reply phone ringing adjust adjusted adjusting accordingly specific specifically recommend compare cancel
barbecue bbq sunset terrace thansk thnaks moving fixes edit edits edited modify modified tweak tweaks polish
clean cleanup carry resume rephrase reword shortly momentarily gladly assist assistance further additional
additionally addressed implemented applied apply necessary requested else
danke dank schön bitte ja nein gut gute guten sehr prima toll klasse genau weiter weitermachen mach mache
machen das die der den dem ein eine einen es ist sieht aus und ich du wir dir dich mir mit noch mal nochmal
jetzt erstmal wie hallo morgen abend nacht tschüss nächste nächsten nächster alles klar passt auch zum zur für
deine hilfe läuft vielen lieben perfekt wunderbar nicht versuch versuche zeig kannst bist sind hab habe hast
wird geht ging gerne gern prost herzlichen schönen wochenende feierabend essen mittag kaffee müde wetter
regnet kalt naja achso stimmt richtig falsch besser leider kurz gleich später bis bald weitere anderen andere
beim vom auf von zu grüß
merci beaucoup oui non bien très parfait ça est le la les un une et je tu il de des suis vous votre ton pour
cela va vas continuez plaît plait encore fois bonjour salut bonsoir bonne revoir suivant suivante aide essaie
génial avec peux tout ai avons fait faire marche fonctionne top peu attends journée soirée café faim fatigué
pluie froid beau temps mieux pas ne se ce cette qui que quoi comment oublie refais même chose pareil dans en
sur au aux mon ma mes te accord allez attendez
gracias muchas muy sí perfecto vale sigue continúa continua ahora con el los las lo siguiente por favor hola
buenos buenas días tardes noches qué está esto eso genial otra vez adiós ayuda intenta puedes nuevo hasta
luego soy eres estoy estás hace hazlo haz puedo funciona mejor espera momento una pero hambre cansado lluvia
frío tiempo mismo igual todos al del mi su ya casi listo claro dale venga acuerdo adelante vamos
obrigado obrigada muito bem sim não perfeito ótimo ótima ficou agora com os próximo próxima olá bom boa dia
tarde noite tchau isso certo tudo faz faça tente novamente pode você ajuda legal sou estou valeu seguir siga
uma ou mas mais melhor fome chuva frio tempo mesmo da na em meu seu já quase pronto beleza lá
"""
_WEIGHTY = 4  # letters of a content word that is enough alone; two shorter ones are enough together
# A sentence that begins or ends with one of these needs two content words: "that is gold", "cancel it".
_POINTING = frozenset(["it", "that", "this", "you", "me"])
_NO_FILLER = 10_000  # characters; a longer text is recorded without a check
_LONGEST = 4 * 1024 * 1024  # bytes of capture.json


def read(home: Home) -> dict[str, Any]:
    """Return the values of capture.json, or of its copy if the file is missing or unreadable.

    Raises:
        FileNotFoundError: both are missing.
        OSError, ValueError: neither can be read.
    """
    try:
        return _values(home.capture)
    except (OSError, ValueError) as error:
        damage = error
    try:
        return _values(copy_of(home.capture))
    except FileNotFoundError:
        raise damage from None


def policy(data: Mapping[str, Any]) -> Policy:
    """Read the policy from the values of capture.json; missing ones have their defaults.

    Raises:
        InputError: a value is unknown or of the wrong type. Code that cannot read the user's wish must not
        record.
    """
    values = dict(DEFAULT._asdict(), **{name: data[name] for name in Policy._fields if name in data})
    values["inject"] = injection(values["inject"])
    length = values["min_length"]
    checks = (
        ("capture", values["capture"] in CAPTURES, "one of " + ", ".join(CAPTURES)),
        ("min_length", type(length) is int and length >= 0, "a whole number from 0"),
        ("effect", type(values["effect"]) is int and values["effect"] >= 0, "a whole number from 0"),
        ("paused", type(values["paused"]) is bool, "true or false"),
        ("inject", values["inject"] in INJECTIONS, "one of " + ", ".join(INJECTIONS)),
        ("excluded", _are_absolute_paths(values["excluded"]), "a list of absolute folders"),
    )
    for name, valid, expected in checks:
        if not valid:
            raise InputError(f"capture.json: {name} must be {expected}; `scrubjay config` rewrites it.")
    values["excluded"] = tuple(os.path.normpath(folder) for folder in values["excluded"])
    return Policy(**values)


def injection(value: Any) -> Any:
    """Return a current value of `inject`, which was once a switch for lines next to prompts.

    >>> injection(True), injection(False), injection("session")
    ('prompt', 'off', 'session')
    """
    return ("prompt" if value else "off") if isinstance(value, bool) else value


def is_excluded(policy: Policy, *folders: str) -> bool:
    """Return True if one of these folders is in an excluded one, as written or with links resolved."""
    if not policy.excluded:
        return False
    spelled = [os.path.normcase(os.path.normpath(place)) for place in _spellings(folders)]
    for excluded in map(os.path.normcase, _spellings(policy.excluded)):
        under = excluded.rstrip(os.sep) + os.sep
        if any(place == excluded or place.startswith(under) for place in spelled):
            return True
    return False


def may_be_excluded(policy: Policy, folders: Collection[str]) -> bool:
    """Return True if something said in these folders may have been said in an excluded one.

    Without folders, where it was said is unknown.
    """
    return bool(policy.excluded) and (not folders or is_excluded(policy, *folders))


def is_salient(text: str) -> bool:
    """Return True if a text has content beyond courtesy, small talk and progress reports.

    >>> is_salient("Lena owns the billing module."), is_salient("thanks, that is nice")
    (True, False)
    """
    if len(text) > _NO_FILLER or re.search(_PLACE, text):  # compiled in 2 ms, only for this policy
        return True
    empty = _words_without_content()
    for sentence in re.findall(r"[^.!?\n]+", text):
        words = re.findall(r"[^\W_]+", sentence)
        lower = [word.lower() for word in words]
        if re.match(_PROGRESS, " ".join(lower)):
            continue
        content = {word for word in lower if word not in empty and (len(word) > 1 or word.isdigit())}
        points = not _POINTING.isdisjoint((*lower[:2], *lower[-1:]))
        if len(content) > 1 or (not points and any(map(_has_weight, content))):
            return True
        if any(word[0].isupper() and word.lower() in content for word in words[1:]):
            return True  # a name
    return False


@cache
def _words_without_content() -> frozenset[str]:
    return frozenset(_EMPTY.split())


def _has_weight(word: str) -> bool:
    return len(word) >= _WEIGHTY or word >= "\u0370"  # not in Latin script, which the table does not cover


def should_embed(text: str, policy: Policy) -> bool:
    """Return True if a message is worth recording by itself: long enough, and with content.

    Modelled on `shouldEmbed` in a proposal for supermemory.
    """
    if policy.paused or policy.capture == "off" or len(text.strip()) < policy.min_length:
        return False
    return policy.capture != "salient" or is_salient(text)


def should_record(messages: Iterable[str | None], policy: Policy) -> bool:
    """Return True if an exchange is to be recorded: at least one of its messages must be worth recording."""
    return any(should_embed(message, policy) for message in messages if message and message.strip())


def storable(text: str) -> str:
    """Remove NUL characters and lone surrogates, which are not text and which the store refuses."""
    text = text.replace("\x00", "")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "ignore").decode()
    return text


def cut(text: str, limit: int = MAX_TEXT, beyond: int = 0) -> str:
    """Cut the text to at most `limit` characters; a last line says how many are missing.

    `beyond` characters after the text were left out before.
    """
    if len(text) <= limit and not beyond:
        return text
    missing = max(0, len(text) - limit) + beyond
    mark = f"\n[cut: {missing + 60:,} more characters]"
    return text[: limit - len(mark)] + mark


def unanswered(turns: int) -> str:
    """Return a sentence about turns that were stored without an answer.

    >>> unanswered(1)
    "1 turn stored without the answer: the host's transcript has none (yet)"
    """
    noun = "turn" if turns == 1 else "turns"
    return f"{turns:,} {noun} stored without the answer: the host's transcript has none (yet)"


def _spellings(folders: Iterable[str]) -> Iterator[str]:
    """Yield each folder as written and with links resolved; a Windows drive also as WSL names it."""
    for folder in folders:
        on_drive = os.sep == "/" and re.match(r"[A-Za-z]:[\\/]", folder)
        mounted = f"/mnt/{folder[0].lower()}/" + folder[3:].replace("\\", "/") if on_drive else folder
        yield mounted
        yield os.path.realpath(mounted)


def _values(path: str) -> dict[str, Any]:
    values = parsed(read_whole(path, _LONGEST, own=True))
    if not isinstance(values, dict):
        raise ValueError("it is not a JSON object")
    return values


def _are_absolute_paths(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(item, str) and os.path.isabs(item) for item in value
    )
