"""The untrained model that an experiment describes."""

from __future__ import annotations

import torch

from ghosts.agent.baselines import HandCoded, LingUNetModel
from ghosts.agent.ensemble import Ensemble
from ghosts.agent.model import GoalModel, Vectors
from ghosts.agent.seq2seq import Seq2Seq
from ghosts.agent.speaker import Speaker
from ghosts.config import GoalExperiment, SpeakerExperiment, VlnExperiment
from ghosts.mapping.labels import LabelSet
from ghosts.words.tokens import Vocabulary

Model = GoalModel | LingUNetModel | HandCoded | Seq2Seq | Speaker | Ensemble


def build_model(
    experiment: GoalExperiment, vocabulary: Vocabulary | None = None, labels: LabelSet | None = None
) -> Model:
    """The model of a row of Table 1 or 2, or a speaker.

    Args:
        experiment: which, and of what size.
        vocabulary: words of training; needed where words are read by their meaning.
        labels: landmark labels of training; None where features are stored.
    """
    count = len(labels) if labels is not None else 0
    vectors = Vectors(
        torch.from_numpy(vocabulary.vectors) if experiment.model.language.vectors and vocabulary is not None else None,
        torch.from_numpy(labels.vectors[:count]) if experiment.landmarks.vectors and labels is not None else None,
    )
    if isinstance(experiment, SpeakerExperiment):
        return Speaker(experiment.model, experiment.speaker, count, vectors)
    if isinstance(experiment, VlnExperiment) and experiment.navigation.agent == "seq2seq":
        return Seq2Seq(experiment.model, experiment.navigation.seq2seq, count, vectors)
    if experiment.kind == "lingunet":
        return LingUNetModel(experiment.model, experiment.baseline, count, vectors)
    return (
        HandCoded(experiment.model) if experiment.kind == "hand-coded" else GoalModel(experiment.model, count, vectors)
    )
