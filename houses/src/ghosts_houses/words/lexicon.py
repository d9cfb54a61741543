"""What the reader knows: its own vocabulary (`lexicon.txt`), and patterns of turns, sides, stairs and lengths."""

from __future__ import annotations

from collections import defaultdict

from ghosts_houses.tables import entries, lines, names, sections

_WORDS = sections("words/lexicon.txt")


def _inverted(table: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    result: dict[str, list[str]] = defaultdict(list)
    for kind, words in table.items():
        for word in (kind, *words):
            if kind not in result[word]:
                result[word].append(kind)
    return {word: tuple(kinds) for word, kinds in result.items()}


def _keys(name: str) -> dict[str, str]:
    """The keys of a table by their words."""
    return {word: key for key, words in entries(_WORDS[name]).items() for word in words}


_HALLS = ("hallway", "stair hall", "entryway")
_ROOM_CALLED = entries(_WORDS["rooms"])
THINGS = _inverted(entries(_WORDS["things"]))
"""Kinds of things by every word that may mean them."""
ROOMS = _inverted(_ROOM_CALLED) | {
    word: tuple(kind for kind in _ROOM_CALLED if kind not in _HALLS) for word in ("room", "next room", "area")
}
"""Kinds of rooms by every word that may mean them."""
ADJECTIVES, COLORS, OBJECT = _keys("traits"), _keys("shades"), _keys("objects")
"""By every word: the trait that it claims, the colour that it means, what it says of the thing after it."""
COUNTS = {word: k for k, word in enumerate(names(_WORDS["numbers"]), 1)}
NUMBERS = {word: k for word, k in COUNTS.items() if 2 <= k <= 8} | {str(k): k for k in range(2, 9)}
NUMBERS |= {"pair of": 2, "couple of": 2, "both": 2}
"""How many things are spoken of."""
ORDINALS = {word: int(k) for word, k in _keys("ordinals").items()}
UNITS_M = {"feet": 0.305, "meters": 1.0, "steps": 0.7, "paces": 0.8}
SHORT = dict(line.split(": ") for line in lines(_WORDS["short"]))
SURFACES = {"floor": entries(_WORDS["floors"]), "wall": entries(_WORDS["walls"])}
LEAVE, ENTER, WALK, HALL_END, PASS_ROOM, IN = (
    names(_WORDS[name]) for name in ("leave", "enter", "walk", "hall end", "pass room", "in")
)

_STAIRS = r"(?:the )?(?:stairs|steps|staircase|flight of (?:stairs|steps)|stairway|set of stairs)"
STOP = (
    r"\b(?:stop|stopping|wait|waiting|stand|standing|halt|pause|stay|remain|position yourself|rest|finish|"
    r"end(?: up)?(?! of| table))\b"
)
DOOR = r"\b(?:door|doorway|door way|doorframe|door frame|entrance|opening|archway|arch|gap|threshold)"
FIXED = [
    (
        "around",
        r"turn(?:ing)? (?:all the way |completely )?around(?: completely)?|spin around|do (?:a )?(?:180|one eighty)|"
        r"make (?:a )?u turn|turn 180 degrees|face (?:the )?(?:other way|opposite direction)",
    ),
    (
        "turn",
        r"(?:turn|turning|veer|bear|angle|face|facing|go|head|hang|make|take|swing|pivot|rotate|cut|curve|drift|ease|"
        r"walk|hook)(?P<size>(?: an?| immediate| quick| slightly| sharply| slight| sharp| hard| tight| little| bit|"
        r" off| over| (?:90|ninety) degrees)*)"
        r"(?: to)?(?: the| your)? (?P<hand>left|right)(?: hand turn| turn)?(?! hand| side)",
    ),
    ("side", r"(?:off )?(?:on|to) (?:your |the )?(?P<on>left|right)(?: hand)?(?: side)?"),
    ("behind", r"behind you|at your back"),
    ("before", r"(?:straight )?ahead of you|in front of you|straight ahead|(?:next to|beside|near) you"),
    (
        "end",
        rf"(?P<which>top|bottom|foot|base|head) of {_STAIRS}|"
        r"(?:at|to|reach|get to) (?:the )?(?P<bare>top|bottom)(?! of)",
    ),
    ("onstairs", rf"(?:on|in (?:the )?middle of|(?:halfway|midway|partway) (?:on|along)) {_STAIRS}"),
    ("climb", rf"(?:up|down|climb|descend|ascend) {_STAIRS}|upstairs|downstairs|take (?:the )?stairs (?:up|down)"),
    ("floor", r"(?P<level>first|ground|main|second|third|next|upper|lower) (?:floor|level|story)|floor below"),
    ("far", r"(?P<number>\d+|[a-z]+) (?P<unit>feet|meters|steps|paces)(?= (?:down|along)| *[.,]| and)"),
    (
        "ordinal",
        r"(?P<nth>first|second|third|fourth|fifth|1st|2nd|3rd|4th|5th) "
        r"(?:door|doorway|opening|(?P<nthhand>left|right))",
    ),
    ("toend", r"to (?:the )?(?:very )?end(?! of| table)"),
    ("corner", r"corner(?! of)"),
    ("wall", r"(?P<hung>on|against|along) (?:the )?wall"),
]
