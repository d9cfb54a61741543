"""Torch files read as data: equal tensors in both formats, and nothing in them is ever run."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import pytest
import torch
from torch import nn

from ghosts.mapping.torch_archive import read_torch_archive
from ghosts_sim.errors import DataError


class Trap:
    """An object whose unpickling would touch a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("as_zip", [True, False])
def test_equal_tensors(tmp_path: Path, as_zip: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    saved = OrderedDict(model.state_dict(), turned=torch.arange(6.0).reshape(2, 3).T, half=torch.ones(2).half())
    saved["parameter"] = nn.Parameter(torch.full((2,), 7.0))
    saved["none"] = torch.zeros(0, 3)
    torch.save(saved, tmp_path / "x.pth", _use_new_zipfile_serialization=as_zip)
    loaded = read_torch_archive(tmp_path / "x.pth")
    assert loaded.keys() == saved.keys()
    for name, value in saved.items():
        assert loaded[name].dtype == value.dtype
        assert torch.equal(loaded[name], value.detach())


@pytest.mark.parametrize("as_zip", [True, False])
def test_code_is_refused_and_not_run(tmp_path: Path, as_zip: bool) -> None:
    target = tmp_path / "ran"
    torch.save({"a": Trap(target)}, tmp_path / "x.pth", _use_new_zipfile_serialization=as_zip)
    with pytest.raises(DataError, match=r"cannot be read without unpickling: it holds .*safetensors"):
        read_torch_archive(tmp_path / "x.pth")
    assert not target.exists()


def test_damaged_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.pth"
    torch.save({"a": torch.ones(100)}, path, _use_new_zipfile_serialization=False)
    whole = path.read_bytes()
    for broken in (b"", b"not a torch file", whole[:60], whole[:-9], b"\x80\x02K\x01." + whole):
        path.write_bytes(broken)
        with pytest.raises(DataError, match=r"x\.pth"):
            read_torch_archive(path)
