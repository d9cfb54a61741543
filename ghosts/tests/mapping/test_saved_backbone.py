"""Backbones on disk: written and read back, told apart by their weights, and refused where they are something else."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from ghosts.mapping.backbone import ResNetBackbone, SmallBackbone
from ghosts.mapping.saved_backbone import load_backbone, save_backbone, weights_hash
from ghosts.weights.checkpoint import load_checkpoint
from ghosts_sim.errors import DataError


def test_files(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = SmallBackbone(12, 3)
    save_backbone(tmp_path / "b.safetensors", model, ["floor", "door", "sofa"], {"scores": {"mean_iou": 0.5}})
    about = load_checkpoint(tmp_path / "b.safetensors").about
    assert (about["labels"], about["scores"]) == (["floor", "door", "sofa"], {"mean_iou": 0.5})
    loaded = load_backbone(tmp_path / "b.safetensors")
    assert isinstance(loaded, SmallBackbone)
    assert loaded.channels == 12
    assert not any(value.requires_grad for value in loaded.parameters())
    torch.testing.assert_close(loaded.output.weight, model.output.weight, atol=1e-3, rtol=1e-3)
    before = weights_hash(loaded)
    assert loaded.head is not None
    loaded.head.bias.fill_(3.0)
    assert weights_hash(loaded) == before
    loaded.output.bias[0] += 1.0
    assert weights_hash(loaded) != before
    with pytest.raises(DataError, match="train one with: ghosts backbone"):
        load_backbone(tmp_path / "none.safetensors")
    (tmp_path / "bad.safetensors").write_bytes(b"123")
    with pytest.raises(DataError, match="damaged"):
        load_backbone(tmp_path / "bad.safetensors")
    save_file({"x": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(DataError, match="not the weights of a ResNet-34"):
        load_backbone(tmp_path / "other.safetensors")


def test_imagenet_weights_are_a_backbone_too(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = ResNetBackbone()
    save_file(model.resnet.state_dict(), tmp_path / "resnet34.safetensors")
    loaded = load_backbone(tmp_path / "resnet34.safetensors")
    assert loaded.channels == 768
    assert weights_hash(loaded) == weights_hash(model)
