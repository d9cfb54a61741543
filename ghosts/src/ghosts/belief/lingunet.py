"""LingUNet (paper, section 4.2): a U-Net whose skip connections are filtered by 1 × 1 kernels made from language.

Misra et al. 2018, in the variant of Blukis et al. 2018 that the authors use; its wiring is checked against recorded
outputs. The way down does not see the language, so it runs once per map, however many latent vectors ask about it.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from ghosts.config import LingUNetConfig


def instance_norm(values: Float[Tensor, "n c y x"]) -> Float[Tensor, "n c y x"]:
    """Zero mean and unit variance over space, for each item and channel; a single cell becomes 0."""
    # In the type it is given: autocast would write, and keep for the gradient, everything in float32, only to convert
    # it back for the next convolution. Sums are in float32 all the same.
    with torch.autocast(values.device.type, enabled=False):
        return F.layer_norm(values, values.shape[-2:])


class DownBlock(nn.Module):
    """Two 3 × 3 convolutions, the first with stride 2."""

    def __init__(self, channels: int, out: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(channels, out, 3, padding=1)

    def forward(self, values: Float[Tensor, "n c y x"]) -> Float[Tensor, "n out y2 x2"]:
        """Half the resolution, rounded up."""
        return F.leaky_relu(self.conv2(F.leaky_relu(self.conv1(values))))


class UpBlock(nn.Module):
    """Two 3 × 3 transposed convolutions, the second with stride 2, to a given size."""

    def __init__(self, channels: int, out: int) -> None:
        super().__init__()
        self.conv1 = nn.ConvTranspose2d(channels, out, 3, padding=1)
        self.conv2 = nn.ConvTranspose2d(out, out, 3, stride=2, padding=1)

    def forward(self, values: Float[Tensor, "n c y x"], size: tuple[int, int]) -> Float[Tensor, "n out y2 x2"]:
        """Twice the resolution: `size`, which the skip connection has."""
        return F.leaky_relu(self.conv2(F.leaky_relu(self.conv1(values)), output_size=list(size)))


class LingUNet(nn.Module):
    """Language-conditioned U-Net for maps of any size.

    Args:
        channels: channels of the map.
        embedding: size of the language vector.
        out: channels of the result.
        config: levels and widths.
    """

    def __init__(self, channels: int, embedding: int, out: int, config: LingUNetConfig) -> None:
        super().__init__()
        levels, wide, narrow = config.levels, config.channels, config.language
        self.down = nn.ModuleList(DownBlock(channels if level == 0 else wide, wide) for level in range(levels))
        # The deepest level's filter keeps its width; the others are narrowed to `language` channels.
        self.filter_widths = [narrow] * (levels - 1) + [wide]
        self.filters = nn.ModuleList(nn.Linear(embedding, width * wide) for width in self.filter_widths)
        widths = [wide] * (levels - 1)
        if widths:
            widths[-1] = config.output
        inputs = [wide] + [width + narrow for width in widths]
        self.up = nn.ModuleList(UpBlock(size, width) for size, width in zip(inputs, widths))
        self.last = nn.ConvTranspose2d(inputs[-1], out, 3, stride=2, padding=1)
        for block in (*self.down, *self.up):
            for conv in (block.conv1, block.conv2):
                nn.init.kaiming_uniform_(conv.weight, a=0.01)
                nn.init.zeros_(conv.bias)

    def trunk(self, maps: Float[Tensor, "n channels y x"]) -> list[Tensor]:
        """The way down, without language: one tensor per level."""
        levels = []
        for index, block in enumerate(self.down):
            maps = block(maps)
            if index < len(self.down) - 1:  # as recorded: the deepest level is not normalised
                maps = instance_norm(maps)
            levels.append(maps)
        return levels

    def language_kernels(self, embedding: Float[Tensor, "b t d"]) -> list[Tensor]:
        """1 × 1 kernels of every level, shape `b t out in`, each of unit norm, from the normalised language vector."""
        unit = F.normalize(embedding, dim=-1)
        return [
            F.normalize(linear(unit), dim=-1).unflatten(-1, (width, -1))
            for linear, width in zip(self.filters, self.filter_widths)
        ]

    def forward(
        self, maps: Float[Tensor, "n channels y x"], embedding: Float[Tensor, "b t d"]
    ) -> Float[Tensor, "n t out y x"]:
        """Answer every language vector of an episode on each of its maps.

        Args:
            maps: n = b · s maps, b-major.
            embedding: t language vectors per episode.
        """
        levels = self.trunk(maps)
        skips = [_filter(level, kernel) for level, kernel in zip(levels, self.language_kernels(embedding))]
        skips = [instance_norm(skip) for skip in skips[:-1]] + skips[-1:]
        values = skips[-1]
        for block, skip in zip(self.up, reversed(skips[:-1])):
            values = instance_norm(block(values, skip.shape[-2:]))
            values = torch.cat([skip, values], 1)
        result = self.last(values, output_size=list(maps.shape[-2:]))
        return result.unflatten(0, (len(maps), -1))


def _filter(level: Float[Tensor, "n c y x"], kernels: Float[Tensor, "b t o c"]) -> Float[Tensor, "nt o y x"]:
    """All T kernels of an episode on each of its maps as one matrix product."""
    episodes, steps, out, _ = kernels.shape
    maps, _, rows, cols = level.shape
    stacked = level.unflatten(0, (episodes, -1)).flatten(3)
    product = kernels.flatten(1, 2)[:, None] @ stacked
    return product.view(maps * steps, out, rows, cols)
