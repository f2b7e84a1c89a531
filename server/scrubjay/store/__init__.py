"""LanceDB and Arrow: the only package that knows how records and passages are stored on disk."""

import importlib.util
import re
import sys
from typing import Any

_CLIENT = "lance_namespace_urllib3_client"


def _empty_module(name: str) -> Any:
    """Register a module without executing it; return None if it is not installed."""
    spec = importlib.util.find_spec(name)
    return None if spec is None else sys.modules.setdefault(name, importlib.util.module_from_spec(spec))


def _model(name: str) -> type:
    """Return a stand-in for a model of the REST client, which imports the model when it is instantiated."""
    if name.startswith("__"):
        raise AttributeError(name)

    def new(_: type, *arguments: Any, **fields: Any) -> Any:
        model = getattr(importlib.import_module(f"{_CLIENT}.models.{file_of(name)}"), name)
        return model(*arguments, **fields)

    return type(name, (), {"__new__": new})


def file_of(model: str) -> str:
    """Return the name of the REST client's module that defines a model: its name in snake case."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", model).lower()


# LanceDB imports a REST client that only its cloud needs; that takes a third of the import time and 27 MB. So
# the client's packages are registered without being executed, with stand-ins for its 150 models.
if _CLIENT not in sys.modules and _empty_module(_CLIENT) is not None:
    _empty_module(f"{_CLIENT}.models").__getattr__ = _model
