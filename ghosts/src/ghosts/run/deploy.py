"""A tracker's networks for programs without this package: `torch.export` programs and ONNX files.

| network | when | takes | gives |
| --- | --- | --- | --- |
| `words` | once per instruction | word ids, padded to 80, and how many there are | latent actions and observations |
| `backbone` | per look, for runs on images | images | features |
| `look` | per look | the map, and the cells that were observed | the map |
| `think` | when the goal is asked for | the map, and what `words` gave | beliefs of all filter steps, and smoothed |

Maps may have any size whose sides are multiples of 2 × 2^levels cells (`multiple` in networks.json, 16 for the shipped
weights). What has no weights stays with the program: words to ids, points to cells, the best guess.
"""

from __future__ import annotations

import inspect
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from ghosts.belief.histogram import pose_belief
from ghosts.fast.stencil import Pooling, whole_stencil
from ghosts.mapping.cells import CellLabels, MapCells
from ghosts.mapping.mapper import MapState, pool_maps
from ghosts.mapping.observations import Observations
from ghosts.methods.ghost.model import GoalModel
from ghosts.run.tracker import load_tracker
from ghosts.words.embedding import OpenEmbedding
from ghosts.words.tokens import MAX_TOKENS
from ghosts_sim.errors import ConfigError, MissingExtraError
from ghosts_sim.files import atomic_path, write_json
from ghosts_sim.types import Grid

FILE = "networks.json"
TOLERANCE = 1e-4
"""Largest difference between a network and its ONNX file."""


class Words(nn.Module):
    """Word ids to latent actions and observations."""

    def __init__(self, model: GoalModel) -> None:
        super().__init__()
        self.language = model.language

    def forward(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Of one instruction: 1 × 80 ids."""
        latents = self.language(tokens, lengths)
        return latents.actions, latents.observations


class Look(nn.Module):
    """One observation on a map."""

    def __init__(self, model: GoalModel) -> None:
        super().__init__()
        self.features, self.mapper = model.features, model.mapper

    def forward(self, map: Tensor, observed: Tensor, row: Tensor, col: Tensor, *seen: Tensor) -> tuple[Tensor, Tensor]:
        """The map after it.

        Args:
            map: 1 × channels × rows × columns.
            observed: 1 × 1 × rows × columns.
            row: of each of n observed cells; no cell twice.
            col: of each.
            seen: what was seen there: n × features. Or of m labels the number of the cell, the label, and its weight,
                with a vector of each label where labels are read by their meaning.
        """
        count, (rows, cols) = row.shape[0], map.shape[-2:]
        none, features = torch.zeros_like(row), seen[0] if len(seen) == 1 else map.new_zeros(count, 0)
        labels = CellLabels(*seen) if len(seen) > 1 else None
        cells = self.features(MapCells(features, none, none, row, col, (count,), 1, rows, cols, labels))
        plan = whole_stencil(cells, self.mapper.config.kernel, observed)
        seen_now = Observations(cells, plan, Pooling(plan.place[:, None], plan.place, 1))
        new = self.mapper(seen_now, MapState(map, observed)).tables[0, :-1]
        flat = observed.reshape(-1).index_copy(0, plan.cell, torch.ones_like(row, dtype=torch.bool))
        return new.T.reshape(map.shape), flat.view(observed.shape)


class Think(nn.Module):
    """A map and a read instruction to beliefs."""

    def __init__(self, model: GoalModel) -> None:
        super().__init__()
        self.filter, self.settings, self.cell_m = model.filter, model.config.filter, model.config.belief_grid.cell_m

    def forward(
        self, map: Tensor, actions: Tensor, observations: Tensor, start_xy_m: Tensor, start_heading_rad: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Beliefs at the start and after each filter step (the last one is the goal's), and the same smoothed: heading
        bins × rows × columns each, of the map pooled to the belief's cells."""
        maps = pool_maps(map, self.settings.pool)[:, None]
        grid = Grid(maps.shape[-2], maps.shape[-1], self.cell_m)
        start = pose_belief(start_xy_m, start_heading_rad, grid, self.settings.sigma_m, self.settings.headings)
        trace = self.filter(maps, actions, observations, start)
        return trace.beliefs[0, 0], trace.smoothed()[0, 0]


@dataclass(frozen=True)
class Network:
    """One network, and how it is called."""

    name: str
    module: nn.Module
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    example: tuple[Tensor, ...]
    sizes: tuple[dict[int, Any] | None, ...]
    """Axes of each input whose size may vary."""

    def program(self) -> ExportedProgram:
        """By `torch.export`."""
        call = inspect.signature(self.module.forward).parameters.values()
        fixed = sum(item.kind is not item.VAR_POSITIONAL for item in call)
        sizes = (*self.sizes[:fixed], *([self.sizes[fixed:]] if fixed < len(call) else []))
        with torch.no_grad(), quiet():
            self.module(*self.example)  # constants that are remembered must be real ones
            return torch.export.export(self.module, self.example, dynamic_shapes=sizes, strict=False)


def networks_of(model: GoalModel, backbone: nn.Module | None = None) -> Iterator[Network]:
    """The networks of a tracker, with made-up inputs.

    Args:
        model: of the tracker.
        backbone: of the tracker, where it reads images.
    """
    config, draw = model.config, torch.Generator().manual_seed(0)
    multiple = multiple_of(model)
    # Other sizes than those of the weights, so that no axis is taken for another; and a little map exports faster.
    shape = (1, config.mapper.channels, 3 * multiple, 4 * multiple)
    area: dict[int, Any] = {2: multiple * Dim("rows_part", min=1), 3: multiple * Dim("cols_part", min=1)}
    map, latent = torch.randn(shape, generator=draw), (1, config.language.steps, 3 * config.language.hidden)
    actions, observations = (torch.randn(latent, generator=draw) for _ in range(2))
    tokens = torch.randint(2, config.language.vocabulary, (1, MAX_TOKENS), generator=draw)
    words = (tokens, torch.tensor([MAX_TOKENS - 7]))
    yield Network("words", Words(model), ("tokens", "length"), ("actions", "observations"), words, (None, None))
    row, col = torch.arange(9) % 3 + 5, torch.arange(9) // 3 + 7
    names, seen, sizes = _seen(model, len(row), draw)
    observed = torch.rand(1, 1, *shape[2:], generator=draw) < 0.2
    yield Network(
        "look",
        Look(model),
        ("map", "observed", "row", "col", *names),
        ("map_after", "observed_after"),
        (map * observed, observed, row, col, *seen),
        (area, area, *[{0: Dim("cells", min=1)}] * 2, *sizes),
    )
    yield Network(
        "think",
        Think(model),
        ("map", "actions", "observations", "start_xy_m", "start_heading_rad"),
        ("beliefs", "trajectory"),
        (map * observed, actions, observations, torch.tensor([[0.6, -1.2]]), torch.tensor([0.3])),
        (area, None, None, None, None),
    )
    if backbone is not None:
        rgb = torch.randint(0, 256, (2, 96, 128, 3), generator=draw).to(torch.uint8)
        views = {0: Dim("views", min=1), 1: 32 * Dim("height_part", min=1), 2: 32 * Dim("width_part", min=1)}
        yield Network("backbone", backbone, ("rgb",), ("features",), (rgb,), (views,))


def _seen(
    model: GoalModel, cells: int, draw: torch.Generator
) -> tuple[tuple[str, ...], tuple[Tensor, ...], tuple[dict[int, Any], ...]]:
    """What a model is shown of cells: names, an example, and the axes that vary."""
    embedding = model.features.embedding
    if embedding is None:
        return (
            ("features",),
            (torch.randn(cells, model.config.mapper.features, generator=draw),),
            ({0: Dim("cells", min=1)},),
        )
    # Two labels on every cell but the last.
    cell, count = torch.arange(2 * cells - 1) // 2, {0: Dim("labels", min=1)}
    known = (embedding.own if isinstance(embedding, OpenEmbedding) else embedding).num_embeddings
    label = torch.randint(0, known, cell.shape, generator=draw)
    seen = (cell, label, torch.ones(len(cell)))
    if not isinstance(embedding, OpenEmbedding):
        return ("cell", "label", "weight"), seen, (count,) * 3
    vectors = torch.randn(known + 2, embedding.project.in_features, generator=draw)
    return ("cell", "label", "weight", "vectors"), (*seen, vectors), (*(count,) * 3, {0: Dim("names", min=known)})


def multiple_of(model: GoalModel) -> int:
    """What the sides of an exported model's maps are multiples of, so that no part of it rounds a size."""
    return model.config.filter.pool * 2**model.config.filter.observation.levels


@contextmanager
def quiet() -> Iterator[None]:
    """What torch's exporters say of themselves means nothing to whoever exports a network."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)


def write_onnx(program: ExportedProgram, network: Network, path: Path) -> float:
    """Write an ONNX file, whole or not at all.

    Returns:
        The largest difference to the network's own answer to its example.

    Raises:
        MissingExtraError: onnx, onnxscript or onnxruntime is not installed.
        ConfigError: the difference is too large.
    """
    try:
        import onnxruntime
        import onnxscript  # noqa: F401 (torch's exporter needs it)
    except ImportError as error:
        raise MissingExtraError(error.name or "onnx", "deploy", "writing ONNX") from None
    with atomic_path(path) as temporary, quiet():
        file = torch.onnx.export(
            program, (), input_names=network.inputs, output_names=network.outputs, dynamo=True, verbose=False
        )
        assert file is not None, "made by dynamo"
        file.save(str(temporary), external_data=False)
        session = onnxruntime.InferenceSession(str(temporary), providers=["CPUExecutionProvider"])
        given = {name: value.numpy() for name, value in zip(network.inputs, network.example, strict=True)}
        answers = session.run(list(network.outputs), given)
        with torch.no_grad():
            expected = network.module(*network.example)
        expected = expected if isinstance(expected, tuple) else (expected,)
        off = max(float(np.abs(a - b.numpy()).max()) for a, b in zip(answers, (e.float() for e in expected)))
        if not off <= TOLERANCE:
            raise ConfigError(f"the ONNX file of {network.name} differs by {off:.2g} from the network; not written")
    return off


def write_networks(run: str | Path, backbone: str | Path | None, out: Path) -> Iterator[tuple[str, float]]:
    """Write a tracker's networks into a folder, with what a program must know to call them.

    Args:
        run: as in `load_tracker`.
        backbone: as in `load_tracker`.
        out: the folder. For each network it gets an ONNX file and a program of `torch.export` (.pt2).

    Yields:
        The name of each network when it is written, and the largest difference of its ONNX file.
    """
    tracker = load_tracker(run, backbone)
    model, names = tracker.model, tracker.labels
    assert isinstance(model, GoalModel), "the one filter that there is"
    if tracker.backbone is not None and not isinstance(tracker.backbone, nn.Module):
        raise ConfigError(f"{backbone} is no network of torch; name one of ghosts backbone")
    called = {}
    for network in networks_of(model, tracker.backbone):
        program = network.program()
        called[network.name] = {"inputs": network.inputs, "outputs": network.outputs}
        off = write_onnx(program, network, out / f"{network.name}.onnx")
        with atomic_path(out / f"{network.name}.pt2") as temporary, quiet():
            torch.export.save(program, temporary)
        yield network.name, off
    about: dict[str, Any] = {
        "multiple": multiple_of(model),
        "cell_m": model.config.mapper.cell_m,
        "pool": model.config.filter.pool,
        "height_clip_m": model.config.mapper.height_clip_m,
        "networks": called,
        "words": [word for part in tracker.vocabulary.parts for word in part],
    }
    if names is not None:
        about["labels"] = [f"{label.kind}: {label.name}" for label in names.labels.labels]
        about["label_vectors"] = np.round(names.labels.vectors, 5).tolist() if names.open else []
    write_json(out / FILE, about)
