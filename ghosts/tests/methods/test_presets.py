"""Presets: what they observe, the paper's numbers, and that they survive a file."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ghosts.config import Experiment, differences, from_dict, to_dict
from ghosts.methods import methods, preset, presets
from ghosts_sim.cli._options import settings_of

ALL = [make() for method in methods().values() for make in method.presets.values()]


def test_presets_survive_json() -> None:
    for experiment in ALL:
        changed = replace(experiment, train=replace(experiment.train, seed=7))
        read = from_dict(type(experiment), json.loads(json.dumps(to_dict(changed))))
        assert read == changed
        assert type(read) is type(changed)


def test_every_preset_says_what_it_observes() -> None:
    images = {"houses-filter", "houses-improved", "houses-filter-xy", "houses-filter-joint", "houses-lingunet", "paper"}
    assert {name for name in presets("goal") if preset(name).data.observation == "images"} == images
    assert {name for name in presets("goal") if preset(name).data.observation == "any"} == {
        "hand-coded",
        "tiny",
        "tiny-lingunet",
    }
    assert {preset(name).model.mapper.features for name in images - {"paper"}} == {64}


@pytest.mark.parametrize("experiment", ALL, ids=lambda experiment: experiment.name)
def test_settings_that_change_nothing_are_not_offered(experiment: Experiment) -> None:
    assert len(settings_of(type(experiment), experiment.unused)) == len(experiment.unused)


def test_paper_preset_has_the_papers_numbers() -> None:
    paper = preset("paper")
    language, mapper, motion, train = paper.model.language, paper.model.mapper, paper.model.filter.motion, paper.train
    assert (language.embedding, language.hidden, language.attention, language.decoder_context) == (
        300,
        256,
        "dot",
        False,
    )
    assert (mapper.features, mapper.channels, mapper.rows, mapper.cols, mapper.cell_m) == (768, 128, 96, 96, 0.5)
    assert (mapper.convolution, mapper.kernel, mapper.dropout) == ("sparse", 3, 0.5)
    assert (motion.kind, motion.kernel, paper.model.filter.headings) == ("joint", 7, 4)
    assert (train.optimiser, train.learning_rate, train.weight_decay) == ("adam", 1e-3, 1e-7)
    assert (train.batch, train.iterations, train.schedule) == (5, 8000, "constant")


def test_differences() -> None:
    assert differences({"a": (1, 2), "b": {"c": 1.0}}, {"a": [1, 2], "b": {"c": 1.0}}) == []
    old, new = {"train": {"batch": 32, "seed": 0}, "name": "x"}, {"train": {"batch": 64, "seed": 0, "ema": 0.5}}
    assert differences(old, new) == ["train.batch 32 → 64", "train.ema null → 0.5", 'name "x" → null']
