"""Experiments by name: one function a row of Table 1 or 2, returning everything that defines a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from ghosts.config import (
    BaselineConfig,
    FilterConfig,
    LanguageConfig,
    LingUNetConfig,
    MapperConfig,
    ModelConfig,
    MotionConfig,
    PlannerConfig,
    Precision,
    Seq2SeqConfig,
    require,
)
from ghosts.errors import UnknownNameError, did_you_mean
from ghosts.world.landmarks.source import LandmarkConfig

GoalKind = Literal["filter", "lingunet", "hand-coded"]
Observation = Literal["landmarks", "images", "any"]
MAX_SEED = 2**32 - 1
"""Torch takes 64 bits, of which an iteration's own seed (`loop.train`) needs the others."""


def _require_not_negative(config: object, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        require(math.isfinite(value) and value >= 0.0, f"train.{name} must be finite and not negative", value)


def _require_seed(seed: int) -> None:
    require(0 <= seed <= MAX_SEED, f"train.seed must lie in 0..{MAX_SEED}", seed)


@dataclass(frozen=True)
class TrainConfig:
    """How a model is trained."""

    iterations: int = 2500
    batch: int = 32
    """Episodes an iteration, over all processes."""
    agent_steps: int = 6
    """Viewpoints an episode shows; the map of every one is supervised."""
    learning_rate: float = 1e-3
    schedule: Literal["one-cycle", "constant"] = "one-cycle"
    """One-cycle: linear warm-up over 5 % of the iterations, then a cosine to zero."""
    optimiser: Literal["adamw", "adam"] = "adamw"
    """Adam (the paper's) adds weight decay to the gradient, AdamW to the weights."""
    weight_decay: float = 1e-2
    gradient_norm: float = 1.0
    """Gradients are scaled down to this norm; 0 leaves them."""
    ema: float = 0.0
    """Decay of the running average of weights that is evaluated; 0 evaluates the weights themselves."""
    precision: Precision = "32-true"
    """Of the networks: float32, bfloat16 (the filter's recursion stays in float32), or auto: the latter on a GPU, the
    former on a CPU."""
    capture: bool = True
    """On one GPU, run language and filter as CUDA graphs: the same numbers, fewer launches."""
    mirrored: float = 0.5
    """Share of episodes shown mirrored, with left and right swapped in the words."""
    quarters: bool = False
    """Whether episodes are turned by random quarter turns."""
    variants: int = 1
    """Turned copies of every building that landmarks are drawn in (any angle)."""
    word_dropout: float = 0.05
    """Share of words replaced by the unknown word."""
    seed: int = 0
    log_every: int = 25
    evaluate_every: int = 500
    checkpoint_every: int = 250

    def __post_init__(self) -> None:
        for name in ("batch", "agent_steps", "variants", "log_every", "evaluate_every", "checkpoint_every"):
            require(getattr(self, name) >= 1, f"train.{name} must be at least 1", getattr(self, name))
        require(self.iterations >= 0, "train.iterations must not be negative", self.iterations)
        for name in ("ema", "mirrored", "word_dropout"):
            require(0.0 <= getattr(self, name) <= 1.0, f"train.{name} must lie in [0, 1]", getattr(self, name))
        _require_not_negative(self, "learning_rate", "weight_decay", "gradient_norm")
        _require_seed(self.seed)


@dataclass(frozen=True)
class GoalExperiment:
    """One row of Table 1."""

    name: str
    kind: GoalKind
    model: ModelConfig = field(default_factory=ModelConfig)
    baseline: BaselineConfig = field(default_factory=BaselineConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    landmarks: LandmarkConfig = field(default_factory=LandmarkConfig)
    """What is shown in a world of landmarks; not used with images."""
    observation: Observation = "landmarks"
    """What the map is made from: labelled landmarks, a frozen backbone's tiles of images, or what the data root has."""


@dataclass(frozen=True)
class NavigationConfig:
    """How an agent acts and learns to act."""

    agent: Literal["filter", "seq2seq"] = "filter"
    """The paper's agent, or the sequence-to-sequence baseline (Anderson et al. 2018)."""
    step_limit: int = 12
    """Panoramas an episode may look at in evaluation; `train.agent_steps` in training."""
    own_actions: float = 0.5
    """Share of training moves sampled from the agent itself, the others being the target's. Paper: 0.5; 1 = labels of
    an expert on the agent's own way (DAgger, for seq2seq: student forcing); 0 = teacher forcing."""
    policy_weight: float = 0.1
    """Weight of the policy's loss beside the filter's."""
    true_beliefs: bool = False
    """Give the policy the demonstrator's true trajectory instead of the filter's beliefs: an upper bound."""
    freeze_filter: bool = False
    """Train the policy alone, on the beliefs of a filter that stays as `--warm-start` gave it: no gradient passes
    through the filter, which makes an iteration several times cheaper. Paper: both are trained together."""
    planner: PlannerConfig = field(default_factory=PlannerConfig)
    """Of `ghosts eval vln --planner`; not trained."""
    seq2seq: Seq2SeqConfig = field(default_factory=Seq2SeqConfig)

    def __post_init__(self) -> None:
        require(self.agent in ("filter", "seq2seq"), "navigation.agent must be filter or seq2seq", self.agent)
        require(self.step_limit >= 1, "navigation.step_limit must be at least 1", self.step_limit)
        require(0.0 <= self.own_actions <= 1.0, "navigation.own_actions must lie in [0, 1]", self.own_actions)
        require(self.policy_weight >= 0.0, "navigation.policy_weight must not be negative", self.policy_weight)
        require(
            not (self.true_beliefs and self.agent == "seq2seq"),
            "navigation.true_beliefs needs navigation.agent filter",
            self.agent,
        )
        require(
            not (self.freeze_filter and self.agent == "seq2seq"),
            "navigation.freeze_filter needs navigation.agent filter",
            self.agent,
        )

    @property
    def policy_alone(self) -> bool:
        """Whether beliefs do not depend on what is trained, so that those of the walk are the loss's too."""
        return self.true_beliefs or self.freeze_filter


@dataclass(frozen=True)
class VlnExperiment(GoalExperiment):
    """One row of Table 2: a goal-prediction experiment that also acts."""

    navigation: NavigationConfig = field(default_factory=NavigationConfig)


@dataclass(frozen=True)
class BackboneConfig:
    """How the houses' image backbone is trained (`ghosts backbone`)."""

    channels: int = 64
    """Feature channels."""
    iterations: int = 6000
    batch: int = 64
    """Views an iteration."""
    learning_rate: float = 2e-3
    """Highest, after a warm-up over 5 % of the iterations; then a cosine to zero."""
    weight_decay: float = 1e-2
    balance: float = 0.5
    """Labels are weighted by (their share of the pixels) to the power of minus this: small things count more."""
    width: int = 320
    height: int = 256
    """Size of the views, multiples of 16. The sweep's, because group norm averages over a whole view."""
    panoramas: int = 4000
    """At most this many panoramas are kept on the device (2 MB each at 256 px faces), evenly taken."""
    held_out_views: int = 512
    """Views of held-out houses that the scores are computed on."""
    seed: int = 0
    log_every: int = 50
    evaluate_every: int = 1000
    checkpoint_every: int = 500

    def __post_init__(self) -> None:
        for name in ("channels", "batch", "panoramas", "held_out_views", "log_every"):
            require(getattr(self, name) >= 1, f"train.{name} must be at least 1", getattr(self, name))
        for name in ("evaluate_every", "checkpoint_every", "iterations"):
            require(getattr(self, name) >= 1, f"train.{name} must be at least 1", getattr(self, name))
        for name in ("width", "height"):
            value = getattr(self, name)
            require(value >= 16 and value % 16 == 0, f"train.{name} must be a multiple of 16", value)
        require(0.0 < self.learning_rate < math.inf, "train.learning_rate must be positive", self.learning_rate)
        _require_not_negative(self, "weight_decay", "balance")
        _require_seed(self.seed)


def _landmark_model(headings: int = 4, motion: MotionConfig | None = None) -> ModelConfig:
    # 7.9 M parameters: weights in half precision stay below 16 MB.
    return ModelConfig(
        language=LanguageConfig(embedding=256, dropout=0.3),
        mapper=MapperConfig(features=128, dropout=0.3),
        filter=FilterConfig(
            headings=headings, motion=motion or MotionConfig(), observation=LingUNetConfig(language=16)
        ),
    )


TABLE_TRAIN = TrainConfig(iterations=1600, evaluate_every=1600, ema=0.998, precision="auto")
"""The budget of every row of Table 1, in both worlds; the last weights are the ones that count."""


def landmarks_filter() -> GoalExperiment:
    """Filter (x, y, θ) on landmarks: the prototype's recipe, with averaged weights."""
    return GoalExperiment("landmarks-filter", "filter", _landmark_model(), train=TABLE_TRAIN)


def landmarks_improved() -> GoalExperiment:
    """Filter (x, y, θ) that sees landmarks up to 5 m away: the shipped one."""
    # Of what was tried (docs/results.md), seeing 5 m far brings most.
    return replace(landmarks_filter(), name="landmarks-improved", landmarks=LandmarkConfig(sight_m=5.0))


def landmarks_filter_xy() -> GoalExperiment:
    """Filter (x, y): heading left out of the state."""
    base = landmarks_filter()
    return replace(base, name="landmarks-filter-xy", model=_landmark_model(headings=1))


def landmarks_filter_joint() -> GoalExperiment:
    """Filter (x, y, θ) with the paper's joint motion kernel."""
    base = landmarks_filter()
    return replace(base, name="landmarks-filter-joint", model=_landmark_model(motion=MotionConfig(kind="joint")))


def landmarks_lingunet() -> GoalExperiment:
    """LingUNet baseline on the same map."""
    return replace(landmarks_filter(), name="landmarks-lingunet", kind="lingunet")


def _image_model(headings: int = 4, motion: MotionConfig | None = None) -> ModelConfig:
    # 64: the channels of the houses' backbone (`ghosts backbone`).
    model = _landmark_model(headings, motion)
    return replace(model, mapper=replace(model.mapper, features=64))


def houses_filter() -> GoalExperiment:
    """Filter (x, y, θ) on images of houses: the default."""
    return GoalExperiment("houses-filter", "filter", _image_model(), train=TABLE_TRAIN, observation="images")


def houses_filter_xy() -> GoalExperiment:
    """Filter (x, y) on images of houses: heading left out of the state."""
    return replace(houses_filter(), name="houses-filter-xy", model=_image_model(headings=1))


def houses_filter_joint() -> GoalExperiment:
    """Filter (x, y, θ) on images of houses with the paper's joint motion kernel."""
    return replace(houses_filter(), name="houses-filter-joint", model=_image_model(motion=MotionConfig(kind="joint")))


def houses_lingunet() -> GoalExperiment:
    """LingUNet baseline on images of houses."""
    return replace(houses_filter(), name="houses-lingunet", kind="lingunet")


def hand_coded() -> GoalExperiment:
    """The hand-coded baseline, in either world; nothing is trained."""
    return replace(landmarks_filter(), name="hand-coded", kind="hand-coded", observation="any")


def paper() -> GoalExperiment:
    """The paper's own sizes and training, on images through ResNet-34 (Matterport3D)."""
    model = ModelConfig(
        # The paper names no dropout but the mapper's (supplement, "Mapper").
        language=LanguageConfig(
            embedding=300, hidden=256, steps=6, attention="dot", decoder_context=False, dropout=0.0
        ),
        mapper=MapperConfig(features=768, channels=128, convolution="sparse", dropout=0.5, rows=96, cols=96),
        filter=FilterConfig(headings=4, motion=MotionConfig(kind="joint", kernel=7, dropout=0.0)),
    )
    train = TrainConfig(
        iterations=8000,
        batch=5,
        agent_steps=6,
        learning_rate=1e-3,
        schedule="constant",
        optimiser="adam",
        weight_decay=1e-7,
        gradient_norm=0.0,
        mirrored=0.0,
        word_dropout=0.0,
    )
    return GoalExperiment("paper", "filter", model, train=train, observation="images")


def tiny() -> GoalExperiment:
    """A small filter for tests and for a first try on a CPU, in either world."""
    model = ModelConfig(
        language=LanguageConfig(embedding=32, hidden=32, position=16, dropout=0.0),
        mapper=MapperConfig(features=64, channels=16, dropout=0.0, rows=48, cols=48),
        filter=FilterConfig(
            motion=MotionConfig(hidden=16, branch=8, language=32, dropout=0.0),
            observation=LingUNetConfig(levels=2, channels=8, language=8, output=16),
        ),
    )
    # A minute on 2 cores. Success on unseen buildings of R2R: 4.6 % untrained, 21 % after (docs/landmarks.md).
    train = TrainConfig(iterations=120, batch=8, agent_steps=3, learning_rate=5e-3, log_every=10, evaluate_every=120)
    return GoalExperiment("tiny", "filter", model, BaselineConfig(levels=2), train, observation="any")


def _agent(base: GoalExperiment, name: str, train: TrainConfig, navigation: NavigationConfig) -> VlnExperiment:
    # Most of the belief lies beyond the frontier, where the paper's policy does not look (docs/navigation.md).
    policy = base.model.policy if base.name == "paper" else replace(base.model.policy, beyond=True, layers=2)
    model = replace(base.model, policy=policy)
    return VlnExperiment(name, "filter", model, base.baseline, train, base.landmarks, base.observation, navigation)


AGENT_TRAIN = TrainConfig(
    iterations=240, batch=128, agent_steps=10, learning_rate=2e-3, evaluate_every=80, precision="auto"
)
POLICY_ALONE = NavigationConfig(freeze_filter=True, own_actions=0.75)
"""Of the shipped agents: minutes instead of hours, and the filter stays the goal predictor it was."""
SEQ2SEQ_TRAIN = TrainConfig(
    iterations=800, batch=64, agent_steps=8, evaluate_every=200, learning_rate=1e-3, precision="auto"
)


def landmarks_agent() -> VlnExperiment:
    """A policy on the frozen filter it is started from (`--warm-start`), on landmarks."""
    return _agent(landmarks_improved(), "landmarks-agent", AGENT_TRAIN, POLICY_ALONE)


def landmarks_seq2seq() -> VlnExperiment:
    """The sequence-to-sequence agent on landmarks, with student forcing."""
    navigation = NavigationConfig(agent="seq2seq", own_actions=1.0)
    return _agent(landmarks_improved(), "landmarks-seq2seq", SEQ2SEQ_TRAIN, navigation)


def houses_agent() -> VlnExperiment:
    """A policy on the frozen filter it is started from (`--warm-start`), on images of houses."""
    return _agent(houses_filter(), "houses-agent", AGENT_TRAIN, POLICY_ALONE)


def houses_seq2seq() -> VlnExperiment:
    """The sequence-to-sequence agent on images of houses, with student forcing."""
    navigation = NavigationConfig(agent="seq2seq", own_actions=1.0)
    return _agent(houses_filter(), "houses-seq2seq", SEQ2SEQ_TRAIN, navigation)


def paper_agent() -> VlnExperiment:
    """The paper's own agent: sizes, training and 50 % sampled actions."""
    base = paper()
    train = replace(base.train, iterations=17500, agent_steps=10)
    return _agent(base, "paper-agent", train, NavigationConfig())


def tiny_agent() -> VlnExperiment:
    """A small agent for tests and for a first try on a CPU, in either world."""
    base = tiny()
    train = replace(base.train, iterations=60, agent_steps=4, learning_rate=3e-3, evaluate_every=60)
    return _agent(base, "tiny-agent", train, NavigationConfig(step_limit=8))


def tiny_seq2seq() -> VlnExperiment:
    """A small sequence-to-sequence agent for tests."""
    navigation = NavigationConfig("seq2seq", step_limit=8, seq2seq=Seq2SeqConfig(hidden=32, sectors=8, dropout=0.0))
    return replace(tiny_agent(), name="tiny-seq2seq", navigation=navigation)


VLN_PRESETS: dict[str, Callable[[], VlnExperiment]] = {
    make().name: make
    for make in (
        houses_agent,
        houses_seq2seq,
        landmarks_agent,
        landmarks_seq2seq,
        paper_agent,
        tiny_agent,
        tiny_seq2seq,
    )
}


PRESETS: dict[str, Callable[[], GoalExperiment]] = {
    make().name: make
    for make in (
        houses_filter,
        houses_filter_xy,
        houses_filter_joint,
        houses_lingunet,
        landmarks_filter,
        landmarks_improved,
        landmarks_filter_xy,
        landmarks_filter_joint,
        landmarks_lingunet,
        hand_coded,
        paper,
        tiny,
    )
}


def preset(name: str) -> GoalExperiment:
    """An experiment by name.

    Raises:
        UnknownNameError: no such preset; suggests the nearest.
    """
    if name not in PRESETS:
        raise _unknown(name, PRESETS, "goal prediction", "ghosts train vln" if name in VLN_PRESETS else None)
    return PRESETS[name]()


def vln_preset(name: str) -> VlnExperiment:
    """A navigation experiment by name.

    Raises:
        UnknownNameError: no such preset; suggests the nearest.
    """
    if name not in VLN_PRESETS:
        raise _unknown(name, VLN_PRESETS, "navigation", "ghosts train goal" if name in PRESETS else None)
    return VLN_PRESETS[name]()


def _unknown(name: str, known: Iterable[str], purpose: str, owner: str | None) -> UnknownNameError:
    """A preset that is not known here; `owner` is the command that does know it."""
    if owner is None:
        return UnknownNameError("preset", name, known)
    near = did_you_mean(name, known).removeprefix("; ")
    return UnknownNameError(f"{name!r} is a preset of {owner}; for {purpose}, {near}")
