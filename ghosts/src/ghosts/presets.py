"""Experiments by name: one function per row of Table 1 or 2, returning everything that defines a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ghosts.config import (
    BaselineConfig,
    FilterConfig,
    GoalExperiment,
    LandmarkConfig,
    LanguageConfig,
    LingUNetConfig,
    MapperConfig,
    ModelConfig,
    MotionConfig,
    NavigationConfig,
    Seq2SeqConfig,
    SpeakerConfig,
    SpeakerExperiment,
    TrainConfig,
    VlnExperiment,
)
from ghosts_sim.errors import UnknownNameError, did_you_mean

TABLE_TRAIN = TrainConfig(iterations=1600, evaluate_every=1600, ema=0.998, precision="auto")
"""The budget of every row of Table 1, in both worlds. The last weights are scored."""
JOINT_KERNEL = FilterConfig(motion=MotionConfig(kind="joint"))


def landmarks_filter() -> GoalExperiment:
    """Filter (x, y, θ) on landmarks, with averaged weights."""
    # 7.9 M parameters: weights in half precision stay below 16 MB.
    model = ModelConfig(
        language=LanguageConfig(embedding=256, dropout=0.3),
        mapper=MapperConfig(features=128, dropout=0.3),
        filter=FilterConfig(observation=LingUNetConfig(language=16)),
    )
    return GoalExperiment("landmarks-filter", "filter", model, train=TABLE_TRAIN)


def _filtering(base: GoalExperiment, name: str, settings: FilterConfig) -> GoalExperiment:
    settings = replace(settings, observation=base.model.filter.observation)
    return replace(base, name=name, model=replace(base.model, filter=settings))


def landmarks_near() -> GoalExperiment:
    """Filter (x, y, θ) that sees landmarks up to 5 m away and knows only the words of training."""
    return replace(landmarks_filter(), name="landmarks-near", landmarks=LandmarkConfig(sight_m=5.0))


def _improved(base: GoalExperiment, name: str) -> GoalExperiment:
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


def landmarks_improved() -> GoalExperiment:
    """Filter (x, y, θ) that sees 12 m far and reads words and labels by their meaning."""
    base = _improved(landmarks_filter(), "landmarks-improved")
    landmarks = LandmarkConfig(sight_m=12.0, vectors=True, lines=True, doors=True)
    return replace(base, train=replace(base.train, label_dropout=0.15), landmarks=landmarks)


def landmarks_spoken() -> GoalExperiment:
    """The improved filter, also trained on a speaker's instructions (`--spoken FILE`): the shipped one."""
    base = landmarks_improved()
    train = replace(base.train, iterations=9000, evaluate_every=9000, spoken=0.5, misread=0.7)
    return replace(base, name="landmarks-spoken", train=train)


def landmarks_houses() -> GoalExperiment:
    """The improved filter in thousands of streamed houses, as a start for R2R's filter (`--warm-start`)."""
    base = landmarks_improved()
    return replace(base, name="landmarks-houses", train=replace(base.train, evaluate_every=1300))


def landmarks_filter_xy() -> GoalExperiment:
    """Filter (x, y), without heading in the state."""
    return _filtering(landmarks_filter(), "landmarks-filter-xy", FilterConfig(headings=1))


def landmarks_filter_joint() -> GoalExperiment:
    """Filter (x, y, θ) with the paper's joint motion kernel."""
    return _filtering(landmarks_filter(), "landmarks-filter-joint", JOINT_KERNEL)


def landmarks_lingunet() -> GoalExperiment:
    """LingUNet baseline on the same map."""
    return replace(landmarks_filter(), name="landmarks-lingunet", kind="lingunet")


def houses_filter() -> GoalExperiment:
    """Filter (x, y, θ) on images of houses, the default."""
    base = landmarks_filter()
    # 64: the channels of the houses' backbone (`ghosts backbone`).
    model = replace(base.model, mapper=replace(base.model.mapper, features=64))
    return replace(base, name="houses-filter", model=model, observation="images")


def houses_improved() -> GoalExperiment:
    """Filter (x, y, θ) on images of houses that reads words by their meaning, trained longer."""
    base = _improved(houses_filter(), "houses-improved")
    return replace(base, train=replace(base.train, iterations=3000, evaluate_every=3000))


def houses_filter_xy() -> GoalExperiment:
    """Filter (x, y) on images of houses, without heading in the state."""
    return _filtering(houses_filter(), "houses-filter-xy", FilterConfig(headings=1))


def houses_filter_joint() -> GoalExperiment:
    """Filter (x, y, θ) on images of houses with the paper's joint motion kernel."""
    return _filtering(houses_filter(), "houses-filter-joint", JOINT_KERNEL)


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
POLICY_ALONE = NavigationConfig(freeze_filter=True, fresh_policy=True, own_actions=0.75)
"""Settings of the shipped agents: training takes minutes instead of hours, and the filter stays as it was."""
JOINT_TRAIN = TrainConfig(
    iterations=350,
    batch=32,
    agent_steps=8,
    learning_rate=3e-4,
    evaluate_every=350,
    ema=0.99,
    quarters=True,
    precision="auto",
)
SEQ2SEQ_TRAIN = TrainConfig(
    iterations=800, batch=64, agent_steps=8, evaluate_every=200, learning_rate=1e-3, precision="auto"
)
STUDENT = NavigationConfig(agent="seq2seq", own_actions=1.0)


def landmarks_agent() -> VlnExperiment:
    """A policy on a frozen filter (`--warm-start`), on landmarks."""
    train = replace(AGENT_TRAIN, iterations=150, evaluate_every=150, misread=0.7)
    return _agent(landmarks_improved(), "landmarks-agent", train, POLICY_ALONE)


def landmarks_joint() -> VlnExperiment:
    """A filter (`--warm-start`) trained further together with a policy, on landmarks."""
    train = replace(JOINT_TRAIN, misread=0.7)
    return _agent(landmarks_improved(), "landmarks-joint", train, NavigationConfig(own_actions=0.75))


def landmarks_rewarded() -> VlnExperiment:
    """The policy of an agent (`--warm-start`) trained further by its own success, on landmarks."""
    train = replace(AGENT_TRAIN, iterations=120, evaluate_every=120, learning_rate=3e-4)
    navigation = replace(POLICY_ALONE, fresh_policy=False, own_actions=1.0, samples=4, reward=1.0)
    return _agent(landmarks_improved(), "landmarks-rewarded", train, navigation)


def landmarks_seq2seq() -> VlnExperiment:
    """The sequence-to-sequence agent on landmarks, with student forcing."""
    return _agent(landmarks_improved(), "landmarks-seq2seq", SEQ2SEQ_TRAIN, STUDENT)


def houses_agent() -> VlnExperiment:
    """A policy on a frozen filter (`--warm-start`), on images of houses."""
    return _agent(houses_improved(), "houses-agent", AGENT_TRAIN, POLICY_ALONE)


def houses_joint() -> VlnExperiment:
    """A filter (`--warm-start`) trained further together with a policy, on images of houses."""
    return _agent(houses_improved(), "houses-joint", JOINT_TRAIN, NavigationConfig(own_actions=0.75))


def houses_seq2seq() -> VlnExperiment:
    """The sequence-to-sequence agent on images of houses, with student forcing."""
    return _agent(houses_filter(), "houses-seq2seq", SEQ2SEQ_TRAIN, STUDENT)


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


SPEAKER_TRAIN = TrainConfig(
    iterations=1400, batch=128, learning_rate=1e-3, evaluate_every=700, ema=0.998, label_dropout=0.3, precision="auto"
)


def _speaker(base: GoalExperiment, name: str, train: TrainConfig, speaker: SpeakerConfig) -> SpeakerExperiment:
    language = replace(base.model.language, vectors=True, dropout=0.0)
    landmarks = replace(base.landmarks, sight_m=5.0, vectors=True, doors=True)
    model = replace(base.model, language=language)
    return SpeakerExperiment(name, "filter", model, base.baseline, train, landmarks, base.observation, speaker)


def landmarks_speaker() -> SpeakerExperiment:
    """The speaker on landmarks."""
    return _speaker(landmarks_filter(), "landmarks-speaker", SPEAKER_TRAIN, SpeakerConfig())


def houses_speaker() -> SpeakerExperiment:
    """The speaker on images of houses."""
    return _speaker(houses_filter(), "houses-speaker", SPEAKER_TRAIN, SpeakerConfig())


def tiny_speaker() -> SpeakerExperiment:
    """A small speaker for tests and for a first try on a CPU, in either world."""
    train = replace(tiny().train, iterations=100, batch=16, evaluate_every=100)
    return _speaker(tiny(), "tiny-speaker", train, SpeakerConfig(hidden=32, encoded=32, sectors=8, dropout=0.0))


def _named(*makes: Callable[[], GoalExperiment]) -> dict[str, Callable[[], GoalExperiment]]:
    return {make().name: make for make in makes}


KINDS: dict[str, dict[str, Callable[[], GoalExperiment]]] = {
    "goal": _named(
        houses_filter,
        houses_improved,
        houses_filter_xy,
        houses_filter_joint,
        houses_lingunet,
        landmarks_filter,
        landmarks_near,
        landmarks_improved,
        landmarks_spoken,
        landmarks_houses,
        landmarks_filter_xy,
        landmarks_filter_joint,
        landmarks_lingunet,
        hand_coded,
        paper,
        tiny,
    ),
    "vln": _named(
        houses_agent,
        houses_joint,
        houses_seq2seq,
        landmarks_agent,
        landmarks_joint,
        landmarks_rewarded,
        landmarks_seq2seq,
        paper_agent,
        tiny_agent,
        tiny_seq2seq,
    ),
    "speaker": _named(houses_speaker, landmarks_speaker, tiny_speaker),
}
"""Presets of each kind of `ghosts train`."""
_PURPOSES = {"goal": "goal prediction", "vln": "navigation", "speaker": "speaking"}


def preset(name: str, kind: str = "goal") -> GoalExperiment:
    """An experiment by name.

    Args:
        name: of the preset.
        kind: of `KINDS`; a navigation preset is a `VlnExperiment`, and so on.

    Raises:
        UnknownNameError: no such preset; suggests the nearest.
    """
    presets = KINDS[kind]
    if name in presets:
        return presets[name]()
    other = next((other for other, known in KINDS.items() if name in known), None)
    if other is None:
        raise UnknownNameError("preset", name, presets)
    near = did_you_mean(name, presets).removeprefix("; ")
    raise UnknownNameError(f"{name!r} is a preset of ghosts train {other}; for {_PURPOSES[kind]}, {near}")
