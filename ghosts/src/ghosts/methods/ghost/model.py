"""The whole model (paper, section 4): words and observed cells in, beliefs about the ghost's trajectory out.

Three verbs, and `forward` is all of them in a row: `read` the instruction (once per episode, the map plays no part),
`look` at what is observed (the map changes, the words play no part; `observe` is one step of it), `track` the ghost on
the map. Training, evaluation, agents, the robot's tracker and the viewer all go through these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from ghosts.agent.interface import Briefing, EncodedInstruction, FilterModel, Prediction, Vectors, mean_prediction
from ghosts.agent.policy import Policy
from ghosts.belief.filter import FilterTrace, build_filter
from ghosts.belief.histogram import marginal, pose_belief
from ghosts.config import ModelConfig
from ghosts.fast.graphs import Captured
from ghosts.mapping.cells import CellFeatures, MapCells
from ghosts.mapping.mapper import Mapper, MapState, MapSteps, Masks
from ghosts.mapping.observations import Observations, observations_of
from ghosts.words.decoder import InstructionModel, Latents
from ghosts_sim.types import Grid


@dataclass(frozen=True)
class GoalTrace:
    """Everything the model computes, for the maps of s agent steps of b episodes."""

    latents: Latents
    """Latent observations and actions, and the words they attend to."""
    map: MapSteps
    filter: FilterTrace
    """Kernels, predictions, likelihoods and posteriors of every filter step."""
    grid: Grid
    """The belief's grid."""


class GoalModel(FilterModel):
    """Mapper + language + filter + policy. No state between calls: maps, dropout masks and CUDA graphs are passed in.

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
        self.policy = Policy(config.policy, config.language.steps, config.mapper.channels, 2 * latent)

    def read(self, briefing: Briefing, captured: Captured | None = None) -> EncodedInstruction:
        """Latent actions and observations of instructions.

        Args:
            briefing: what the walkers were told.
            captured: the model's language as a CUDA graph, in training.
        """
        run = self.language if captured is None else captured.read
        # Little work, many small steps: casts to half precision would cost more than they save.
        with torch.autocast(briefing.tokens.device.type, enabled=False):
            latents = run(briefing.tokens, briefing.lengths)
        return EncodedInstruction(latents, briefing.start_xy_m, briefing.start_heading_rad)

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

    def track(
        self, instruction: EncodedInstruction, maps: Float[Tensor, "b s channels y x"], captured: Captured | None = None
    ) -> FilterTrace:
        """Filter the demonstrator's trajectory on the map of each agent step.

        Args:
            instruction: of each episode.
            maps: at the belief's resolution (`MapSteps.pooled`, `MapState.pooled`).
            captured: the model's filter as a CUDA graph, in training.
        """
        settings = self.config.filter
        grid = Grid(maps.shape[-2], maps.shape[-1], self.config.belief_grid.cell_m)
        place = instruction.start_xy_m, instruction.start_heading_rad
        start = pose_belief(*place, grid, settings.sigma_m, settings.headings)
        run = self.filter if captured is None else captured.track
        return run(maps, instruction.latents.actions, instruction.latents.observations, start)

    def forward(
        self,
        briefing: Briefing,
        seen: Observations,
        masks: Masks | None = None,
        steps: Sequence[int] | None = None,
        captured: Captured | None = None,
    ) -> GoalTrace:
        """Beliefs for every agent step of every episode.

        Args:
            briefing: what the walkers were told.
            seen: what each agent step observed.
            masks: the mapper's dropout, in training.
            steps: agent steps on whose maps the ghost is tracked; all by default.
            captured: the model's language and filter as CUDA graphs, in training.
        """
        instruction = self.read(briefing, captured)
        maps = self.look(seen, None, masks)
        grid = Grid(seen.cells.rows, seen.cells.cols, self.config.mapper.cell_m).coarser(self.config.filter.pool)
        trace = self.track(instruction, maps.pooled(steps), captured)
        return GoalTrace(instruction.latents, maps, trace, grid)

    @torch.no_grad()
    def predict(self, briefing: Briefing, seen: Observations) -> Prediction:
        trace = self(briefing, seen)
        attention = trace.latents.observation_attention[:, -1]
        return mean_prediction([marginal(trace.filter.goal)], trace.grid, attention)
