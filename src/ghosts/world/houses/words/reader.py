"""Reads an instruction's words back into claims, knowing nothing of the grammar that wrote it.

A reader's own little vocabulary and patterns over plain words. It shares nothing with `grammar` and `vocabulary` on
purpose: a slip in the writer must not be repeated by the reader who checks it.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace

_THINGS = {
    word: kind
    for kind, words in {
        "armchair": "arm chair,easy chair", "bar stool": "stool", "bathtub": "tub,bath tub",
        "bookshelf": "bookcase,book shelf", "china cabinet": "display cabinet", "clothes rail": "clothes rack",
        "coat rack": "coat stand", "console table": "console", "crib": "baby bed", "dining table": "dinner table",
        "door mat": "doormat", "dresser": "chest of drawers", "drum set": "drums", "dryer": "clothes dryer",
        "dumbbell rack": "weights rack", "exercise ball": "yoga ball", "exercise bike": "stationary bike",
        "filing cabinet": "file cabinet", "fireplace": "fire place", "floor lamp": "standing lamp",
        "fridge": "refrigerator", "grandfather clock": "tall clock", "kitchen counter": "counter",
        "kitchen island": "island", "laundry basket": "hamper", "nightstand": "bedside table,night stand",
        "office chair": "desk chair", "ottoman": "footstool", "painting": "picture", "pantry shelf": "storage shelf",
        "plant": "potted plant", "punching bag": "boxing bag", "rug": "carpet", "runner": "runner rug",
        "shower": "shower stall", "side table": "end table", "sideboard": "buffet", "sink": "basin", "sofa": "couch",
        "stove": "cooker", "teddy bear": "stuffed bear", "television": "tv", "toy box": "toy chest",
        "trash can": "garbage can", "treadmill": "running machine", "tv stand": "television stand",
        "washing machine": "washer", "weight bench": "workout bench", "whiteboard": "white board",
    }.items()
    for word in words.split(",")
}  # fmt: skip
"""Other words for a kind of thing; a kind's own name always counts."""
_WIDER = {"bed": ("single bed",), "sink": ("kitchen sink",), "rug": ("round rug",)}
"""Words that cover several kinds."""
_ROOMS = {
    "hallway": ("hallway", "stair hall"),
    "hall": ("hallway", "stair hall"),
    "corridor": ("hallway",),
    "stair hall": ("stair hall",),
    "entryway": ("entryway",),
    "entrance hall": ("entryway",),
    "foyer": ("entryway",),
    "bathroom": ("bathroom",),
    "restroom": ("bathroom",),
    "living room": ("living room",),
    "lounge": ("living room",),
    "family room": ("living room",),
    "dining room": ("dining room",),
    "dining area": ("dining room",),
    "office": ("office",),
    "study": ("office",),
    "laundry room": ("laundry room",),
    "laundry": ("laundry room",),
    "utility room": ("laundry room",),
    "gym": ("gym",),
    "workout room": ("gym",),
    "exercise room": ("gym",),
    "nursery": ("nursery",),
    "baby room": ("nursery",),
    "closet": ("closet",),
    "walk in closet": ("closet",),
    "library": ("library",),
    "reading room": ("library",),
    "kitchen": ("kitchen",),
    "bedroom": ("bedroom",),
    "music room": ("music room",),
    "pantry": ("pantry",),
    "garage": ("garage",),
}
_STAIRS = r"(?:the )?(?:stairs|steps|staircase|flight of stairs)"
_FIXED = [
    ("around", r"turn(?:ing)? (?:all the way )?around(?: completely)?|do (?:a )?180"),
    (
        "turn",
        r"(?:turn|turning|veer|bear|angle|face|go|hang|make|take)"
        r"(?P<size>(?: a| slightly| sharply| slight| sharp| little)*)"
        r"(?: to)?(?: the| your)? (?P<hand>left|right)(?: turn)?(?! hand| side)",
    ),
    ("side", r"(?:on|to) (?:your |the )?(?P<on>left|right)(?: hand)?(?: side)?"),
    ("behind", r"behind you|at your back"),
    ("end", rf"(?P<which>top|bottom|foot) of {_STAIRS}"),
    ("onstairs", rf"(?:on|in (?:the )?middle of|halfway (?:on|along)) {_STAIRS}"),
    (
        "climb",
        rf"(?:up|down|climb|descend) {_STAIRS}|upstairs|downstairs|take (?:the )?stairs (?:up|down)",
    ),
    ("ordinal", r"(?P<nth>first|second|third|fourth|fifth) (?:door|doorway|opening)"),
]
_LEAVE = ("exit", "leave", "out of", "from")
_ENTER = ("into", "in to", "enter", "which is")
_OBJECT_RELATIONS = {
    "past": "pass",
    "pass": "pass",
    "keep": "pass",
    "walk by": "pass",
    "go by": "pass",
    "toward": "toward",
    "towards": "toward",
    "head for": "toward",
    "direction of": "toward",
    "in front of": "front",
    "next to": "beside",
    "beside": "beside",
    "near": "beside",
    "by": "beside",
    "at": "beside",
    "reach": "beside",
    "get to": "beside",
    "with": "with",
    "so that": "orient",
    "so": "orient",
    "on": "upon",
}


@dataclass(frozen=True)
class Claim:
    """One thing a text says, in reading order."""

    kind: str
    """"turn", "around", "leave", "enter", "walk", "in", "inside", "doorway", "pass", "toward", "orient", "beside",
    "front", "upon", "climb", "end", "onstairs"."""
    words: str
    rooms: tuple[str, ...] = ()
    """Room kinds it may mean."""
    things: tuple[str, ...] = ()
    """Thing kinds it may mean."""
    color: str = ""
    side: str = ""
    size: str = ""
    ordinal: int = 0
    within: tuple[str, ...] = ()
    """Room kinds a thing is said to stand in; for "enter": unused."""
    holds: tuple[str, ...] = ()
    """Thing kinds a room is said to hold."""


def read(text: str, thing_kinds: set[str], colors: set[str]) -> list[Claim]:
    """Read a text.

    Args:
        text: the instruction.
        thing_kinds: kinds of things that exist.
        colors: colour words that exist.
    """
    plain = re.sub(r"[^a-z0-9., ]+", " ", text.lower())
    pattern = _pattern(frozenset(thing_kinds - {"door"}), frozenset(colors))
    claims: list[Claim] = []
    last_end = 0
    for match in pattern.finditer(plain):
        gap = plain[last_end : match.start()]
        # A full stop ends a thought: words before it say nothing about what follows.
        gap = gap.rsplit(".", 1)[-1]
        last_end = match.end()
        _add(claims, match, gap, thing_kinds)
    return claims


@functools.cache
def _pattern(thing_kinds: frozenset[str], colors: frozenset[str]) -> re.Pattern[str]:
    nouns = sorted(thing_kinds | set(_THINGS) | set(_WIDER), key=len, reverse=True)
    plural = "|".join(re.escape(noun) + r"(?:es|s)?" for noun in nouns).replace(
        "bookshelf(?:es|s)?", "bookshel(?:f|ves)"
    )
    plural = plural.replace("shelf(?:es|s)?", "shel(?:f|ves)")
    rooms = "|".join(sorted(_ROOMS, key=len, reverse=True))
    shades = "|".join(sorted((c for c in colors if c), key=len, reverse=True)) or "(?!)"
    parts = [f"(?P<{name}>{source})" for name, source in _FIXED]
    # Things first: a kitchen sink is not a kitchen.
    parts += [f"(?:(?P<color>{shades}) )?(?P<thing>{plural})", f"(?P<room>{rooms})"]
    return re.compile(r"\b(?:" + "|".join(parts) + r")\b")


def _add(claims: list[Claim], match: re.Match[str], gap: str, thing_kinds: set[str]) -> None:
    """Turn one match into a claim, or into a detail of the last one."""
    words = (gap + match[0]).strip()
    last = claims[-1] if claims else None
    if match["around"]:
        claims.append(Claim("around", words))
    elif match["turn"]:
        size = match["size"] or ""
        slight = "slight" in size or "little" in size or any(verb in match[0] for verb in ("bear", "veer", "angle"))
        claims.append(
            Claim("turn", words, side=match["hand"], size="slight" if slight else "sharp" if "sharp" in size else "")
        )
    elif match["ordinal"]:
        claims.append(
            Claim("door", words, ordinal=1 + ("first", "second", "third", "fourth", "fifth").index(match["nth"]))
        )
    elif match["side"] or match["behind"]:
        side = match["on"] or "behind"
        if last is not None and not re.search(r"\bdoor|\bdoorway|\bopening|\barchway", gap):
            if last.kind == "with":
                last = replace(last, kind="orient")
            claims[-1] = replace(last, side=side)
        else:
            claims.append(Claim("door", words, side=side))
    elif match["end"]:
        claims.append(Claim("end", words, side="top" if match["which"] == "top" else "bottom"))
    elif match["onstairs"]:
        claims.append(Claim("onstairs", words))
    elif match["climb"]:
        claims.append(Claim("climb", words, side="up" if re.search("up|climb", match["climb"]) else "down"))
    elif match["room"]:
        _add_room(claims, match["room"], gap, words)
    else:
        _add_thing(claims, match["thing"], match["color"] or "", gap, words, thing_kinds)


def _last_word(gap: str, words: tuple[str, ...]) -> str:
    """The one of several words that stands last in a text, "" when none does."""
    found = [(m.end(), len(word), word) for word in words for m in re.finditer(rf"\b{re.escape(word)}\b", gap)]
    return max(found)[2] if found else ""


def _add_room(claims: list[Claim], name: str, gap: str, words: str) -> None:
    kinds = _ROOMS[name]
    last = claims[-1] if claims else None
    stopping = re.search(r"\b(stop|wait|stand)\b", gap) is not None
    entrance = re.search(r"\b(door|doorway|entrance|opening|archway|before entering)( of| to|)( the|)\s*$", gap)
    relation = _last_word(
        gap, (*_LEAVE, *_ENTER, "through", "across", "cross", "down", "along", "follow", "inside", "in")
    )
    if (
        last is not None
        and last.kind == "turn"
        and len(claims) > 1
        and claims[-2].kind == "door"
        and relation in _ENTER
    ):
        # "At the second door on the left, turn left into the kitchen": the door belongs to the room, after the turn.
        claims[-2:] = [last, replace(claims[-2], kind="enter", rooms=kinds, words=f"{claims[-2].words} {words}")]
    elif last is not None and last.kind == "door" and not stopping:
        claims[-1] = replace(last, kind="enter", rooms=kinds, words=f"{last.words} {words}")
    elif last is not None and last.things and not last.within and re.fullmatch(r" in (the )?", gap):
        claims[-1] = replace(last, within=kinds)
    elif entrance:
        claims.append(Claim("doorway" if stopping else "enter", words, kinds))
    elif relation in _LEAVE:
        claims.append(Claim("leave", words, kinds))
    elif (relation == "enter" and stopping) or relation == "inside":
        claims.append(Claim("inside", words, kinds))
    elif relation in _ENTER:
        claims.append(Claim("enter", words, kinds))
    elif relation in ("through", "across", "cross", "down", "along", "follow"):
        claims.append(Claim("walk", words, kinds))
    elif relation == "in":
        on_the_way = re.search(r"\byou are in( the|)\s*$", gap) is not None and not stopping
        claims.append(Claim("mention" if on_the_way else "in", words, kinds))
    else:
        claims.append(Claim("leave" if gap.strip().endswith("through") else "mention", words, kinds))


def _add_thing(claims: list[Claim], noun: str, color: str, gap: str, words: str, thing_kinds: set[str]) -> None:
    single = noun if noun in thing_kinds or noun in _THINGS or noun in _WIDER else _singular(noun, thing_kinds)
    kind = _THINGS.get(single, single)
    kinds = (kind, *_WIDER.get(kind, ()), *_WIDER.get(single, ()))
    relation = _OBJECT_RELATIONS.get(_last_word(gap, tuple(_OBJECT_RELATIONS)), "mention")
    last = claims[-1] if claims else None
    stopping = re.search(r"\b(stop|wait|stand)\b", gap) is not None
    if relation == "with" and last is not None and last.rooms and re.fullmatch(r" with (an? )?", gap):
        claims[-1] = replace(last, holds=kinds)
        return
    if relation == "beside" and not stopping and re.search(r"\b(walk|go) by\b", gap):
        relation = "pass"
    claims.append(Claim(relation, words, things=kinds, color=color))


def _singular(noun: str, thing_kinds: set[str]) -> str:
    """Singular of a plural noun that the vocabulary knows."""
    for ending, instead in (("ves", "f"), ("es", ""), ("s", "")):
        single = noun.removesuffix(ending) + instead
        if noun.endswith(ending) and (single in thing_kinds or single in _THINGS or single in _WIDER):
            return single
    return noun
