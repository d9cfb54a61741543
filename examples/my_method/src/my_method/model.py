"""The motion model: straight on, as far as the words say."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from ghosts.agent.interface import Vectors
from ghosts.belief.displacements import arrival_headings, displacements, stays_on_map
from ghosts.belief.kernel import JointKernel, KernelAt
from ghosts.belief.motion import per_map
from ghosts.methods.ghost.model import GoalModel
from my_method.settings import StraightModelConfig


class StraightOn(nn.Module):
    """Moves ahead by 0 to `reach` cells, with probabilities that the words decide, and keeps the heading.

    Args:
        action: size of the latent action.
        config: kernel, heading bins and reach.
    """

    ahead: Tensor

    def __init__(self, action: int, config: StraightModelConfig) -> None:
        super().__init__()
        self.headings, self.size = config.filter.headings, config.filter.motion.kernel
        far = config.reach + 1
        self.distance = nn.Linear(action, far)
        # ahead[θ, d, k]: is displacement k d cells straight ahead of heading bin θ? In NumPy, because a model is
        # first made on torch's device `meta`, whose tensors hold no numbers.
        length = np.abs(displacements(self.size)).max(1)
        arrival = arrival_headings(self.headings, self.size).numpy() > 0.999
        ahead = arrival[:, None] & (length == np.arange(far)[:, None])
        ahead[:, 0] = length == 0
        self.register_buffer("ahead", torch.from_numpy(ahead.astype(np.float32)), persistent=False)

    def forward(self, maps: Tensor, actions: Tensor) -> KernelAt:
        """Maps `n channels y x` and latent actions `b t d` to the kernel of any filter step."""
        inside = stays_on_map(self.size, maps.shape[-2], maps.shape[-1], maps.device)
        steps = per_map(self.distance(actions).softmax(-1), len(maps))

        def kernel_at(step: int) -> JointKernel:
            move = torch.einsum("nd,cdk->nck", steps[:, step], self.ahead)
            move = move[..., None, None] * inside  # n, θ, displacement, y, x
            move = move / move.sum(2, keepdim=True)  # what would leave the map goes elsewhere
            same = torch.eye(self.headings, device=move.device)[None, :, :, None, None, None]
            return JointKernel((same * move[:, :, None]).flatten(2, 3))

        return kernel_at


class StraightModel(GoalModel):
    """The paper's model with this motion model."""

    def __init__(self, config: StraightModelConfig, labels: int = 0, vectors: Vectors | None = None) -> None:
        super().__init__(config, labels, vectors)
        self.filter.motion = StraightOn(3 * config.language.hidden, config)
