"""Training from pixels: the same tasks, with a backbone that is trained along with them.

Which cells a viewpoint shows depends on depth and poses alone, so the tile bank's cells stay valid whatever the
backbone does; only its features are stale. `PixelTask` computes the features of a batch's viewpoints afresh, with
gradients, and hands them to the task in place of the stored ones. Mirrored and turned episodes work as they do with
stored tiles.

The paper found that training the CNN mainly helped on seen buildings and left it frozen (supplement, "Mapper").
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from ghosts.errors import DataError
from ghosts.learn.bank import TileBank
from ghosts.learn.batches import Batch
from ghosts.learn.image_tiles import sweep_on_cpu, sweep_points, sweep_poses
from ghosts.learn.tasks import GoalTask
from ghosts.mapping.backbone import ResNetBackbone, SmallBackbone
from ghosts.mapping.mapper import Masks
from ghosts.mapping.tile_store import TileSettings
from ghosts.mapping.tiles import tiles_from_points
from ghosts.world.dataroot import DataRoot
from ghosts.world.simulator import Simulator


class PixelTask(nn.Module):
    """A task and a backbone trained together.

    Args:
        task: a filter or LingUNet task made for stored features.
        backbone: whose weights may be trained (call `requires_grad_(True)`).
        root: data root with images.
        bank: its tiles; the features in it are not used.
        settings: camera, grid and clip of the tiles (their `backbone` hash is of no importance here).

    Example:
        backbone = load_backbone(path).requires_grad_(True)
        task = PixelTask(goal_task, backbone, root, bank, settings)
        task(batch, None, masks).backward()  # from the filter's loss to the first convolution
    """

    def __init__(
        self,
        task: GoalTask,
        backbone: SmallBackbone | ResNetBackbone,
        root: DataRoot,
        bank: TileBank,
        settings: TileSettings,
    ) -> None:
        super().__init__()
        self.task, self.backbone = task, backbone
        self._bank, self._settings = bank, settings
        self._places = {number: place for place, number in bank.numbers.items()}
        self._root, self._simulator = root, Simulator(root.graph, root.panoramas())

    def draw_masks(self, batch: int, generator: torch.Generator) -> Masks | None:
        """See `GoalTask.draw_masks`."""
        return self.task.draw_masks(batch, generator)

    def forward(self, batch: Batch, stored: object, masks: Masks | None) -> Float[Tensor, ""]:
        """The training loss, as `GoalTask`'s; `stored` is not looked at."""
        fresh, features = self.features(batch)
        return self.task(fresh, features, masks)

    def features(self, batch: Batch) -> tuple[Batch, Float[Tensor, "n c"]]:
        """Features of the batch's viewpoints from their pixels, and the batch with its rows renumbered to them."""
        rows = batch.rows.cpu().numpy()
        tiles, position = np.unique(np.searchsorted(self._bank.starts, rows, "right") - 1, return_inverse=True)
        parts = [self._tile(int(tile), batch.rows.device) for tile in tiles]
        sizes = np.array([len(part) for part in parts])
        if not np.array_equal(sizes, self._bank.starts[tiles + 1] - self._bank.starts[tiles]):
            raise DataError("the tiles do not show the cells the pictures show; make them again with: ghosts tiles")
        first = np.cumsum(sizes) - sizes
        renumbered = rows - self._bank.starts[tiles][position] + first[position]
        return replace(batch, rows=torch.from_numpy(renumbered).to(batch.rows.device)), torch.cat(parts)

    def _tile(self, number: int, device: torch.device) -> Float[Tensor, "k c"]:
        scan, row = self._places[number]
        rgb, depth = sweep_on_cpu(self._simulator, scan, [row], self._settings)
        poses = sweep_poses(self._root, scan, [row], self._settings).to(device)
        points = sweep_points(self.backbone, rgb.to(device), depth.to(device), poses, self._settings)
        return tiles_from_points(points, self._settings.cell_m).features
