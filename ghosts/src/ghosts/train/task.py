"""What can be trained: a model with its data and its loss. The trainer (`train.trainer`) knows nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from lightning_fabric import Fabric
from torch import Tensor, nn

from ghosts.config import Experiment, OptimiserConfig, experiment_values
from ghosts.data.dataset import Dataset
from ghosts.data.examples import SPOKEN, TRAIN, Example, Selection
from ghosts.data.symmetry import Symmetry
from ghosts.mapping.mapper import Masks, draw_masks
from ghosts.methods.build import build_model
from ghosts_sim.errors import ConfigError

Drawn = TypeVar("Drawn")
Ready = TypeVar("Ready")


class Share(NamedTuple):
    """Which part of every batch belongs to a process: number `rank`, and every `world`-th after it."""

    rank: int = 0
    world: int = 1

    @property
    def part(self) -> slice:
        """Of anything with one entry per member of a batch."""
        return slice(self.rank, None, self.world)


class Task(nn.Module, ABC, Generic[Drawn, Ready]):
    """A model to be trained. An iteration is `draw`, `ready`, `forward`; all that is random follows from its number.

    Args:
        config: how long, and in which steps.
        model: its weights are what is trained and saved.
    """

    def __init__(self, config: OptimiserConfig, model: nn.Module) -> None:
        super().__init__()
        self.config, self.model = config, model

    @abstractmethod
    def draw(self, iteration: int, share: Share) -> Drawn:
        """This process's share of what an iteration trains on; the weights play no part. Called in threads."""

    @abstractmethod
    def ready(self, drawn: Drawn, fabric: Fabric) -> Ready:
        """The batch on the device. Where walks belong to it, they are walked here, with the present weights."""

    @abstractmethod
    def forward(self, batch: Ready) -> Float[Tensor, ""]:
        """The loss."""

    def score(self, fabric: Fabric) -> dict[str, float]:
        """Scores during training, the same in every process. The first one chooses the best checkpoint: higher is
        better. Nothing is scored by default."""
        return {}

    @abstractmethod
    def about(self) -> dict[str, Any]:
        """What a checkpoint says of the task, as JSON values. A run resumes only if all of it is the same."""

    def capture(self, dtype: torch.dtype) -> None:
        """Make CUDA graphs of what can be one; called on a single GPU before the first iteration."""


class EpisodeTask(Task[Drawn, Ready]):
    """A task on the episodes of a data set.

    Args:
        experiment: the run's settings.
        data: what it reads, on the device.
        selection: scored during training; nothing is by default.
    """

    def __init__(self, experiment: Experiment, data: Dataset, selection: Selection | None = None) -> None:
        torch.manual_seed(experiment.train.seed)
        model = build_model(experiment, data.vocabulary, data.labels)
        super().__init__(experiment.train, model)
        if experiment.train.spoken and SPOKEN not in data.splits:
            raise ConfigError("train.spoken needs instructions that a speaker said; name them with --spoken FILE")
        self.experiment, self.settings, self.data, self.selection = experiment, experiment.train, data, selection

    def about(self) -> dict[str, Any]:
        """Experiment, words, labels and tiles: enough to load the model without the data it was trained on."""
        labels = self.data.labels
        return {
            "experiment": experiment_values(self.experiment),
            "vocabulary": list(self.data.vocabulary.words),
            "labels": labels.to_list() if labels is not None else None,
            "tiles": self.data.reading.tiles,
        }

    def score(self, fabric: Fabric) -> dict[str, float]:
        """Scores on the selection, under the name of its split."""
        if self.selection is None:
            return {}
        scores = self.scores_of(self.selection.examples, fabric)
        return {f"{self.selection.split} {name}": value for name, value in scores.items()}

    @abstractmethod
    def scores_of(self, examples: list[Example], fabric: Fabric) -> dict[str, float]:
        """Scores on some episodes; see `score`."""

    def examples(self, iteration: int, share: Share, stream: int) -> list[tuple[Example, np.random.Generator]]:
        """This process's episodes of an iteration, each with random numbers of its own.

        Args:
            iteration: its number.
            share: of this process.
            stream: keeps the random numbers of different tasks apart.
        """
        self.data.read_ahead(self.settings, iteration)
        settings, train, spoken = self.settings, self.data.splits[TRAIN], self.data.splits.get(SPOKEN, [])
        positions = range(settings.batch)[share.part]
        if self.data.stream is None:
            chosen = [train[number] for number in batch_numbers(len(train), settings, iteration)[share.part]]
        else:
            chosen = [self.data.stream.example(settings, iteration * settings.batch + place) for place in positions]
        found = []
        for position, example in zip(positions, chosen):
            random = np.random.default_rng([settings.seed, stream, iteration, position])
            if settings.spoken and iteration < settings.spoken_until * settings.iterations:
                said = np.random.default_rng([settings.seed, 6, iteration, position])
                example = spoken[said.integers(len(spoken))] if said.random() < settings.spoken else example
            found.append((example, random))
        return found

    def draw_symmetry(self, random: np.random.Generator) -> Symmetry:
        """A symmetry for an episode."""
        return Symmetry(
            mirrored=bool(random.random() < self.settings.mirrored),
            quarters=int(random.integers(4)) if self.settings.quarters else 0,
            variant=int(random.integers(len(self.data.bank.angles_rad))),
        )

    def draw_masks(self, iteration: int, share: Share) -> Masks:
        """This process's part of the map's dropout, drawn for the whole batch so that it does not depend on shares."""
        generator = torch.Generator().manual_seed(self.settings.seed * 1_000_003 + iteration)
        masks = draw_masks(self.experiment.model.mapper, self.settings.batch, generator)
        return Masks(input=masks.input[share.part], state=masks.state[share.part])


def batch_numbers(count: int, config: OptimiserConfig, iteration: int) -> np.ndarray:
    """Which examples an iteration trains on: an epoch is a permutation that depends on its number alone."""
    first = iteration * config.batch
    numbers = np.arange(first, first + config.batch)
    return np.array([_epoch(config.seed, number // count, count)[number % count] for number in numbers.tolist()])


@lru_cache(maxsize=4)
def _epoch(seed: int, epoch: int, count: int) -> np.ndarray:
    return np.random.default_rng([seed, 1, epoch]).permutation(count)
