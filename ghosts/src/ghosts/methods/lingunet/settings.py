"""Settings of the LingUNet baseline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ghosts.config import Experiment, LingUNetConfig, ModelParts, Purpose
from ghosts.config.model import Layers
from ghosts.config.values import Positive


@dataclass(frozen=True)
class HeatConfig(LingUNetConfig, part="heat"):
    """The network from map and sentence to heat. It is deeper than the filter's observation model."""

    levels: Layers = 5
    """U-Net convolutions down, and up again."""
    sigma_m: Positive = 2.0
    """Standard deviation of the targets (goal and path)."""


@dataclass(frozen=True)
class HeatModelConfig(ModelParts):
    """Words, map and heat."""

    heat: HeatConfig = field(default_factory=HeatConfig)


@dataclass(frozen=True)
class LingUNetExperiment(Experiment):
    """The paper's baseline without a filter: a row of Table 1."""

    method: ClassVar[str] = "lingunet"
    purpose: ClassVar[Purpose] = "goal"
    unused: ClassVar[tuple[str, ...]] = (
        *("model.language.position", "model.language.attention", "model.language.decoder_context"),
        *("train.capture", "train.supervised"),
    )

    model: HeatModelConfig = field(default_factory=HeatModelConfig)
