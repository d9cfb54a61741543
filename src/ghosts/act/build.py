"""The untrained model that an experiment describes."""

from __future__ import annotations

from ghosts.act.baselines import HandCoded, LingUNetModel
from ghosts.act.model import GoalModel
from ghosts.act.seq2seq import Seq2Seq
from ghosts.config import GoalExperiment, VlnExperiment

Model = GoalModel | LingUNetModel | HandCoded | Seq2Seq


def build_model(experiment: GoalExperiment, labels: int = 0) -> Model:
    """The model of a row of Table 1 or 2.

    Args:
        experiment: which, and of what size.
        labels: number of landmark labels; 0 where features are stored.
    """
    if isinstance(experiment, VlnExperiment) and experiment.navigation.agent == "seq2seq":
        return Seq2Seq(experiment.model, experiment.navigation.seq2seq, labels)
    if experiment.kind == "lingunet":
        return LingUNetModel(experiment.model, experiment.baseline, labels)
    return HandCoded(experiment.model) if experiment.kind == "hand-coded" else GoalModel(experiment.model, labels)
