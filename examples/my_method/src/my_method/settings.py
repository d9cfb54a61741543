"""Settings of the method, and experiments that are ready to train."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ghosts.config import ModelConfig
from ghosts.config.values import Count
from ghosts.methods.ghost import presets as ghost
from ghosts.methods.ghost.settings import FilterExperiment


@dataclass(frozen=True)
class StraightModelConfig(ModelConfig):
    """The paper's model with another motion model."""

    reach: Count = 3
    """Most cells that the ghost goes in a filter step: at most half of the motion kernel's side."""


@dataclass(frozen=True)
class StraightExperiment(FilterExperiment):
    """The filter with another motion model."""

    method: ClassVar[str] = "my_method"
    # What only the paper's motion model reads: the command line does not offer it.
    unused: ClassVar[tuple[str, ...]] = (
        "model.policy",
        *(f"model.filter.motion.{name}" for name in ("kind", "hidden", "branch", "language", "dropout")),
    )

    model: StraightModelConfig = field(default_factory=StraightModelConfig)


def my_method() -> StraightExperiment:
    """A small filter whose ghost walks straight on, in either world."""
    base = ghost.tiny()
    parts = base.model
    model = StraightModelConfig(parts.language, parts.mapper, parts.filter, parts.policy)
    return StraightExperiment("my-method", model, base.train, base.data)
