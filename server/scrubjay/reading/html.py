"""Converts HTML to Markdown: the content of a page, with headings, lists, tables and code. Opens no link."""

import re
from typing import Any

from bs4 import BeautifulSoup, Comment, Tag
from markdownify import MarkdownConverter

from scrubjay.reading.formulas import subscript
from scrubjay.reading.result import INVISIBLE, Conversion, tidy_values
from scrubjay.reading.tables import lay_out_tables

_INVISIBLE_TAGS = ["head", "script", "style", "template"]
_IN_HEAD = frozenset("title meta link base script style template noscript".split())
# Blocks that the converter to Markdown would join to the words around them.
_OTHER_BLOCKS = (
    "address aside center details dialog dir fieldset figure footer form header hgroup legend main marquee "
    "menu nav noframes optgroup option search summary"
).split()
# Classes of what generators of pages add to the text: numbers of lines, and links at headings.
_ADDED = (
    "linenos linenodiv lineno lnt ln linenr rouge-gutter line-numbers-rows line-numbers-wrapper "
    "headerlink anchor-link hash-link mw-editsection"
).split()
# Lines of code that may be outside a <pre>: in a <div> by Doxygen, in a <table> by GitHub and highlight.js.
_LINES_WITHOUT_PRE = "div.fragment > div.line, td.blob-code, td.hljs-ln-code"
# Tasks of Confluence and Notion, whose ticks are pictures, and the classes of ticked ones.
_TASKS, _TICKED = ".inline-task-list > li, .checkbox-on, .checkbox-off", {"checked", "checkbox-on"}
_CODE_LINES = ["div", "p", "li", "tr", "pre"]  # elements that hold a line of source code in a <pre>
_CODE_BLOCKS = [*_CODE_LINES, "ol", "ul", "table", "tbody", "td"]
_NAME_OF_ROLE = {"list": "ul", "listitem": "li"}  # elements that a div or span stands for
_NAME_OF_ROLE |= dict.fromkeys("row cell gridcell columnheader rowheader paragraph".split(), "div")
_NOT_CONTENT = "noscript svg iframe object nav".split()
_NAVIGATION = "[role=navigation], [role=search]"
_BLOCKS = ["h1", "h2", "h3", "p", "table"]  # a form with one of these is more than a search
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_LONG_BLANK = re.compile(r"[ \t\r\n]{100,}")
_LEAST = 200  # characters of text; a <main> with fewer is not the content, a form with fewer may be a search
_HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6", "summary", "dt", "legend"]
# Attributes of buttons that open a part of the page, and names of such parts, which are hidden until then.
_OPENERS = ("aria-expanded", "aria-controls", "data-target", "data-bs-target")
_OPENED_NAMES = re.compile(r"tab|panel|accordion|collaps", re.IGNORECASE)
_ACCORDION = re.compile(r"accordion|collaps|faq", re.IGNORECASE)
_UNSEEN_STYLE = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_COOKIES = re.compile(
    r"(?:cookie|consent|gdpr)\S{0,40}(?:banner|bar|notice|popup|modal|overlay|wall|dialog|message|prompt|consent)"
    r"|onetrust|cookiebot",
    re.IGNORECASE,
)
_LONGEST_BANNER = 3_000  # characters; a longer element is a page about cookies
_TEXT_INPUTS = {"text", "number", "email", "url", "tel", "date", "time", "datetime-local", "month", "week"}
_BARE = re.compile(r"[\w.,]*|\W")  # parts of a fraction that need no brackets
_ORDINAL = re.compile(r"[^\W\d_]{2,3}|[ªº]")  # the ending of 1st or 2nd
_SUM = re.compile(r"\w\s?[-+\u2212*/]\s?\w")  # an exponent that needs brackets: 2^(n+1)
_SIGN = re.compile(r"\A(\s*)(#{1,6}\s)")  # at the beginning of a paragraph, it would make a heading
_METAS = {
    "author": ("author", "article:author"),
    "date": ("date", "article:published_time", "dcterms.date"),
    "subject": ("description",),
    "keywords": ("keywords",),
}


class _Converter(MarkdownConverter):
    """Writes Markdown for search: links within the site lose their address, images become their alt text."""

    def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if "noteref" in f"{el.get('role')} {el.get('epub:type')}":
            return f"[{text.strip('[]^')}]"
        address = str(el.get("href") or "")
        is_external = address.startswith(("http://", "https://", "mailto:"))
        return str(super().convert_a(el, text, parent_tags)) if is_external else text  # type: ignore[misc]

    def convert_img(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return str(el.get("alt") or "")

    def convert_sup(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if el.find("a") is not None:  # a footnote's mark
            return f"[{text.strip('[]')}]" if text.strip() else ""
        bare = text.strip()
        bare = f"({bare})" if _SUM.search(bare) else bare
        return f"^{bare}" if bare and not _ORDINAL.fullmatch(bare) else text

    def convert_sub(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        plain = el.get_text()
        return text if (index := subscript(plain)) == plain else index

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return str(super().convert_td(el, text.replace("|", "\\|"), parent_tags))  # type: ignore[misc]

    convert_th = convert_td  # both write the text and a bar

    def escape(self, text: str, parent_tags: set[str]) -> str:
        return _SIGN.sub(r"\1\\\2", str(super().escape(text, parent_tags)))  # type: ignore[misc]


def convert_html(html: str, *, whole: bool = False) -> Conversion:
    """Convert a page's main part, or the page without navigation if it has none; with `whole`, all of it."""
    # bs4 warns of XHTML if it sees the declaration.
    soup = BeautifulSoup(_DECLARATION.sub("", html, count=1), "lxml")
    metas = {}
    for tag in soup.find_all("meta"):
        metas[str(tag.get("name") or tag.get("property")).lower()] = str(tag.get("content") or "")
    metadata = {name: next(filter(None, map(metas.get, keys)), None) for name, keys in _METAS.items()}
    title = soup.title.get_text() if soup.title else metas.get("og:title")
    _complete_body(soup)
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    _write_formulas(soup)
    _write_readings(soup)
    _write_drawings(soup)
    _apply_roles(soup)
    for tag in [*soup(_INVISIBLE_TAGS), *soup(class_=_ADDED)]:
        tag.decompose()
    if not whole:
        _remove_surroundings(soup)
    _write_fields(soup)
    _write_code(soup)
    for text in soup.find_all(string=_LONG_BLANK):  # markdownify takes quadratic time for long blanks
        if text.find_parent("pre") is None:
            text.replace_with(_LONG_BLANK.sub(lambda run: "\n" if set(run[0]) & {"\r", "\n"} else " ", text))
    content = [soup] if whole else _content_parts(soup)
    title = " ".join((title or "").translate(INVISIBLE).split()) or None
    for tag in soup(_OTHER_BLOCKS):
        tag.name = "div"
    markdown = "\n\n".join(map(_markdown, content))
    return Conversion(markdown, title=title, metadata=tidy_values(**metadata))


def _complete_body(soup: BeautifulSoup) -> None:
    """Move content tags into the body; the parser leaves them in the head of a page without a <body>."""
    head = soup.head
    strays = head.find_all(lambda tag: tag.name not in _IN_HEAD, recursive=False) if head else []
    if head and strays and soup.body is None:
        head.insert_after(soup.new_tag("body"))
    for tag in reversed(strays):
        soup.body.insert(0, tag.extract())  # type: ignore[union-attr]


def _write_formulas(soup: BeautifulSoup) -> None:
    """Replace formulas by their TeX source, which pages have next to the drawing."""
    for script in soup.find_all("script", type=re.compile("^math/tex")):
        script.replace_with(f"${script.get_text().strip()}$")
    for drawing in soup.select(".katex-html[aria-hidden]"):
        drawing.decompose()
    for formula in soup.find_all("math"):
        source = formula.find("annotation", encoding="application/x-tex")
        if source is not None:
            formula.replace_with(source.get_text().strip())
    for raised in soup.select("msup > :last-child"):
        raised.name = "sup"
    for lowered in soup.select("msub > :last-child"):
        lowered.name = "sub"
    for denominator in soup.select("mfrac > :last-child"):
        denominator.insert_before("/")
    for part in soup.select("mfrac > *"):
        if not _BARE.fullmatch("".join(part.get_text().split())):
            part.insert_before("(")
            part.insert_after(")")


def _write_readings(soup: BeautifulSoup) -> None:
    """Move the readings above characters (ruby) into brackets after the characters."""
    for bracket in soup("rp"):
        bracket.decompose()
    for reading in soup("rt"):
        reading.replace_with(f"({reading.get_text(strip=True)})")


def _write_drawings(soup: BeautifulSoup) -> None:
    """Replace drawings by their labels, because a diagram has words as well."""
    for drawing in soup("svg"):
        labels = (" ".join(label.get_text(" ").split()) for label in drawing(["text", "foreignobject"]))
        if words := ", ".join(filter(None, labels)):
            paragraph = soup.new_tag("p")
            paragraph.string = words
            drawing.replace_with(paragraph)


def _apply_roles(soup: BeautifulSoup) -> None:
    """Rename each div and span to the element that its role names."""
    for tag in soup(["div", "span"], role=True):
        heading = f"h{tag.get('aria-level') or 2}"
        if tag["role"] == "heading":
            tag.name = heading if heading in _HEADINGS else "h6"
        else:
            tag.name = _NAME_OF_ROLE.get(str(tag["role"]), tag.name)


def _remove_surroundings(soup: BeautifulSoup) -> None:
    """Remove everything around the content: navigation, banners, buttons for actions, hidden parts."""
    others = filter(_is_surrounding, soup.find_all(True))
    for tag in [*soup(_NOT_CONTENT), *soup.select(_NAVIGATION), *others]:
        tag.extract()


def _write_fields(soup: BeautifulSoup) -> None:
    """Replace fields by their values."""
    for task in soup.select(_TASKS):
        task.name = "li" if task.name == "li" else "span"
        task.insert(0, "[x] " if _TICKED.intersection(task.get("class") or ()) else "[ ] ")
    for field in soup.find_all("input"):
        field.replace_with(f" {_visible_value(field)} ")
    for choice in soup.find_all("select"):
        options = choice.find_all("option", selected=True) or choice.find_all("option", limit=1)
        choice.replace_with(f" {', '.join(option.get_text(strip=True) for option in options)} ")
    for field in soup.find_all(["textarea", "label"]):  # which a person sees apart from the words before
        if not str(field.previous_sibling or " ")[-1:].isspace():
            field.insert_before(" ")


def _write_code(soup: BeautifulSoup) -> None:
    """End each line of source code, where elements stand for lines, by a line break."""
    for line in soup.select(_LINES_WITHOUT_PRE):
        block = line.find_parent(["div", "table"])
        if block and line.find_parent("pre") is None:
            block.wrap(soup.new_tag("pre"))
    for tag in (tag for code in soup("pre") for tag in reversed(code(_CODE_BLOCKS))):
        if tag.name in _CODE_LINES and not tag.get_text().endswith("\n"):
            tag.append("\n")
        tag.name = "span"


def _is_surrounding(tag: Tag) -> bool:
    if tag.name == "button":
        names = f"{_names(tag)} {_names(tag.parent) if tag.parent else ''}"
        is_opener = tag.get("role") == "tab" or any(map(tag.has_attr, _OPENERS)) or _ACCORDION.search(names)
        return not is_opener and tag.find_parent(_HEADINGS) is None
    if tag.name == "form":
        is_search = tag.find("input", type="search") is not None and tag.find(_BLOCKS) is None
        return is_search and len(tag.get_text(strip=True)) < _LEAST
    if tag.name == "footer":
        return tag.find_parent(["main", "article", "section", "blockquote"]) is None
    if tag.name == "aside" and _is_mostly_links(tag):
        return True
    has_unseen_style = _UNSEEN_STYLE.search(str(tag.get("style") or "")) is not None
    # A script may show an element that has an id.
    if tag.has_attr("hidden") or (has_unseen_style and not tag.get("id")):
        return not _can_open(tag)
    return tag.name in ("div", "section", "aside", "dialog") and _is_cookie_banner(tag)


def _is_cookie_banner(tag: Tag) -> bool:
    if not _COOKIES.search(_names(tag)):
        return False
    is_short = len(tag.get_text(strip=True)) <= _LONGEST_BANNER
    return is_short and tag.find(["main", "article", "h1"]) is None


def _names(tag: Tag) -> str:
    return f"{tag.get('id') or ''} {' '.join(tag.get('class') or ())}"


def _is_mostly_links(tag: Tag) -> bool:
    """Return True if at least half of the text is links."""
    links = sum(len(link.get_text(strip=True)) for link in tag.find_all("a"))
    return links * 2 >= len(tag.get_text(strip=True))


def _visible_value(field: Tag) -> str:
    """Return the visible value of a field of a form."""
    kind = str(field.get("type") or "text").lower()
    if kind in ("checkbox", "radio"):
        return "[x] " if field.has_attr("checked") else "[ ] "
    return str(field.get("value") or "") if kind in _TEXT_INPUTS else ""


def _can_open(tag: Tag) -> bool:
    """Return True if a button or a search in the page can show this hidden part."""
    if tag.get("role") == "tabpanel" or tag.get("hidden") == "until-found":
        return True
    return _OPENED_NAMES.search(_names(tag)) is not None or tag.find_parent("details") is not None


def _content_parts(soup: BeautifulSoup) -> list[Tag]:
    """Return the parts with the content: every `<main>`, else the only article, else the whole page.

    An article with less than half of the page is only a part of the content.
    """
    mains = soup.find_all("main") or soup.find_all(role="main")
    outer_mains = [main for main in mains if main.find_parent("main") is None]
    articles = [] if outer_mains else soup.find_all("article")
    parts = outer_mains or (articles if len(articles) == 1 else [])
    least = _LEAST if outer_mains else max(_LEAST, len(soup.get_text(strip=True)) / 2)
    if sum(len(part.get_text(strip=True)) for part in parts) < least:
        return [soup]
    titles = [] if any(part.find("h1") for part in parts) else soup("h1")
    return [*titles[:1], *parts]


def _markdown(content: Tag) -> str:
    options: dict[str, Any] = dict(escape_asterisks=False, escape_underscores=False, escape_misc=False)
    options |= dict(heading_style="ATX", bullets="-", table_infer_header=True)
    try:
        lay_out_tables(content)
        text = _Converter(**options, code_language_callback=_language).convert_soup(content)
    except RecursionError:  # tags nested hundreds deep: take the words without structure
        text = content.get_text("\n")
    lines = [line.rstrip() for line in text.translate(INVISIBLE).split("\n")]
    tidy_lines = [line for number, line in enumerate(lines) if line or (number and lines[number - 1])]
    return "\n".join(tidy_lines).strip("\n")


def _language(block: Tag) -> str:
    """Return the language in the class of a `<pre>`, or of the `<code>` in it."""
    inner = block.find("code")
    classes = [*(block.get("class") or ()), *((inner.get("class") or ()) if isinstance(inner, Tag) else ())]
    language_classes = (name for name in map(str, classes) if name.startswith(("language-", "lang-")))
    return next(language_classes, "").partition("-")[2]
