"""Presets of the sequence-to-sequence agent."""

from __future__ import annotations

from ghosts.config import WalkTrainConfig
from ghosts.methods.ghost import presets as ghost
from ghosts.methods.ghost.settings import FilterExperiment
from ghosts.methods.seq2seq.settings import DecoderConfig, Seq2SeqExperiment, Seq2SeqModelConfig

TRAIN = WalkTrainConfig(
    iterations=800,
    batch=64,
    agent_steps=8,
    evaluate_every=200,
    learning_rate=1e-3,
    precision="auto",
    own_actions=1.0,
)
"""With student forcing."""


def _agent(base: FilterExperiment, name: str, train: WalkTrainConfig = TRAIN) -> Seq2SeqExperiment:
    return Seq2SeqExperiment(name, Seq2SeqModelConfig(base.model.language, base.model.mapper), train, base.data)


def landmarks_seq2seq() -> Seq2SeqExperiment:
    """The sequence-to-sequence agent on landmarks, with student forcing."""
    return _agent(ghost.landmarks_improved(), "landmarks-seq2seq")


def houses_seq2seq() -> Seq2SeqExperiment:
    """The sequence-to-sequence agent on images of houses, with student forcing."""
    return _agent(ghost.houses_filter(), "houses-seq2seq")


def tiny_seq2seq() -> Seq2SeqExperiment:
    """A small sequence-to-sequence agent for tests."""
    base = ghost.tiny_agent()
    decoder = DecoderConfig(hidden=32, sectors=8, dropout=0.0)
    train = {name: value for name, value in vars(base.train).items() if name in WalkTrainConfig.__dataclass_fields__}
    model = Seq2SeqModelConfig(base.model.language, base.model.mapper, decoder, step_limit=8)
    return Seq2SeqExperiment("tiny-seq2seq", model, WalkTrainConfig(**train), base.data)


ALL = (houses_seq2seq, landmarks_seq2seq, tiny_seq2seq)
