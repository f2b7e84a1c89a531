"""Converts HTML to Markdown: the content of a page, with headings, lists, tables and code. Opens no link."""

import re
from typing import Any

from bs4 import BeautifulSoup, Comment, Tag
from markdownify import MarkdownConverter

from scrubjay.reading.result import Conversion, tidy_values

_INVISIBLE = ["head", "script", "style", "template"]
_NOT_CONTENT = "noscript svg iframe object nav footer aside form button select dialog".split()
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_LONG_BLANK = re.compile(r"[ \t\r\n]{100,}")
_LEAST = 200  # characters of text that make a <main> the content
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

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return str(super().convert_td(el, text.replace("|", "\\|"), parent_tags))  # type: ignore[misc]

    convert_th = convert_td  # both write the text and a bar


def convert_html(html: str, *, whole: bool = False) -> Conversion:
    """Convert a page without its navigation, or its `<main>` alone if it has one; all of it if `whole`."""
    soup = BeautifulSoup(_DECLARATION.sub("", html, count=1), "lxml")  # with it bs4 warns of XHTML
    metas = {}
    for tag in soup.find_all("meta"):
        metas[str(tag.get("name") or tag.get("property")).lower()] = str(tag.get("content") or "")
    metadata = {name: next(filter(None, map(metas.get, keys)), None) for name, keys in _METAS.items()}
    title = soup.title.get_text() if soup.title else metas.get("og:title")
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    for tag in soup(_INVISIBLE if whole else [*_INVISIBLE, *_NOT_CONTENT]):
        tag.decompose()
    for tag in soup.find_all(hidden=True):
        tag.decompose()
    for text in soup.find_all(string=_LONG_BLANK):  # markdownify takes quadratic time for it
        if text.find_parent("pre") is None:
            text.replace_with(_LONG_BLANK.sub(lambda run: "\n" if set(run[0]) & {"\r", "\n"} else " ", text))
    content = soup if whole else _content(soup)
    title = " ".join((title or "").split()) or None
    return Conversion(_markdown(content), title=title, metadata=tidy_values(**metadata))


def _content(soup: BeautifulSoup) -> Tag:
    mains = soup.find_all("main") or soup.find_all(role="main") or soup.find_all("article")
    if len(mains) == 1 and isinstance(mains[0], Tag) and len(mains[0].get_text(strip=True)) >= _LEAST:
        return mains[0]
    return soup


def _markdown(content: Tag) -> str:
    options: dict[str, Any] = dict(escape_asterisks=False, escape_underscores=False, escape_misc=False)
    options |= dict(heading_style="ATX", bullets="-", table_infer_header=True)
    try:
        text = _Converter(**options, code_language_callback=_language).convert_soup(content)
    except RecursionError:  # tags nested hundreds deep: take the words without structure
        text = content.get_text("\n")
    lines = [line.rstrip() for line in text.replace("\xa0", " ").split("\n")]
    tidy = [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]
    return "\n".join(tidy).strip("\n")


def _language(block: Tag) -> str:
    """Find the language that `<pre>` or the `<code>` in it names in its class."""
    inner = block.find("code")
    classes = [*(block.get("class") or ()), *((inner.get("class") or ()) if isinstance(inner, Tag) else ())]
    named = (name for name in map(str, classes) if name.startswith(("language-", "lang-")))
    return next(named, "").partition("-")[2]
