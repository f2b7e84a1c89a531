"""Finds the kind of a file, by its first bytes and its name."""

import os
import re
from collections.abc import Container
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """The type of a document, and the language of a source or data file."""

    type: str
    language: str | None = None


_TYPES = {
    "text": "txt text log rst adoc asciidoc org tex srt vtt diff patch",
    "markdown": "md markdown mdown mkd mdx qmd rmd",
    "html": "html htm xhtml",
    "pdf": "pdf",
    "docx": "docx docm dotx",
    "doc": "doc",
    "odt": "odt ott",
    "odp": "odp otp",
    "rtf": "rtf",
    "epub": "epub",
    "pptx": "pptx pptm ppsx potx",
    "ppt": "ppt pps",
    "xlsx": "xlsx xlsm xltx xlsb xls",
    "ods": "ods ots",
    "csv": "csv",
    "tsv": "tsv tab",
    "notebook": "ipynb",
    "email": "eml mht mhtml",
    "mailbox": "mbox mbx",
    "msg": "msg",
    "card": "ics ical ifb vcs vcf vcard",
}
_LANGUAGES = {
    "python": "py pyi pyw",
    "javascript": "js jsx mjs cjs",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "java": "java",
    "go": "go",
    "rust": "rs",
    "c": "c h",
    "cpp": "cc cpp cxx hpp hh hxx cu cuh ino",
    "csharp": "cs",
    "ruby": "rb rake gemspec",
    "php": "php phtml",
    "bash": "sh bash zsh ksh",
    # from here on, files are cut into chunks by their indentation
    "json": "json jsonl ndjson json5 jsonc geojson webmanifest",
    "yaml": "yaml yml",
    "toml": "toml",
    "ini": "ini cfg conf properties env editorconfig",
    "xml": (
        "xml svg xsd xsl xslt rss atom plist pom csproj fsproj vbproj vcxproj props targets nuspec resx xaml "
        "fxml storyboard xib ui wsdl kml gpx opml drawio ttml"
    ),
    "groovy": "groovy gradle",
    "sql": "sql",
    "css": "css scss sass less",
    "kotlin": "kt kts",
    "swift": "swift",
    "scala": "scala sc",
    "lua": "lua",
    "perl": "pl pm",
    "r": "r",
    "julia": "jl",
    "dart": "dart",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "haskell": "hs",
    "ocaml": "ml mli",
    "fsharp": "fs fsx",
    "clojure": "clj cljs edn",
    "lisp": "el lisp scm",
    "objc": "mm",
    "visualbasic": "vb vbs bas",
    "pascal": "pas dpr",
    "fortran": "f f90 f95 f03 f08",
    "ada": "adb ads",
    "crystal": "cr",
    "elm": "elm",
    "coffeescript": "coffee",
    "tcl": "tcl",
    "awk": "awk",
    "fish": "fish",
    "gdscript": "gd",
    "verilog": "v sv svh",
    "vhdl": "vhd vhdl",
    "starlark": "bzl bazel star",
    "jsonnet": "jsonnet libsonnet",
    "thrift": "thrift",
    "prisma": "prisma",
    "shader": "glsl vert frag hlsl wgsl",
    "template": "erb ejs hbs mustache jinja jinja2 j2 liquid twig njk pug haml slim jsp cshtml razor",
    "zig": "zig",
    "nim": "nim",
    "vue": "vue svelte astro",
    "powershell": "ps1 psm1",
    "batch": "bat cmd",
    "terraform": "tf tfvars hcl",
    "protobuf": "proto",
    "graphql": "graphql gql",
    "solidity": "sol",
    "assembly": "s asm",
    "make": "mk mak",
    "cmake": "cmake",
    "docker": "dockerfile",
    "nix": "nix",
    "vim": "vim",
}
_MARKUPS = {
    "rst": "rst rest",
    "asciidoc": "adoc asciidoc asc",
    "org": "org",
    "latex": "tex ltx latex",
    "mediawiki": "wiki mediawiki",
}
_NAMES = {
    "makefile": "make",
    "gnumakefile": "make",
    "dockerfile": "docker",
    "containerfile": "docker",
    "cmakelists.txt": "cmake",
    "gemfile": "ruby",
    "rakefile": "ruby",
    "vagrantfile": "ruby",
    "jenkinsfile": "groovy",
    "justfile": "make",
    "meson.build": "starlark",
    "pipfile": "toml",
    "cargo.lock": "toml",
    "poetry.lock": "toml",
    "gemfile.lock": "yaml",
    "pipfile.lock": "json",
    "requirements.txt": "ini",
    ".bashrc": "bash",
    ".zshrc": "bash",
    ".profile": "bash",
    ".gitconfig": "ini",
    ".env": "ini",
}
_REFUSED = {
    "is an image, and only text is read": "png jpg jpeg gif bmp webp tif tiff ico heic avif psd",
    "is a sound or a film, and only text is read": "mp3 wav flac ogg m4a mp4 mov avi mkv webm",
    "is an archive; unpack it and add what is in it": "zip tar gz tgz bz2 xz 7z rar zst jar whl",
    "is data of a program, and only text is read": (
        "exe dll so dylib o a obj class pyc wasm bin db sqlite parquet npy npz pkl pt onnx"
    ),
}
HEAD = 1024  # bytes that show the kind of a file
ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how containers of office files begin
# Suffixes of data files that text files of Blender, Pkl, Erlang and other programs have too.
_PERHAPS_TEXT = frozenset("o a obj class bin db pkl pt dat dump out".split())


def _by_suffix(table: dict[str, str]) -> dict[str, str]:
    return {suffix: name for name, suffixes in table.items() for suffix in suffixes.split()}


_TYPE_OF, _LANGUAGE_OF, _REFUSAL_OF = _by_suffix(_TYPES), _by_suffix(_LANGUAGES), _by_suffix(_REFUSED)
_MARKUP_OF = _by_suffix(_MARKUPS)
_INTERPRETER = re.compile(rb"#!\s*(?:\S*/)?(?:env\s+(?:-S\s+)?)?([A-Za-z]+)")
_LANGUAGE_OF_INTERPRETER = {name: name for name in "python bash ruby php perl lua julia elixir fish".split()}
_LANGUAGE_OF_INTERPRETER |= {"sh": "bash", "zsh": "bash", "dash": "bash", "ksh": "bash", "node": "javascript"}
_LANGUAGE_OF_INTERPRETER |= {"deno": "typescript", "bun": "typescript", "Rscript": "r", "pwsh": "powershell"}
_NO_TEXT = re.compile(rb"[\x00-\x07\x0e-\x1a]")
ARCHIVES = frozenset({"docx", "pptx", "xlsx", "doc", "ppt", "odt", "ods", "odp", "epub", "msg"})  # never text
_OR_TEXT = frozenset({"doc", "msg"})  # plain texts and messages of robots have these suffixes too
# The line above each message of a mailbox.
MESSAGE = re.compile(rb"(?:\A|(?<=\n))From [^\r\n]{0,200}\d\d:\d\d[^\r\n]{0,100}\r?\n(?=[\w-]{1,80}: )")
_MARKUP = re.compile(rb"\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html[\s>])", re.IGNORECASE | re.DOTALL)


# what programs write into a file that they name .xls for Excel to open
_FRAGMENT = re.compile(rb"\s*<(?:table|head|body|meta|style)[\s>]", re.IGNORECASE)
_SEPARATORS = {b"\t": "tsv", b",": "csv", b";": "csv"}


def endings(languages: Container[str | None]) -> list[str]:
    """Return the endings of file names in these languages, in lower case."""
    names = {**{f".{suffix}": language for suffix, language in _LANGUAGE_OF.items()}, **_NAMES}
    return [ending for ending, language in names.items() if language in languages]


def kind_of(name: str, head: bytes = b"") -> Kind:
    """Return the kind of a file by its first bytes and its name; an unknown file is plain text.

    >>> kind_of("src/app.tsx"), kind_of("notes")
    (Kind(type='code', language='tsx'), Kind(type='text', language=None))
    """
    base = os.path.basename(name).lower()
    suffix = base.rpartition(".")[2] if "." in base.strip(".") else ""
    start = head.lstrip(b"\xef\xbb\xbf\r\n\t ")
    if start.startswith(b"%PDF-"):
        return Kind("pdf")
    if start.startswith(b"{\\rtf"):
        return Kind("rtf")
    if language := _NAMES.get(base) or _LANGUAGE_OF.get(suffix):
        return Kind("json" if language == "json" else "code", language)
    if suffix in _TYPE_OF:
        kind = Kind(_TYPE_OF[suffix])
        if kind.type in ARCHIVES and (_MARKUP.match(head) or _FRAGMENT.match(head)):
            return Kind("html")
        if suffix == "xls" and start and _looks_like_text(head):
            first_line = start.partition(b"\n")[0]
            return Kind(next((name for mark, name in _SEPARATORS.items() if mark in first_line), "text"))
        return Kind("text") if kind.type in _OR_TEXT and start and _looks_like_text(head) else kind
    if language := _NAMES.get(base.rpartition(".")[0]):  # Dockerfile.dev, .env.local
        return Kind("code", language)
    if interpreter := _INTERPRETER.match(head):
        language = _LANGUAGE_OF_INTERPRETER.get(interpreter[1].decode())
        return Kind("code" if language else "text", language)
    if MESSAGE.match(head):
        return Kind("mailbox")
    return Kind("html") if _MARKUP.match(head) else Kind("text")


def markup_of(name: str) -> str | None:
    """Return the markup of a text with headings, by its name; None for plain text and Markdown."""
    return _MARKUP_OF.get(name.lower().rpartition(".")[2]) if "." in name else None


def refusal(name: str, head: bytes | None = None) -> str | None:
    """Return why a file of this name is never read, as a clause without a full stop, or None if it may be.

    If the name does not decide, the first bytes (`head`) do; without them, the file may be read.
    """
    _, dot, suffix = os.path.basename(name).lower().rpartition(".")
    reason = _REFUSAL_OF.get(suffix) if dot else None
    if reason is None or suffix not in _PERHAPS_TEXT:
        return reason
    return None if head is None or _looks_like_text(head) else reason


def _looks_like_text(head: bytes) -> bool:
    return not _NO_TEXT.search(head)
