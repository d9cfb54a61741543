"""Experiments of all methods, made from one of the filter, and their tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ghosts.config import Experiment, ModelConfig
from ghosts.data.dataset import Dataset
from ghosts.data.examples import Selection
from ghosts.methods import method_of
from ghosts.methods.ghost.settings import AgentExperiment, AgentModelConfig, AgentTrainConfig, FilterExperiment
from ghosts.methods.hand_coded.settings import HandCodedExperiment, HandCodedModelConfig
from ghosts.methods.lingunet.settings import HeatConfig, HeatModelConfig, LingUNetExperiment
from ghosts.methods.seq2seq.settings import DecoderConfig, Seq2SeqExperiment, Seq2SeqModelConfig
from ghosts.methods.speaker.settings import SpeakerConfig, SpeakerExperiment, SpeakerModelConfig
from ghosts.train.task import EpisodeTask


def task_of(
    experiment: Experiment, data: Dataset, selection: Selection | None = None, warm_start: Path | None = None
) -> EpisodeTask[Any, Any]:
    """What the trainer trains."""
    return method_of(experiment).task(experiment, data, selection, warm_start)


def acting(base: FilterExperiment, model: ModelConfig | None = None, **settings: Any) -> AgentExperiment:
    """The agent on a filter; `step_limit` and `planner` belong to its model, the other settings to its training."""
    parts = model or base.model
    acts = {name: settings.pop(name) for name in ("step_limit", "planner") if name in settings}
    whole = AgentModelConfig(parts.language, parts.mapper, parts.filter, parts.policy, **acts)
    return AgentExperiment(base.name, whole, AgentTrainConfig(**{**vars(base.train), **settings}), base.data)


def seq2seq_of(base: FilterExperiment, decoder: DecoderConfig, step_limit: int = 8, **train: Any) -> Seq2SeqExperiment:
    """The sequence-to-sequence agent with a filter's words and what it is shown."""
    from ghosts.config import WalkTrainConfig

    model = Seq2SeqModelConfig(base.model.language, base.model.mapper, decoder, step_limit)
    return Seq2SeqExperiment(base.name, model, WalkTrainConfig(**{**vars(base.train), **train}), base.data)


def lingunet_of(base: FilterExperiment, heat: HeatConfig | None = None) -> LingUNetExperiment:
    """The LingUNet baseline on a filter's map."""
    model = HeatModelConfig(base.model.language, base.model.mapper, heat or HeatConfig(levels=2))
    return LingUNetExperiment(base.name, model, base.train, base.data)


def hand_coded_of(base: FilterExperiment) -> HandCodedExperiment:
    """The hand-coded rule on a filter's map."""
    model = HandCodedModelConfig(base.model.language, base.model.mapper)
    return HandCodedExperiment(base.name, model, base.train, base.data)


def speaker_of(base: FilterExperiment, speaker: SpeakerConfig) -> SpeakerExperiment:
    """A speaker with a filter's words and what it is shown."""
    model = SpeakerModelConfig(base.model.language, base.model.mapper, speaker)
    return SpeakerExperiment(base.name, model, base.train, replace(base.data))
