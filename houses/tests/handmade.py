"""A small two-storey house made by hand, so that graph and language are tested without the plan generator."""

from __future__ import annotations

from ghosts_houses.house import House, Opening, Primitive, Room, Stair, Thing

WALL_M = 0.12
STOREY_M = 2.8


def box(x0: float, y0: float, z0: float, x1: float, y1: float, z1: float, label: str) -> Primitive:
    center = ((x0 + x1) / 2, (y0 + y1) / 2, (z0 + z1) / 2)
    half = ((x1 - x0) / 2, (y1 - y0) / 2, (z1 - z0) / 2)
    return Primitive("box", center, half, 0.0, "plaster", (0.8, 0.8, 0.8), label)


def thing(
    kind: str,
    room: int,
    x: float,
    y: float,
    half: tuple[float, float, float],
    color: str = "",
    z: float = 0.0,
    yaw: float = 0.0,
    blocks: bool = True,
) -> Thing:
    center = (x, y, z + half[2])
    part = Primitive("box", center, half, yaw, "fabric", (0.5, 0.2, 0.2), kind)
    return Thing(kind, room, center, half, yaw, color, blocks, (part,))


def walls(rooms: list[Room], openings: list[Opening]) -> list[Primitive]:
    """Four walls a room, half a wall thick, with holes for the openings."""
    pieces = []
    for room in rooms:
        t = WALL_M / 2
        sides = [
            ("x", room.y0_m - t, room.y0_m, room.x0_m - t, room.x1_m + t),
            ("x", room.y1_m, room.y1_m + t, room.x0_m - t, room.x1_m + t),
            ("y", room.x0_m - t, room.x0_m, room.y0_m - t, room.y1_m + t),
            ("y", room.x1_m, room.x1_m + t, room.y0_m - t, room.y1_m + t),
        ]
        for along, low, high, start, end in sides:
            holes = sorted(
                (middle - o.width_m / 2, middle + o.width_m / 2, o.top_z_m)
                for o in openings
                if room.index in o.rooms and o.along == along
                for across, middle in [(o.y_m, o.x_m) if along == "x" else (o.x_m, o.y_m)]
                if low - 0.1 < across < high + 0.1
            )
            at = start
            spans = []
            for left, right, top in holes:
                spans += [(at, left, room.floor_z_m), (left, right, top)]
                at = right
            for a, b, bottom in [*spans, (at, end, room.floor_z_m)]:
                corners = (a, low, b, high) if along == "x" else (low, a, high, b)
                pieces.append(box(corners[0], corners[1], bottom, corners[2], corners[3], room.ceiling_z_m, "wall"))
    return pieces


def handmade_house() -> House:
    """A hall with a stair, living room, kitchen and bedroom below; a landing, two bedrooms and a bathroom above."""
    plan = [
        ("hallway", 0, 0.0, 0.0, 9.0, 2.6),
        ("living room", 0, 0.0, 2.72, 5.0, 7.0),
        ("kitchen", 0, 5.12, 2.72, 9.0, 7.0),
        ("bedroom", 0, 9.12, 0.0, 13.0, 4.0),
        ("hallway", 1, 0.0, 0.0, 9.0, 2.6),
        ("bedroom", 1, 0.0, 2.72, 5.0, 7.0),
        ("bathroom", 1, 5.12, 2.72, 9.0, 6.0),
        ("office", 1, 9.12, 0.0, 13.0, 4.0),
    ]
    rooms = [
        Room(i, kind, s, x0, y0, x1, y1, s * STOREY_M, s * STOREY_M + 2.6)
        for i, (kind, s, x0, y0, x1, y1) in enumerate(plan)
    ]
    openings = [
        Opening(kind, pair, x, y, along, width, z, z + 2.1)
        for kind, pair, x, y, along, width, z in [
            ("passage", (0, 1), 2.5, 2.66, "x", 1.6, 0.0),
            ("door", (0, 2), 7.0, 2.66, "x", 0.9, 0.0),
            ("door", (1, 2), 5.06, 5.0, "y", 0.9, 0.0),
            ("door", (0, 3), 9.06, 1.9, "y", 0.9, 0.0),
            ("door", (4, 5), 2.5, 2.66, "x", 0.9, STOREY_M),
            ("door", (4, 6), 7.0, 2.66, "x", 0.9, STOREY_M),
            ("door", (4, 7), 9.06, 1.9, "y", 0.9, STOREY_M),
        ]
    ]
    stair = Stair((0, 4), (2.2, 0.55, 0.0), (6.2, 0.55, STOREY_M), 1.0)
    steps = [
        box(2.2 + 0.25 * k, 0.05, 0.0, 2.45 + 0.25 * k, 1.05, STOREY_M * (k + 1) / 16, "stairs") for k in range(16)
    ]
    slabs = [
        box(-0.1, -0.1, -0.2, 13.1, 7.1, 0.0, "floor"),
        box(-0.1, 1.1, 2.6, 13.1, 7.1, STOREY_M, "floor"),
        box(-0.1, -0.1, 2.6, 2.2, 1.1, STOREY_M, "floor"),
        box(6.2, -0.1, 2.6, 13.1, 1.1, STOREY_M, "floor"),
        box(-0.1, -0.1, 2 * STOREY_M - 0.2, 13.1, 7.1, 2 * STOREY_M, "ceiling"),
    ]
    up = STOREY_M
    things = [
        thing("sofa", 1, 1.0, 6.5, (0.45, 1.0, 0.4), "blue", yaw=-1.5707963),
        thing("armchair", 1, 4.3, 6.3, (0.4, 0.4, 0.45), "red", yaw=3.1415927),
        thing("television", 1, 0.3, 4.2, (0.1, 0.6, 0.35), "", 0.6),
        thing("rug", 1, 2.5, 4.8, (1.0, 0.8, 0.01), "green", blocks=False),
        thing("fridge", 2, 8.6, 6.6, (0.35, 0.35, 0.9), "white", yaw=3.1415927),
        thing("stove", 2, 6.6, 6.65, (0.3, 0.35, 0.45), "", yaw=-1.5707963),
        thing("bed", 3, 12.0, 1.0, (1.0, 0.8, 0.3), "blue", yaw=3.1415927),
        thing("wardrobe", 3, 12.0, 3.6, (0.3, 0.8, 1.0), "brown", yaw=-1.5707963),
        thing("plant", 0, 0.4, 2.2, (0.2, 0.2, 0.5), "green"),
        thing("bookshelf", 4, 8.7, 0.4, (0.2, 0.3, 0.9), "brown", up, yaw=3.1415927),
        thing("bed", 5, 1.2, 5.9, (1.0, 0.8, 0.3), "red", up),
        thing("desk", 5, 4.5, 6.4, (0.35, 0.5, 0.38), "white", up, yaw=3.1415927),
        thing("bathtub", 6, 8.5, 5.0, (0.4, 0.8, 0.3), "white", up, yaw=3.1415927),
        thing("toilet", 6, 5.5, 5.6, (0.3, 0.2, 0.4), "white", up),
        thing("desk", 7, 12.5, 2.0, (0.35, 0.7, 0.38), "brown", up, yaw=3.1415927),
        thing("painting", 7, 11.0, 3.97, (0.02, 0.4, 0.3), "", up + 1.3, yaw=-1.5707963, blocks=False),
    ]
    shell = tuple(slabs + walls(rooms, openings) + steps)
    return House("handmade", 7, tuple(rooms), tuple(openings), (stair,), tuple(things), shell)
