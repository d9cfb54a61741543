"""Presets of the LingUNet baseline: the filter's words, map and training, without the filter."""

from __future__ import annotations

from ghosts.methods.ghost import presets as ghost
from ghosts.methods.ghost.settings import FilterExperiment
from ghosts.methods.lingunet.settings import HeatConfig, HeatModelConfig, LingUNetExperiment


def _without_filter(base: FilterExperiment, name: str, heat: HeatConfig) -> LingUNetExperiment:
    model = HeatModelConfig(base.model.language, base.model.mapper, heat)
    return LingUNetExperiment(name, model, base.train, base.data)


def landmarks_lingunet() -> LingUNetExperiment:
    """LingUNet baseline on the same map."""
    return _without_filter(ghost.landmarks_filter(), "landmarks-lingunet", HeatConfig())


def houses_lingunet() -> LingUNetExperiment:
    """LingUNet baseline on images of houses."""
    return _without_filter(ghost.houses_filter(), "houses-lingunet", HeatConfig())


def tiny_lingunet() -> LingUNetExperiment:
    """A small LingUNet baseline for tests and for a first try on a CPU, in either world."""
    return _without_filter(ghost.tiny(), "tiny-lingunet", HeatConfig(levels=2))


ALL = (houses_lingunet, landmarks_lingunet, tiny_lingunet)
