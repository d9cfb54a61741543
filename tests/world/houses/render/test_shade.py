"""Shading: even light, and mirrors that show the room."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from ghosts.types import Intrinsics
from ghosts.world.houses.house import House, Primitive, Room, Thing
from ghosts.world.houses.render.panorama import render_frames, view_frame
from ghosts.world.houses.render.scene import prepare
from ghosts.world.houses.render.shade import even_light

CAMERA = Intrinsics(96, 64, math.radians(60))


def test_light_is_evened_within_a_face_only() -> None:
    """Grain on two faces beside each other: each keeps its mean, and a constant light is left as it is."""
    face = torch.zeros(1, 16, 16, dtype=torch.long)
    face[:, :, 8:] = 1
    grain = torch.rand(1, 16, 16, 3, generator=torch.Generator().manual_seed(0)) + 10.0 * face[..., None]
    even = even_light(grain, face)
    for half in (slice(0, 8), slice(8, 16)):
        assert float(even[:, :, half].std()) < 0.5 * float(grain[:, :, half].std())
        assert abs(float(even[:, :, half].mean() - grain[:, :, half].mean())) < 0.03
    flat = torch.full_like(grain, 0.3)
    torch.testing.assert_close(even_light(flat, face), flat)


def solid(low: tuple[float, ...], high: tuple[float, ...], material: str, color: tuple, label: str) -> Primitive:
    center = tuple((a + b) / 2 for a, b in zip(low, high, strict=True))
    half = tuple((b - a) / 2 for a, b in zip(low, high, strict=True))
    return Primitive("box", center, half, 0.0, material, color, label)  # type: ignore[arg-type]


@pytest.mark.parametrize(("eye_m", "heading_rad"), [((2.0, 2.0, 1.5), 0.0), ((0.6, 3.2, 1.5), 1.0)])
def test_a_mirror_shows_the_room_before_it(eye_m: tuple[float, float, float], heading_rad: float) -> None:
    """Red walls behind and beside a walker who looks into a mirror on a grey one, straight or past the mirror's edge:
    the mirror is red, and its label stays."""
    grey, red = (0.6, 0.6, 0.6), (0.7, 0.03, 0.03)
    room = Room(0, "hallway", 0, 0.0, 0.0, 4.0, 4.0, 0.0, 2.6)
    shell = [
        solid((0, 0, -0.2), (4, 4, 0), "matte", grey, "floor"),
        solid((0, 0, 2.6), (4, 4, 2.8), "matte", grey, "ceiling"),
        solid((0, -0.1, 0), (4, 0, 2.6), "matte", red, "wall"),
        solid((0, 4, 0), (4, 4.1, 2.6), "matte", grey, "wall"),
        solid((-0.1, 0, 0), (0, 4, 2.6), "matte", grey, "wall"),
        solid((4, 0, 0), (4.1, 4, 2.6), "matte", red if heading_rad else grey, "wall"),
    ]
    glass = solid((1.5, 3.95, 1.0), (2.5, 4.0, 2.0), "mirror", (0.8, 0.8, 0.8), "mirror")
    mirror = Thing("mirror", 0, glass.center_m, (0.025, 0.5, 0.5), 0.0, "", False, (glass,))
    house = House("h", 0, (room,), (), (), (mirror,), tuple(shell))
    picture = render_frames(prepare(house), view_frame(eye_m, heading_rad, 0.0, CAMERA, "cpu"))
    from ghosts.world.houses.render.scene import LABELS

    shown = picture.label[0] == LABELS.index("mirror")
    inside = shown & np.roll(shown, 2, 0) & np.roll(shown, -2, 0) & np.roll(shown, 2, 1) & np.roll(shown, -2, 1)
    color = picture.rgb[0][inside].mean(0)
    assert inside.sum() > 100
    assert color[0] > 2 * color[1]
    if heading_rad:
        return
    beside = picture.rgb[0][picture.label[0] == LABELS.index("wall")].mean(0)
    assert beside[0] < 1.3 * beside[1]
    assert abs(float(picture.depth_m[0][32, 48]) - 1.95) < 0.01
