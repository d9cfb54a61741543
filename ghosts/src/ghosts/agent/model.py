"""The whole model: words and observed cells in, beliefs about the demonstrator's trajectory out.

Three verbs, and `forward` is all of them in a row: `read` the instruction (once per episode, the map plays no part),
`look` at what is observed (the map changes, the words play no part; `observe` is one step of it), `track` the
demonstrator on the map. Training, evaluation, agents, the robot's tracker and the viewer all go through these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ghosts.agent.policy import Policy
from ghosts.belief.filter import FilterTrace, build_filter
from ghosts.belief.histogram import arg_max_m, best_guess_m, marginal, pose_belief
from ghosts.config import ModelConfig
from ghosts.fast.captured import Captured, capture
from ghosts.mapping.cells import MapCells
from ghosts.mapping.mapper import Mapper, MapState, MapSteps, Masks
from ghosts.mapping.observations import Observations, observations_of
from ghosts.words.decoder import InstructionModel, Latents
from ghosts.words.embedding import OpenEmbedding
from ghosts_sim.errors import ConfigError
from ghosts_sim.types import SUCCESS_M, Grid


@dataclass(frozen=True)
class Vectors:
    """Vectors of words and labels, given to a model when it is made."""

    words: Float[Tensor, "n d"] | None = None
    """Of all word ids (`language.tokens.Vocabulary.vectors`)."""
    labels: Float[Tensor, "m d"] | None = None
    """Of the labels of training (`world.landmarks.labels.LabelSet.vectors`)."""


@dataclass(frozen=True)
class Briefing:
    """What the walkers of b episodes are told: the words of an instruction, and where they start."""

    tokens: Int[Tensor, "b l"]
    """Word ids, padded at the end."""
    lengths: Int[Tensor, " b"]
    """Words of each instruction."""
    start_xy_m: Float[Tensor, "b 2"]
    """From the map's origin."""
    start_heading_rad: Float[Tensor, " b"]
    """Clockwise from +y."""


@dataclass(frozen=True)
class Heard:
    """A briefing that has been read."""

    latents: Latents
    start_xy_m: Float[Tensor, "b 2"]
    start_heading_rad: Float[Tensor, " b"]

    def pick(self, episodes: Int[Tensor, " w"]) -> Heard:
        """Some of the episodes."""
        latents = {item.name: getattr(self.latents, item.name).index_select(0, episodes) for item in fields(Latents)}
        start = self.start_xy_m.index_select(0, episodes), self.start_heading_rad.index_select(0, episodes)
        return Heard(Latents(**latents), *start)


@dataclass(frozen=True)
class GoalTrace:
    """Everything the model thought, for the maps of s agent steps of b episodes."""

    latents: Latents
    """Latent observations and actions, and the words they attend to."""
    map: MapSteps
    filter: FilterTrace
    """Kernels, predictions, likelihoods and posteriors of every filter step."""
    grid: Grid
    """The belief's grid."""


@dataclass(frozen=True)
class Prediction:
    """What a model says about the goal, for the map of every agent step."""

    goal_xy_m: Float[Tensor, "b s 2"]
    """Where the goal is most likely within 3 m, metres from the map's origin."""
    peak_xy_m: Float[Tensor, "b s 2"]
    """The peak of the distribution, which the paper takes for the goal."""
    goal: Float[Tensor, "b s y x"]
    """Distribution over the cells of `grid`."""
    grid: Grid


def mean_prediction(goals: Sequence[Float[Tensor, "b s y x"]], grid: Grid) -> Prediction:
    """What several distributions over the goal say together."""
    mean = torch.stack(tuple(goals)).mean(0)
    return Prediction(best_guess_m(mean, grid, SUCCESS_M), arg_max_m(mean[:, :, None], grid, radius=1), mean, grid)


@runtime_checkable
class Predictor(Protocol):
    """A row of Table 1."""

    config: ModelConfig

    def predict(self, briefing: Briefing, seen: Observations) -> Prediction:
        """Goal distributions and their maxima, for the map of every agent step; without gradients."""
        ...


class CellFeatures(nn.Module):
    """Feature vectors of observed cells: stored ones as they are, labels as the sum of learned embeddings.

    Args:
        channels: of a feature vector.
        labels: number of labels; 0 where features are stored.
        vectors: of the labels, where they are read by the meaning of their words.
    """

    def __init__(self, channels: int, labels: int, vectors: Float[Tensor, "n d"] | None = None) -> None:
        super().__init__()
        self.channels = channels
        self.embedding: OpenEmbedding | nn.Embedding | None = None
        if labels and vectors is not None:
            self.embedding = OpenEmbedding(labels, channels, vectors.shape[1])
            self.embedding.start(vectors)
        elif labels:
            self.embedding = nn.Embedding(labels, channels)

    def forward(self, cells: MapCells) -> MapCells:
        """The cells with features."""
        if self.embedding is None:
            if cells.labels is not None:
                raise ConfigError("this model reads tiles of images, but the data has landmarks; choose another preset")
            return cells
        if cells.labels is None:
            raise ConfigError("this model reads landmarks, but the data has tiles of images; choose another preset")
        if isinstance(self.embedding, nn.Embedding):
            table = self.embedding.weight
        else:
            assert cells.labels.vectors is not None, "labels of an open set come with their vectors"
            table = self.embedding.table(cells.labels.vectors)
        embedded = F.embedding(cells.labels.label, table) * cells.labels.weight[:, None]
        features = embedded.new_zeros(len(cells.item), self.channels).index_add(0, cells.labels.cell, embedded)
        return replace(cells, features=features)


class GoalModel(nn.Module):
    """Mapper + language + filter + policy. No state between calls; dropout masks and maps are passed in.

    Args:
        config: of all parts.
        labels: number of landmark labels; 0 where features are stored.
        vectors: of words and labels, where they are read by their meaning.
    """

    def __init__(self, config: ModelConfig, labels: int = 0, vectors: Vectors | None = None) -> None:
        super().__init__()
        self.config, vectors = config, vectors or Vectors()
        latent = 3 * config.language.hidden
        self.features = CellFeatures(config.mapper.features, labels, vectors.labels)
        self.language = InstructionModel(config.language, vectors.words)
        self.mapper = Mapper(config.mapper)
        self.filter = build_filter(config.mapper.channels, latent, config.filter)
        self.policy = Policy(config.policy, config.language.steps)
        self._captured: Captured | None = None

    def read(self, briefing: Briefing) -> Heard:
        """Latent actions and observations of instructions."""
        run = self._captured.read if self._captured is not None and self.training else self.language
        # Little work, many small steps: casts to half precision would cost more than they save.
        with torch.autocast(briefing.tokens.device.type, enabled=False):
            latents = run(briefing.tokens, briefing.lengths)
        return Heard(latents, briefing.start_xy_m, briefing.start_heading_rad)

    def look(self, seen: Observations, state: MapState | None = None, masks: Masks | None = None) -> MapSteps:
        """Maps after each agent step.

        Args:
            seen: what each agent step observed.
            state: maps to go on from; empty ones by default.
            masks: the mapper's dropout, in training.
        """
        return self.mapper(replace(seen, cells=self.features(seen.cells)), state, masks)

    def observe(self, state: MapState, cells: MapCells) -> MapState:
        """One more agent step on given maps; without observed cells they stay as they are."""
        if not len(cells.item):
            return state
        mapper = self.config.mapper
        return self.look(observations_of(cells, mapper.kernel, self.config.filter.pool, state.observed), state).last()

    def track(self, heard: Heard, maps: Float[Tensor, "b s channels y x"]) -> FilterTrace:
        """Filter the demonstrator's trajectory on the map of each agent step.

        Args:
            heard: the instructions.
            maps: at the belief's resolution (`MapSteps.pooled`, `MapState.pooled`).
        """
        settings = self.config.filter
        grid = Grid(maps.shape[-2], maps.shape[-1], self.config.belief_grid.cell_m)
        start = pose_belief(heard.start_xy_m, heard.start_heading_rad, grid, settings.sigma_m, settings.headings)
        run = self._captured.track if self._captured is not None and self.training else self.filter
        return run(maps, heard.latents.actions, heard.latents.observations, start)

    def forward(
        self,
        briefing: Briefing,
        seen: Observations,
        masks: Masks | None = None,
        steps: Sequence[int] | None = None,
    ) -> GoalTrace:
        """Beliefs for every agent step of every episode.

        Args:
            briefing: what the walkers were told.
            seen: what each agent step observed.
            masks: the mapper's dropout, in training.
            steps: agent steps on whose maps the demonstrator is tracked; all by default.
        """
        heard = self.read(briefing)
        maps = self.look(seen, None, masks)
        grid = Grid(seen.cells.rows, seen.cells.cols, self.config.mapper.cell_m).coarser(self.config.filter.pool)
        return GoalTrace(heard.latents, maps, self.track(heard, maps.pooled(steps)), grid)

    @torch.no_grad()
    def predict(self, briefing: Briefing, seen: Observations) -> Prediction:
        """See `Predictor`."""
        trace = self(briefing, seen)
        return mean_prediction([marginal(trace.filter.goal)], trace.grid)

    def capture(self, batch: int, steps: int, dtype: torch.dtype) -> None:
        """Train with language and filter as CUDA graphs from now on, for batches of this shape; see `act.captured`."""
        self._captured = capture(self.language, self.filter, self.config, batch, steps, dtype)
