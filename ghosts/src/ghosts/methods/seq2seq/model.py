"""The sequence-to-sequence agent of R2R (Anderson et al. 2018): an LSTM with attention over the words, no map.

It sees what the paper's agent sees: the panorama's cells, pooled into directions. Its options at a step are the
neighbours of where it stands, and stopping there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ghosts.agent.candidates import on_slots, segment_log_softmax
from ghosts.agent.interface import Briefing, Vectors
from ghosts.agent.known import KnownGraph
from ghosts.agent.loop import Action, Choose, Observation, choose_best, looked_at
from ghosts.config import STEP_LIMIT, require
from ghosts.devices import to_device
from ghosts.mapping.cells import CellFeatures, MapCells, sector_features, to_sector
from ghosts.methods.seq2seq.settings import Seq2SeqModelConfig
from ghosts.words.attention import Attention, padding_penalty
from ghosts.words.encoder import Encoded, Encoder
from ghosts_sim.geometry import heading_to_angle
from ghosts_sim.types import Grid

PLACE_FEATURES = 6
"""Sine and cosine of the turn, distance, rise, visited, and whether the option is to stop."""


@dataclass(frozen=True)
class Moves:
    """What walkers may do next, flat: each neighbour, and stopping."""

    episode: Int[Tensor, " k"]
    """Which walker each belongs to, in [0, b)."""
    place: Float[Tensor, "k f"]
    """See `PLACE_FEATURES`."""
    sector: Int[Tensor, " k"]
    """Direction of the panorama it lies in; −1 for stopping."""


@dataclass(frozen=True)
class DecoderState:
    """What the decoder remembers of b walks."""

    hidden: Float[Tensor, "b h"]
    cell: Float[Tensor, "b h"]
    previous: Float[Tensor, "b h"]
    """The option taken last."""


def options_of(
    known: KnownGraph, active: Bool[np.ndarray, " b"], heading_rad: Float[np.ndarray, " b"], sectors: int
) -> Moves:
    """What active walkers may do: neighbours and stopping, in the order of their slots; see `option_mask`."""
    episode, slot = option_mask(known, active).nonzero()
    here = known.here[episode]
    delta = known.xyz_m[episode, slot] - known.xyz_m[episode, here]
    stop = slot == here
    heading = np.arctan2(delta[:, 0], delta[:, 1])
    turn = np.where(stop, 0.0, heading - heading_rad[episode])
    flat = np.hypot(delta[:, 0], delta[:, 1])
    rise = np.arctan2(delta[:, 2], np.where(stop, 1.0, flat))
    visited = known.visited[episode, slot]
    place = np.stack([np.sin(turn), np.cos(turn), np.linalg.norm(delta, axis=1) / 5.0, rise, visited, stop], 1)
    sector = to_sector(torch.from_numpy(heading_to_angle(heading)), sectors)
    return Moves(
        episode=torch.from_numpy(episode),
        place=torch.from_numpy(place).float(),
        sector=torch.where(torch.from_numpy(stop), -1, sector),
    )


def option_mask(known: KnownGraph, active: Bool[np.ndarray, " b"]) -> Bool[np.ndarray, "b slots"]:
    """Slots that active walkers may choose: where they stand (stop) and its neighbours."""
    walkers = np.arange(len(known.here))
    mask = np.isfinite(known.edge_m[walkers, known.here])
    mask[walkers, known.here] = True
    return mask & active[:, None]


class Seq2Seq(nn.Module):
    """Encoder, attention decoder, and a score for every option. It has no map, but its cells are the map's."""

    def __init__(self, config: Seq2SeqModelConfig, labels: int = 0, vectors: Vectors | None = None) -> None:
        super().__init__()
        vectors, decoder = vectors or Vectors(), config.decoder
        self.config, self.sectors = config, decoder.sectors
        hidden, words, features = decoder.hidden, 2 * config.language.hidden, config.mapper.features
        self.features = CellFeatures(features, labels, vectors.labels)
        self.encoder = Encoder(config.language, vectors.words)
        self.option = nn.Linear(features + PLACE_FEATURES, hidden)
        self.panorama = nn.Linear(features, hidden)
        self.start = nn.Linear(words, 2 * hidden)
        self.cell = nn.LSTMCell(2 * hidden, hidden)
        self.attention = Attention(hidden, words, "dot", heads=1)
        self.combine = nn.Linear(words + hidden, hidden)
        self.dropout = nn.Dropout(decoder.dropout)

    def begin(self, encoded: Encoded) -> DecoderState:
        """The decoder's state before the first step."""
        hidden, cell = torch.tanh(self.start(encoded.sentence)).chunk(2, -1)
        return DecoderState(hidden, cell, torch.zeros_like(hidden))

    def panoramas(self, cells: MapCells, xy_m: Float[Tensor, "bs 2"]) -> Float[Tensor, "bs sectors c"]:
        """What is seen in each direction, from where each panorama was taken; see `sector_features`."""
        grid = Grid(cells.rows, cells.cols, self.config.mapper.cell_m)
        return sector_features(self.features(cells), xy_m, grid, self.sectors)

    def option_vectors(self, options: Moves, seen: Float[Tensor, "b sectors c"]) -> Float[Tensor, "k h"]:
        """One vector per option: what is seen in its direction (nothing for stopping), and where it lies."""
        there = seen[options.episode, options.sector.clamp(min=0)] * (options.sector >= 0)[:, None]
        return torch.tanh(self.option(torch.cat([there, options.place.to(there.dtype)], 1)))

    def forward(
        self,
        state: DecoderState,
        encoded: Encoded,
        seen: Float[Tensor, "b sectors c"],
        options: Moves,
    ) -> tuple[DecoderState, Float[Tensor, " k"], Float[Tensor, "b l"]]:
        """One step.

        Returns:
            The state without the option taken (`take`), the log-probability of each option, and the words attended to.
        """
        entered = self.dropout(torch.cat([torch.tanh(self.panorama(seen.mean(1))), state.previous], 1))
        hidden, cell = self.cell(entered, (state.hidden, state.cell))
        keys, penalty = self.attention.keys(encoded.states), padding_penalty(encoded.mask)
        attended, weights = self.attention(hidden[:, None], keys, encoded.states, penalty)
        query = self.dropout(torch.tanh(self.combine(torch.cat([attended[:, 0, 0], hidden], 1))))
        logits = (self.option_vectors(options, seen) * query[options.episode]).sum(1)
        scores = segment_log_softmax(logits, options.episode, len(hidden))
        return DecoderState(hidden, cell, state.previous), scores, weights[:, 0, 0]

    def take(
        self,
        state: DecoderState,
        seen: Float[Tensor, "b sectors c"],
        options: Moves,
        taken: Int[Tensor, " b"],
    ) -> DecoderState:
        """Remember the option each walker took: its flat number; −1 keeps the one before."""
        vectors = self.option_vectors(options, seen)
        chosen = vectors[taken.clamp(min=0)] if len(vectors) else state.previous
        return replace(state, previous=torch.where((taken >= 0)[:, None], chosen, state.previous))


@dataclass(frozen=True)
class Seq2SeqCarry:
    """All that is known in b episodes."""

    briefing: Briefing
    encoded: Encoded
    state: DecoderState
    heading_rad: Float[np.ndarray, " b"]
    stopped: Bool[np.ndarray, " b"]
    steps: int = 0
    places: KnownGraph | None = None
    """Of the last observation."""
    seen: Float[Tensor, "b sectors c"] | None = None
    """What the last observation shows in each direction."""


@dataclass(frozen=True)
class Decoded:
    """What the decoder makes of a step."""

    state: DecoderState
    """Without the option taken."""
    options: Moves
    scores: Float[Tensor, " k"]
    """Log-probability of each option."""
    attention: Float[Tensor, "b l"]
    heading_rad: Float[np.ndarray, " b"]
    """Before the move."""


class Seq2SeqAgent:
    """Walks with `Seq2Seq`, in the loop of `agent.loop`.

    Args:
        model: its mode (training or evaluation) is left as it is.
        step_limit: panoramas that an episode may look at; at the last one it stops.
    """

    def __init__(self, model: Seq2Seq, step_limit: int = STEP_LIMIT) -> None:
        require(step_limit >= 1, "step_limit must be at least 1", step_limit)
        self.model, self.step_limit = model, step_limit

    def start(self, briefing: Briefing, beliefs: Float[Tensor, "b t1 c y x"] | None = None) -> Seq2SeqCarry:
        """Read the instructions. There are no beliefs."""
        with torch.autocast(briefing.tokens.device.type, enabled=False):
            encoded = self.model.encoder(briefing.tokens, briefing.lengths)
            state = self.model.begin(encoded)
        heading = briefing.start_heading_rad.double().cpu().numpy()
        return Seq2SeqCarry(briefing, encoded, state, heading, np.zeros(len(heading), bool))

    def look(self, carry: Seq2SeqCarry, observation: Observation[KnownGraph]) -> Seq2SeqCarry:
        """See the panoramas; nothing of them is kept for later steps."""
        places = looked_at(observation.places)
        seen = self.model.panoramas(observation.cells, standing_xy_m(places, carry.briefing))
        return replace(carry, places=places, seen=seen)

    def think(self, carry: Seq2SeqCarry) -> Decoded:
        """One step of the decoder."""
        assert carry.seen is not None, "look comes before think"
        options = options_of(looked_at(carry.places), ~carry.stopped, carry.heading_rad, self.model.sectors)
        options = to_device(options, carry.seen.device)
        # Little work, many small steps: casts to half precision would cost more than they save.
        with torch.autocast(carry.seen.device.type, enabled=False):
            state, scores, attention = self.model(carry.state, carry.encoded, carry.seen, options)
        return Decoded(state, options, scores, attention, carry.heading_rad)

    def act(
        self, carry: Seq2SeqCarry, thought: Decoded, choose: Choose[KnownGraph] = choose_best
    ) -> tuple[Seq2SeqCarry, Action[KnownGraph]]:
        """Move to a neighbour or stop."""
        places, active, seen = looked_at(carry.places), ~carry.stopped, carry.seen
        assert seen is not None, "look comes before act"
        mask = option_mask(places, active)
        table = on_slots(mask, thought.scores)
        if carry.steps + 1 >= self.step_limit:
            table = np.where(np.arange(table.shape[1]) == places.here[:, None], table, -np.inf)
        chosen = np.where(active, choose(places, table, active), -1)
        taken = option_numbers(mask, chosen, active).to(seen.device)
        with torch.autocast(seen.device.type, enabled=False):
            state = self.model.take(thought.state, seen, thought.options, taken)
        action = Action(active, places, table, chosen, carry.stopped | (chosen == places.here))
        heading = heading_after(places, np.where(active, chosen, places.here), carry.heading_rad)
        after = replace(carry, state=state, heading_rad=heading, stopped=action.stopped, steps=carry.steps + 1)
        return after, action


def standing_xy_m(known: KnownGraph, briefing: Briefing) -> Float[Tensor, "b 2"]:
    """Where walkers stand, metres from the map's origin."""
    xyz = known.xyz_m[np.arange(len(known.here)), known.here]
    return torch.from_numpy(xyz[:, :2]).to(briefing.start_xy_m) + briefing.start_xy_m


def option_numbers(
    mask: Bool[np.ndarray, "b slots"], chosen: Int[np.ndarray, " b"], active: Bool[np.ndarray, " b"]
) -> Int[Tensor, " b"]:
    """Flat number of the option in a slot of each active walker; −1 for the others."""
    number = np.cumsum(mask.ravel()).reshape(mask.shape) - 1
    return torch.from_numpy(np.where(active, number[np.arange(len(chosen)), chosen], -1))


def heading_after(
    known: KnownGraph, chosen: Int[np.ndarray, " b"], heading_rad: Float[np.ndarray, " b"]
) -> Float[np.ndarray, " b"]:
    """Headings after a move: along it; kept where there is none, or one straight up."""
    walkers = np.arange(len(chosen))
    delta = known.xyz_m[walkers, chosen] - known.xyz_m[walkers, known.here]
    moved = np.hypot(delta[:, 0], delta[:, 1]) > 0.0
    return np.where(moved, np.arctan2(delta[:, 0], delta[:, 1]) % (2.0 * math.pi), heading_rad)
