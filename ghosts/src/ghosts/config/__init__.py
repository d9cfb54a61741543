"""Settings: of models (`model`), of whole runs (`experiment`). Each method adds its own (`ghosts.methods`)."""

# ruff: noqa: F401 (imported for others)

from ghosts.config.experiment import (
    MAX_SEED,
    BackboneConfig,
    DataConfig,
    Experiment,
    LandmarkConfig,
    OptimiserConfig,
    PictureConfig,
    Precision,
    Purpose,
    Source,
    TrainConfig,
    WalkTrainConfig,
    experiment_values,
)
from ghosts.config.model import (
    STEP_LIMIT,
    FilterConfig,
    LanguageConfig,
    LingUNetConfig,
    MapperConfig,
    ModelConfig,
    ModelParts,
    MotionConfig,
    PlannerConfig,
    PolicyConfig,
    RegionConfig,
)
from ghosts.config.values import differences, from_dict, to_dict
from ghosts_sim.values import require
