"""A house ready to be seen: its solids, their looks, lights and shadows. Made once, used for all viewpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32, Int64, UInt8

from ghosts_houses.arrays import Array, put
from ghosts_houses.furniture.catalogue import KINDS
from ghosts_houses.house import House
from ghosts_houses.plan.shell import VIEWS
from ghosts_houses.render import lighting
from ghosts_houses.render.materials import MATERIALS
from ghosts_houses.render.raycast import upload
from ghosts_houses.render.volume import Volume, make_volume
from ghosts_houses.solids import Solids
from ghosts_sim.errors import DataError

_SURFACES = ("nothing", "floor", "ceiling", "wall", "door", "window", "stairs", "railing")
LABELS: tuple[str, ...] = (*_SURFACES, *sorted(set(KINDS) - set(_SURFACES)))
"""Names of the label images' values: a pixel of value k shows a LABELS[k]."""


@dataclass(frozen=True)
class Scene:
    """A house ready to be seen: solids, their looks, lights. Made once, used for all viewpoints."""

    solids: Solids
    material: Int64[Array, " n"]
    color: Float32[Array, "3 n"]
    own_half: Float32[Array, "3 n"]
    """Half extents along each solid's own axes (`solids.half` has square turns folded in)."""
    own_turn: Float32[Array, "3 n"]
    """Cosine and sine of each solid's true yaw, and its slope."""
    slim: Bool[Array, " n"]
    """Mouldings and frames: thinner than 0.11 m along two of their axes."""
    label: UInt8[Array, " n"]
    lights: lighting.Lights
    volume: Volume

    @property
    def device(self) -> Any:
        """Where it is rendered: "cpu" with NumPy, else one of torch's devices."""
        return self.color.device


def prepare(house: House, device: object = "cpu") -> Scene:
    """Make a house's scene: arrays, shadow maps, ambient light.

    Args:
        house: the house.
        device: where to render: "cpu" with NumPy, or one of torch's devices.
    """
    primitives = house.primitives
    solids = upload(Solids.of(primitives), device)
    numbers = {name: number for number, name in enumerate(MATERIALS)}
    labels = {name: number for number, name in enumerate(LABELS)}
    for part in primitives:
        if part.material not in numbers or part.label not in labels:
            wrong = part.material if part.material not in numbers else part.label
            raise DataError("a part with an unknown material or label", record=f"house {house.name}", value=wrong)
    yaw, slope = np.array([p.yaw_rad for p in primitives]), np.array([p.slope for p in primitives])
    half = np.array([p.half_m for p in primitives], np.float32).T
    shadowless = (*VIEWS, "lamp", "glass")
    casters = [p.material not in shadowless and p.label not in lighting.LAMP_KINDS for p in primitives]
    lights = lighting.make_lights(house, solids, put(casters, device))
    volume = make_volume(house, lights, tuple(p for t in house.things if t.kind != "rug" for p in t.parts))
    return Scene(
        solids,
        put([numbers[p.material] for p in primitives], device),
        put(np.array([p.color for p in primitives]).T, device, np.float32),
        put(half, device),
        put(np.stack([np.cos(yaw), np.sin(yaw), slope]), device, np.float32),
        put(np.sort(half, 0)[1] < 0.055, device),
        put([labels[p.label] for p in primitives], device, np.uint8),
        lights,
        volume,
    )
