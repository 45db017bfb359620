"""Load weights before the first turn: components with weights have a method `warm_up`."""

from __future__ import annotations


def warm(*components: object) -> None:
    """Call `warm_up` of each component that has it, one after the other."""
    for component in components:
        load = getattr(component, "warm_up", None)
        if load is not None:
            load()
