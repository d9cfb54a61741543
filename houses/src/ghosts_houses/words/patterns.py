"""The patterns of the reader: turns, sides, stairs and lengths, and the words that relate things and rooms."""

from __future__ import annotations

from ghosts_houses.words.tables import entries, names

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
LEAVE = ("exit", "leave", "out of", "from", "leaving", "exiting")
ENTER = names(
    "into, in to, enter, entering, which is, inside, until you reach, until you get to, until you come to, "
    "until you are in, till you get to, find, get to, reach, through to, through in to, over to"
)
WALK = names("through, keep to, take, one side of, across, cross, down, along, follow, traverse")
HALL_END = ("end of", "all the way down", "length of")
PASS_ROOM = ("past", "pass", "ignore", "skip", "do not enter", "do not go into")
IN = ("in", "once in", "middle of", "center of", "corner of", "outside", "outside of")
_RELATIONS = entries("""
    pass: past, pass, pass by, walk by, go by, passing, beyond, bypass, along beside
    pass: keep, keeping, will see, should see, there is, there will be
    pass: will notice, will pass, should pass, alongside, leave
    toward: toward, towards, head for, beeline for, make for, aim for, direction of, approach
    away: away from, back to
    facing: facing, looking at, looking towards
    front: in front of, before
    by: next to, beside, near, by, at, reach, get to, come to, close to, arrive at, come across, are at, level with
    by: side of, edge of, within reach of, adjacent to, distance from, close by
    by: as far as, up to, to, step from, feet from, until
    see: see, find, spot, notice
    with: with
    orient: so that, so
    upon: on, onto, on top of, middle of
    between: between
""")
OBJECT = {word: relation for relation, words in _RELATIONS.items() for word in words}
"""What is said of a thing, by the words before it."""
