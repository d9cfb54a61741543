"""The paper's LingUNet baseline: the filter's map and words, and heat instead of a belief."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ghosts.methods.lingunet import presets
from ghosts.methods.lingunet.settings import LingUNetExperiment
from ghosts.methods.method import Method

if TYPE_CHECKING:
    from torch import nn

    from ghosts.agent.interface import Predictor, Vectors
    from ghosts.data.dataset import Dataset
    from ghosts.data.examples import Selection
    from ghosts.train.task import EpisodeTask


class LingUNetMethod(Method):
    """Goal and path heat on the map."""

    def build(self, experiment: LingUNetExperiment, labels: int, vectors: Vectors) -> nn.Module:
        from ghosts.methods.lingunet.model import LingUNetModel

        return LingUNetModel(experiment.model, labels, vectors)

    def check_start(self, experiment: LingUNetExperiment, out: Path, warm_start: Path | None) -> None:
        from ghosts.run.load import find_checkpoint

        if warm_start is not None:
            find_checkpoint(warm_start)

    def task(
        self,
        experiment: LingUNetExperiment,
        data: Dataset,
        selection: Selection | None = None,
        warm_start: Path | None = None,
    ) -> EpisodeTask[Any, Any]:
        from ghosts.methods.lingunet.task import LingUNetTask
        from ghosts.train.start import start_from

        task = LingUNetTask(experiment, data, selection)
        if warm_start is not None:
            start_from(task, warm_start, policy=False, by_name=True)
        return task

    def predictor(self, model: nn.Module) -> Predictor | None:
        return model  # type: ignore[return-value]


METHOD = LingUNetMethod("lingunet", "LingUNet", presets.ALL)
