"""The same pinhole camera in torch: any number of views in one call, for panoramas resident on a GPU.

The arithmetic is `camera.py`'s, as one chain of element-wise operations and gathers that `torch.compile` fuses into a
single kernel; without it (CPU) the same function runs eagerly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Int32, UInt8
from torch import Tensor

from ghosts_sim import geometry
from ghosts_sim.camera import CUBE_FACES
from ghosts_sim.errors import ConfigError
from ghosts_sim.images import DEPTH_UNITS_PER_M
from ghosts_sim.store import Panorama
from ghosts_sim.types import Intrinsics


@dataclass(frozen=True, eq=False)
class PanoramaBank:
    """Panoramas resident on a device. A colour texel is one 32-bit word, so that a bilinear tap is one load."""

    rgbx: Int[Tensor, "n texels"]
    """red + 256 · green + 65536 · blue of the strip of six faces, row by row."""
    distance: Int[Tensor, "n texels"] | None
    """Bits of the 16-bit depth strip, kept as int16."""
    face_px: int


def make_bank(panoramas: list[Panorama], device: torch.device | str) -> PanoramaBank:
    """Move panoramas of one face size to a device.

    Raises:
        ConfigError: the faces differ in size, or some panoramas have depth and some have not.
    """
    sizes = {panorama.face_px for panorama in panoramas}
    if len(sizes) != 1:
        raise ConfigError(
            f"panoramas read together need one face size, got {sorted(sizes)}; make them again with one --faces"
        )
    if len({panorama.depth is None for panorama in panoramas}) != 1:
        raise ConfigError("some of these panoramas have depth and some have none; complete them with: ghosts prepare")
    words = np.stack([pack_rgb(panorama.rgb) for panorama in panoramas])
    depths = [panorama.depth.ravel().view(np.int16) for panorama in panoramas if panorama.depth is not None]
    distance = torch.from_numpy(np.stack(depths)).to(device) if depths else None
    return PanoramaBank(torch.from_numpy(words).to(device), distance, sizes.pop())


def pack_rgb(rgb: UInt8[np.ndarray, "h w 3"]) -> Int32[np.ndarray, " texels"]:
    """Colours as the bank's 32-bit words."""
    words = np.zeros((*rgb.shape[:2], 4), np.uint8)
    words[..., :3] = rgb
    return words.view("<i4").ravel()


def view_matrices(
    rotations: Float[np.ndarray, "b 3 3"],
    headings_rad: Float[np.ndarray, " b"],
    elevations_rad: Float[np.ndarray, " b"],
) -> Float[np.ndarray, "b 3 3"]:
    """Camera-to-cube matrices of a batch of views."""
    world_from_camera = geometry.camera_to_world(np.zeros(3), headings_rad, elevations_rad)[:, :3, :3]
    return -np.swapaxes(rotations, 1, 2) @ world_from_camera


def render_views(
    bank: PanoramaBank,
    which: Int[Tensor, " b"],
    matrices: Float[Tensor, "b 3 3"],
    camera: Intrinsics,
    *,
    fused: bool | None = None,
) -> tuple[UInt8[Tensor, "b h w 3"], Float[Tensor, "b h w"] | None]:
    """Render a batch of views.

    Args:
        bank: resident panoramas.
        which: panorama of each view.
        matrices: camera-to-cube matrices (`view_matrices`), float32 on the bank's device.
        camera: size and field of view.
        fused: compile to one kernel; by default on CUDA only.

    Returns:
        RGB images and z-depth in metres (0 = no reading; None without depth).
    """
    fused = bank.rgbx.is_cuda if fused is None else fused
    run = _compiled() if fused else _render
    return run(bank.rgbx, bank.distance, bank.face_px, which, matrices, _frame(camera))


@lru_cache(maxsize=1)
def _compiled() -> Any:
    return torch.compile(_render, dynamic=False)


def render_labels(
    labels: UInt8[Tensor, "n texels"],
    face_px: int,
    which: Int[Tensor, " b"],
    matrices: Float[Tensor, "b 3 3"],
    camera: Intrinsics,
) -> UInt8[Tensor, "b h w"]:
    """Look up label strips, nearest texel; arguments as `render_views`."""
    u, v, face, _, _ = _texels(face_px, matrices, _frame(camera))
    start = which[:, None, None].long() * labels.shape[1] + face * face_px
    return labels.reshape(-1)[start + (v + 0.5).to(torch.int32) * (6 * face_px) + (u + 0.5).to(torch.int32)]


_Frame = tuple[int, int, float]
"""Width and height of an image, and the tangent of half its vertical field of view: plain numbers for the compiler."""


def _frame(camera: Intrinsics) -> _Frame:
    return camera.width, camera.height, math.tan(camera.vfov_rad / 2)


def _render(
    rgbx: Tensor, distance: Tensor | None, face_px: int, which: Tensor, matrices: Tensor, frame: _Frame
) -> tuple[Tensor, Tensor | None]:
    u, v, face, x, y = _texels(face_px, matrices, frame)
    stride = 6 * face_px
    start = which[:, None, None] * (rgbx.shape[1]) + (face * face_px)
    left, top = u.floor(), v.floor()
    right_part, low_part = u - left, v - top
    left, top = left.to(torch.int32), top.to(torch.int32)
    right, low = (left + 1).clamp(max=face_px - 1), (top + 1).clamp(max=face_px - 1)
    flat = rgbx.reshape(-1)
    taps = [flat[start + row * stride + col] for row, col in ((top, left), (top, right), (low, left), (low, right))]
    channels = []
    for shift in (0, 8, 16):
        a, b, c, d = (((tap >> shift) & 255).float() for tap in taps)
        above, below = a + (b - a) * right_part, c + (d - c) * right_part
        channels.append((above + (below - above) * low_part + 0.5).to(torch.uint8))
    rgb = torch.stack(channels, -1)
    if distance is None:
        return rgb, None
    nearest = start + (v + 0.5).to(torch.int32) * stride + (u + 0.5).to(torch.int32)
    units = (distance.reshape(-1)[nearest].to(torch.int32) & 0xFFFF).float()
    return rgb, units * (1.0 / DEPTH_UNITS_PER_M) * torch.rsqrt(x * x + y * y + 1.0)


def _texels(face_px: int, matrices: Tensor, frame: _Frame) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Column and row of each pixel's ray on its face, the face, and the ray at z = 1."""
    width, height, tangent = frame
    columns = (torch.arange(width, device=matrices.device) + 0.5 - width / 2) * (2 * tangent / height)
    rows = (torch.arange(height, device=matrices.device) + 0.5 - height / 2) * (2 * tangent / height)
    x, y = columns[None, None, :], rows[None, :, None]
    axes = [
        matrices[:, k, 0, None, None] * x + matrices[:, k, 1, None, None] * y + matrices[:, k, 2, None, None]
        for k in range(3)
    ]
    largest = torch.maximum(torch.maximum(axes[0].abs(), axes[1].abs()), axes[2].abs())
    s, t, face = axes[0], axes[1], torch.zeros_like(largest, dtype=torch.int32)
    for number, ((major, sign), (s_axis, s_sign), (t_axis, t_sign)) in enumerate(CUBE_FACES):
        here = sign * axes[major] == largest
        s = torch.where(here, s_sign * axes[s_axis], s)
        t = torch.where(here, t_sign * axes[t_axis], t)
        face = torch.where(here, number, face)
    scale = (0.5 * face_px) / largest
    u = (s * scale + (0.5 * face_px - 0.5)).clamp(0.0, face_px - 1.0)
    v = (t * scale + (0.5 * face_px - 0.5)).clamp(0.0, face_px - 1.0)
    return u, v, face, x, y
