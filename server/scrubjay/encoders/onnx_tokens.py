"""The base class of models that onnxruntime runs; one run on a text returns its vector and its tokens."""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrubjay.encoders.prior import prior
from scrubjay.encoders.protocol import Space
from scrubjay.encoders.token_codes import EncodedQuery, EncodedTexts, signs


class Run(NamedTuple):
    """The result for one text: its vector, of length 1, and the last states of its content tokens."""

    vector: NDArray[np.float32]
    states: NDArray[np.float32]


class OnnxTokenEncoder(ABC):
    """An encoder that runs a graph on one text at a time, with one thread; any thread may call it."""

    parallel = True
    space: Space

    @abstractmethod
    def _read(self, prompt: str, text: str) -> Run:
        """Run the model on a prompt and a text; the tokens of the prompt do not count as content."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed stored texts: shape (len(texts), dim), each row of length 1."""
        return self.embed_passages(texts).vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed one question: shape (dim,), of length 1."""
        return self._read(self.space.query_prompt, text).vector

    def embed_passages(self, texts: Sequence[str]) -> EncodedTexts:
        """Embed as `embed_documents` does, and return the codes of the content tokens."""
        vectors, codes = np.empty((len(texts), self.space.dim), np.float32), []
        for row, text in enumerate(texts):
            vectors[row], states = self._read(self.space.document_prompt, text)
            codes.append(signs(states.T).tobytes())
        return EncodedTexts(vectors, tuple(codes))

    def embed_question(self, text: str) -> EncodedQuery:
        """Embed as `embed_query` does; add the codes of the content tokens, if any, and the prior."""
        vector, states = self._read(self.space.query_prompt, text)
        codes = signs(states.T) if len(states) else None
        return EncodedQuery(vector, codes, prior(self.space.model, vector))


def open_session(graph: Path) -> Any:
    """Open a graph on the CPU with one thread, because several threads wait for each other if it is busy."""
    # onnxruntime sends telemetry by default, and caches it in the user's ~/.cache.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime  # takes 60 ms, which commands that only look for the model do not need

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
