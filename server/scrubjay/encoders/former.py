"""Models that were trained further since a former version: its vectors serve until they are replaced."""

from scrubjay.encoders.protocol import Space

# By the name of a model: the digests of its weights in earlier versions, oldest first.
_WEIGHTS = {
    "bundled": (
        "8d07ebdd0adc9c55671f85a0be3a4c22ae02782d776b58c5d8397fef96a16a56",
        "ab57d74356a14b2403303dc1ee942cbd98be17be9c4c014549f611a4b37cfcf4",
    ),
    "multilingual": ("a3b942dc2974af38ed6f32bda451ff942d730ff4972e24c7f9a1c65b25daf883",),
}


def is_former(space: Space, space_id: str) -> bool:
    """Return True if `space_id` is that of the same model in an earlier version.

    The two are near enough to be compared until the engine has made the vectors again: this model's questions
    find the former one's passages as often as its own did (BENCHMARKS, "The bundled model").
    """
    formers = (space.model_copy(update={"weights": digest}) for digest in _WEIGHTS.get(space.model, ()))
    return space_id in {former.space_id for former in formers}
