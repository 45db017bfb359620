"""What can be named in a config: a name cannot vanish unnoticed."""

from dragoman.core.registry import REGISTRIES

KNOWN = {
    "gate": (
        "gate.always.v1",
        "gate.never.v1",
        "gate.prompted.v1",
        "gate.random.v1",
        "gate.similarity.v1",
        "gate.uncertainty.v1",
    ),
    "planner": ("planner.all.v1", "planner.prompted.v1", "planner.similarity.v1"),
    "retriever": ("retriever.dense.v1", "retriever.hybrid.v1", "retriever.prompted.v1", "retriever.sparse.v1"),
    "reader": ("reader.extractive.v1", "reader.grounded.v1", "reader.prompted.v1"),
    "critic": ("critic.overlap.v1",),
    "memory": ("memory.rules.v1",),
    "model": ("model.llamacpp.v1", "model.remote.v1", "model.scripted.v1"),
    "encoder": ("encoder.hashing.v1", "encoder.onnx.v1"),
    "store": ("store.memory.v1", "store.sqlite.v1"),
    "dataset": (),
}


def test_the_registered_names_are_these():
    assert {role: registry.names() for role, registry in REGISTRIES.items()} == KNOWN
