"""A house for MuJoCo: one geom per solid, which is exact for boxes, sloping rails, round cylinders and ellipsoids."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from xml.sax.saxutils import quoteattr

from ghosts_houses.house import House, Primitive
from ghosts_sim.files import write_text

_TYPES = {"box": "box", "cylinder": "cylinder", "sphere": "ellipsoid"}


def write_mjcf(house: House, path: Path) -> None:
    """Write a house to an `.xml` file."""
    write_text(path, mjcf(house))


def mjcf(house: House) -> str:
    """The model: static geoms in the world's frame (metres, z up), named by number and label."""
    through = {index for index, thing in enumerate(house.things) if not thing.blocks}
    lines = [
        f"<mujoco model={quoteattr(house.name)}>",
        '  <compiler angle="radian"/>',
        '  <option timestep="0.005"/>',
        '  <visual><headlight ambient="0.5 0.5 0.5" diffuse="0.4 0.4 0.4"/></visual>',
        "  <asset>",
        *(f"    {_mesh(number, part)}" for number, part in enumerate(house.primitives) if part.slope),
        "  </asset>",
        "  <worldbody>",
    ]
    for number, (part, owner) in enumerate(zip(house.primitives, house.owners, strict=True)):
        lines.append("    " + _geom(number, part, collides=owner not in through))
    return "\n".join([*lines, "  </worldbody>", "</mujoco>"]) + "\n"


def _geom(number: int, part: Primitive, *, collides: bool) -> str:
    """One solid; rugs, pictures and lamps are seen but not touched, as for a walker."""
    half = part.half_m
    # MuJoCo's cylinders are round; an oval one keeps its area.
    size = (math.sqrt(half[0] * half[1]), half[2]) if part.shape == "cylinder" else half
    color = " ".join(f"{_display(value):.3f}" for value in part.color)
    touch = "" if collides else ' contype="0" conaffinity="0"'
    form = f'type="{_TYPES[part.shape]}" size="{_numbers(size)}"' if not part.slope else f'type="mesh" mesh="{number}"'
    return (
        f"<geom name={quoteattr(f'{number} {part.label}')} {form} "
        f'pos="{_numbers(part.center_m)}" euler="0 0 {part.yaw_rad:.6g}" rgba="{color} 1"{touch}/>'
    )


def _mesh(number: int, part: Primitive) -> str:
    """The corners of a sloping box in its own frame; MuJoCo takes their convex hull."""
    corners = itertools.product(*((-half, half) for half in part.half_m))
    places = " ".join(_numbers((x, y, z + part.slope * x)) for x, y, z in corners)
    return f'<mesh name="{number}" vertex="{places}"/>'


def _display(linear: float) -> float:
    """Linear light as a display shows it."""
    return min(1.0, max(0.0, linear)) ** (1 / 2.2)


def _numbers(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:.6g}" for value in values)
