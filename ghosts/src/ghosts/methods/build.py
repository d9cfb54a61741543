"""The untrained model of an experiment, whatever its method."""

from __future__ import annotations

import torch
from torch import nn

from ghosts.agent.interface import Vectors
from ghosts.config import Experiment
from ghosts.mapping.labels import LabelSet
from ghosts.methods import method_of
from ghosts.words.tokens import Vocabulary


def build_model(
    experiment: Experiment, vocabulary: Vocabulary | None = None, labels: LabelSet | None = None
) -> nn.Module:
    """Make a model.

    Args:
        experiment: which, and of what size.
        vocabulary: words of training; needed where words are read by their meaning.
        labels: landmark labels of training; None where features are stored.
    """
    count = len(labels) if labels is not None else 0
    by_meaning = experiment.model.language.vectors and vocabulary is not None
    vectors = Vectors(
        torch.from_numpy(vocabulary.vectors) if by_meaning and vocabulary is not None else None,
        torch.from_numpy(labels.vectors[:count]) if experiment.data.landmarks.vectors and labels is not None else None,
    )
    return method_of(experiment).build(experiment, count, vectors)
