"""Backbones: shapes of the paper, torchvision's names, frozen statistics; and on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from ghosts.mapping.backbone import ResNetBackbone, SmallBackbone
from ghosts.mapping.resnet import BasicBlock, FrozenBatchNorm2d, normalise_imagenet
from ghosts.mapping.saved_backbone import load_backbone, save_backbone, weights_hash
from ghosts.weights.checkpoint import load_checkpoint
from ghosts_sim.errors import DataError


@pytest.fixture(scope="module")
def resnet() -> ResNetBackbone:
    torch.manual_seed(0)
    return ResNetBackbone()


def test_resnet_shapes_and_size(resnet: ResNetBackbone) -> None:
    rgb = torch.zeros(1, 256, 320, 3, dtype=torch.uint8)
    with torch.no_grad():
        assert resnet(rgb).shape == (1, 768, 16, 20)
    # torchvision's resnet34 has 21 797 672 parameters, 513 000 of them in the classifier.
    assert sum(value.numel() for value in resnet.parameters()) == 21_797_672 - 513_000


def test_resnet_names(resnet: ResNetBackbone) -> None:
    names = resnet.resnet.state_dict().keys()
    expected = {
        "conv1.weight",
        "bn1.running_var",
        "layer1.0.conv1.weight",
        "layer2.0.downsample.0.weight",
        "layer3.5.bn2.bias",
        "layer4.0.downsample.1.running_mean",
        "layer4.2.conv2.weight",
    }
    assert expected <= names
    # torchvision: 36 convolutions and as many norms of 5 tensors.
    assert len(names) == 36 * 6


def test_stage_four_is_upsampled_beside_stage_three(resnet: ResNetBackbone) -> None:
    rgb = torch.randint(0, 256, (1, 64, 96, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        third, fourth = resnet.resnet(normalise_imagenet(rgb, torch.float32))
        features = resnet(rgb)
    assert torch.equal(features[:, :256], third)
    assert torch.equal(features[:, 256:], F.interpolate(fourth, scale_factor=2.0, mode="bilinear"))


def test_imagenet_normalisation() -> None:
    pixel = torch.tensor([[[[255, 0, 127]]]], dtype=torch.uint8)
    expected = [(1 - 0.485) / 0.229, -0.456 / 0.224, (127 / 255 - 0.406) / 0.225]
    torch.testing.assert_close(normalise_imagenet(pixel, torch.float32)[0, :, 0, 0], torch.tensor(expected))


def test_statistics_stay_frozen_in_training() -> None:
    torch.manual_seed(0)
    block = BasicBlock(4, 8, 2)
    norms = [module for module in block.modules() if isinstance(module, FrozenBatchNorm2d)]
    images = torch.randn(2, 4, 8, 8) * 3 + 1
    evaluated = block.eval()(images)
    trained = block.train()(images)
    assert torch.equal(evaluated, trained)
    for norm in norms:
        assert torch.equal(norm.running_mean, torch.zeros(8))
        assert torch.equal(norm.running_var, torch.ones(8))


def test_weights_from_both_files(resnet: ResNetBackbone, tmp_path: Path) -> None:
    weights = {name: value.clone() for name, value in resnet.resnet.state_dict().items()}
    weights["bn1.running_mean"] += 3.0
    weights |= {"fc.weight": torch.zeros(1000, 512), "fc.bias": torch.zeros(1000)}
    torch.save(weights, tmp_path / "w.pth")
    # Files from before batch norm counted its batches.
    save_file({name: v for name, v in weights.items() if "num_batches" not in name}, tmp_path / "w.safetensors")
    for name in ("w.pth", "w.safetensors"):
        other = ResNetBackbone.load_imagenet(tmp_path / name)
        for key, value in other.resnet.state_dict().items():
            assert torch.equal(value, weights[key]), key


def test_wrong_weights_are_named(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    with pytest.raises(DataError, match=r"w\.safetensors: no such file"):
        ResNetBackbone.load_imagenet(path)
    path.write_bytes(b"rubbish")
    with pytest.raises(DataError, match="not a safetensors file"):
        ResNetBackbone.load_imagenet(path)
    save_file({"conv1.weight": torch.zeros(2)}, path)
    with pytest.raises(DataError, match=r"'bn1\.bias'.*not the weights of a ResNet-34"):
        ResNetBackbone.load_imagenet(path)


def test_small_backbone() -> None:
    torch.manual_seed(0)
    small = SmallBackbone(channels=64, classes=9)
    rgb = torch.randint(0, 256, (2, 64, 80, 3), dtype=torch.uint8)
    features = small(rgb)
    assert features.shape == (2, small.channels, 64 // small.stride, 80 // small.stride)
    assert small.segment(features).shape == (2, 9, 4, 5)
    assert 500_000 < sum(value.numel() for value in small.parameters()) < 1_000_000
    torch.testing.assert_close(small(rgb[:1]), features[:1], rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="without a segmentation head"):
        SmallBackbone().segment(features)


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
