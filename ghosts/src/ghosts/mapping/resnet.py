"""ResNet-34 (the CNN of the paper's supplement) without its classifier, under torchvision's names, with batch-norm
statistics that never change."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class FrozenBatchNorm2d(nn.BatchNorm2d):
    """Batch normalisation that uses its stored statistics in training as well.

    The released code's "frozen" CNN keeps updating its statistics, because `train()` reaches it.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Normalise with the stored mean and variance."""
        return F.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, training=False, eps=self.eps
        )


class BasicBlock(nn.Module):
    """Two 3 × 3 convolutions and a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = FrozenBatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = FrozenBatchNorm2d(outputs)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), FrozenBatchNorm2d(outputs)
            )

    def forward(self, x: Float[Tensor, "n c y x"]) -> Float[Tensor, "n d h w"]:
        """One residual block."""
        hidden = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(hidden)) + self.downsample(x))


class ResNet34(nn.Module):
    """The convolutional stages; the classifier is left out."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False)
        self.bn1 = FrozenBatchNorm2d(64)
        self.layer1 = _stage(64, 64, 3, 1)
        self.layer2 = _stage(64, 128, 4, 2)
        self.layer3 = _stage(128, 256, 6, 2)
        self.layer4 = _stage(256, 512, 3, 2)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images: Float[Tensor, "n 3 h w"]) -> tuple[Float[Tensor, "n c y x"], Float[Tensor, "n d v u"]]:
        """Outputs of stages 3 (stride 16) and 4 (stride 32) for normalised images."""
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(images))), 3, 2, padding=1)
        third = self.layer3(self.layer2(self.layer1(x)))
        return third, self.layer4(third)


def _stage(inputs: int, outputs: int, blocks: int, stride: int) -> nn.Sequential:
    later = [BasicBlock(outputs, outputs, 1) for _ in range(blocks - 1)]
    return nn.Sequential(BasicBlock(inputs, outputs, stride), *later)


def normalise_imagenet(rgb: Tensor, dtype: torch.dtype) -> Float[Tensor, "n 3 h w"]:
    """Images with values 0 to 255, shape `n h w 3`, as ImageNet networks expect them."""
    mean = torch.tensor([0.485, 0.456, 0.406], dtype=dtype, device=rgb.device)
    deviation = torch.tensor([0.229, 0.224, 0.225], dtype=dtype, device=rgb.device)
    return ((rgb.to(dtype) / 255.0 - mean) / deviation).permute(0, 3, 1, 2)
