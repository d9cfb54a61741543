"""A policy that reads: it scores candidates by what is seen there and beyond, and by the words.

The belief says where the ghost is, not what is seen on the way there. The reader looks at the map around each candidate
and a little beyond it, attends to what the instruction's filter steps say, lets the candidates of an episode look at
each other (a small version of DUET's coarse graph encoder, Chen et al. 2022), and scores them. A learned gate says how
much its scores count beside the belief's (`agent.policy.Policy`).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ghosts.agent.candidates import Candidates, ranks
from ghosts.config import PolicyConfig
from ghosts.words.decoder import Latents
from ghosts_sim.geometry import map_cells
from ghosts_sim.types import Grid

REACH = 1
"""The map is read on a square of this many belief cells around a place, each way."""
UNSURE = -2.0
"""Where the gate starts: the belief decides, the reader has about a tenth."""


@dataclass(frozen=True)
class Scene:
    """What a reader looks at besides the belief, for each of b episodes."""

    maps: Float[Tensor, "b m y x"]
    """At the belief's resolution."""
    words: Float[Tensor, "b t d"]
    """What each filter step observes and does (`words_of`)."""


def words_of(latents: Latents) -> Float[Tensor, "b t d"]:
    """What the words say of each filter step."""
    return torch.cat([latents.observations, latents.actions], -1)


def seen_at(
    maps: Float[Tensor, "b m y x"], xy_m: Float[Tensor, "k 2"], episode: Int[Tensor, " k"], grid: Grid
) -> Float[Tensor, "k m"]:
    """Mean of the map on a square around each place; what lies off the map counts as empty."""
    cell = map_cells(xy_m, grid)
    flat = maps.permute(0, 2, 3, 1)
    total = flat.new_zeros(len(xy_m), maps.shape[1])
    for down in range(-REACH, REACH + 1):
        for right in range(-REACH, REACH + 1):
            col, row = cell[:, 0] + right, cell[:, 1] + down
            inside = (col >= 0) & (col < grid.cols) & (row >= 0) & (row < grid.rows)
            found = flat[episode, torch.where(inside, row, 0), torch.where(inside, col, 0)]
            total = total + found * inside[:, None]
    return total / (2 * REACH + 1) ** 2


def looked_at(
    candidates: Candidates,
    maps: Float[Tensor, "b m y x"],
    start_xy_m: Float[Tensor, "b 2"],
    grid: Grid,
    beyond_m: float,
) -> Float[Tensor, "k m2"]:
    """What the map holds at each candidate, and beyond it as seen from where the agent stands."""
    episode = candidates.episode.long()
    here = candidates.from_agent_m == 0.0
    stands = candidates.xyz_m.new_zeros(len(maps), 2).index_add(0, episode[here], candidates.xyz_m[here, :2])
    way = candidates.xyz_m[:, :2] - stands[episode]
    away_m = way.norm(dim=1, keepdim=True)
    step = torch.where(away_m > 0.0, way / away_m.clamp(min=1e-6), 0.0) * beyond_m
    xy_m = candidates.xyz_m[:, :2] + start_xy_m[episode]
    return torch.cat([seen_at(maps, at, episode, grid) for at in (xy_m, xy_m + step)], 1)


class Reader(nn.Module):
    """Scores of candidates from what is seen and said, and how much they count.

    Args:
        config: sizes.
        features: what the belief says of a candidate (`Policy.features`).
        seen: size of `looked_at`.
        words: size of a filter step's latent vectors.
    """

    def __init__(self, config: PolicyConfig, features: int, seen: int, words: int) -> None:
        super().__init__()
        size = config.reader
        self.heads = config.reader_heads
        self.drop = nn.Dropout(config.reader_dropout)
        self.candidate = nn.Linear(features + seen, size)
        self.word = nn.Linear(words, size)
        self.ask = nn.MultiheadAttention(size, self.heads, config.reader_dropout, batch_first=True)
        self.join = nn.Linear(3 * size, size)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                size, self.heads, 2 * size, config.reader_dropout, batch_first=True, norm_first=True
            )
            for _ in range(config.reader_layers)
        )
        self.norm = nn.LayerNorm(size)
        self.logit = nn.Linear(size, 1)
        self.gate = nn.Linear(size, 1)
        nn.init.zeros_(self.gate.weight)
        nn.init.constant_(self.gate.bias, UNSURE)

    def forward(
        self,
        features: Float[Tensor, "k f"],
        words: Float[Tensor, "b t d"],
        owner: Int[Tensor, " n"],
        episode: Int[Tensor, " k"],
    ) -> tuple[Float[Tensor, " k"], Float[Tensor, " n"]]:
        """Scores, and the gate of each step.

        Args:
            features: what the belief says of each candidate, and what is seen there (`looked_at`).
            words: of each episode.
            owner: episode of each of n steps, or of each episode itself.
            episode: step that each candidate belongs to, in [0, n).
        """
        place, rank, most = ranks(episode, len(owner))
        mine = self.candidate(self.drop(features))
        table = mine.new_zeros(len(owner), most, mine.shape[1]).index_put((place, rank), mine)
        empty = torch.ones(table.shape[:2], dtype=torch.bool, device=mine.device)
        empty = empty.index_put((place, rank), torch.zeros_like(place, dtype=torch.bool))
        said = self.word(self.drop(words)).index_select(0, owner)
        heard, _ = self.ask(table, said, said, need_weights=False)
        table = torch.relu(self.join(self.drop(torch.cat([table, heard, table * heard], -1))))
        for layer in self.layers:
            table = layer(table, src_key_padding_mask=_some(empty))
        table = self.norm(table)
        mean = (table * ~empty[..., None]).sum(1) / (~empty).sum(1, keepdim=True).clamp(min=1)
        return self.logit(table)[place, rank, 0], torch.sigmoid(self.gate(mean))[:, 0]


def _some(empty: Bool[Tensor, "n k"]) -> Bool[Tensor, "n k"]:
    """A step without candidates attends to an empty one, since a softmax of nothing is not a number."""
    return empty & ~empty.all(1, keepdim=True)
