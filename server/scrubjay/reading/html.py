"""Converts HTML to Markdown: the content of a page, with headings, lists, tables and code. Opens no link."""

import re
from typing import Any

from bs4 import BeautifulSoup, Comment, Tag
from markdownify import MarkdownConverter

from scrubjay.reading.result import UNSEEN, Conversion, tidy_values
from scrubjay.reading.tables import lay_out_tables

_INVISIBLE = ["head", "script", "style", "template"]
_IN_HEAD = frozenset("title meta link base script style template noscript".split())
_NOT_CONTENT = "noscript svg iframe object nav".split()
_AROUND = "[role=navigation], [role=search]"
_BLOCKS = ["h1", "h2", "h3", "p", "table"]  # in no form that only searches
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_LONG_BLANK = re.compile(r"[ \t\r\n]{100,}")
_LEAST = 200  # characters of text that make a <main> the content, or a form more than a search
_HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6", "summary", "dt", "legend"]
# What opens a part of the page, and what is opened by it, though it is hidden until then.
_OPENS = ("aria-expanded", "aria-controls", "data-target", "data-bs-target")
_OPENED = re.compile(r"tab|panel|accordion|collaps", re.IGNORECASE)
_ACCORDION = re.compile(r"accordion|collaps|faq", re.IGNORECASE)
_COOKIES = re.compile(
    r"(?:cookie|consent|gdpr)\S{0,40}(?:banner|bar|notice|popup|modal|overlay|wall|dialog|message|prompt|consent)"
    r"|onetrust|cookiebot",
    re.IGNORECASE,
)
_LONGEST_BANNER = 3_000  # characters; more is a page about cookies
_TYPED = {"text", "number", "email", "url", "tel", "date", "time", "datetime-local", "month", "week"}
_FORMULAS = {  # of MathML, by the element and the number of its parts
    ("msup", 2): "{}^{}",
    ("mover", 2): "{}^{}",
    ("msub", 2): "{}_{}",
    ("munder", 2): "{}_{}",
    ("msubsup", 3): "{}_{}^{}",
    ("munderover", 3): "{}_{}^{}",
    ("mfrac", 2): "{}/{}",
    ("mroot", 2): "root{1}({0})",
}
_BARE = re.compile(r"[\w.,^]*|\([^()]*\)|\W")  # needs no brackets in a formula
_ORDINAL = re.compile(r"[^\W\d_]{2,3}|[ªº]")  # of 1st, 2nd
_METAS = {
    "author": ("author", "article:author"),
    "date": ("date", "article:published_time", "dcterms.date"),
    "subject": ("description",),
    "keywords": ("keywords",),
}


class _Converter(MarkdownConverter):
    """Writes Markdown to be searched: links within the site lose their address, images become words."""

    def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        address = str(el.get("href") or "")
        outside = address.startswith(("http://", "https://", "mailto:"))
        return str(super().convert_a(el, text, parent_tags)) if outside else text  # type: ignore[misc]

    def convert_img(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return str(el.get("alt") or "")

    def convert_sup(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if el.find("a") is not None:  # a footnote's mark
            return f"[{text.strip('[]')}]" if text.strip() else ""
        bare = text.strip()
        return f"^{bare}" if bare and not _ORDINAL.fullmatch(bare) else text

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return str(super().convert_td(el, text.replace("|", "\\|"), parent_tags))  # type: ignore[misc]

    convert_th = convert_td  # both write the text and a bar


def convert_html(html: str, *, whole: bool = False) -> Conversion:
    """Convert a page without its navigation, or its main part alone if it has one; all of it if `whole`."""
    soup = BeautifulSoup(_DECLARATION.sub("", html, count=1), "lxml")  # with it bs4 warns of XHTML
    metas = {}
    for tag in soup.find_all("meta"):
        metas[str(tag.get("name") or tag.get("property")).lower()] = str(tag.get("content") or "")
    metadata = {name: next(filter(None, map(metas.get, keys)), None) for name, keys in _METAS.items()}
    title = soup.title.get_text() if soup.title else metas.get("og:title")
    _complete_body(soup)
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    _spell_formulas(soup)
    _spell_readings(soup)
    for tag in soup(_INVISIBLE):
        tag.decompose()
    if not whole:
        _remove_frame(soup)
    _spell_fields(soup)
    for text in soup.find_all(string=_LONG_BLANK):  # markdownify takes quadratic time for it
        if text.find_parent("pre") is None:
            text.replace_with(_LONG_BLANK.sub(lambda run: "\n" if set(run[0]) & {"\r", "\n"} else " ", text))
    content = [soup] if whole else _content(soup)
    title = " ".join((title or "").translate(UNSEEN).split()) or None
    written = "\n\n".join(map(_markdown, content))
    return Conversion(written, title=title, metadata=tidy_values(**metadata))


def _complete_body(soup: BeautifulSoup) -> None:
    """Move the tags of HTML 5 into the body, which the parser leaves in the head if no body begins there."""
    head = soup.head
    strays = head.find_all(lambda tag: tag.name not in _IN_HEAD, recursive=False) if head else []
    if head and strays and soup.body is None:
        head.insert_after(soup.new_tag("body"))
    for tag in reversed(strays):
        soup.body.insert(0, tag.extract())  # type: ignore[union-attr]


def _spell_formulas(soup: BeautifulSoup) -> None:
    """Put the TeX of a formula in its place, which pages have next to what they draw."""
    for script in soup.find_all("script", type=re.compile("^math/tex")):
        script.replace_with(f"${script.get_text().strip()}$")
    for drawn in soup.select(".katex-html[aria-hidden]"):
        drawn.decompose()
    for formula in soup.find_all("math"):
        source = formula.find("annotation", encoding="application/x-tex")
        formula.replace_with(source.get_text().strip() if source else _formula(formula))


def _formula(element: Tag) -> str:
    """Write MathML in one line, as `formulas` writes that of office documents."""
    parts = [
        _formula(each) if isinstance(each, Tag) else "".join(str(each).split()) for each in element.children
    ]
    parts = list(filter(None, parts))
    if element.name == "msqrt":
        return f"√({''.join(parts)})"
    if form := _FORMULAS.get((element.name, len(parts))):
        return form.format(*(part if _BARE.fullmatch(part) else f"({part})" for part in parts))
    return "".join(parts)


def _spell_readings(soup: BeautifulSoup) -> None:
    """Put what is written above characters in brackets after them."""
    for bracket in soup("rp"):
        bracket.decompose()
    for reading in soup("rt"):
        reading.replace_with(f"({reading.get_text(strip=True)})")


def _remove_frame(soup: BeautifulSoup) -> None:
    """Remove what is around the content: navigation, banners, buttons that do something, hidden parts."""
    for tag in [*soup(_NOT_CONTENT), *soup.select(_AROUND), *filter(_is_frame, soup.find_all(True))]:
        tag.extract()


def _spell_fields(soup: BeautifulSoup) -> None:
    """Put the values of fields in their places."""
    for field in soup.find_all("input"):
        field.replace_with(f" {_value(field)} ")
    for choice in soup.find_all("select"):
        chosen = choice.find_all("option", selected=True) or choice.find_all("option", limit=1)
        choice.replace_with(f" {', '.join(option.get_text(strip=True) for option in chosen)} ")


def _is_frame(tag: Tag) -> bool:
    if tag.name == "button":
        names = f"{_names(tag)} {_names(tag.parent) if tag.parent else ''}"
        opens = tag.get("role") == "tab" or any(map(tag.has_attr, _OPENS)) or _ACCORDION.search(names)
        return not opens and tag.find_parent(_HEADINGS) is None
    if tag.name == "form":
        searches = tag.find("input", type="search") is not None and tag.find(_BLOCKS) is None
        return searches and len(tag.get_text(strip=True)) < _LEAST
    if tag.name == "footer":
        return tag.find_parent(["main", "article", "section", "blockquote"]) is None
    if tag.name == "aside" and _is_links(tag):
        return True
    if tag.has_attr("hidden"):
        return not _can_open(tag)
    return tag.name in ("div", "section", "aside", "dialog") and _is_cookie_banner(tag)


def _is_cookie_banner(tag: Tag) -> bool:
    if not _COOKIES.search(_names(tag)):
        return False
    is_short = len(tag.get_text(strip=True)) <= _LONGEST_BANNER
    return is_short and tag.find(["main", "article", "h1"]) is None


def _names(tag: Tag) -> str:
    return f"{tag.get('id') or ''} {' '.join(tag.get('class') or ())}"


def _is_links(tag: Tag) -> bool:
    """Return True if more than half of the text leads elsewhere."""
    links = sum(len(link.get_text(strip=True)) for link in tag.find_all("a"))
    return links * 2 >= len(tag.get_text(strip=True))


def _value(field: Tag) -> str:
    """Return what a person sees in a field of a form."""
    kind = str(field.get("type") or "text").lower()
    if kind in ("checkbox", "radio"):
        return "[x] " if field.has_attr("checked") else "[ ] "
    return str(field.get("value") or "") if kind in _TYPED else ""


def _can_open(tag: Tag) -> bool:
    """Return True if a button or a search in the page shows this part."""
    by_name = _OPENED.search(_names(tag)) is not None
    return by_name or tag.get("role") == "tabpanel" or tag.get("hidden") == "until-found"


def _content(soup: BeautifulSoup) -> list[Tag]:
    """Return the parts that are the content: every `<main>`, else the only article, else all."""
    mains = soup.find_all("main") or soup.find_all(role="main")
    outer = [main for main in mains if main.find_parent("main") is None]
    articles = [] if outer else soup.find_all("article")
    parts = outer or (articles if len(articles) == 1 else [])
    enough = sum(len(part.get_text(strip=True)) for part in parts) >= _LEAST
    return list(parts) if enough else [soup]


def _markdown(content: Tag) -> str:
    options: dict[str, Any] = dict(escape_asterisks=False, escape_underscores=False, escape_misc=False)
    options |= dict(heading_style="ATX", bullets="-", table_infer_header=True)
    try:
        lay_out_tables(content)
        text = _Converter(**options, code_language_callback=_language).convert_soup(content)
    except RecursionError:  # tags nested hundreds deep: take the words without structure
        text = content.get_text("\n")
    lines = [line.rstrip() for line in text.translate(UNSEEN).split("\n")]
    tidy = [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]
    return "\n".join(tidy).strip("\n")


def _language(block: Tag) -> str:
    """Find the language that `<pre>` or the `<code>` in it names in its class."""
    inner = block.find("code")
    classes = [*(block.get("class") or ()), *((inner.get("class") or ()) if isinstance(inner, Tag) else ())]
    named = (name for name in map(str, classes) if name.startswith(("language-", "lang-")))
    return next(named, "").partition("-")[2]
