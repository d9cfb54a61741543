"""Masked depth pooling: by hand and against the released code's recorded answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from ghosts.mapping.pool import masked_depth_pool


def test_average_over_readings_only() -> None:
    depth = torch.tensor([[1.0, 3.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [4.0, 4.0, 0.0, 5.0], [4.0, 4.0, 0.0, 0.0]])
    pooled, valid = masked_depth_pool(depth, (2, 2))
    assert pooled.tolist() == [[2.0, 0.0], [4.0, 5.0]]
    assert valid.tolist() == [[True, False], [True, True]]


def test_golden(golden: Path) -> None:
    recorded = np.load(golden / "model" / "masked_pool.npz")
    expected = torch.from_numpy(recorded["pooled"])
    pooled, valid = masked_depth_pool(torch.from_numpy(recorded["depth"]), (4, 5))
    torch.testing.assert_close(pooled, expected, rtol=1e-5, atol=0.0)
    assert torch.equal(valid, expected != 0)
    assert (~valid).any()
