"""The speaker (Fried et al. 2018): it puts paths into words, and helps to train and to choose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ghosts.methods.method import Method
from ghosts.methods.speaker import presets
from ghosts.methods.speaker.settings import SpeakerExperiment

if TYPE_CHECKING:
    from torch import nn

    from ghosts.agent.interface import Vectors
    from ghosts.data.dataset import Dataset
    from ghosts.data.examples import Selection
    from ghosts.methods.speaker.model import Speaker
    from ghosts.train.task import EpisodeTask


class SpeakerMethod(Method):
    """Paths in, instructions out."""

    def build(self, experiment: SpeakerExperiment, labels: int, vectors: Vectors) -> nn.Module:
        from ghosts.methods.speaker.model import Speaker

        return Speaker(experiment.model, labels, vectors)

    def task(
        self,
        experiment: SpeakerExperiment,
        data: Dataset,
        selection: Selection | None = None,
        warm_start: Path | None = None,
    ) -> EpisodeTask[Any, Any]:
        from ghosts.methods.speaker.task import SpeakerTask

        return SpeakerTask(experiment, data, selection)

    def speaker(self, model: nn.Module) -> Speaker | None:
        return model  # type: ignore[return-value]


METHOD = SpeakerMethod("speaker", "a speaker", presets.ALL)
