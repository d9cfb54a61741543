"""The speaker (Fried et al. 2018): a path and what is seen along it in, an instruction out.

A step of the path is known by what lies in every direction, near and far, relative to where the walker looks, and by
the move that follows. The decoder attends to all directions of all steps, and to the steps as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ghosts.agent.interface import Vectors
from ghosts.belief.histogram import NOT_FINITE
from ghosts.mapping.cells import CellFeatures, MapCells, sector_features
from ghosts.methods.speaker.settings import SpeakerModelConfig
from ghosts.words.encoder import Encoder
from ghosts_sim.errors import DataError
from ghosts_sim.geometry import TAU
from ghosts_sim.types import Grid

END = 1
"""Ends an instruction: the id of the unknown word, which nobody says."""
MOVE_FEATURES = 6
"""Sine and cosine of the turn to the next viewpoint, its distance, its rise, whether the path ends here, and starts."""


State = tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Hidden state and cell of the speaker's two layers."""


@dataclass(frozen=True)
class WalkedPaths:
    """Paths to describe, b of them with up to n stops."""

    cells: MapCells
    """What each stop shows, one agent step per stop."""
    xy_m: Float[Tensor, "b n 2"]
    """Where the stops are, metres from the map's origin."""
    heading_rad: Float[Tensor, "b n"]
    """Where the walker looks on arrival, clockwise from +y."""
    moves: Float[Tensor, "b n f"]
    """See `MOVE_FEATURES`."""
    stops: Bool[Tensor, "b n"]
    """Which stops belong to the path; the others are padding."""


@dataclass(frozen=True)
class EncodedPaths:
    """Paths as the speaker sees them: vectors to attend to."""

    values: Float[Tensor, "b k e"]
    penalty: Float[Tensor, "b k"]
    """0 for a place, −∞ for padding."""
    summary: Float[Tensor, "b e"]


class Speaker(nn.Module):
    """Describes paths in words. Of the map it uses only what a cell shows."""

    def __init__(self, config: SpeakerModelConfig, labels: int = 0, vectors: Vectors | None = None) -> None:
        super().__init__()
        self.config, vectors, speaker = config, vectors or Vectors(), config.speaker
        features, size, hidden = config.mapper.features, speaker.encoded, speaker.hidden
        self.features = CellFeatures(features, labels, vectors.labels)
        # Words enter by the embeddings that a follower would read them with, and leave by the same.
        self.words = Encoder(config.language, vectors.words)
        del self.words.states
        self.parts = speaker.sectors * (len(speaker.rings_m) + 1)
        self.direction = nn.Parameter(0.1 * torch.randn(self.parts, size))
        self.seen = nn.Linear(features, size)
        self.move = nn.Linear(MOVE_FEATURES, size)
        self.steps = nn.LSTM(2 * size, size // 2, batch_first=True, bidirectional=True)
        self.start = nn.Linear(size, 4 * hidden)
        self.saying = nn.LSTM(config.language.embedding, hidden, batch_first=True)
        self.query = nn.Linear(hidden, size)
        self.showing = nn.LSTM(hidden + size, hidden, batch_first=True)
        self.leave = nn.Linear(hidden + size, config.language.embedding)
        self.bias = nn.Parameter(torch.zeros(config.language.vocabulary))
        self.dropout = nn.Dropout(speaker.dropout)

    def look(self, paths: WalkedPaths) -> EncodedPaths:
        """See paths."""
        batch, stops = paths.stops.shape
        cells = self.features(paths.cells)
        grid = Grid(cells.rows, cells.cols, self.config.mapper.cell_m)
        settings = self.config.speaker
        around = sector_features(cells, paths.xy_m.flatten(0, 1), grid, settings.sectors, settings.rings_m)
        around = self._ahead_first(around.unflatten(0, (batch, stops)), paths.heading_rad)
        empty = (around == 0.0).all(-1)
        views = torch.tanh(self.seen(self.dropout(around)) + self.direction + self.move(paths.moves)[:, :, None])
        views = views * ~empty[..., None]
        mean = views.sum(2) / (~empty).sum(2, keepdim=True).clamp(min=1)
        entered = self.dropout(torch.cat([mean, self.move(paths.moves)], -1))
        # Packed: the way back starts at the end of each path, not in the padding after it.
        packed = pack_padded_sequence(entered, paths.stops.sum(1).cpu(), batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.steps(packed)[0], batch_first=True, total_length=stops)
        values = torch.cat([views.flatten(1, 2), states], 1)
        hidden = torch.cat([(empty | ~paths.stops[..., None]).flatten(1), ~paths.stops], 1)
        penalty = torch.zeros_like(hidden, dtype=values.dtype).masked_fill(hidden, float("-inf"))
        return EncodedPaths(values, penalty, states.sum(1) / paths.stops.sum(1, keepdim=True))

    def _ahead_first(
        self, around: Float[Tensor, "b n p c"], heading_rad: Float[Tensor, "b n"]
    ) -> Float[Tensor, "b n p c"]:
        """Directions counted from where the walker looks instead of from +x."""
        sectors, rings = self.config.speaker.sectors, len(self.config.speaker.rings_m) + 1
        ahead = torch.round((TAU / 4.0 - heading_rad) / (TAU / sectors)).long() % sectors
        turned = (torch.arange(sectors, device=around.device) + ahead[..., None]) % sectors
        index = torch.cat([turned + ring * sectors for ring in range(rings)], -1)
        return around.gather(2, index[..., None].expand_as(around))

    def begin(self, encoded: EncodedPaths) -> State:
        """States of both layers before the first word."""
        parts = torch.tanh(self.start(encoded.summary))[None].chunk(4, -1)
        return (parts[0].contiguous(), parts[1].contiguous()), (parts[2].contiguous(), parts[3].contiguous())

    def step(
        self, state: State, words: Float[Tensor, "b l d"], encoded: EncodedPaths
    ) -> tuple[State, Float[Tensor, "b l d"]]:
        """The states after some words, and what the word after each should be like.

        One layer keeps track of what has been said, the other of what has been shown. Only the words themselves are fed
        back, so in training all words of an instruction are one call.
        """
        said, first = self.saying(words, state[0])
        scores = self.query(self.dropout(said)) @ encoded.values.mT / encoded.values.shape[-1] ** 0.5
        context = (scores + encoded.penalty[:, None]).softmax(-1) @ encoded.values
        shown, second = self.showing(self.dropout(torch.cat([said, context], -1)), state[1])
        return (first, second), self.leave(self.dropout(torch.cat([shown, context], -1)))

    def logits(self, wanted: Float[Tensor, "*n d"]) -> Float[Tensor, "*n words"]:
        """Scores of all listed words."""
        count = self.config.language.vocabulary
        table = self.words.embed(torch.arange(count, device=wanted.device)[None])[0]
        return wanted @ table.T + self.bias

    def forward(self, paths: WalkedPaths, tokens: Int[Tensor, "b l"]) -> Float[Tensor, "b l words"]:
        """Scores of each word given those before it; the first is preceded by padding.

        Args:
            paths: the paths.
            tokens: listed words, `END` after the last, padded with 0.
        """
        encoded = self.look(paths)
        entered = self.dropout(self.words.embed(F.pad(tokens, (1, 0))[:, :-1]))
        return self.logits(self.step(self.begin(encoded), entered, encoded)[1])

    def log_likelihood(self, paths: WalkedPaths, tokens: Int[Tensor, "b l"]) -> Float[Tensor, " b"]:
        """Log-probability of instructions for paths, summed over words; the end mark counts, padding does not."""
        picked = self(paths, tokens).log_softmax(-1).gather(2, tokens[..., None])[..., 0]
        return (picked * (tokens > 0)).sum(1)

    @torch.no_grad()
    def tell(
        self,
        paths: WalkedPaths,
        *,
        longest: int = 60,
        temperature: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> Int[Tensor, "b l"]:
        """Instructions for paths: the likeliest word each time, or sampled; the end mark and padding after it.

        Args:
            paths: the paths.
            longest: most words.
            temperature: 0 for the likeliest word; 1 samples from the model's distribution, less from its peaks.
            generator: of the samples, on the CPU.

        Raises:
            DataError: the weights overflow.
        """
        encoded = self.look(paths)
        state, device = self.begin(encoded), encoded.values.device
        word = torch.zeros(len(paths.stops), dtype=torch.long, device=device)
        over, words = torch.zeros_like(word, dtype=torch.bool), []
        for _ in range(longest):
            state, wanted = self.step(state, self.words.embed(word[:, None]), encoded)
            logits = self.logits(wanted)[:, 0]
            if not logits.isfinite().all():
                raise DataError("the scores of the words are not finite", hint=NOT_FINITE)
            logits[:, 0] = float("-inf")
            word = logits.argmax(-1)
            if temperature > 0.0:
                odds = (logits.float() / temperature).softmax(-1).cpu()
                word = torch.multinomial(odds, 1, generator=generator)[:, 0].to(device)
            word = torch.where(over, 0, word)
            words.append(word)
            over |= word == END
            if over.all():
                break
        return torch.stack(words, 1)
