"""Settings of the model, one dataclass per part. Every field says what it does; wrong values are refused by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from ghosts.config.values import require
from ghosts.types import Grid

MOST_CELLS = 1024
"""A side of the map: at cells of 0.5 m, half a kilometre."""
MOST_STEPS = 256
"""Of the filter. Weights do not tell their number either."""
MOST_LAYERS = 64
"""Of a network. They are made before weights are compared, so that a checkpoint could ask for any number of them."""


@dataclass(frozen=True)
class LanguageConfig:
    """Instruction encoder and latent decoder."""

    vocabulary: int = 1000
    """Number of word ids, padding and unknown included."""
    embedding: int = 300
    """Word embedding size."""
    hidden: int = 256
    """Hidden size of the encoder, each way, and of the decoder."""
    position: int = 64
    """Size of the decoder's positional encoding of the filter step."""
    steps: int = 6
    """Filter steps T: the longest path of R2R has 6 moves."""
    attention: Literal["dot", "additive"] = "additive"
    """Paper: dot product (Luong). Released code: additive (tanh)."""
    decoder_context: bool = True
    """Whether the decoder also sees its previous context (released code) or only the position (paper)."""
    dropout: float = 0.3
    """Dropout on embeddings and encoder states."""
    vectors: bool = False
    """Read words by the vectors that come with the package, also words that training never met. Paper: words with fewer
    than five occurrences are unknown."""
    encoder: Literal["lstm", "transformer"] = "lstm"
    """The encoder of words. Paper: an LSTM in each direction."""
    rooms: bool = False
    """Also predict from the words which kind of room each filter step leads to (`train.room_loss`)."""
    progress: bool = False
    """Also predict from the words how far it still is to the goal after each filter step (`train.progress_loss`)."""
    layers: int = 2
    """Layers of a transformer."""
    heads: int = 4
    """Attention heads of a transformer's layer."""

    def __post_init__(self) -> None:
        require(self.vocabulary >= 3, "language.vocabulary must be at least 3", self.vocabulary)
        require(1 <= self.steps <= MOST_STEPS, f"language.steps must lie in 1..{MOST_STEPS}", self.steps)
        for name in ("embedding", "hidden"):
            require(getattr(self, name) >= 1, f"language.{name} must be at least 1", getattr(self, name))
        require(
            self.position >= 2 and self.position % 2 == 0,
            "language.position must be even and at least 2",
            self.position,
        )
        require(self.attention in ("dot", "additive"), "language.attention must be dot or additive", self.attention)
        require(0.0 <= self.dropout < 1.0, "language.dropout must lie in [0, 1)", self.dropout)
        require(self.encoder in ("lstm", "transformer"), "language.encoder must be lstm or transformer", self.encoder)
        require(1 <= self.layers <= MOST_LAYERS, f"language.layers must lie in 1..{MOST_LAYERS}", self.layers)
        require(self.heads >= 1, "language.heads must be at least 1", self.heads)
        require(
            self.encoder == "lstm" or 2 * self.hidden % self.heads == 0,
            f"language.heads must divide the states' size of {2 * self.hidden}",
            self.heads,
        )


@dataclass(frozen=True)
class MapperConfig:
    """Conv-GRU semantic map."""

    features: int = 768
    """Channels of an observed point's feature vector."""
    channels: int = 128
    """Channels of the map."""
    kernel: int = 3
    """Side of the convolutions."""
    convolution: Literal["sparse", "masked"] = "masked"
    """Paper: sparsity-aware (divided by the observed inputs under the kernel). Released code: plain, masked after."""
    dropout: float = 0.5
    """Channel dropout on both gates, with the same masks throughout an episode."""
    rows: int = 96
    cols: int = 96
    """Cells per side of the map."""
    cell_m: float = 0.5
    """Side of a cell."""
    height_clip_m: float = 5.0
    """Points more than this above the camera are dropped."""

    def __post_init__(self) -> None:
        for name in ("features", "channels", "kernel", "rows", "cols"):
            require(getattr(self, name) >= 1, f"mapper.{name} must be at least 1", getattr(self, name))
        for name in ("rows", "cols"):
            # Weights do not tell the size of the map, so that a checkpoint could ask for any amount of memory.
            most = f"mapper.{name} must be at most {MOST_CELLS}"
            require(getattr(self, name) <= MOST_CELLS, most, getattr(self, name))
        require(self.kernel % 2 == 1, "mapper.kernel must be odd", self.kernel)
        require(
            self.convolution in ("sparse", "masked"), "mapper.convolution must be sparse or masked", self.convolution
        )
        require(0.0 <= self.dropout < 1.0, "mapper.dropout must lie in [0, 1)", self.dropout)
        _ = self.grid

    @property
    def grid(self) -> Grid:
        """The map's grid."""
        return Grid(self.rows, self.cols, self.cell_m)


@dataclass(frozen=True)
class MotionConfig:
    """Motion model p(s_t | s_{t−1}, a_t, M)."""

    kind: Literal["factorised", "joint"] = "factorised"
    """Released code: map part × egocentric language part, the new heading follows from the displacement.
    Paper: one kernel over Θ² × M² from a 3-layer CNN on [tiled action, map]."""
    kernel: int = 7
    """Side of the kernel in belief cells."""
    hidden: int = 64
    """Channels of the map part's bottleneck (joint: of the CNN)."""
    branch: int = 32
    """Channels of each of the map part's two branches (factorised only)."""
    language: int = 128
    """Hidden size of the language part's MLP (factorised only)."""
    dropout: float = 0.3
    """Channel dropout on the map."""

    def __post_init__(self) -> None:
        require(self.kernel % 2 == 1 and self.kernel >= 3, "motion.kernel must be odd and at least 3", self.kernel)
        for name in ("hidden", "branch", "language"):
            require(getattr(self, name) >= 1, f"motion.{name} must be at least 1", getattr(self, name))
        require(0.0 <= self.dropout < 1.0, "motion.dropout must lie in [0, 1)", self.dropout)


@dataclass(frozen=True)
class LingUNetConfig:
    """Language-conditioned U-Net."""

    levels: int = 3
    """Convolutions down, and up again."""
    channels: int = 48
    """Channels of the trunk."""
    language: int = 24
    """Channels of the language-filtered skip connections."""
    output: int = 128
    """Channels of the last stage."""
    part: ClassVar[str] = "observation"
    """Name of this part of the settings in messages."""

    def __post_init__(self) -> None:
        require(1 <= self.levels <= MOST_LAYERS, f"{self.part}.levels must lie in 1..{MOST_LAYERS}", self.levels)
        for name in ("channels", "language", "output"):
            require(getattr(self, name) >= 1, f"{self.part}.{name} must be at least 1", getattr(self, name))


@dataclass(frozen=True)
class FilterConfig:
    """Histogram Bayes filter."""

    headings: int = 4
    """Heading bins Θ: 1 (no heading in the state), 4 or 8."""
    pool: int = 2
    """Belief cells are this many map cells wide."""
    sigma_m: float = 0.5
    """Standard deviation of the first belief and of the targets."""
    likelihood_floor: float = 0.004
    """Least value of the observation likelihood."""
    motion: MotionConfig = field(default_factory=MotionConfig)
    observation: LingUNetConfig = field(default_factory=LingUNetConfig)

    def __post_init__(self) -> None:
        require(self.headings in (1, 4, 8), "filter.headings must be 1, 4 or 8", self.headings)
        require(self.pool >= 1, "filter.pool must be at least 1", self.pool)
        require(self.sigma_m > 0.0, "filter.sigma_m must be positive", self.sigma_m)
        require(0.0 < self.likelihood_floor < 1.0, "filter.likelihood_floor must lie in (0, 1)", self.likelihood_floor)


@dataclass(frozen=True)
class RegionConfig:
    """Which candidate leads to which part of the map (`act.candidates.reach_mass`)."""

    unseen_cost: float = 2.5
    """On the way to a cell, a metre off the known graph counts as this many."""
    visited_cost: float = 5.0
    """The same from a visited viewpoint. All ways on from it are known, and other places are reached through them."""
    own_m: float = 1.25
    """Up to this far from a visited viewpoint (about half an edge) the higher cost does not apply."""
    softness_m: float = 0.25
    """Candidates whose way to a cell is nearly as short as the best one's share its mass."""
    radius_m: float = 2.2
    """Stopping at a viewpoint is worth the goal mass within this distance. Success is 3 m of walking, not of air."""
    wide_m: float = 3.5
    """The policy also sees the goal mass within this distance: too far to stop, near enough to go and look."""

    def __post_init__(self) -> None:
        for name in ("unseen_cost", "visited_cost"):
            require(getattr(self, name) >= 1.0, f"regions.{name} must be at least 1", getattr(self, name))
        for name in ("softness_m", "radius_m", "own_m", "wide_m"):
            require(getattr(self, name) > 0.0, f"regions.{name} must be positive", getattr(self, name))


@dataclass(frozen=True)
class PolicyConfig:
    """Policy over all viewpoints seen so far."""

    hidden: int = 128
    """Hidden size of the MLP."""
    layers: int = 1
    """Hidden layers. Paper: one (a two-layer network)."""
    sigma_m: float = 1.0
    """Width of the Gaussian neighbourhood in which the belief at a viewpoint is read."""
    beyond: bool = False
    """Also score a candidate by the belief in the region that it leads to, as a logarithm and relative to the best
    candidate (`act.policy.beyond_features`). Paper: only its place and the belief in its neighbourhood."""
    regions: RegionConfig = field(default_factory=RegionConfig)

    def __post_init__(self) -> None:
        require(self.hidden >= 1, "policy.hidden must be at least 1", self.hidden)
        require(1 <= self.layers <= MOST_LAYERS, f"policy.layers must lie in 1..{MOST_LAYERS}", self.layers)
        require(self.sigma_m > 0.0, "policy.sigma_m must be positive", self.sigma_m)


@dataclass(frozen=True)
class PlannerConfig:
    """Choosing a viewpoint from the belief without learning (`act.planner`)."""

    regions: RegionConfig = field(default_factory=RegionConfig)
    passing: float = 0.75
    """Weight of passing through a candidate's region at any filter step, against ending there."""
    metre_cost: float = 0.02
    """What a metre of walking costs, in probability."""
    sure: float = 0.7
    """A visited viewpoint with this much goal mass in reach ends the search."""

    def __post_init__(self) -> None:
        for name in ("passing", "sure"):
            require(0.0 <= getattr(self, name) <= 1.0, f"planner.{name} must lie in [0, 1]", getattr(self, name))
        require(self.metre_cost >= 0.0, "planner.metre_cost must not be negative", self.metre_cost)


@dataclass(frozen=True)
class Seq2SeqConfig:
    """The sequence-to-sequence agent (`act.seq2seq`)."""

    hidden: int = 256
    """Hidden size of the decoder and of an option's vector."""
    sectors: int = 12
    """Directions into which a panorama's cells are pooled."""
    dropout: float = 0.5
    """Dropout on the decoder's inputs and outputs."""

    def __post_init__(self) -> None:
        for name in ("hidden", "sectors"):
            require(getattr(self, name) >= 1, f"seq2seq.{name} must be at least 1", getattr(self, name))
        require(0.0 <= self.dropout < 1.0, "seq2seq.dropout must lie in [0, 1)", self.dropout)


@dataclass(frozen=True)
class SpeakerConfig:
    """The speaker: from a path and what is seen along it to an instruction (`act.speaker`)."""

    hidden: int = 320
    """Hidden size of the decoder's layers."""
    encoded: int = 256
    """Size of the vector of a stop or a direction."""
    sectors: int = 12
    """Directions into which a panorama's cells are pooled."""
    rings_m: tuple[float, ...] = (2.0,)
    """Distances that divide a direction into near and far."""
    dropout: float = 0.4
    """Dropout on words, on what is seen, and on the decoder's states."""
    smoothing: float = 0.1
    """Share of the target that is spread over all words in training (label smoothing)."""

    def __post_init__(self) -> None:
        for name in ("hidden", "encoded", "sectors"):
            require(getattr(self, name) >= 1, f"speaker.{name} must be at least 1", getattr(self, name))
        require(self.encoded % 2 == 0, "speaker.encoded must be even", self.encoded)
        ascending = list(self.rings_m) == sorted({ring for ring in self.rings_m if ring > 0.0})
        require(ascending, "speaker.rings_m must be positive and ascend", self.rings_m)
        for name in ("dropout", "smoothing"):
            require(0.0 <= getattr(self, name) < 1.0, f"speaker.{name} must lie in [0, 1)", getattr(self, name))


@dataclass(frozen=True)
class BaselineConfig(LingUNetConfig):
    """The LingUNet baseline. It is deeper than the observation model and reads the whole sentence."""

    levels: int = 5
    """Convolutions down, and up again."""
    sigma_m: float = 2.0
    """Standard deviation of its targets (goal and path)."""
    part: ClassVar[str] = "baseline"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.sigma_m > 0.0, "baseline.sigma_m must be positive", self.sigma_m)


@dataclass(frozen=True)
class ModelConfig:
    """The whole agent model."""

    language: LanguageConfig = field(default_factory=LanguageConfig)
    mapper: MapperConfig = field(default_factory=MapperConfig)
    filter: FilterConfig = field(default_factory=FilterConfig)
    policy: PolicyConfig = field(default_factory=PolicyConfig)

    @property
    def belief_grid(self) -> Grid:
        """The belief's grid: the map's, `filter.pool` times coarser."""
        return self.mapper.grid.coarser(self.filter.pool)
