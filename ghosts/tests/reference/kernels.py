"""Motion kernels written out: every probability, where the product works on their parts."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from ghosts.belief.kernel import FactorisedKernel, JointKernel, Kernel


def dense(kernel: Kernel) -> Float[Tensor, "n c ok y x"]:
    """Every probability, heading-major: channel θ' · K² + k."""
    if isinstance(kernel, JointKernel):
        return kernel.weights
    assert isinstance(kernel, FactorisedKernel)
    batch, entries, rows, cols = kernel.map_weights.shape
    headings, centre = kernel.arrival.shape[0], entries // 2
    inverse = kernel.inverse.view(batch, headings, 1, 1, rows, cols)
    product = kernel.map_weights[:, None, None] * kernel.language_weights[:, :, None, :, None, None]
    found = kernel.arrival[None, None, :, :, None, None] * product * inverse
    stay = kernel.stay.view(batch, headings, rows, cols)
    same = torch.eye(headings, device=found.device, dtype=torch.bool)[None, :, :, None, None]
    found[:, :, :, centre] = torch.where(same, stay[:, :, None], found[:, :, :, centre])
    return found.flatten(2, 3)
