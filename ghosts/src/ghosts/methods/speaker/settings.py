"""Settings of the speaker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from ghosts.config import Experiment, ModelParts, Purpose
from ghosts.config.values import Bound, Config, Count, Dropout
from ghosts_sim.values import require


@dataclass(frozen=True)
class SpeakerConfig(Config, part="speaker"):
    """From a path and what is seen along it to an instruction."""

    hidden: Count = 320
    """Hidden size of the decoder's layers."""
    encoded: Annotated[Count, Bound("must be even", lambda value: value % 2 == 0)] = 256
    """Size of the vector of a viewpoint on the path, or of a direction there."""
    sectors: Count = 12
    """Directions into which a panorama's cells are pooled."""
    rings_m: tuple[float, ...] = (2.0,)
    """Distances that divide a direction into near and far."""
    dropout: Dropout = 0.4
    """Dropout on words, on what is seen, and on the decoder's states."""
    smoothing: Dropout = 0.1
    """Share of the target that is spread over all words in training (label smoothing)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        ascending = list(self.rings_m) == sorted({ring for ring in self.rings_m if ring > 0.0})
        require(ascending, "speaker.rings_m must be positive and ascend", self.rings_m)


@dataclass(frozen=True)
class SpeakerModelConfig(ModelParts):
    """Words, what is seen, and the speaker."""

    speaker: SpeakerConfig = field(default_factory=SpeakerConfig)


@dataclass(frozen=True)
class SpeakerExperiment(Experiment):
    """A speaker, which writes instructions for paths."""

    method: ClassVar[str] = "speaker"
    purpose: ClassVar[Purpose] = "speaker"
    unused: ClassVar[tuple[str, ...]] = (
        *("model.language.hidden", "model.language.position", "model.language.attention"),
        *("model.language.decoder_context", "model.language.dropout"),
        *("model.mapper.channels", "model.mapper.convolution", "model.mapper.dropout"),
        *("train.capture", "train.supervised", "train.agent_steps"),
    )

    model: SpeakerModelConfig = field(default_factory=SpeakerModelConfig)
