from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from ghosts.belief.displacements import arrival_headings
from ghosts.fast import strided
from ghosts.fast.fused import can_fuse, distribute

HAS_TRITON = importlib.util.find_spec("triton") is not None


def inputs(headings: int, device: str) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(headings)
    shapes = (2, 25, 17, 19), (2, headings, 25), (2, headings, 17, 19)
    leaves = [torch.rand(shape, generator=generator).to(device).requires_grad_() for shape in shapes]
    return [*leaves, arrival_headings(headings, 5).float().to(device)]


def with_torch(*values: torch.Tensor) -> torch.Tensor:
    """The same in float64, by strided views."""
    return strided.distribute(*(value.double() for value in values))


def test_nothing_is_fused_on_a_cpu() -> None:
    assert not can_fuse(torch.zeros(1, 4, 3, 3))


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_TRITON, reason="needs Triton, which comes with torch's CUDA builds")
@pytest.mark.parametrize("headings", [1, 4, 8])
def test_fused_equals_torch_with_gradients(headings: int) -> None:
    check(headings, "cuda")


@pytest.mark.skipif(not HAS_TRITON, reason="needs Triton, which comes with torch's CUDA builds")
def test_fused_equals_torch_in_tritons_interpreter() -> None:
    """Triton runs kernels on the CPU when it is told to before its import: in a process of its own."""
    here = str(Path(__file__).parent)
    code = "from test_fused import check; [check(headings, 'cpu') for headings in (1, 4, 8)]"
    environment = {"TRITON_INTERPRET": "1", "PYTHONPATH": ":".join([here, *sys.path])}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def check(headings: int, device: str) -> None:
    """Values and gradients of the fused step against torch's."""
    values = inputs(headings, device)
    weights = torch.arange(17 * 19.0, device=device).view(17, 19).cos()
    results = []
    for run in (with_torch, distribute):
        moved = run(*values)
        gradients = torch.autograd.grad((moved * weights).sum(), values[:3])
        results.append([moved.detach().float(), *gradients])
    for expected, got in zip(*results):
        assert_close(got, expected, rtol=2e-5, atol=2e-5)
