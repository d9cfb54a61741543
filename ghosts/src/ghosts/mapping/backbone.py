"""Image backbones (paper, section 4.1, image processing): RGB in, features at a sixteenth of the resolution out."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Num
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor, nn

from ghosts.mapping.resnet import ResNet34, normalise_imagenet
from ghosts.mapping.torch_archive import read_torch_archive
from ghosts.weights.checkpoint import alike, check_finite
from ghosts_sim.errors import DataError
from ghosts_sim.files import read_bytes


@runtime_checkable
class Backbone(Protocol):
    """What all other code expects of a backbone."""

    channels: int
    """Feature channels."""
    stride: int
    """Image pixels per feature pixel and axis."""

    def __call__(self, rgb: Num[Tensor, "n h w 3"]) -> Float[Tensor, "n c y x"]:
        """Features of images with values 0 to 255: uint8, or float where a gradient on the pixels is wanted."""
        ...


class ResNetBackbone(nn.Module):
    """ResNet-34, stages 3 ‖ 4 (paper, supplement): 256 + 512 channels, stage 4 upsampled to stage 3.

    A 256 × 320 image gives 768 × 16 × 20. Batch norm always uses its stored statistics; call `requires_grad_(False)` to
    freeze the weights as well, as in the reported experiments.
    """

    channels = 768
    stride = 16

    def __init__(self) -> None:
        super().__init__()
        self.resnet = ResNet34()

    def forward(self, rgb: Num[Tensor, "n h w 3"]) -> Float[Tensor, "n c y x"]:
        third, fourth = self.resnet(normalise_imagenet(rgb, self.resnet.conv1.weight.dtype))
        fourth = F.interpolate(fourth, size=third.shape[-2:], mode="bilinear", align_corners=False)
        return torch.cat([third, fourth], 1)

    @classmethod
    def load_imagenet(cls, path: Path) -> ResNetBackbone:
        """One with torchvision's ResNet-34 weights, from its own `.pth` file or from safetensors with the same names.

        Nothing is unpickled: a `.pth` file's description is read as data (see `torch_archive`).

        Raises:
            DataError: the file is missing, no such archive, or holds other weights.
        """
        with torch.device("meta"):  # weights of its own, drawn at random, would take as long as the file's
            model = cls()
        weights = _read_weights(path)
        weights = {name: value for name, value in weights.items() if not name.startswith("fc.")}
        ours = model.resnet.state_dict()
        # Older files were written before batch norm counted its batches; the count is never used here.
        counts = {name: torch.tensor(0) for name in ours if name.endswith("num_batches_tracked")}
        missing = sorted(ours.keys() - weights.keys() - counts.keys())
        wrong = sorted(name for name, value in weights.items() if name not in ours or not alike(ours[name], value))
        if missing or wrong:
            problem = f"not the weights of a ResNet-34: {len(missing)} missing, {len(wrong)} unknown or misshapen"
            raise DataError(problem, file=path, field=(missing + wrong)[0], hint=_EXPECTED)
        check_finite(weights, path, _EXPECTED)
        model.to_empty(device="cpu").resnet.load_state_dict(counts | weights)
        return model


class SmallBackbone(nn.Module):
    """A small network for procedural houses, trained from scratch (about 0.7 M parameters at 64 channels).

    Args:
        channels: feature channels.
        classes: number of semantic labels of the head that trains it; 0 for none.
    """

    stride = 16

    def __init__(self, channels: int = 64, classes: int = 0) -> None:
        super().__init__()
        self.channels = channels
        self.trunk = nn.Sequential(
            _halve(3, 32), _halve(32, 64), _halve(64, 96), _Residual(96), _halve(96, 128), _Residual(128)
        )
        self.output = nn.Conv2d(128, channels, 1)
        self.head = nn.Conv2d(channels, classes, 1) if classes else None

    def forward(self, rgb: Num[Tensor, "n h w 3"]) -> Float[Tensor, "n c y x"]:
        images = rgb.to(self.output.weight.dtype).permute(0, 3, 1, 2) / 127.5 - 1.0
        return self.output(self.trunk(images))

    def segment(self, features: Float[Tensor, "n c y x"]) -> Float[Tensor, "n l y x"]:
        """Logits of the semantic labels at each feature pixel, for training on the houses' labels."""
        if self.head is None:
            raise ValueError("this backbone was made without a segmentation head (classes=0)")
        return self.head(F.relu(features))


class _Residual(nn.Module):
    """Two 3 × 3 convolutions around a shortcut, with group norm: no statistics to freeze, any batch size."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.GroupNorm(8, channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.GroupNorm(8, channels)

    def forward(self, x: Float[Tensor, "n c y x"]) -> Float[Tensor, "n c y x"]:
        hidden = F.relu(self.norm1(self.first(x)))
        return F.relu(x + self.norm2(self.second(hidden)))


def _halve(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, 2, padding=1, bias=False), nn.GroupNorm(8, outputs), nn.ReLU(inplace=True)
    )


_EXPECTED = "give torchvision's resnet34 .pth file (ghosts weights fetches it), or the same tensors as .safetensors"


def _read_weights(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise DataError("no such file", file=path, hint=_EXPECTED)
    if path.suffix != ".safetensors":
        return read_torch_archive(path)
    try:
        return load(read_bytes(path))
    except (SafetensorError, KeyError):  # the second where PyTorch has no such kind of number
        raise DataError("not a safetensors file, or a damaged one", file=path, hint=_EXPECTED) from None
