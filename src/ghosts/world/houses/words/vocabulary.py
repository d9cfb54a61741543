"""Words for things and rooms: what people call them, and which things have a front to stand in front of."""

from __future__ import annotations

_NOUNS: dict[str, tuple[str, ...]] = {
    "armchair": ("armchair", "arm chair", "easy chair"),
    "bar stool": ("bar stool", "stool"),
    "bathtub": ("bathtub", "tub", "bath tub"),
    "bookshelf": ("bookshelf", "bookcase", "book shelf"),
    "china cabinet": ("china cabinet", "display cabinet"),
    "clothes rail": ("clothes rail", "clothes rack"),
    "coat rack": ("coat rack", "coat stand"),
    "console table": ("console table", "console"),
    "crib": ("crib", "baby bed"),
    "dining table": ("dining table", "dinner table"),
    "door mat": ("door mat", "doormat"),
    "dresser": ("dresser", "chest of drawers"),
    "drum set": ("drum set", "drums"),
    "dryer": ("dryer", "clothes dryer"),
    "dumbbell rack": ("dumbbell rack", "weights rack"),
    "exercise ball": ("exercise ball", "yoga ball"),
    "exercise bike": ("exercise bike", "stationary bike"),
    "filing cabinet": ("filing cabinet", "file cabinet"),
    "fireplace": ("fireplace", "fire place"),
    "floor lamp": ("floor lamp", "standing lamp"),
    "fridge": ("fridge", "refrigerator"),
    "grandfather clock": ("grandfather clock", "tall clock"),
    "kitchen counter": ("kitchen counter", "counter"),
    "kitchen island": ("kitchen island", "island"),
    "kitchen sink": ("kitchen sink", "sink"),
    "laundry basket": ("laundry basket", "hamper"),
    "nightstand": ("nightstand", "bedside table", "night stand"),
    "office chair": ("office chair", "desk chair"),
    "ottoman": ("ottoman", "footstool"),
    "painting": ("painting", "picture"),
    "pantry shelf": ("pantry shelf", "storage shelf"),
    "plant": ("plant", "potted plant"),
    "punching bag": ("punching bag", "boxing bag"),
    "round rug": ("round rug", "rug"),
    "rug": ("rug", "carpet"),
    "runner": ("runner", "runner rug"),
    "shower": ("shower", "shower stall"),
    "side table": ("side table", "end table"),
    "sideboard": ("sideboard", "buffet"),
    "single bed": ("single bed", "bed"),
    "sink": ("sink", "basin"),
    "sofa": ("sofa", "couch"),
    "stove": ("stove", "cooker"),
    "teddy bear": ("teddy bear", "stuffed bear"),
    "television": ("television", "tv"),
    "toy box": ("toy box", "toy chest"),
    "trash can": ("trash can", "garbage can"),
    "treadmill": ("treadmill", "running machine"),
    "tv stand": ("tv stand", "television stand"),
    "washing machine": ("washing machine", "washer"),
    "weight bench": ("weight bench", "workout bench"),
    "whiteboard": ("whiteboard", "white board"),
}
UNSPOKEN = frozenset(
    {"door", "curtains", "ceiling lamp", "pendant lamp", "chandelier", "range hood", "vase", "clock", "towel rack"}
)
"""Kinds nobody gives directions by: overhead, everywhere, or too small."""
FRONTED = frozenset(
    [
        "sofa",
        "armchair",
        "television",
        "fridge",
        "stove",
        "dryer",
        "bookshelf",
        "wardrobe",
        "dresser",
        "fireplace",
        "desk",
        "piano",
        "mirror",
        "painting",
        "sink",
        "toilet",
        "shower",
        "sideboard",
        "aquarium",
        "whiteboard",
    ]
) | {
    "washing machine",
    "tv stand",
    "kitchen counter",
    "kitchen sink",
    "china cabinet",
    "filing cabinet",
    "grandfather clock",
}
"""Kinds one can stand in front of."""

_ROOMS: dict[str, tuple[str, ...]] = {
    "hallway": ("hallway", "hall", "corridor"),
    "stair hall": ("hallway", "hall", "stair hall"),
    "entryway": ("entryway", "entrance hall", "foyer"),
    "bathroom": ("bathroom", "restroom", "bathroom"),
    "living room": ("living room", "lounge", "living room", "family room"),
    "dining room": ("dining room", "dining area"),
    "office": ("office", "study"),
    "laundry room": ("laundry room", "laundry", "utility room"),
    "gym": ("gym", "workout room", "exercise room"),
    "nursery": ("nursery", "baby room"),
    "closet": ("closet", "walk in closet"),
    "library": ("library", "reading room"),
}
_PLURALS = {
    "bookshelf": "bookshelves",
    "book shelf": "book shelves",
    "pantry shelf": "pantry shelves",
    "storage shelf": "storage shelves",
    "chest of drawers": "chests of drawers",
    "drums": "drums",
}


def nouns(kind: str) -> tuple[str, ...]:
    """What people call a kind of thing; the first is the commonest."""
    return _NOUNS.get(kind, (kind.replace("_", " "),))


def room_names(kind: str) -> tuple[str, ...]:
    """What people call a kind of room."""
    return _ROOMS.get(kind, (kind.replace("_", " "),))


def plural(noun: str) -> str:
    """Plural of a noun.

    Example:
        >>> plural("bookshelf"), plural("chair"), plural("bench")
        ('bookshelves', 'chairs', 'benches')
    """
    if noun in _PLURALS:
        return _PLURALS[noun]
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    return noun + "s"


def article(noun: str) -> str:
    """ "a" or "an"."""
    return "an" if noun[0] in "aeiou" else "a"
