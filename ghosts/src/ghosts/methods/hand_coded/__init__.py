"""The paper's hand-coded baseline, which reads no words and has nothing to train."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ghosts.config import DataConfig, MapperConfig
from ghosts.methods.hand_coded.settings import HandCodedExperiment, HandCodedModelConfig
from ghosts.methods.method import Method

if TYPE_CHECKING:
    from torch import nn

    from ghosts.agent.interface import Vectors


def hand_coded() -> HandCodedExperiment:
    """The hand-coded baseline, in either world; nothing is trained."""
    model = HandCodedModelConfig(mapper=MapperConfig(features=128))
    return HandCodedExperiment("hand-coded", model, data=DataConfig("any"))


class HandCodedMethod(Method):
    """A circle around the start."""

    predicts = True

    def build(self, experiment: HandCodedExperiment, labels: int, vectors: Vectors) -> nn.Module:
        from ghosts.methods.hand_coded.model import HandCoded

        return HandCoded(experiment.model)


METHOD = HandCodedMethod("hand_coded", "the hand-coded rule", (hand_coded,))
