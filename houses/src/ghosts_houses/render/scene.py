"""A house ready to be seen: its solids, their looks, lights and shadows. Made once, used for all viewpoints."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float32, Int64, UInt8
from torch import Tensor

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
    material: Int64[Tensor, " n"]
    color: Float32[Tensor, "n 3"]
    own_half: Float32[Tensor, "n 3"]
    """Half extents along each solid's own axes (`solids.half` has square turns folded in)."""
    own_turn: Float32[Tensor, "n 3"]
    """Cosine and sine of each solid's true yaw, and its slope."""
    label: UInt8[Tensor, " n"]
    lights: lighting.Lights
    volume: Volume

    @property
    def device(self) -> torch.device:
        """Where it is rendered."""
        return self.color.device


def prepare(house: House, device: torch.device | str = "cpu") -> Scene:
    """Make a house's scene: tensors, shadow maps, ambient light.

    Args:
        house: the house.
        device: where to render.
    """
    primitives = house.primitives
    solids = upload(Solids.of(primitives), device)
    numbers = {name: number for number, name in enumerate(MATERIALS)}
    labels = {name: number for number, name in enumerate(LABELS)}
    for part in primitives:
        if part.material not in numbers or part.label not in labels:
            wrong = part.material if part.material not in numbers else part.label
            raise DataError("a part with an unknown material or label", record=f"house {house.name}", value=wrong)
    yaw = torch.tensor([p.yaw_rad for p in primitives], dtype=torch.float64)
    slope = torch.tensor([p.slope for p in primitives], dtype=torch.float64)
    shadowless = (*VIEWS, "lamp", "glass")
    casters = torch.tensor(
        [p.material not in shadowless and p.label not in lighting.LAMP_KINDS for p in primitives], device=device
    )
    lights = lighting.make_lights(house, solids, casters)
    volume = make_volume(house, lights, tuple(p for t in house.things if t.kind != "rug" for p in t.parts))
    return Scene(
        solids,
        torch.tensor([numbers[p.material] for p in primitives], device=device),
        torch.tensor([p.color for p in primitives], dtype=torch.float32, device=device),
        torch.tensor([p.half_m for p in primitives], dtype=torch.float32, device=device),
        torch.stack([yaw.cos(), yaw.sin(), slope], -1).float().to(device),
        torch.tensor([labels[p.label] for p in primitives], dtype=torch.uint8, device=device),
        lights,
        volume,
    )
