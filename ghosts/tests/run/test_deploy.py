"""A tracker's networks outside this package, against the tracker itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from agent.makers import small_model
from checks import unchecked
from ghosts.agent.interface import Briefing
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.cells import CellLabels, MapCells
from ghosts.run.deploy import TOLERANCE, Network, multiple_of, networks_of, write_onnx

onnxruntime = pytest.importorskip("onnxruntime", reason="of the extra deploy")


def exported(network: Network, path: Path) -> Callable[..., list[Tensor]]:
    """A network's ONNX file, called as the network is."""
    assert write_onnx(network.program(), network, path) <= TOLERANCE
    session = onnxruntime.InferenceSession(path)

    def call(*given: Tensor) -> list[Tensor]:
        named = {name: value.numpy() for name, value in zip(network.inputs, given, strict=True)}
        return [torch.from_numpy(value) for value in session.run(None, named)]

    return call


def test_onnx_files_on_other_sizes_say_what_the_tracker_says(tmp_path: Path) -> None:
    model, backbone = small_model(labels=5).eval(), SmallBackbone(8).eval()
    with unchecked():  # sizes of an exported network are symbols
        run = {item.name: exported(item, tmp_path / f"{item.name}.onnx") for item in networks_of(model, backbone)}
    draw, side = torch.Generator().manual_seed(3), multiple_of(model)
    tokens = torch.zeros(1, 80, dtype=torch.int64)
    tokens[0, :3] = torch.tensor([4, 9, 2])
    start_xy_m, heading = torch.tensor([[-1.3, 0.4]]), torch.tensor([2.0])
    with torch.no_grad():
        state = model.mapper.empty(1, 2 * side, side)
        map, observed = state.map, state.observed
        for count in (3, 7):
            flat = torch.randperm(2 * side * side, generator=draw)[:count]
            row, col = flat // side, flat % side
            labels = (torch.arange(count), torch.randint(0, 5, (count,), generator=draw), torch.ones(count))
            none, size = torch.zeros_like(row), (2 * side, side)
            cells = MapCells(torch.zeros(count, 0), none, none, row, col, (count,), 1, *size, CellLabels(*labels))
            state = model.observe(state, cells)
            map, observed = run["look"](map, observed, row, col, *labels)
        torch.testing.assert_close(map, state.map, atol=TOLERANCE, rtol=0)
        assert torch.equal(observed, state.observed)
        instruction = model.read(Briefing(tokens, torch.tensor([3]), start_xy_m, heading))
        trace = model.track(instruction, state.pooled(model.config.filter.pool))
        beliefs, trajectory = run["think"](map, *run["words"](tokens, torch.tensor([3])), start_xy_m, heading)
        torch.testing.assert_close(beliefs, trace.beliefs[0, 0], atol=TOLERANCE, rtol=0)
        torch.testing.assert_close(trajectory, trace.smoothed()[0, 0], atol=TOLERANCE, rtol=0)
        rgb = torch.randint(0, 256, (1, 64, 32, 3), generator=draw).to(torch.uint8)
        torch.testing.assert_close(run["backbone"](rgb)[0], backbone(rgb), atol=TOLERANCE, rtol=0)
