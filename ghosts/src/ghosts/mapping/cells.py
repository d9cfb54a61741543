"""Map observations F_t (paper, section 4.1) as lists of observed cells: about 190 of the paper's 96 × 96 per step."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor, nn

from ghosts.words.embedding import OpenEmbedding
from ghosts_sim.errors import ConfigError
from ghosts_sim.geometry import TAU, from_cells, lattice_corner, on_map
from ghosts_sim.types import Grid


@dataclass(frozen=True)
class CellLabels:
    """Labels on cells, where landmarks are seen instead of images."""

    cell: Int[Tensor, " m"]
    """Number of the cell each label is on."""
    label: Int[Tensor, " m"]
    weight: Float[Tensor, " m"]
    vectors: Float[Tensor, "labels d"] | None = None
    """Vector of each label, known or new, where labels are read by their meaning."""
    sectors: Int[Tensor, " m"] | None = None
    """Bits of the directions in which the agent sees each; a model does not need them."""

    def only(self, kept: Bool[Tensor, " m"]) -> CellLabels:
        """Some of the labels."""
        sectors = self.sectors[kept] if self.sectors is not None else None
        return CellLabels(self.cell[kept], self.label[kept], self.weight[kept], self.vectors, sectors)


@dataclass(frozen=True)
class MapCells:
    """The observed cells of `b` episodes over `s` agent steps, sorted by step, each (step, item, row, col) once.

    A cell has features, or labels that the model makes features of (`CellFeatures`); c is 0 until then.
    """

    features: Float[Tensor, "n c"]
    step: Int[Tensor, " n"]
    item: Int[Tensor, " n"]
    row: Int[Tensor, " n"]
    col: Int[Tensor, " n"]
    counts: tuple[int, ...]
    """Cells of each step: step `s` is the slice after the first `sum(counts[:s])`."""
    batch: int
    rows: int
    cols: int
    """Size of the maps."""
    labels: CellLabels | None = None

    @property
    def steps(self) -> int:
        """Agent steps."""
        return len(self.counts)

    def labelled(self) -> MapCells:
        """Only the cells that have a label, before their features are known: what nothing is said of is not
        observed."""
        assert self.labels is not None, "cells of landmarks"
        kept = torch.zeros(len(self.item), dtype=torch.bool, device=self.item.device)
        kept[self.labels.cell] = True
        number = kept.cumsum(0) - 1
        step = self.step[kept]
        return replace(
            self,
            features=self.features[kept],
            step=step,
            item=self.item[kept],
            row=self.row[kept],
            col=self.col[kept],
            counts=tuple(torch.bincount(step, minlength=self.steps).tolist()),
            labels=replace(self.labels, cell=number[self.labels.cell]),
        )


class CellFeatures(nn.Module):
    """Feature vectors of observed cells: stored ones as they are, labels as the sum of learned embeddings.

    Args:
        channels: of a feature vector.
        labels: number of labels; 0 where features are stored.
        vectors: of the labels, where they are read by the meaning of their words.
    """

    def __init__(self, channels: int, labels: int, vectors: Float[Tensor, "n d"] | None = None) -> None:
        super().__init__()
        self.channels = channels
        self.embedding: OpenEmbedding | nn.Embedding | None = None
        if labels and vectors is not None:
            self.embedding = OpenEmbedding(labels, channels, vectors.shape[1])
            self.embedding.start(vectors)
        elif labels:
            self.embedding = nn.Embedding(labels, channels)

    def forward(self, cells: MapCells) -> MapCells:
        """The cells with features."""
        if self.embedding is None:
            if cells.labels is not None:
                raise ConfigError("this model reads tiles of images, but the data has landmarks; choose another preset")
            return cells
        if cells.labels is None:
            raise ConfigError("this model reads landmarks, but the data has tiles of images; choose another preset")
        if isinstance(self.embedding, nn.Embedding):
            table = self.embedding.weight
        else:
            assert cells.labels.vectors is not None, "labels of an open set come with their vectors"
            table = self.embedding.table(cells.labels.vectors)
        embedded = F.embedding(cells.labels.label, table) * cells.labels.weight[:, None]
        features = embedded.new_zeros(cells.item.shape[0], self.channels).index_add(0, cells.labels.cell, embedded)
        return replace(cells, features=features)


def place_cells(
    lattice: Int[Tensor, "n 2"],
    step: Int[Tensor, " n"],
    item: Int[Tensor, " n"],
    steps: int,
    origin_xy_m: Float[np.ndarray, "b 2"],
    grid: Grid,
) -> tuple[MapCells, Int[Tensor, " kept"]]:
    """Put cells of the world's lattice on the maps of a batch; what lies off a map is dropped.

    Args:
        lattice: (row, column) of each cell, sorted by step.
        step: agent step of each.
        item: episode of each.
        steps: agent steps in all.
        origin_xy_m: centre of each episode's map, from `geometry.snap_origin`.
        grid: of the maps.

    Returns:
        The cells, without features, and which of the given ones they are.
    """
    corner = torch.from_numpy(lattice_corner(origin_xy_m, grid)[:, ::-1].copy()).to(lattice.device)
    place = lattice.long() - corner[item]
    kept = on_map(place.flip(-1), grid).nonzero()[:, 0]
    step, item, place = step[kept], item[kept], place[kept]
    cells = MapCells(
        features=torch.zeros(len(kept), 0, device=place.device),
        step=step,
        item=item,
        row=place[:, 0].contiguous(),
        col=place[:, 1].contiguous(),
        counts=tuple(torch.bincount(step, minlength=steps).tolist()),
        batch=len(origin_xy_m),
        rows=grid.rows,
        cols=grid.cols,
    )
    return cells, kept


def starts_of(counts: Int[np.ndarray, " n"]) -> Int64[np.ndarray, " n1"]:
    """Where each of several ragged groups starts, and the end of the last."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def ragged_rows(
    starts: Int64[np.ndarray, " v1"], picked: Int[np.ndarray, " k"]
) -> tuple[Int64[np.ndarray, " n"], Int64[np.ndarray, " n"]]:
    """Rows of several ragged groups one after the other, with the position of their group in `picked`."""
    sizes = starts[picked + 1] - starts[picked]
    owner = np.repeat(np.arange(len(picked)), sizes)
    first = np.cumsum(sizes) - sizes
    return owner, np.arange(int(sizes.sum())) - first[owner] + starts[picked][owner]


def sector_features(
    cells: MapCells, xy_m: Float[Tensor, "bs 2"], grid: Grid, sectors: int, rings_m: tuple[float, ...] = ()
) -> Float[Tensor, "bs sectors c"]:
    """Mean feature of the cells in each direction of each panorama; zero where nothing was seen.

    Args:
        cells: observed cells of all steps, with features.
        xy_m: where each panorama was taken, metres from the map's origin; number e · s + step.
        grid: of the maps.
        sectors: directions, the first centred on +x, counter-clockwise.
        rings_m: distances that divide a direction into near and far; ring-major along the axis of sectors.
    """
    panorama = cells.item * cells.steps + cells.step
    place_m = from_cells(torch.stack([cells.col, cells.row], 1).to(xy_m.dtype), grid)
    delta = place_m - xy_m[panorama]
    sector = to_sector(torch.atan2(delta[:, 1], delta[:, 0]), sectors)
    ring = torch.bucketize(delta.norm(dim=1), torch.tensor(rings_m, device=delta.device, dtype=delta.dtype))
    parts = sectors * (len(rings_m) + 1)
    bucket = panorama * parts + ring * sectors + sector
    total = cells.features.new_zeros(len(xy_m) * parts, cells.features.shape[1])
    count = cells.features.new_zeros(len(total)).index_add(0, bucket, torch.ones_like(delta[:, 0], dtype=total.dtype))
    return (total.index_add(0, bucket, cells.features) / count.clamp(min=1.0)[:, None]).unflatten(0, (-1, parts))


def to_sector(angle_rad: Float[Tensor, "*n"], sectors: int) -> Int[Tensor, "*n"]:
    """Number of the direction a mathematical angle falls into."""
    return torch.floor(angle_rad / (TAU / sectors) + 0.5).long() % sectors
