"""HTML into Markdown: the part of a page that is its content, with headings, lists, tables and code. Knows tags; opens no link."""

from __future__ import annotations

import re
from typing import Any

from bs4 import BeautifulSoup, Comment, Tag
from markdownify import MarkdownConverter

from scrubjay.reading.result import Converted, tidy_values

_NOT_CONTENT = [
    "script",
    "style",
    "template",
    "noscript",
    "svg",
    "iframe",
    "object",
    "nav",
    "footer",
    "aside",
    "form",
    "button",
    "select",
    "dialog",
]
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_LEAST = 200  # characters of text that make a <main> the content
_METAS = {
    "author": ("author", "article:author"),
    "date": ("date", "article:published_time", "dcterms.date"),
    "subject": ("description",),
    "keywords": ("keywords",),
}


class _Converter(MarkdownConverter):
    """Markdown to be searched: names unescaped, links into the same site without their address, images by their words."""

    def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        address = str(el.get("href") or "")
        return (
            super().convert_a(el, text, parent_tags)
            if address.startswith(("http://", "https://", "mailto:"))
            else text
        )  # type: ignore[misc]

    def convert_img(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return str(el.get("alt") or "")

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return super().convert_td(el, text.replace("|", "\\|"), parent_tags)  # type: ignore[misc]

    def convert_th(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return super().convert_th(el, text.replace("|", "\\|"), parent_tags)  # type: ignore[misc]


def convert_html(html: str, *, whole: bool = False) -> Converted:
    """A page as Markdown, without its navigation; of `<main>` alone where the page has one, unless `whole` is asked for."""
    soup = BeautifulSoup(_DECLARATION.sub("", html, count=1), "lxml")  # with it bs4 warns of XHTML
    metas = {
        str(tag.get("name") or tag.get("property")).lower(): str(tag.get("content") or "")
        for tag in soup.find_all("meta")
    }
    said = {name: next((metas[key] for key in keys if metas.get(key)), None) for name, keys in _METAS.items()}
    title = soup.title.get_text() if soup.title else metas.get("og:title")
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    for tag in soup(["head", *_NOT_CONTENT] if not whole else ["head", "script", "style", "template"]):
        tag.decompose()
    for tag in soup.find_all(hidden=True):
        tag.decompose()
    content = soup if whole else _content(soup)
    return Converted(
        _markdown(content), title=" ".join((title or "").split()) or None, metadata=tidy_values(**said)
    )


def _content(soup: BeautifulSoup) -> Tag:
    mains = soup.find_all("main") or soup.find_all(role="main") or soup.find_all("article")
    if len(mains) == 1 and isinstance(mains[0], Tag) and len(mains[0].get_text(strip=True)) >= _LEAST:
        return mains[0]
    return soup


def _markdown(content: Tag) -> str:
    options: dict[str, Any] = dict(
        heading_style="ATX", bullets="-", table_infer_header=True, code_language_callback=_language
    )
    options |= dict(escape_asterisks=False, escape_underscores=False, escape_misc=False)
    try:
        text = _Converter(**options).convert_soup(content)
    except RecursionError:  # tags nested hundreds deep: its words, without structure
        text = content.get_text("\n")
    lines = [line.rstrip() for line in text.replace("\xa0", " ").split("\n")]
    kept = [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]
    return "\n".join(kept).strip("\n")


def _language(block: Tag) -> str:
    """The language that `<pre>` or the `<code>` in it names in its class."""
    inner = block.find("code")
    classes = [*(block.get("class") or ()), *((inner.get("class") or ()) if isinstance(inner, Tag) else ())]
    return next(
        (str(name).partition("-")[2] for name in classes if str(name).startswith(("language-", "lang-"))), ""
    )
