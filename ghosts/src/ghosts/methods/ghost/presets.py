"""Presets of the paper's method: one function per row of Table 1 or 2, returning everything that defines a run."""

from __future__ import annotations

from dataclasses import replace

from ghosts.config import (
    STEP_LIMIT,
    DataConfig,
    FilterConfig,
    LandmarkConfig,
    LanguageConfig,
    LingUNetConfig,
    MapperConfig,
    ModelConfig,
    MotionConfig,
    TrainConfig,
)
from ghosts.methods.ghost.settings import AgentExperiment, AgentModelConfig, AgentTrainConfig, FilterExperiment

TABLE_TRAIN = TrainConfig(iterations=1600, evaluate_every=1600, ema=0.998, precision="auto")
"""The budget of every row of Table 1, in both worlds. The last weights are scored."""
HIDE, NARROW = 0.45, 0.2
"""Shares of episodes without a sense, and with a narrow view. Others were tried: docs/ideas.md."""
JOINT_KERNEL = FilterConfig(motion=MotionConfig(kind="joint"))


def landmarks_filter() -> FilterExperiment:
    """Filter (x, y, θ) on landmarks, with averaged weights."""
    # 7.9 M parameters: weights in half precision stay below 16 MB.
    model = ModelConfig(
        language=LanguageConfig(embedding=256, dropout=0.3),
        mapper=MapperConfig(features=128, dropout=0.3),
        filter=FilterConfig(observation=LingUNetConfig(language=16)),
    )
    return FilterExperiment("landmarks-filter", model, TABLE_TRAIN)


def _filtering(base: FilterExperiment, name: str, settings: FilterConfig) -> FilterExperiment:
    settings = replace(settings, observation=base.model.filter.observation)
    return replace(base, name=name, model=replace(base.model, filter=settings))


def landmarks_near() -> FilterExperiment:
    """Filter (x, y, θ) that sees landmarks up to 5 m away and knows only the words of training."""
    return replace(landmarks_filter(), name="landmarks-near", data=DataConfig(landmarks=LandmarkConfig(sight_m=5.0)))


def _improved(base: FilterExperiment, name: str) -> FilterExperiment:
    # What each part brings: docs/ideas.md.
    train = replace(
        TABLE_TRAIN,
        iterations=2600,
        evaluate_every=2600,
        batch=64,
        agent_steps=8,
        supervised=3,
        quarters=True,
        meaning_dropout=0.15,
    )
    model = replace(
        base.model,
        language=replace(base.model.language, vectors=True, dropout=0.5),
        filter=replace(base.model.filter, motion=MotionConfig(language=96)),  # weights stay below 16 MB
    )
    return replace(base, name=name, model=model, train=train)


def landmarks_improved() -> FilterExperiment:
    """Filter (x, y, θ) that sees 12 m far and reads words and labels by their meaning."""
    base = _improved(landmarks_filter(), "landmarks-improved")
    landmarks = LandmarkConfig(sight_m=12.0, vectors=True, lines=True, doors=True)
    return replace(base, train=replace(base.train, label_dropout=0.15), data=DataConfig(landmarks=landmarks))


def landmarks_senses() -> FilterExperiment:
    """The improved filter that also reads words of photographs, and learns to do with fewer senses and narrow views."""
    base = landmarks_improved()
    # Weights stay below 16 MB with the words of captions and a policy that reads.
    observation = replace(base.model.filter.observation, language=12)
    model = replace(base.model, filter=replace(base.model.filter, observation=observation))
    landmarks = replace(base.data.landmarks, captions=True, detections=True)
    train = replace(base.train, hide=HIDE, narrow=NARROW)
    return replace(base, name="landmarks-senses", model=model, train=train, data=DataConfig(landmarks=landmarks))


def landmarks_spoken() -> FilterExperiment:
    """The filter of any senses, also trained on a speaker's instructions (`--spoken FILE`): the shipped one."""
    base = landmarks_senses()
    train = replace(base.train, iterations=8000, evaluate_every=8000, spoken=0.5, misread=0.7)
    return replace(base, name="landmarks-spoken", train=train)


def landmarks_houses() -> FilterExperiment:
    """The filter of any senses in thousands of streamed houses, as a start for R2R's filter (`--warm-start`)."""
    base = landmarks_senses()
    return replace(base, name="landmarks-houses", train=replace(base.train, evaluate_every=1300))


def landmarks_filter_xy() -> FilterExperiment:
    """Filter (x, y), without heading in the state."""
    return _filtering(landmarks_filter(), "landmarks-filter-xy", FilterConfig(headings=1))


def landmarks_filter_joint() -> FilterExperiment:
    """Filter (x, y, θ) with the paper's joint motion kernel."""
    return _filtering(landmarks_filter(), "landmarks-filter-joint", JOINT_KERNEL)


def houses_filter() -> FilterExperiment:
    """Filter (x, y, θ) on images of houses, the default."""
    base = landmarks_filter()
    # 64: the channels of the houses' backbone (`ghosts backbone`).
    model = replace(base.model, mapper=replace(base.model.mapper, features=64))
    return replace(base, name="houses-filter", model=model, data=DataConfig("images"))


def houses_improved() -> FilterExperiment:
    """Filter (x, y, θ) on images of houses that reads words by their meaning, trained longer."""
    base = _improved(houses_filter(), "houses-improved")
    return replace(base, train=replace(base.train, iterations=3000, evaluate_every=3000))


def houses_filter_xy() -> FilterExperiment:
    """Filter (x, y) on images of houses, without heading in the state."""
    return _filtering(houses_filter(), "houses-filter-xy", FilterConfig(headings=1))


def houses_filter_joint() -> FilterExperiment:
    """Filter (x, y, θ) on images of houses with the paper's joint motion kernel."""
    return _filtering(houses_filter(), "houses-filter-joint", JOINT_KERNEL)


def paper() -> FilterExperiment:
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
    return FilterExperiment("paper", model, train, DataConfig("images"))


def tiny() -> FilterExperiment:
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
    return FilterExperiment("tiny", model, train, DataConfig("any"))


def _agent(base: FilterExperiment, name: str, train: AgentTrainConfig, step_limit: int = STEP_LIMIT) -> AgentExperiment:
    # Most of the belief lies beyond the frontier, where the paper's policy does not look (docs/navigation.md).
    model = base.model
    policy = model.policy if base.name == "paper" else replace(model.policy, beyond=True, layers=2)
    return AgentExperiment(
        name, AgentModelConfig(model.language, model.mapper, model.filter, policy, step_limit), train, base.data
    )


POLICY_ALONE = AgentTrainConfig(
    iterations=240,
    batch=128,
    agent_steps=10,
    learning_rate=2e-3,
    evaluate_every=80,
    precision="auto",
    freeze_filter=True,
    fresh_policy=True,
    own_actions=0.75,
)
"""Settings of the shipped agents: training takes minutes instead of hours, and the filter stays as it was."""
JOINT_TRAIN = AgentTrainConfig(
    iterations=350,
    batch=32,
    agent_steps=8,
    learning_rate=3e-4,
    evaluate_every=350,
    ema=0.99,
    quarters=True,
    precision="auto",
    own_actions=0.75,
)


def landmarks_agent() -> AgentExperiment:
    """A policy on a frozen filter (`--warm-start`), on landmarks."""
    train = replace(
        POLICY_ALONE, iterations=200, evaluate_every=200, learning_rate=1e-3, misread=0.7, hide=HIDE, narrow=NARROW
    )
    agent = _agent(landmarks_senses(), "landmarks-agent", train)
    return replace(agent, model=replace(agent.model, policy=replace(agent.model.policy, reads=True, reader=64)))


def landmarks_joint() -> AgentExperiment:
    """A filter (`--warm-start`) trained further together with a policy, on landmarks."""
    return _agent(landmarks_senses(), "landmarks-joint", replace(JOINT_TRAIN, misread=0.7, hide=HIDE, narrow=NARROW))


def houses_agent() -> AgentExperiment:
    """A policy on a frozen filter (`--warm-start`), on images of houses."""
    return _agent(houses_improved(), "houses-agent", POLICY_ALONE)


def houses_joint() -> AgentExperiment:
    """A filter (`--warm-start`) trained further together with a policy, on images of houses."""
    return _agent(houses_improved(), "houses-joint", JOINT_TRAIN)


def paper_agent() -> AgentExperiment:
    """The paper's own agent: sizes, training and 50 % sampled actions."""
    base = paper()
    train = AgentTrainConfig(**{**vars(base.train), "iterations": 17500, "agent_steps": 10})
    return _agent(base, "paper-agent", train)


def tiny_agent() -> AgentExperiment:
    """A small agent for tests and for a first try on a CPU, in either world."""
    base = tiny()
    changed = {"iterations": 60, "agent_steps": 4, "learning_rate": 3e-3, "evaluate_every": 60}
    return _agent(base, "tiny-agent", AgentTrainConfig(**{**vars(base.train), **changed}), step_limit=8)


GOAL = (
    houses_filter,
    houses_improved,
    houses_filter_xy,
    houses_filter_joint,
    landmarks_filter,
    landmarks_near,
    landmarks_improved,
    landmarks_senses,
    landmarks_spoken,
    landmarks_houses,
    landmarks_filter_xy,
    landmarks_filter_joint,
    paper,
    tiny,
)
"""Presets that predict goals."""
ACT = (
    houses_agent,
    houses_joint,
    landmarks_agent,
    landmarks_joint,
    paper_agent,
    tiny_agent,
)
"""Presets that act."""
