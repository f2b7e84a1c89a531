"""The bundled model: all-MiniLM-L6-v2, trained further on developers' memories, run by onnxruntime.

Its weights are int8. `server/model/make_minilm.py` makes its files from the published files and `taught.npz`;
the files of the readers are in the same folder.
"""

import hashlib
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from scrubjay.encoders.folder import sha256
from scrubjay.encoders.onnx_tokens import OnnxTokenEncoder, Run, open_session
from scrubjay.encoders.protocol import Space
from scrubjay.encoders.token_codes import EncodedQuery, is_content_token
from scrubjay.encoders.wordpiece import WordPiece
from scrubjay.errors import EncoderError
from scrubjay.text.terms import CJK_RUN

BUNDLED = "bundled"
FOLDER = Path(__file__).parent / "minilm"
GRAPH, WEIGHTS, VOCABULARY = "model.onnx", "model.bin", "vocab.txt"
DIGESTS = {
    GRAPH: "63301e5c94ae58066fa80568d027d7dc8964c70c366d3dd1bf79d367f5382c83",
    WEIGHTS: "e54b9ffcd4780ef309f984469a1fa5f310229b7057d99ed13b44b3c31a386d4b",
    "reader.onnx": "dfe53cffc4e7279d160ca86f4f790acc217271df8bfa6a7d7cdbf456866d5e6d",
    "reader.bin": "e33db251f663637aaf22ba5f4700d0b0fff828c9bd06fe11660a486d8d4ad7b5",
    "answers.onnx": "f853007bc3a1ed807e1087a61a7f78c5825c25ca12a3a6369e8fe59502578673",
    "answers.bin": "f4bed871b5438e691dc2087ae0008fd72470e7bdfe22d5d751970f801bb3a257",
    "open.onnx": "675b19167a81d363bf33d6711c4f4d33aad593fe4ad87dbbfa850567ed8c3611",
    "open.bin": "cf386702a70833eeb5f31ce2c33a29094b1b5c63ffbfcaf83ef85368e5f8fc2f",
    VOCABULARY: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
# The published tokenizer.json, which `WordPiece` implements; every home's space names it.
_TOKENIZER = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

LONGEST = 256  # tokens that are read of a text, including [CLS] and [SEP]
_BEGIN, _END = 101, 102  # the ids of [CLS] and [SEP]
UNREAD = 0.3
"""If a larger share of a question's letters is in unknown tokens, the model cannot read the question.

Of 30 Chinese questions about 30 facts, 26 found their fact first with this model's vector, and 30 without it.
Kana and Hangul count as unknown: the vocabulary spells them, but the model learned no meaning from them.
"""

_REMEDY = (
    "Install Scrubjay again (`pip install --force-reinstall --no-deps scrubjay`), "
    "or choose another model with `scrubjay config model <hub id or folder>`."
)


def check_files(folder: Path = FOLDER) -> None:
    """Check that the model's files are those of this Scrubjay release.

    Raises:
        EncoderError: a file is missing or altered; the message names the expected digest.
    """
    for name, expected in DIGESTS.items():
        file = folder / name
        try:
            digest = sha256(file)
        except OSError as error:
            reason = error.strerror or str(error)
            sentence = f"The file {file} of the bundled model cannot be read: {reason};"
            raise EncoderError(f"{sentence} its SHA-256 should be {expected}. {_REMEDY}") from error
        if digest != expected:
            sentence = f"The file {file} of the bundled model was altered: its SHA-256 is {digest},"
            raise EncoderError(f"{sentence} but should be {expected}. {_REMEDY}")


@cache
def vocabulary() -> WordPiece:
    """Return the vocabulary of the models in the folder, which is read once per process."""
    return WordPiece(FOLDER / VOCABULARY)


class BundledEncoder(OnnxTokenEncoder):
    """Runs the model, whose weights are mapped into memory.

    Texts are not batched: the activations of a forward pass share their 8-bit scales, so a vector would
    depend on the other texts in the batch. Batches would be much faster only below 20 tokens: on one core,
    8 texts take 4.1 ms together and 9.8 ms one by one if they have 8 tokens each, 32 and 38 ms with 70
    tokens, 164 and 144 ms with 256.
    """

    def __init__(self, query_prompt: str = "", document_prompt: str = "") -> None:
        self.space = Space(
            model=BUNDLED,
            weights=hashlib.sha256((DIGESTS[GRAPH] + DIGESTS[WEIGHTS]).encode()).hexdigest(),
            tokenizer=_TOKENIZER,
            dim=384,
            pooling="mean",
            max_seq_length=LONGEST,
            query_prompt=query_prompt,
            document_prompt=document_prompt,
            precision="int8",
        )
        self._vocabulary = vocabulary()
        self._session = open_session(FOLDER / GRAPH)
        # With two BLAS threads, rotating a few tokens for their codes took three times the processor time.
        # The limit is set once for the process, because threads that set and reset it would interfere.
        ThreadpoolController().select(user_api="blas").limit(limits=1)

    def embed_question(self, text: str) -> EncodedQuery:
        """Embed a question with its codes; a question that the model cannot read gets the zero vector."""
        if self._unknown_share(text) > UNREAD:
            return EncodedQuery(np.zeros(self.space.dim, np.float32), None)
        return super().embed_question(text)

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return the positions in a text of the tokens for which `embed_passages` returns codes."""
        vocabulary = self._vocabulary
        room = LONGEST - 2 - len(vocabulary.ids(self.space.document_prompt))
        pairs = zip(vocabulary.ids(text), vocabulary.places(text), strict=False)
        return [place for token, place in list(pairs)[:room] if is_content_token(vocabulary.tokens[token])]

    def _unknown_share(self, text: str) -> float:
        """Return the share of the text's letters in unknown tokens or CJK scripts, in [0, 1]."""
        letters, rest = _letters(text), CJK_RUN.sub(" ", text)
        known = _letters(rest) - _letters(self._vocabulary.unknown(rest))
        return 1 - known / letters if letters else 0.0

    def _read(self, prompt: str, text: str) -> Run:
        vocabulary, start = self._vocabulary, 1 + len(self._vocabulary.ids(prompt))
        ids = [_BEGIN, *vocabulary.ids(prompt + text)[: LONGEST - 2], _END]
        is_content = np.zeros(len(ids), dtype=bool)
        is_content[start:-1] = [is_content_token(vocabulary.tokens[token]) for token in ids[start:-1]]
        ((states,),) = self._session.run(None, {"ids": np.array([ids], np.int64)})
        pooled: NDArray[np.float32] = states.sum(axis=0)
        pooled /= np.linalg.norm(pooled)  # no division by the number of tokens is needed
        return Run(pooled, states[is_content])


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))
