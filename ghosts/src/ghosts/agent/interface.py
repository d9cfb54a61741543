"""What agents, trackers and evaluations know of a model: what it is told, what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ghosts.agent.policy import Policy
from ghosts.belief.filter import FilterTrace
from ghosts.belief.histogram import arg_max_m, best_guess_m
from ghosts.config import ModelConfig, ModelParts
from ghosts.mapping.cells import MapCells
from ghosts.mapping.mapper import Mapper, MapState
from ghosts.mapping.observations import Observations
from ghosts.words.decoder import Latents
from ghosts_sim.types import SUCCESS_M, Grid


@dataclass(frozen=True)
class Vectors:
    """Vectors of words and labels, given to a model when it is made."""

    words: Float[Tensor, "n d"] | None = None
    """Of all word ids (`words.tokens.Vocabulary.vectors`)."""
    labels: Float[Tensor, "m d"] | None = None
    """Of the labels of training (`mapping.labels.LabelSet.vectors`)."""


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
class EncodedInstruction:
    """A briefing whose words are encoded as latent actions and observations."""

    latents: Latents
    start_xy_m: Float[Tensor, "b 2"]
    start_heading_rad: Float[Tensor, " b"]

    def pick(self, episodes: Int[Tensor, " w"]) -> EncodedInstruction:
        """Some of the episodes."""
        latents = {item.name: getattr(self.latents, item.name).index_select(0, episodes) for item in fields(Latents)}
        start = self.start_xy_m.index_select(0, episodes), self.start_heading_rad.index_select(0, episodes)
        return EncodedInstruction(Latents(**latents), *start)


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
    attention: Float[Tensor, "b l"] | None = None
    """How much of what the last filter step observes comes from each word; None without a filter."""


def mean_prediction(
    goals: Sequence[Float[Tensor, "b s y x"]], grid: Grid, attention: Float[Tensor, "b l"] | None = None
) -> Prediction:
    """What several distributions over the goal say together."""
    mean = torch.stack(tuple(goals)).mean(0)
    peak = arg_max_m(mean[:, :, None], grid, radius=1)
    return Prediction(best_guess_m(mean, grid, SUCCESS_M), peak, mean, grid, attention)


@runtime_checkable
class Predictor(Protocol):
    """A row of Table 1."""

    config: ModelParts

    def predict(self, briefing: Briefing, seen: Observations) -> Prediction:
        """Goal distributions and their maxima, for the map of every agent step; without gradients."""
        ...


class FilterModel(nn.Module):
    """A model whose belief an agent can act on, and a tracker or a viewer can show. `methods.ghost.model` has ours."""

    config: ModelConfig
    mapper: Mapper
    policy: Policy

    def read(self, briefing: Briefing) -> EncodedInstruction:
        """Latent actions and observations of instructions."""
        raise NotImplementedError

    def observe(self, state: MapState, cells: MapCells) -> MapState:
        """One more agent step on given maps; without observed cells they stay as they are."""
        raise NotImplementedError

    def track(self, instruction: EncodedInstruction, maps: Float[Tensor, "b s channels y x"]) -> FilterTrace:
        """Filter the demonstrator's trajectory on the map of each agent step."""
        raise NotImplementedError

    def predict(self, briefing: Briefing, seen: Observations) -> Prediction:
        raise NotImplementedError
