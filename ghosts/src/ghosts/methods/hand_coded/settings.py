"""Settings of the hand-coded rule: the map's grid alone matters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ghosts.config import Experiment, ModelParts, Purpose


@dataclass(frozen=True)
class HandCodedModelConfig(ModelParts):
    """A model without weights."""

    @property
    def channels(self) -> int | None:
        """It asks only which cells are seen."""
        return None


@dataclass(frozen=True)
class HandCodedExperiment(Experiment):
    """The paper's hand-coded baseline: a row of Table 1."""

    method: ClassVar[str] = "hand_coded"
    purpose: ClassVar[Purpose] = "goal"

    model: HandCodedModelConfig = field(default_factory=HandCodedModelConfig)
