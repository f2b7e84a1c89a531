"""Earlier versions of models, before further training: their vectors are used until they are replaced."""

from scrubjay.encoders.protocol import Space

# The digests of the weights of each model's earlier versions, oldest first.
_WEIGHTS = {
    "bundled": (
        "8d07ebdd0adc9c55671f85a0be3a4c22ae02782d776b58c5d8397fef96a16a56",
        "ab57d74356a14b2403303dc1ee942cbd98be17be9c4c014549f611a4b37cfcf4",
    ),
    "multilingual": ("a3b942dc2974af38ed6f32bda451ff942d730ff4972e24c7f9a1c65b25daf883",),
}


def is_former(space: Space, space_id: str) -> bool:
    """Return True if `space_id` identifies an earlier version of this model.

    Vectors of both may be compared until the engine has replaced the old ones: the new model's questions find
    passages of the old one as often as the old one's did (BENCHMARKS, "The bundled model").
    """
    digests = _WEIGHTS.get(space.model, ())
    return any(space_id == space.model_copy(update={"weights": digest}).space_id for digest in digests)
