"""Motion models p(s_t | s_{t−1}, a_t, M), equation 4 of the paper (section 4.2): a kernel for every filter step.

Both read the map at the belief's resolution and share one interface: `model(maps, actions)` does all work that is
common to the T steps and returns a function from a step to its `Kernel`.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from ghosts.belief.displacements import arrival_headings, egocentric_rotation, on_device, stays_on_map
from ghosts.belief.kernel import FactorisedKernel, JointKernel, Kernel, KernelAt
from ghosts.config import FilterConfig

STAY_WEIGHT = 1e-18
"""Added to "do not move": where map and language exclude every displacement (more than 41 nats apart), mass stays.
Small enough not to be seen, large enough that 1 / Z² stays finite in float32 gradients."""


def per_map(values: Tensor, maps: int) -> Tensor:
    """Repeat what belongs to an episode for each of its maps: shape `b ...` to `n ...`, n = b · s, b-major."""
    repeats = maps // values.shape[0]
    return values if repeats == 1 else values.repeat_interleave(repeats, 0)


def relative_weights(logits: Float[Tensor, "*n k"]) -> Float[Tensor, "*n k"]:
    """exp(logits − max) over the last axis: non-negative, the largest being 1, 0 for −∞; float32 at least."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return torch.exp(logits - logits.amax(-1, keepdim=True).detach())


class FactorisedMotion(nn.Module):
    """The released code's motion model, but for a layer (docs/model.md): a map part times an egocentric language part.

    Map part, once per map: channel dropout → 1 × 1 → ReLU → two 3 × 3 branches with dilations 3 and 1 → ReLU → 1 × 1 to
    the K² displacements. Language part: two-layer MLP of a_t to K² logits with forward = +x, turned to each source
    heading.

    Args:
        channels: channels of the map.
        action: size of the latent action a_t.
        config: heading bins and kernel.
    """

    def __init__(self, channels: int, action: int, config: FilterConfig) -> None:
        super().__init__()
        motion = config.motion
        self.headings, self.size, self.dropout = config.headings, motion.kernel, motion.dropout
        entries = motion.kernel**2
        self.squeeze = nn.Conv2d(channels, motion.hidden, 1)
        self.far = nn.Conv2d(motion.hidden, motion.branch, 3, padding=3, dilation=3)
        self.near = nn.Conv2d(motion.hidden, motion.branch, 3, padding=1)
        self.displacement = nn.Conv2d(2 * motion.branch, entries, 1)
        self.language = nn.Sequential(
            nn.Linear(action, motion.language), nn.ReLU(), nn.Linear(motion.language, entries)
        )

    def map_logits(self, maps: Float[Tensor, "n channels y x"]) -> Float[Tensor, "n k y x"]:
        """How much each displacement is to be expected from what is around each cell."""
        squeezed = F.relu(self.squeeze(F.dropout2d(maps, self.dropout, self.training)))
        return self.displacement(F.relu(torch.cat([self.far(squeezed), self.near(squeezed)], 1)))

    def language_logits(self, actions: Float[Tensor, "b t d"]) -> Float[Tensor, "b t c k"]:
        """The instruction's displacement, turned to every source heading."""
        egocentric = self.language(actions)
        rotation = on_device(egocentric_rotation, self.headings, self.size, egocentric.device, egocentric.dtype)
        return torch.einsum("btj,ckj->btck", egocentric, rotation)

    def forward(self, maps: Float[Tensor, "n channels y x"], actions: Float[Tensor, "b t d"]) -> KernelAt:
        """Kernels of all steps.

        Args:
            maps: pooled to the belief's resolution, n = b · s of them (b-major).
            actions: latent actions of each episode.
        """
        return factorised_kernels(self.map_logits(maps), self.language_logits(actions))


def factorised_kernels(map_logits: Float[Tensor, "n k y x"], language_logits: Float[Tensor, "b t c k"]) -> KernelAt:
    """Kernels g_θ(k; x) ∝ exp(map_logits + language_logits) over the displacements that stay on the map."""
    count, entries, rows, cols = map_logits.shape
    size, headings = math.isqrt(entries), language_logits.shape[2]
    inside = stays_on_map(size, rows, cols, map_logits.device)
    map_logits = map_logits.to(torch.promote_types(map_logits.dtype, torch.float32))
    peak = map_logits.masked_fill(~inside, -torch.inf).amax(1, keepdim=True).detach()
    # The maximum is taken over the map's own cells, so the exponent of a masked entry may be large: clamp it first.
    map_weights = (torch.exp((map_logits - peak).clamp(max=0.0)) * inside).contiguous()
    language_weights = per_map(relative_weights(language_logits).to(map_weights.dtype), count)
    arrival = on_device(arrival_headings, headings, size, map_weights.device, map_weights.dtype)

    with torch.autocast(map_logits.device.type, enabled=False):
        inverse, stay = inverse_normaliser(map_weights, language_weights)

    def kernel_at(step: int) -> Kernel:
        return FactorisedKernel(map_weights, language_weights[:, step], arrival, inverse[:, step], stay[:, step])

    return kernel_at


def inverse_normaliser(
    map_weights: Float[Tensor, "n k y x"], language_weights: Float[Tensor, "n t c k"]
) -> tuple[Float[Tensor, "n t c p"], Float[Tensor, "n t c p"]]:
    """1 / Z_θ(x), Z_θ(x) = Σ_k m(k; x) l_θ(k), and the probability to stay: of all T steps at once."""
    flat, centre = map_weights.flatten(2), map_weights.shape[1] // 2
    total = (language_weights.flatten(1, 2) @ flat).unflatten(1, language_weights.shape[1:3])
    inverse = 1.0 / (total + STAY_WEIGHT)
    still = flat[:, None, None, centre] * language_weights[..., centre, None] + STAY_WEIGHT
    return inverse, still * inverse


class JointMotion(nn.Module):
    """The paper's motion model: softmax(3-layer CNN on [tiled a_t, M]) over new heading and displacement.

    The first layer's action part is the same in every cell, so it is a linear layer added to the map part, which runs
    once per map (the same as tiling the action and padding it with its own value).
    """

    def __init__(self, channels: int, action: int, config: FilterConfig) -> None:
        super().__init__()
        motion = config.motion
        self.headings, self.size, self.dropout = config.headings, motion.kernel, motion.dropout
        self.first_map = nn.Conv2d(channels, motion.hidden, 3, padding=1)
        self.first_action = nn.Linear(action, motion.hidden, bias=False)
        self.second = nn.Conv2d(motion.hidden, motion.hidden, 3, padding=1)
        self.third = nn.Conv2d(motion.hidden, config.headings**2 * motion.kernel**2, 1)

    def forward(self, maps: Float[Tensor, "n channels y x"], actions: Float[Tensor, "b t d"]) -> KernelAt:
        """Kernels of all steps; each is built when asked for, since one takes Θ² · K² values per cell."""
        from_map = self.first_map(F.dropout2d(maps, self.dropout, self.training))
        from_action = per_map(self.first_action(actions), len(maps))[..., None, None]

        def kernel_at(step: int) -> Kernel:
            logits = self.third(F.relu(self.second(F.relu(from_map + from_action[:, step]))))
            return joint_kernel(logits.unflatten(1, (self.headings, -1)), self.headings)

        return kernel_at


def joint_kernel(logits: Float[Tensor, "n c ok y x"], headings: int) -> JointKernel:
    """The kernel softmax(logits) over new heading and the displacements that stay on the map."""
    entries, (rows, cols) = logits.shape[2] // headings, logits.shape[-2:]
    inside = stays_on_map(math.isqrt(entries), rows, cols, logits.device).repeat(headings, 1, 1)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return JointKernel(torch.softmax(logits.masked_fill(~inside, -torch.inf), 2))


def build_motion(channels: int, action: int, config: FilterConfig) -> FactorisedMotion | JointMotion:
    """The motion model the config asks for."""
    kind = FactorisedMotion if config.motion.kind == "factorised" else JointMotion
    return kind(channels, action, config)
