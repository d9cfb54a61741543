"""Panoramas for people: a viewpoint's six faces as one world-aligned equirectangular picture."""

from __future__ import annotations

import base64
from functools import lru_cache

import cv2
import numpy as np
from jaxtyping import Float, Float32, UInt8

from ghosts_sim import geometry
from ghosts_sim.camera import CUBE_FACES
from ghosts_sim.errors import GhostsError
from ghosts_sim.store import Panorama


@lru_cache(maxsize=4)
def equirect_rays(width: int, height: int) -> Float[np.ndarray, "h w 3"]:
    """World directions of an equirectangular picture: its middle column looks along +y, headings grow to the right."""
    heading = (np.arange(width) + 0.5) / width * geometry.TAU - np.pi
    elevation = np.pi / 2.0 - (np.arange(height) + 0.5) / height * np.pi
    return geometry.direction(heading[None, :], elevation[:, None])


def cube_texels(
    rays: Float[np.ndarray, "*n 3"], rotation: Float[np.ndarray, "3 3"], face_px: int
) -> tuple[Float32[np.ndarray, "*n"], Float32[np.ndarray, "*n"]]:
    """Column and row in a viewpoint's strip of faces that world directions look at (`ghosts_sim.camera`'s rule)."""
    cube = rays @ -rotation  # (−Rᵀ d) as rows
    column, row = np.zeros((2, *rays.shape[:-1]), np.float32)
    size = np.abs(cube).max(-1)
    taken = np.zeros(rays.shape[:-1], bool)
    for face, ((major, sign), (s_axis, s_sign), (t_axis, t_sign)) in enumerate(CUBE_FACES):
        mine = (sign * cube[..., major] >= size * (1.0 - 1e-12)) & ~taken
        taken |= mine
        for target, axis, axis_sign, shift in ((column, s_axis, s_sign, face * face_px), (row, t_axis, t_sign, 0)):
            texel = (axis_sign * cube[mine][:, axis] / size[mine] + 1.0) * (face_px / 2.0) - 0.5
            target[mine] = np.clip(texel, 0.0, face_px - 1.0) + shift
    return column, row


def equirect(panorama: Panorama, rotation: Float[np.ndarray, "3 3"], width: int = 1024) -> UInt8[np.ndarray, "h w 3"]:
    """The whole panorama as an equirectangular picture, twice as wide as high."""
    column, row = _equirect_texels(rotation.astype(float).tobytes(), width, panorama.face_px)
    return cv2.remap(panorama.rgb, column, row, cv2.INTER_LINEAR)


@lru_cache(maxsize=8)
def _equirect_texels(rotation: bytes, width: int, face_px: int) -> tuple[np.ndarray, np.ndarray]:
    """Kept by the rotation's bytes: all viewpoints of a procedural house share theirs."""
    matrix = np.frombuffer(rotation).reshape(3, 3)
    return cube_texels(equirect_rays(width, width // 2), matrix, face_px)


def straight_ahead(picture: UInt8[np.ndarray, "h w 3"], heading_rad: float) -> UInt8[np.ndarray, "y x 3"]:
    """A third of an equirectangular picture, 120° wide and 48° high, around a heading and the horizon."""
    height, width = picture.shape[:2]
    middle = width // 2 + round(heading_rad / geometry.TAU * width)
    columns = (np.arange(width // 3) + middle - width // 6) % width
    half = round(height * 24 / 180)
    return np.ascontiguousarray(picture[height // 2 - half : height // 2 + half, columns])


def jpeg(rgb: UInt8[np.ndarray, "h w 3"], quality: int = 80) -> bytes:
    """A picture as JPEG bytes."""
    return _encode(".jpg", rgb[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])


def png(rgba: UInt8[np.ndarray, "h w 4"]) -> bytes:
    """A picture with opacity as PNG bytes."""
    return _encode(".png", rgba[..., [2, 1, 0, 3]], [cv2.IMWRITE_PNG_COMPRESSION, 6])


def webp(rgba: UInt8[np.ndarray, "h w 4"]) -> bytes:
    """A picture with opacity as WebP bytes, for pages that should stay small."""
    return _encode(".webp", rgba[..., [2, 1, 0, 3]], [cv2.IMWRITE_WEBP_QUALITY, 82])


def data_address(kind: str, data: bytes) -> str:
    """A picture in the address itself; kind as in `image/png`."""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def _encode(kind: str, pixels: np.ndarray, options: list[int]) -> bytes:
    done, data = cv2.imencode(kind, np.ascontiguousarray(pixels), options)
    if not done:
        raise GhostsError(f"the picture could not be encoded as {kind[1:]}; reinstall opencv-python-headless")
    return bytes(data.tobytes())
