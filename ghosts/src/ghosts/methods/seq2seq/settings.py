"""Settings of the sequence-to-sequence agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ghosts.config import STEP_LIMIT, Experiment, ModelParts, Purpose, WalkTrainConfig
from ghosts.config.values import Config, Count, Dropout


@dataclass(frozen=True)
class DecoderConfig(Config, part="decoder"):
    """The decoder that chooses moves."""

    hidden: Count = 256
    """Hidden size, and size of a possible move's vector."""
    sectors: Count = 12
    """Directions into which a panorama's cells are pooled."""
    dropout: Dropout = 0.5
    """Dropout on inputs and outputs."""


@dataclass(frozen=True)
class Seq2SeqModelConfig(ModelParts):
    """Words, what is seen, and the decoder."""

    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    step_limit: Count = STEP_LIMIT
    """Panoramas that an agent may look at in an episode of an evaluation. In training it is --train.agent-steps."""


@dataclass(frozen=True)
class Seq2SeqExperiment(Experiment):
    """The sequence-to-sequence agent of R2R (Anderson et al. 2018): a row of Table 2."""

    method: ClassVar[str] = "seq2seq"
    purpose: ClassVar[Purpose] = "vln"
    unused: ClassVar[tuple[str, ...]] = (
        *("model.language.position", "model.language.attention", "model.language.decoder_context"),
        *("model.mapper.channels", "model.mapper.convolution", "model.mapper.dropout"),
        *("train.capture", "train.supervised"),
    )

    model: Seq2SeqModelConfig = field(default_factory=Seq2SeqModelConfig)
    train: WalkTrainConfig = field(default_factory=WalkTrainConfig)
