"""Writes an ONNX file: only the messages of the format that a fixed graph needs, encoded as protobuf.

The package onnx does this too, but has 60 MB with its dependencies, and its files differ between versions.
"""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_IR_VERSION, _OPSET = 9, 18
_FUSED = "com.microsoft"  # the operators of onnxruntime
_FLOAT = 1
_TYPES = {np.dtype(np.float32): _FLOAT, np.dtype(np.uint8): 2, np.dtype(np.int64): 7}
_EXTERNAL = 1
_ALIGNMENT = 64


class OnnxFile:
    """Builds a graph: each call adds one tensor or node, and `save` writes the graph and its tensors."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._tensors: dict[str, NDArray[Any]] = {}

    def tensor(self, name: str, values: NDArray[Any]) -> None:
        """Add a constant."""
        self._tensors[name] = values

    def node(self, operator: str, *inputs: str, domain: str = "", output: str = "", **settings: float) -> str:
        """Add an operator and return the name of its output."""
        output = output or f"{operator}_{len(self._nodes)}"
        parts = [*((1, name) for name in inputs), (2, output), (4, operator)]
        attributes = []
        for name, value in settings.items():
            field, kind = (2, 1) if isinstance(value, float) else (3, 2)
            attributes.append((5, _message((1, name), (field, value), (20, kind))))
        self._nodes.append(_message(*parts, *attributes, (7, domain)))
        return output

    def fused(self, operator: str, *inputs: str, output: str = "", **settings: float) -> str:
        """Add an operator of onnxruntime."""
        return self.node(operator, *inputs, domain=_FUSED, output=output, **settings)

    def save(self, file: Path, inputs: Mapping[str, tuple[int, tuple[str, ...]]]) -> None:
        """Write the graph into a file and its tensors into `<file>_data`.

        `inputs` maps names to types and named dimensions. The last node must produce the graph's output.
        """
        data = file.with_name(file.name + "_data")
        tensors = []
        with data.open("wb") as stream:
            for name, values in self._tensors.items():
                stream.write(bytes(-stream.tell() % _ALIGNMENT))
                tensors.append((5, _external_tensor(name, values, data.name, stream.tell())))
                stream.write(np.ascontiguousarray(values).tobytes())
        graph_inputs = [
            (11, _value_info(name, element_type, dimensions))
            for name, (element_type, dimensions) in inputs.items()
        ]
        nodes = [(1, node) for node in self._nodes]
        output = (12, _value_info("last_hidden_state", _FLOAT, ("texts", "tokens", "width")))
        graph = _message(*nodes, (2, "graph"), *tensors, *graph_inputs, output)
        opsets = [(8, _message((1, domain), (2, version))) for domain, version in (("", _OPSET), (_FUSED, 1))]
        file.write_bytes(_message((1, _IR_VERSION), (7, graph), *opsets))


def _external_tensor(name: str, values: NDArray[Any], location: str, offset: int) -> bytes:
    """Describe a tensor that is stored in the data file."""
    external_data = {"location": location, "offset": str(offset), "length": str(values.nbytes)}
    entries = [(13, _message((1, key), (2, value))) for key, value in external_data.items()]
    sizes = [(1, size) for size in values.shape]
    return _message(*sizes, (2, _TYPES[values.dtype]), (8, name), *entries, (14, _EXTERNAL))


def _value_info(name: str, element_type: int, dimensions: tuple[str, ...]) -> bytes:
    shape = _message(*((1, _message((2, dimension))) for dimension in dimensions))
    return _message((1, name), (2, _message((1, _message((1, element_type), (2, shape))))))


def _message(*fields: tuple[int, int | float | str | bytes]) -> bytes:
    return b"".join(_field(number, value) for number, value in fields)


def _field(number: int, value: int | float | str | bytes) -> bytes:
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    pieces = []
    while value > 127:
        pieces.append(value & 127 | 128)
        value >>= 7
    return bytes([*pieces, value])
