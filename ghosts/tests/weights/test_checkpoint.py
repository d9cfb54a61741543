from __future__ import annotations

import json
import math
import time
import zlib
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from forked import Forked
from ghosts.mapping.backbone import ResNetBackbone
from ghosts.weights.checkpoint import LAST, check_finite, load_checkpoint, save_checkpoint
from ghosts_sim.errors import DataError
from ghosts_sim.files import remove_leftovers


def test_round_trip(tmp_path: Path) -> None:
    tensors = {
        "model/a": torch.arange(6.0).view(2, 3).T,  # not contiguous
        "model/b": torch.tensor(3),
        "ema/a": torch.full((2,), 0.5, dtype=torch.bfloat16),
        "empty": torch.zeros(0),
    }
    save_checkpoint(tmp_path / "x.safetensors", tensors, {"iteration": 7, "words": ["größer", "left"]})
    stored = load_checkpoint(tmp_path / "x.safetensors")
    assert stored.about == {"iteration": 7, "words": ["größer", "left"]}
    assert stored.tensors.keys() == tensors.keys()
    for name, value in tensors.items():
        assert torch.equal(stored.tensors[name], value)
        assert stored.tensors[name].dtype == value.dtype
    assert stored.part("model").keys() == {"a", "b"}
    assert stored.part("ema").keys() == {"a"}


def test_bad_checkpoints_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    with pytest.raises(DataError, match=r"x\.safetensors: no such checkpoint.*ghosts train goal"):
        load_checkpoint(path)
    save_checkpoint(path, {"model/a": torch.arange(1000.0)}, {"iteration": 1})
    whole = path.read_bytes()
    for kept in (0, 5, 60, len(whole) - 1):
        path.write_bytes(whole[:kept])
        with pytest.raises(DataError, match="damaged checkpoint"):
            load_checkpoint(path)
    flipped = bytearray(whole)
    flipped[-10] ^= 4
    path.write_bytes(bytes(flipped))
    with pytest.raises(DataError, match="checksum"):
        load_checkpoint(path)
    path.write_bytes(whole.replace(b'\\"iteration\\": 1', b'\\"iteration\\": 5'))  # a flipped bit of the description
    with pytest.raises(DataError, match="checksum"):
        load_checkpoint(path)
    save_file({"a": torch.zeros(2)}, path, metadata={"format": "1", "about": "{}"})
    with pytest.raises(DataError, match=r"unknown checkpoint format.*'1'.*reads formats 2, 3, 4"):
        load_checkpoint(path)
    save_file({"a": torch.zeros(2)}, path)
    with pytest.raises(DataError, match="unknown checkpoint format"):
        load_checkpoint(path)


def test_the_format_before_is_read_and_its_names_are_todays(tmp_path: Path) -> None:
    """There was a module around the model then: `model.` led the names of all weights but the labels'."""
    tensors = {
        "ema/model.mapper.a": torch.ones(2),
        "model/features.e": torch.ones(1),
        "model/model.mapper.a": torch.ones(2),
    }
    checksum = zlib.crc32(b"".join(tensors[name].numpy().tobytes() for name in sorted(tensors)))
    metadata = {"format": "2", "about": json.dumps({"iteration": 3}), "checksum": str(checksum)}
    save_file(tensors, tmp_path / "old.safetensors", metadata)
    stored = load_checkpoint(tmp_path / "old.safetensors")
    assert stored.tensors.keys() == {"ema/mapper.a", "model/features.e", "model/mapper.a"}
    assert stored.weights.keys() == {"features.e", "mapper.a"}
    assert stored.about == {"iteration": 3}


def write_on_and_on(path: Path) -> None:
    for number in count(1):
        save_checkpoint(path, {"model/a": torch.full((500_000,), float(number))}, {"iteration": number})


def test_kill_nine_while_writing_leaves_a_whole_checkpoint(tmp_path: Path) -> None:
    seed = 5
    random = np.random.default_rng(seed)
    path = tmp_path / LAST
    process = Forked(partial(write_on_and_on, path))
    process.wait_until(path.is_file)
    # Writing takes most of the writer's time: while it runs the file is whole at every moment.
    for pause_s in random.uniform(0.0, 0.05, 8):
        time.sleep(float(pause_s))
        stored = load_checkpoint(path)
        assert stored.tensors["model/a"].unique().tolist() == [stored.about["iteration"]]
    print(f"seed {seed}")
    process.wait_until(lambda: bool(list(tmp_path.glob(".last.*"))))  # in the middle of writing
    process.kill()
    stored = load_checkpoint(path)
    assert stored.tensors["model/a"].unique().tolist() == [stored.about["iteration"]]
    remove_leftovers(tmp_path)
    assert [item.name for item in tmp_path.iterdir()] == [LAST]


def test_equal_checkpoints_have_equal_bytes(tmp_path: Path) -> None:
    """safetensors writes metadata in an order that differs every time."""
    tensors = {name: torch.ones(3) for name in ("model/b", "model/a")}
    for number in range(8):
        save_checkpoint(tmp_path / f"{number}.safetensors", tensors, {"text": "größer", "iteration": 1})
    assert len({file.read_bytes() for file in tmp_path.iterdir()}) == 1
    assert load_checkpoint(tmp_path / "0.safetensors").about == {"text": "größer", "iteration": 1}


@pytest.mark.parametrize("kind", ["F4", "F6_E2M3", "F8_E8M0"])
def test_numbers_of_a_kind_that_pytorch_has_not(tmp_path: Path, kind: str) -> None:
    tensor = {"dtype": kind, "shape": [4], "data_offsets": [0, {"F4": 2, "F6_E2M3": 3, "F8_E8M0": 4}[kind]]}
    head = json.dumps({"model/a": tensor}).encode()
    path = tmp_path / LAST
    path.write_bytes(len(head).to_bytes(8, "little") + head + bytes(tensor["data_offsets"][1]))  # type: ignore[index]
    with pytest.raises(DataError, match="damaged"):
        load_checkpoint(path)
    with pytest.raises(DataError, match="damaged"):
        ResNetBackbone.load_imagenet(path)


def test_only_leftovers_go(tmp_path: Path) -> None:
    """The next writer removes them; what else starts with a dot is not ours."""
    for name in (".last.0123abcd.safetensors", ".other.0a0a0a0a.json", ".lock", ".mine.abc.safetensors"):
        (tmp_path / name).write_text("left")
    save_checkpoint(tmp_path / LAST, {"model/a": torch.ones(2)}, {})
    assert sorted(item.name for item in tmp_path.iterdir()) == [".lock", ".mine.abc.safetensors", LAST]


@pytest.mark.parametrize("kind", [torch.float8_e5m2, torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_numbers_that_are_not_finite_are_found(tmp_path: Path, kind: torch.dtype) -> None:
    """The largest ones are finite, though their sum is not."""
    large = torch.full((4,), torch.finfo(kind).max, dtype=torch.float64).to(kind)
    sound = {"a": torch.zeros(0, dtype=kind), "b": large, "c": torch.ones(2, dtype=torch.int64)}
    check_finite(sound, tmp_path, "")
    for wrong in ([math.nan, 1.0], [1.0, math.inf], [math.inf, -math.inf]):
        bad = torch.tensor(wrong).to(kind)
        with pytest.raises(DataError, match="'d': holds numbers that are not finite"):
            check_finite({"f": bad, **sound, "d": bad, "e": bad}, tmp_path, "")  # the first of three by name
