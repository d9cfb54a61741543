"""Settings: of the model (`model`), of a whole run (`experiment`), and what they share (`values`)."""

# ruff: noqa: F401 (imported for others)

from ghosts.config.experiment import (
    MAX_SEED,
    BackboneConfig,
    GoalExperiment,
    GoalKind,
    LandmarkConfig,
    NavigationConfig,
    OptimiserConfig,
    Precision,
    Source,
    SpeakerExperiment,
    TrainConfig,
    VlnExperiment,
)
from ghosts.config.model import (
    BaselineConfig,
    FilterConfig,
    LanguageConfig,
    LingUNetConfig,
    MapperConfig,
    ModelConfig,
    MotionConfig,
    PlannerConfig,
    PolicyConfig,
    RegionConfig,
    Seq2SeqConfig,
    SpeakerConfig,
)
from ghosts.config.values import differences, from_dict, to_dict
from ghosts_sim.values import require
