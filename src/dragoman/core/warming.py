"""Loading ahead of the first turn: a component that has weights to load has a `warm_up`, others have none."""

from __future__ import annotations


def warm(*components: object) -> None:
    """Load what some components need, one after the other."""
    for component in components:
        load = getattr(component, "warm_up", None)
        if load is not None:
            load()
