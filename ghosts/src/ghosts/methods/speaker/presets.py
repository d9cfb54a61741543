"""Presets of the speaker."""

from __future__ import annotations

from dataclasses import replace

from ghosts.config import TrainConfig
from ghosts.methods.ghost import presets as ghost
from ghosts.methods.ghost.settings import FilterExperiment
from ghosts.methods.speaker.settings import SpeakerConfig, SpeakerExperiment, SpeakerModelConfig

TRAIN = TrainConfig(
    iterations=1400, batch=128, learning_rate=1e-3, evaluate_every=700, ema=0.998, label_dropout=0.3, precision="auto"
)


def _speaker(base: FilterExperiment, name: str, train: TrainConfig, speaker: SpeakerConfig) -> SpeakerExperiment:
    language = replace(base.model.language, vectors=True, dropout=0.0)
    landmarks = replace(base.data.landmarks, sight_m=5.0, vectors=True, doors=True)
    model = SpeakerModelConfig(language, base.model.mapper, speaker)
    return SpeakerExperiment(name, model, train, replace(base.data, landmarks=landmarks))


def landmarks_speaker() -> SpeakerExperiment:
    """The speaker on landmarks."""
    return _speaker(ghost.landmarks_filter(), "landmarks-speaker", TRAIN, SpeakerConfig())


def houses_speaker() -> SpeakerExperiment:
    """The speaker on images of houses."""
    return _speaker(ghost.houses_filter(), "houses-speaker", TRAIN, SpeakerConfig())


def tiny_speaker() -> SpeakerExperiment:
    """A small speaker for tests and for a first try on a CPU, in either world."""
    train = replace(ghost.tiny().train, iterations=100, batch=16, evaluate_every=100)
    return _speaker(ghost.tiny(), "tiny-speaker", train, SpeakerConfig(hidden=32, encoded=32, sectors=8, dropout=0.0))


ALL = (houses_speaker, landmarks_speaker, tiny_speaker)
