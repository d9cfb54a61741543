"""What a method is: settings, a model, how it is trained, and what the trained model can do.

Trainer, evaluation, viewer and command line ask these questions and never look at a model's type. A method of one's own
answers them in its own package (`examples/my_method`, docs/extend.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ghosts.config import Experiment, Purpose
from ghosts_sim.errors import ConfigError

if TYPE_CHECKING:  # torch takes seconds, and `ghosts train --help` should not wait for it
    from torch import nn

    from ghosts.agent.interface import FilterModel, Predictor, Vectors
    from ghosts.agent.loop import Agent
    from ghosts.data.dataset import Dataset
    from ghosts.data.examples import Selection
    from ghosts.methods.speaker.model import Speaker
    from ghosts.train.task import EpisodeTask

E = TypeVar("E", bound=Experiment)


class Method:
    """One way to predict goals, to act, or to put paths into words. Nothing here imports torch before it is needed.

    Most methods only name their classes; others answer some questions in their own way.

    Args:
        name: what checkpoints call it.
        about: it in a few words, for messages.
        presets: experiments ready to train, each a function with a docstring of one line.
    """

    model: ClassVar[str]
    """The model's class, such as "my_method.model:MyModel"; made of settings, number of labels, and vectors."""
    trained_by: ClassVar[str] = ""
    """The class of the task that trains it, made of experiment, data and selection; none if nothing is trained."""
    predicts: ClassVar[bool] = False
    """Whether the model predicts goals."""
    starts: ClassVar[bool] = False
    """Whether a training can start from other weights."""

    def __init__(self, name: str, about: str, presets: Sequence[Callable[[], Experiment]]) -> None:
        self.name, self.about = name, about
        self.presets = {make().name: make for make in presets}

    @property
    def experiments(self) -> dict[Purpose, type[Experiment]]:
        """Its kinds of experiments, by what their models are for."""
        return {make().purpose: type(make()) for make in self.presets.values()}

    @property
    def needs_training(self) -> bool:
        """Whether there is something to train."""
        return bool(self.trained_by)

    def build(self, experiment: Any, labels: int, vectors: Vectors) -> nn.Module:
        """The untrained model of an experiment.

        Args:
            experiment: of this method.
            labels: number of landmark labels; 0 where features are stored.
            vectors: of words and labels, where they are read by their meaning.
        """
        made: nn.Module = resolve_name(self.model)(experiment.model, labels, vectors)
        return made

    def check_start(self, experiment: Any, out: Path, warm_start: Path | None) -> None:
        """Check what can be known of a training before its data is read, which takes longer.

        Raises:
            ConfigError: it cannot begin with these weights, or cannot begin without any.
        """
        if warm_start is not None:
            from ghosts.run.load import find_checkpoint

            if not self.starts:
                raise ConfigError(f"{self.about} starts from no other weights; leave out --warm-start")
            find_checkpoint(warm_start)

    def task(
        self, experiment: Any, data: Dataset, selection: Selection | None = None, warm_start: Path | None = None
    ) -> EpisodeTask[Any, Any]:
        """What the trainer trains.

        Args:
            experiment: of this method.
            data: what it reads, on the device.
            selection: scored during training.
            warm_start: run, checkpoint or shipped weights to start from.

        Raises:
            ConfigError: there is nothing to train.
        """
        if not self.needs_training:
            raise ConfigError(f"{self.about} has nothing to train; run: ghosts eval goal --preset {experiment.name}")
        from ghosts.train.start import start_from

        task: EpisodeTask[Any, Any] = resolve_name(self.trained_by)(experiment, data, selection)
        if warm_start is not None:
            start_from(task, warm_start, policy=False, by_name=True)
        return task

    def predictor(self, model: nn.Module) -> Predictor | None:
        """The model as one that predicts goals; None where it does not."""
        return model if self.predicts else None  # type: ignore[return-value]

    def filter(self, model: nn.Module) -> FilterModel | None:
        """The model as one whose belief can be tracked and looked into; None where it has none."""
        return None

    def speaker(self, model: nn.Module) -> Speaker | None:
        """The model as one that puts paths into words; None where it does not."""
        return None

    def agent(self, name: str, model: nn.Module, experiment: Any, *, planner: bool = False) -> Agent[Any, Any, Any]:
        """The agent that acts on a trained model.

        Args:
            name: of the run, for messages.
            model: of this method.
            experiment: it was trained with.
            planner: let the planner choose instead of the learned policy.

        Raises:
            ConfigError: it cannot act.
        """
        raise ConfigError(f"{name} has no filter to act on; name a run of a filter")
