"""Every setting out of its range: the message names the setting first and quotes the value.

(Words that a setting does not know are refused by the tests' type checks before its own check is reached.)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ghosts.cli import demo, doctor, report, speak, tiles, view
from ghosts.cli._launch import TrainOptions
from ghosts.cli._runs import EvalOptions
from ghosts.config import (
    BackboneConfig,
    FilterConfig,
    LandmarkConfig,
    LanguageConfig,
    LingUNetConfig,
    MapperConfig,
    ModelConfig,
    MotionConfig,
    PlannerConfig,
    PolicyConfig,
    RegionConfig,
    TrainConfig,
    WalkTrainConfig,
    from_dict,
)
from ghosts.methods.ghost.settings import AgentModelConfig, AgentTrainConfig
from ghosts.methods.lingunet.settings import HeatConfig
from ghosts.methods.seq2seq.settings import DecoderConfig, Seq2SeqModelConfig
from ghosts.methods.speaker.settings import SpeakerConfig
from ghosts.view.watch import Watched
from ghosts.weights.checkpoint import LOG
from ghosts_benchmarks import command as bench
from ghosts_houses.cli import world
from ghosts_houses.world import WorldConfig
from ghosts_sim.cli import main, prepare
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.matterport.panorama import PrepareConfig
from ghosts_sim.store import ByteCache
from ghosts_sim.types import Grid, Intrinsics, Pose

X = Path("x")
NAN = float("nan")
WRONG: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (LanguageConfig, {"vocabulary": 2}, "language.vocabulary must lie in 3..1000000, got 2"),
    (LanguageConfig, {"hidden": 0}, "language.hidden must be at least 1, got 0"),
    (LanguageConfig, {"position": 3}, "language.position must be even and at least 2, got 3"),
    (LanguageConfig, {"dropout": 1.0}, "language.dropout must lie in [0, 1), got 1.0"),
    (MapperConfig, {"rows": 0}, "mapper.rows must be at least 1, got 0"),
    (MapperConfig, {"kernel": 2}, "mapper.kernel must be odd, got 2"),
    (MapperConfig, {"dropout": -0.1}, "mapper.dropout must lie in [0, 1), got -0.1"),
    (MotionConfig, {"kernel": 1}, "motion.kernel must be odd and at least 3, got 1"),
    (MotionConfig, {"hidden": 0}, "motion.hidden must be at least 1, got 0"),
    (MotionConfig, {"dropout": NAN}, "motion.dropout must lie in [0, 1), got nan"),
    (LingUNetConfig, {"levels": 65}, "observation.levels must lie in 1..64, got 65"),
    (HeatConfig, {"levels": 0}, "heat.levels must lie in 1..64, got 0"),
    (HeatConfig, {"sigma_m": 0.0}, "heat.sigma_m must be positive, got 0.0"),
    (FilterConfig, {"headings": 3}, "filter.headings must be 1, 4 or 8, got 3"),
    (FilterConfig, {"pool": 0}, "filter.pool must be at least 1, got 0"),
    (FilterConfig, {"sigma_m": -1.0}, "filter.sigma_m must be positive, got -1.0"),
    (FilterConfig, {"likelihood_floor": 1.0}, "filter.likelihood_floor must lie in (0, 1), got 1.0"),
    (RegionConfig, {"unseen_cost": 0.5}, "regions.unseen_cost must be at least 1, got 0.5"),
    (RegionConfig, {"own_m": 0.0}, "regions.own_m must be positive, got 0.0"),
    (PolicyConfig, {"layers": 65}, "policy.layers must lie in 1..64, got 65"),
    (PolicyConfig, {"sigma_m": 0.0}, "policy.sigma_m must be positive, got 0.0"),
    (PlannerConfig, {"sure": 1.5}, "planner.sure must lie in [0, 1], got 1.5"),
    (PlannerConfig, {"metre_cost": -1.0}, "planner.metre_cost must not be negative, got -1.0"),
    (DecoderConfig, {"sectors": 0}, "decoder.sectors must be at least 1, got 0"),
    (DecoderConfig, {"dropout": 1.0}, "decoder.dropout must lie in [0, 1), got 1.0"),
    (SpeakerConfig, {"sectors": 0}, "speaker.sectors must be at least 1, got 0"),
    (SpeakerConfig, {"encoded": 7}, "speaker.encoded must be even, got 7"),
    (SpeakerConfig, {"rings_m": (2.0, 1.0)}, "speaker.rings_m must be positive and ascend, got [2.0, 1.0]"),
    (SpeakerConfig, {"smoothing": 1.0}, "speaker.smoothing must lie in [0, 1), got 1.0"),
    (TrainConfig, {"hold_out": 1}, "train.hold_out must be 0, or 2 at least, got 1"),
    (TrainConfig, {"supervised": 7}, "train.supervised must lie in 0..6 (train.agent_steps), got 7"),
    (TrainConfig, {"label_dropout": 1.5}, "train.label_dropout must lie in [0, 1], got 1.5"),
    (TrainConfig, {"batch": 0}, "train.batch must be at least 1, got 0"),
    (TrainConfig, {"agent_steps": 0}, "train.agent_steps must be at least 1, got 0"),
    (TrainConfig, {"mirrored": 1.5}, "train.mirrored must lie in [0, 1], got 1.5"),
    (TrainConfig, {"iterations": -1}, "train.iterations must not be negative, got -1"),
    (TrainConfig, {"ema": 1.1}, "train.ema must lie in [0, 1], got 1.1"),
    (TrainConfig, {"learning_rate": -1.0}, "train.learning_rate must be finite and not negative, got -1.0"),
    (TrainConfig, {"learning_rate": NAN}, "train.learning_rate must be finite and not negative, got nan"),
    (TrainConfig, {"weight_decay": -1.0}, "train.weight_decay must be finite and not negative, got -1.0"),
    (TrainConfig, {"gradient_norm": -1.0}, "train.gradient_norm must be finite and not negative, got -1.0"),
    (TrainConfig, {"seed": -1}, "train.seed must lie in 0..4294967295, got -1"),
    (TrainOptions, {"threads": -1}, "--threads must not be negative, got -1"),
    (TrainOptions, {"devices": 0}, "--devices must be at least 1, got 0"),
    (EvalOptions, {"devices": 0}, "--devices must be at least 1, got 0"),
    (EvalOptions, {"examples": -1}, "--examples must not be negative, got -1"),
    (TrainOptions, {"select_examples": 0}, "--select-examples must be at least 1, got 0"),
    (AgentModelConfig, {"step_limit": 0}, "model.step_limit must be at least 1, got 0"),
    (Seq2SeqModelConfig, {"step_limit": 0}, "model.step_limit must be at least 1, got 0"),
    (WalkTrainConfig, {"own_actions": 2.0}, "train.own_actions must lie in [0, 1], got 2.0"),
    (AgentTrainConfig, {"policy_weight": -1.0}, "train.policy_weight must not be negative, got -1.0"),
    (BackboneConfig, {"channels": 0}, "train.channels must be at least 1, got 0"),
    (BackboneConfig, {"iterations": 0}, "train.iterations must be at least 1, got 0"),
    (BackboneConfig, {"width": 100}, "train.width must be a multiple of 16, got 100"),
    (BackboneConfig, {"learning_rate": 0.0}, "train.learning_rate must be positive, got 0.0"),
    (BackboneConfig, {"weight_decay": -1.0}, "train.weight_decay must be finite and not negative, got -1.0"),
    (BackboneConfig, {"balance": float("inf")}, "train.balance must be finite and not negative, got inf"),
    (BackboneConfig, {"seed": -1}, "train.seed must lie in 0..4294967295, got -1"),
    (WorldConfig, {"houses": 0}, "houses must lie in 1..100000, got 0"),
    (WorldConfig, {"seed": -1}, "seed must lie in 0..399999, got -1"),
    (WorldConfig, {"paths": 0}, "paths must lie in 1..1000, got 0"),
    (WorldConfig, {"unseen": 1.0}, "unseen, the share of houses, must lie in (0, 1), got 1.0"),
    (WorldConfig, {"seen": 1.0}, "seen, the share of paths, must lie in [0, 1), got 1.0"),
    (WorldConfig, {"faces": 100}, "faces must be a multiple of 16, got 100"),
    (LandmarkConfig, {"sight_m": -1.0}, "landmarks.sight_m must be at least 0, got -1.0"),
    (LandmarkConfig, {"stairs_m": 0.0}, "landmarks.stairs_m must be positive, got 0.0"),
    (LandmarkConfig, {"patch_m": -1.0}, "landmarks.patch_m must be at least 0, got -1.0"),
    (LandmarkConfig, {"patch_m": 1e308}, "landmarks.patch_m must be at most 10, got 1e+308"),
    (LandmarkConfig, {"step_m": 1e-9}, "landmarks.step_m must lie in 0.01..10, got 1e-09"),
    (LandmarkConfig, {"step_m": 0.0}, "landmarks.step_m must be positive, got 0.0"),
    (LandmarkConfig, {"exact_m": -0.1}, "landmarks.exact_m must be at least 0, got -0.1"),
    (
        LandmarkConfig,
        {"objects": False, "rooms": False, "floor": False},
        "landmarks: objects, rooms and floor are all off: nothing to see; leave one of them on",
    ),
    (PrepareConfig, {"faces": 4096}, "--faces must lie in 16..2048, got 4096"),
    (demo.Options, {"instructions": 0}, "--instructions must be at least 1, got 0"),
    (demo.Options, {"seed": 5}, "--seed must not be the one of the houses that the weights were trained on, got 5"),
    (doctor.Options, {"data": X, "sample": -1}, "--sample must not be negative, got -1"),
    (prepare.Options, {"workers": -1}, "--workers must not be negative, got -1"),
    (bench.Prepare, {"panoramas": 0}, "--panoramas must be at least 1, got 0"),
    (report.Options, {"data": X, "show": 0}, "--show must be at least 1, got 0"),
    (report.Options, {"data": X, "examples": -1}, "--examples must not be negative, got -1"),
    (speak.Options, {"data": X, "paths": -1}, "--paths must not be negative, got -1"),
    (speak.Options, {"data": X, "temperature": NAN}, "--temperature must be finite and not negative, got nan"),
    (speak.Options, {"data": X, "seed": -1}, "--seed must not be negative, got -1"),
    (speak.Options, {"data": X, "label_dropout": 1.0}, "--label-dropout must lie in [0, 1), got 1.0"),
    (speak.Options, {"data": X, "label_dropout": NAN}, "--label-dropout must lie in [0, 1), got nan"),
    (speak.Options, {"data": X, "examples": -1}, "--examples must not be negative, got -1"),
    (speak.Options, {"data": X, "batch": 0}, "--batch must be at least 1, got 0"),
    (
        speak.Options,
        {"data": X, "score": "val_seen", "label_dropout": 0.1},
        "--label-dropout hides labels of paths to train on; add --paths N --out FILE",
    ),
    (
        speak.Options,
        {"data": X, "paths": 3, "out": X, "follower": X},
        "--follower walks the paths of a split; add --score SPLIT",
    ),
    (speak.Options, {"data": X, "heading": NAN}, "--heading must be a number of degrees, got nan"),
    (
        speak.Options,
        {"data": X},
        "say what to describe: --scan SCAN --walk START --walk GOAL, --paths N --out FILE, or --score SPLIT",
    ),
    (speak.Options, {"data": X, "walk": ("a", "b")}, "the walk needs a building; name it with --scan"),
    (speak.Options, {"data": X, "paths": 3}, "no file to write the paths to; name it with --out FILE.json"),
    (tiles.Options, {"data": X, "backbone": X, "batch": 0}, "--batch must be at least 1, got 0"),
    (tiles.Options, {"data": X, "backbone": X, "cell_m": 0.0}, "--cell-m must be positive, got 0.0"),
    (tiles.Options, {"data": X, "backbone": X, "height_clip_m": NAN}, "--height-clip-m must be a number, got nan"),
    (world.Options, {"seed": -1}, "--seed must not be negative, got -1"),
    (world.Options, {"workers": -1}, "--workers must not be negative, got -1"),
    (bench.Simulator, {"seconds": 0.0}, "--seconds must be positive, got 0.0"),
    (bench.Model, {"batch": 0}, "--batch must be at least 1, got 0"),
    (bench.Model, {"seed": -1}, "--seed must not be negative, got -1"),
    (bench.Growth, {"houses": (0,)}, "--houses must be at least 1, got 0"),
    (bench.Growth, {"iterations": 0}, "--iterations must be at least 1, got 0"),
    (bench.Growth, {"threads": -1}, "--threads must not be negative, got -1"),
    (view.Options, {"port": 70000}, "--port must lie in 1..65535, got 70000"),
    (
        Pose,
        {"x_m": 0.0, "y_m": NAN, "z_m": 0.0, "heading_rad": 0.0},
        "Pose.y_m must be finite and at most 1e9, got nan",
    ),
    (
        Intrinsics,
        {"width": 0, "height": 4, "vfov_rad": 1.0},
        "image size must be at least 1 × 1, got width 0, height 4",
    ),
    (
        Intrinsics,
        {"width": 4, "height": 4, "vfov_rad": 4.0},
        "vertical field of view must lie in (0, π), got 4.0 rad",
    ),
    (Grid, {"rows": 0, "cols": 2, "cell_m": 1.0}, "a grid needs at least one cell, got 0 rows × 2 columns"),
    (Grid, {"rows": 2, "cols": 2, "cell_m": 0.0}, "cell_m must be positive, got 0.0"),
    (
        Grid(5, 5, 1.0).coarser,
        {"factor": 2},
        "a map of 5 × 5 cells cannot be pooled by filter.pool = 2; choose a divisor",
    ),
    (ByteCache, {"limit_bytes": -1, "size_of": len}, "a cache's bound must not be negative, got -1 bytes"),
    (
        from_dict,
        {"kind": ModelConfig, "values": []},
        "config must be an object with its settings, got []",
    ),
    (
        from_dict,
        {"kind": ModelConfig, "values": {"mapper": {"rows": "9"}}},
        "config.mapper.rows must be a whole number, got '9'",
    ),
    (
        from_dict,
        {"kind": TrainConfig, "values": {"hold_out": "8"}},
        "config.hold_out must be a whole number or nothing, got '8'",
    ),
    (
        from_dict,
        {"kind": SpeakerConfig, "values": {"rings_m": [1.0, "2"]}},
        'config.rings_m must be a list of such values, got [1.0, "2"]',
    ),
    (
        from_dict,
        {"kind": ModelConfig, "values": {"mappr": {}}},
        "config: unknown field 'mappr'; did you mean 'mapper'?",
    ),
]


@pytest.mark.parametrize(("make", "values", "told"), WRONG, ids=[told[:40] for _, _, told in WRONG])
def test_a_setting_out_of_range(make: Callable[..., Any], values: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make(**values)
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("world --workers 9999999 --houses 2", "--workers must lie in 1..1024, got 9999999"),
        (f"world --workers {10**22}", f"--workers must lie in ±{2**31}, got "),
        (f"world --seed {10**22}", f"--seed must lie in ±{2**63}, got "),
    ],
)
def test_numbers_that_no_library_can_hold(
    words: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words.split(), "--out", str(tmp_path / "x")])
    assert ended.value.code == 1
    assert told in capsys.readouterr().err


def test_a_log_that_is_a_pipe(tmp_path: Path) -> None:
    """It would be waited for."""
    os.mkfifo(tmp_path / LOG)
    with pytest.raises(DataError, match="not a regular file"):
        Watched(tmp_path).rows()
