"""Settings of the model, one dataclass per part. Every field says what it does; wrong values are refused by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from ghosts.config.values import NOT_NEGATIVE, Bound, Config, Count, Dropout, Fraction, Positive, at_least, within
from ghosts_sim.types import Grid
from ghosts_sim.values import require

STEP_LIMIT = 12
"""Panoramas an agent may look at: the longest demonstration of R2R has 7."""
MOST_CELLS = 1024
"""Most cells per side of a map: half a kilometre, with cells of 0.5 m."""
MOST_STEPS = 256
"""Most filter steps. Weights do not tell their number, so a checkpoint could ask for any."""
MOST_LAYERS = 64
"""Most layers of a network. They are made before weights are compared, so a checkpoint could ask for any number."""
ODD = Bound("must be odd", lambda value: value % 2 == 1)
Layers = Annotated[int, within(1, MOST_LAYERS)]
# Weights do not tell the size of the map, so that a checkpoint could ask for any amount of memory.
Side = Annotated[Count, Bound(f"must be at most {MOST_CELLS}", lambda value: value <= MOST_CELLS)]


@dataclass(frozen=True)
class LanguageConfig(Config, part="language"):
    """Instruction encoder and latent decoder."""

    vocabulary: Annotated[int, within(3, 1_000_000)] = 1000
    """Number of word ids, padding and unknown included."""
    embedding: Count = 300
    """Word embedding size."""
    hidden: Count = 256
    """Hidden size of the encoder (in each direction) and of the decoder."""
    position: Annotated[int, Bound("must be even and at least 2", lambda value: value >= 2 and value % 2 == 0)] = 64
    """Size of the decoder's positional encoding of the filter step."""
    steps: Annotated[int, within(1, MOST_STEPS)] = 6
    """Filter steps T: the longest path of R2R has 6 moves."""
    attention: Literal["dot", "additive"] = "additive"
    """Paper: dot product (Luong). Released code: additive (tanh)."""
    decoder_context: bool = True
    """Whether the decoder also sees its previous context (released code) or only the position (paper)."""
    dropout: Dropout = 0.3
    """Dropout on embeddings and encoder states."""
    vectors: bool = False
    """Read words by the GloVe vectors that come with the package, also words that training never met. Paper: words
    with fewer than five occurrences are unknown."""


@dataclass(frozen=True)
class MapperConfig(Config, part="mapper"):
    """Conv-GRU semantic map."""

    features: Count = 768
    """Channels of an observed point's feature vector."""
    channels: Count = 128
    """Channels of the map."""
    kernel: Annotated[Count, ODD] = 3
    """Side of the convolutions."""
    convolution: Literal["sparse", "masked"] = "masked"
    """Paper: sparse (divided by the number of observed inputs under the kernel). Released code: plain, masked after."""
    dropout: Dropout = 0.5
    """Channel dropout on both gates, with the same masks throughout an episode."""
    rows: Side = 96
    """Rows of the map."""
    cols: Side = 96
    """Columns of the map."""
    cell_m: float = 0.5
    """Side of a cell."""
    height_clip_m: float = 5.0
    """Points more than this above the camera are dropped."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.grid

    @property
    def grid(self) -> Grid:
        """The map's grid."""
        return Grid(self.rows, self.cols, self.cell_m)


@dataclass(frozen=True)
class MotionConfig(Config, part="motion"):
    """Motion model p(s_t | s_{t−1}, a_t, M)."""

    kind: Literal["factorised", "joint"] = "factorised"
    """Released code: a map part times an egocentric language part; the new heading follows from the displacement.
    Paper (joint): a 3-layer CNN on action and map gives one kernel over new headings and displacements."""
    kernel: Annotated[int, Bound("must be odd and at least 3", lambda value: value >= 3 and value % 2 == 1)] = 7
    """Side of the kernel in belief cells."""
    hidden: Count = 64
    """Channels of the map part's bottleneck (joint: of the CNN)."""
    branch: Count = 32
    """Channels of each of the map part's two branches (factorised only)."""
    language: Count = 128
    """Hidden size of the language part's MLP (factorised only)."""
    dropout: Dropout = 0.3
    """Channel dropout on the map."""


@dataclass(frozen=True)
class LingUNetConfig(Config, part="observation"):
    """Language-conditioned U-Net."""

    levels: Layers = 3
    """U-Net convolutions down, and up again."""
    channels: Count = 48
    """Channels of the trunk."""
    language: Count = 24
    """Channels of the language-filtered skip connections."""
    output: Count = 128
    """Channels of the last stage."""


@dataclass(frozen=True)
class FilterConfig(Config, part="filter"):
    """Histogram Bayes filter."""

    headings: Annotated[int, Bound("must be 1, 4 or 8", (1, 4, 8).__contains__)] = 4
    """Heading bins Θ: 1 (no heading in the state), 4 or 8."""
    pool: Count = 2
    """Belief cells are this many map cells wide."""
    sigma_m: Positive = 0.5
    """Standard deviation of the first belief and of the targets."""
    likelihood_floor: Annotated[float, Bound("must lie in (0, 1)", lambda value: 0.0 < value < 1.0)] = 0.004
    """Least value of the observation likelihood."""
    motion: MotionConfig = field(default_factory=MotionConfig)
    observation: LingUNetConfig = field(default_factory=LingUNetConfig)


@dataclass(frozen=True)
class RegionConfig(Config, part="regions"):
    """Which candidate leads to which part of the map (`agent.candidates.reach_mass`)."""

    unseen_cost: Annotated[float, at_least(1)] = 2.5
    """On the way to a cell, each metre off the known graph counts as this many metres."""
    visited_cost: Annotated[float, at_least(1)] = 5.0
    """The same from a visited viewpoint: its ways on are known, and lead through other candidates."""
    own_m: Positive = 1.25
    """Up to this far from a visited viewpoint (about half an edge) the higher cost does not apply."""
    softness_m: Positive = 0.25
    """Candidates whose ways to a cell differ by about this much share its mass."""
    radius_m: Positive = 2.2
    """Stopping at a viewpoint is worth the goal mass within this distance. It is below the 3 m of success, measured
    along a walk."""
    wide_m: Positive = 3.5
    """The policy also sees the goal mass within this distance: too far to stop, near enough to go and look."""


@dataclass(frozen=True)
class PolicyConfig(Config, part="policy"):
    """Policy over all viewpoints seen so far."""

    hidden: Count = 128
    """Hidden size of the MLP."""
    layers: Layers = 1
    """Hidden layers. Paper: one."""
    sigma_m: Positive = 1.0
    """Width of the Gaussian neighbourhood in which the belief at a viewpoint is read."""
    beyond: bool = False
    """Also score a candidate by the belief in the region that it leads to (`agent.policy.beyond_features`). Released
    code: only by its place and the belief in its neighbourhood."""
    regions: RegionConfig = field(default_factory=RegionConfig)
    reads: bool = False
    """Also score candidates by what the map holds there and by the words, with a learned gate between these scores and
    the belief's (`agent.reader`; needs `beyond`)."""
    reader: Count = 128
    """Size of a candidate's vector in the reader."""
    reader_heads: Count = 4
    """Attention heads of the reader."""
    reader_layers: Annotated[int, within(0, MOST_LAYERS)] = 1
    """Layers in which candidates look at each other."""
    reader_dropout: Dropout = 0.3
    """Dropout on what is seen and said, and in the layers."""
    reader_beyond_m: Positive = 2.0
    """The map is also read this far beyond a candidate."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.beyond or not self.reads, "policy.reads needs policy.beyond", self.reads)
        require(
            self.reader % self.reader_heads == 0, "policy.reader must be a multiple of policy.reader_heads", self.reader
        )


@dataclass(frozen=True)
class PlannerConfig(Config, part="planner"):
    """Choosing a viewpoint from the belief without learning (`agent.planner`)."""

    regions: RegionConfig = field(default_factory=RegionConfig)
    passing: Fraction = 0.75
    """Weight of passing through a candidate's region at any filter step, against ending there."""
    metre_cost: Annotated[float, NOT_NEGATIVE] = 0.02
    """What a metre of walking costs, in probability."""
    sure: Fraction = 0.7
    """A visited viewpoint with this much goal mass in reach ends the search."""


@dataclass(frozen=True)
class ModelParts(Config, part="model"):
    """What the models of all methods share: how words are read, and the grid on which things are seen."""

    language: LanguageConfig = field(default_factory=LanguageConfig)
    mapper: MapperConfig = field(default_factory=MapperConfig)

    @property
    def channels(self) -> int | None:
        """Of the features that are read; None for a model that only asks which cells are seen."""
        return self.mapper.features

    @property
    def pool(self) -> int:
        """Belief cells are this many map cells wide. A model without a belief keeps the usual width, so that it shares
        what is read of a data root with filters."""
        return FilterConfig.pool

    @property
    def step_limit(self) -> int:
        """Panoramas that an agent may look at in an episode: the longest demonstration of R2R has 7."""
        return STEP_LIMIT


@dataclass(frozen=True)
class ModelConfig(ModelParts):
    """The paper's model: words, map, filter and policy."""

    filter: FilterConfig = field(default_factory=FilterConfig)
    policy: PolicyConfig = field(default_factory=PolicyConfig)

    @property
    def pool(self) -> int:
        """Belief cells are this many map cells wide."""
        return self.filter.pool

    @property
    def belief_grid(self) -> Grid:
        """The belief's grid: the map's, `filter.pool` times coarser."""
        return self.mapper.grid.coarser(self.filter.pool)
