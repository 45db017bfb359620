"""`dragoman evaluate --train`: what an experiment orders, trained as `dragoman train` would."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.cli.terminal import rendering

if TYPE_CHECKING:
    from dragoman.evaluate.contract import Progress
    from dragoman.evaluate.systems.trained_parts import TrainingOrder
    from dragoman.train.contract import Progress as Step


def train_part(order: TrainingOrder, progress: Progress) -> None:
    """Train a part into its folder, or go on where a training was stopped."""
    from dragoman.train.recipe import load_recipe
    from dragoman.train.run import train

    def report(step: Step) -> None:
        numbers = {"loss": step.loss, "dev": step.metric}
        told = [f"{name} {value:.3f}" for name, value in numbers.items() if value is not None]
        progress(f"{order.name}: {step.stage}", step.done, step.total or None, " · ".join(told))

    rendering.err().print(f"Training the part '{order.name}' by the recipe '{order.recipe}'.", soft_wrap=True)
    recipe = load_recipe(order.recipe, order.overrides)
    train(recipe, order.data, order.folder, options=order.options, report=report, command=order.command)
