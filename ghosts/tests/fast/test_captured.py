from __future__ import annotations

import pytest
import torch

from ghosts.agent.model import GoalModel
from ghosts.config import FilterConfig, LanguageConfig, LingUNetConfig, MapperConfig, ModelConfig
from ghosts_sim.errors import ConfigError


def test_a_model_on_the_cpu_cannot_be_captured() -> None:
    config = ModelConfig(
        language=LanguageConfig(vocabulary=9, embedding=4, hidden=4, position=4, steps=2),
        mapper=MapperConfig(features=3, channels=4, rows=16, cols=16),
        filter=FilterConfig(observation=LingUNetConfig(levels=2, channels=4, language=4, output=4)),
    )
    with pytest.raises(ConfigError, match="only a model on a CUDA device can be captured"):
        GoalModel(config).capture(2, 3, torch.float32)
