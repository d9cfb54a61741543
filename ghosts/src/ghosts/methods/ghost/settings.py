"""Settings of the paper's method: predicting goals with the filter, and acting on its belief."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from ghosts.config import STEP_LIMIT, Experiment, ModelConfig, PlannerConfig, Purpose, WalkTrainConfig
from ghosts.config.values import NOT_NEGATIVE, Count


@dataclass(frozen=True)
class FilterExperiment(Experiment):
    """A filter that predicts goals: a row of Table 1."""

    method: ClassVar[str] = "ghost"
    purpose: ClassVar[Purpose] = "goal"
    unused: ClassVar[tuple[str, ...]] = ("model.policy",)

    model: ModelConfig = field(default_factory=ModelConfig)


@dataclass(frozen=True)
class AgentModelConfig(ModelConfig):
    """The paper's model, and how it acts."""

    step_limit: Count = STEP_LIMIT
    """Panoramas that an agent may look at in an episode of an evaluation. In training it is --train.agent-steps."""
    planner: PlannerConfig = field(default_factory=PlannerConfig)
    """Settings of `ghosts eval vln --planner`; nothing in it is trained."""


@dataclass(frozen=True)
class AgentTrainConfig(WalkTrainConfig):
    """How filter and policy are trained together, or the policy alone."""

    policy_weight: Annotated[float, NOT_NEGATIVE] = 0.1
    """Weight of the policy's loss beside the filter's."""
    true_beliefs: bool = False
    """Give the policy the true trajectory instead of the filter's beliefs: an upper bound."""
    freeze_filter: bool = False
    """Train only the policy, on the beliefs of a filter that stays as `--warm-start` gave it. No gradient passes
    through the filter, which makes an iteration several times cheaper. Paper: both are trained together."""
    fresh_policy: bool = False
    """Take the filter of `--warm-start` and learn the policy anew. A policy that learned together with the filter
    walks worse in buildings that neither knows (docs/ideas.md)."""

    @property
    def policy_alone(self) -> bool:
        """Whether beliefs do not depend on what is trained. Then the loss uses the beliefs of the walk."""
        return self.true_beliefs or self.freeze_filter


@dataclass(frozen=True)
class AgentExperiment(Experiment):
    """An agent that acts on the filter's belief: a row of Table 2. Its model is a goal predictor's."""

    method: ClassVar[str] = "ghost"
    purpose: ClassVar[Purpose] = "vln"
    unused: ClassVar[tuple[str, ...]] = ("train.capture", "train.supervised")

    model: AgentModelConfig = field(default_factory=AgentModelConfig)
    train: AgentTrainConfig = field(default_factory=AgentTrainConfig)

    @property
    def on_true_beliefs(self) -> bool:
        """Whether it acts on the demonstrator's true trajectory: an upper bound."""
        return self.train.true_beliefs

    @property
    def planner(self) -> PlannerConfig:
        """How the planner chooses, where it acts instead of the policy."""
        return self.model.planner
