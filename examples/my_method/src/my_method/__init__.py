"""A method of one's own: the paper's, but its ghost walks straight on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ghosts.methods.ghost import GhostMethod
from my_method.settings import StraightExperiment, my_method

if TYPE_CHECKING:
    from torch import nn

    from ghosts.agent.interface import Vectors


class StraightMethod(GhostMethod):
    """Everything but the model is the paper's."""

    def build(self, experiment: StraightExperiment, labels: int, vectors: Vectors) -> nn.Module:  # type: ignore[override]
        """The untrained model."""
        from my_method.model import (
            StraightModel,  # here: torch takes seconds, and `ghosts train --help` should not wait
        )

        return StraightModel(experiment.model, labels, vectors)


METHOD = StraightMethod("my_method", "a filter that walks straight on", (my_method,))
