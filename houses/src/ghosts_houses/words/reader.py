"""Reads an instruction's words back into claims, knowing nothing of the grammar that wrote it.

Patterns over plain words: turns, sides, stairs, doors, things and rooms are found in reading order, and the words
between two of them say how they relate ("past", "into", "until you reach").
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field, replace
from typing import Any

from ghosts_houses.words import lexicon
from ghosts_houses.words.lexicon import DOOR, ENTER, FIXED, HALL_END, IN, LEAVE, OBJECT, PASS_ROOM, STOP, WALK


@dataclass(frozen=True)
class Claim:
    """One thing a text says, in reading order."""

    kind: str
    """"turn", "around"; of rooms "leave", "enter", "walk", "hallend", "passroom", "in", "inside", "doorway", "outside",
    "corner", "middle", "mention"; of things "pass", "toward", "away", "facing", "front", "by", "see", "with", "orient",
    "upon", "between"; "door"; of stairs "climb", "end", "onstairs", "floor"."""
    words: str = field(compare=False)
    """The words that say it; others may say the same."""
    rooms: tuple[str, ...] = ()
    """Room kinds it may mean."""
    things: tuple[str, ...] = ()
    """Thing kinds it may mean."""
    color: str = ""
    traits: tuple[str, ...] = ()
    """Adjectives, by what they claim (`lexicon.ADJECTIVES`)."""
    side: str = ""
    size: str = ""
    ordinal: int = 0
    count: int = 0
    """How many things are spoken of; 0 where no number is given."""
    within: tuple[str, ...] = ()
    """Room kinds a thing is said to stand in."""
    place: str = ""
    """Where in its room a thing is said to be: "corner", "hung" (on a wall), "against" (a wall), "window"."""
    holds: tuple[str, ...] = ()
    """Thing kinds a room is said to hold."""
    surface: tuple[str, ...] = ()
    """"floor" or "wall", then the materials it may be made of."""
    length_m: float = 0.0
    """How long a walk is said to be."""
    final: bool = False
    """Whether it says where to stop."""
    other: Claim | None = None
    """The second of two things or rooms."""


_SHADES = {*lexicon.COLORS, *lexicon.COLORS.values()}
_ADJECTIVE = re.compile(r"\b(?:" + "|".join(sorted({*lexicon.ADJECTIVES}, key=len, reverse=True)) + r")\b")


def read(text: str, thing_kinds: set[str], colors: set[str]) -> list[Claim]:
    """Read an instruction, knowing which kinds of things and colour words exist."""
    plain = re.sub(r" +", " ", re.sub(r"[^a-z0-9., ]+", " ", text.lower()))
    for short, whole in lexicon.SHORT.items():
        plain = re.sub(rf"\b{short}\b", whole, plain)
    plain = re.sub(r"\bfrom (?:there|here|where you are|that point)\b,?", "", plain)
    # Compiling takes 0.1 s: what the lexicon knows anyway makes no pattern of its own for a house.
    nouns, pattern = _pattern(
        frozenset(thing_kinds - lexicon.THINGS.keys() - {"door"}), frozenset(colors - {"", *_SHADES})
    )
    claims: list[Claim] = []
    last_end = 0
    for match in pattern.finditer(plain):
        if match["before"] and not (claims and claims[-1].kind == "with"):
            continue  # "walk straight ahead" says nothing of a thing
        gap = plain[last_end : match.start()]
        # A full stop ends a thought: words before it say nothing about what follows.
        gap = gap.rsplit(".", 1)[-1]
        last_end = match.end()
        if match["thing"]:
            # "Go to the sofa and stop": where to stop is said after the thing.
            stopping = re.search(r"\b(?:to|onto)(?: the)?\s*$", gap) and re.match(
                r"(?: in (?:the )?corner)? and (?:then )?" + STOP[2:], plain[match.end() :]
            )
            _add_thing(claims, match, gap, nouns[match["thing"]], bool(stopping))
        else:
            _add(claims, match, gap)
    return claims


@functools.cache
def _pattern(thing_kinds: frozenset[str], colors: frozenset[str]) -> tuple[dict[str, tuple[str, ...]], re.Pattern[str]]:
    """Every form of a noun with the kinds it may mean, and the pattern that finds claims.

    Args:
        thing_kinds: kinds that the lexicon has no words for.
        colors: colours that it does not know.
    """
    table = lexicon.THINGS | {kind: (kind,) for kind in thing_kinds}
    table["window"] = ("window",)
    nouns = {form: kinds for noun, kinds in table.items() for form in _forms(noun)} | table
    things = "|".join(sorted(map(re.escape, nouns), key=len, reverse=True))
    rooms = "|".join(sorted(lexicon.ROOMS, key=len, reverse=True))
    adjectives = "|".join(sorted({*colors, *_SHADES, *lexicon.ADJECTIVES, *lexicon.NUMBERS}, key=len, reverse=True))
    surfaces = "|".join({name for table in lexicon.SURFACES.values() for name in table})
    parts = [f"(?P<{name}>{source})" for name, source in FIXED]
    parts.append(rf"(?P<made>{surfaces}) (?P<part>floor|walls|wallpaper)")
    # Things first: a kitchen sink is not a kitchen.
    parts += [
        rf"(?P<adjectives>(?:(?:{adjectives}) )*)(?P<thing>{things})",
        rf"(?P<like>(?:(?:{adjectives}) )*)(?P<room>{rooms})",
    ]
    return nouns, re.compile(r"\b(?:" + "|".join(parts) + r")\b")


def _forms(noun: str) -> list[str]:
    """A noun and its plurals."""
    head, of, rest = noun.partition(" of ")
    if of:
        return [form + of + rest for form in _forms(head)]
    forms = [noun, noun + "s", noun + "es"]
    forms += [noun[:-1] + "ves"] if noun.endswith("f") else []
    return forms + ([noun[:-1] + "ies"] if noun.endswith("y") else [])


def _last_word(gap: str, words: tuple[str, ...]) -> str:
    """The one of several words that stands last in a text (the longest such), "" when none does."""
    spaced = f" {re.sub('[., ]+', ' ', gap)} "
    found = [(at + len(word), len(word), word) for word in words if (at := spaced.rfind(f" {word} ")) >= 0]
    return max(found)[2] if found else ""


def _add(claims: list[Claim], match: re.Match[str], gap: str) -> None:
    """Turn one match into a claim, or into a detail of the last one."""
    words = (gap + match[0]).strip()
    last = claims[-1] if claims else None
    final = re.search(STOP, gap) is not None
    if match["around"]:
        claims.append(Claim("around", words))
    elif match["turn"]:
        claims.append(Claim("turn", words, side=match["hand"], size=_turn_size(match)))
    elif match["ordinal"]:
        side = match["nthhand"] or (
            last.side if last and last.kind == "turn" and re.fullmatch(" at (the )?", gap) else ""
        )
        claims.append(Claim("door", words, side=side, ordinal=lexicon.ORDINALS[match["nth"]]))
    elif match["side"] or match["behind"] or match["before"]:
        _add_side(claims, match, gap, words)
    elif match["end"]:
        side = match["which"] or match["bare"]
        claims.append(Claim("end", words, side="top" if side in ("top", "head") else "bottom", final=final))
    elif match["onstairs"]:
        claims.append(Claim("onstairs", words))
    elif match["climb"]:
        claims.append(Claim("climb", words, side="up" if re.search("up|climb|ascend", match["climb"]) else "down"))
    elif match["floor"]:
        claims.append(Claim("floor", words, side=match["level"] or "lower"))
    elif match["far"]:
        _add_length(claims, match, words)
    elif match["toend"]:
        if last is not None and last.kind == "walk":
            claims[-1] = replace(last, kind="hallend")
    elif match["corner"]:
        if last is not None and last.things and re.fullmatch(r"( over)? in (the )?", gap):
            claims[-1] = _detail(last, place="corner")
        else:
            claims.append(Claim("corner", words, final=True))
    elif match["wall"]:
        if last is not None and last.things:
            claims[-1] = _detail(last, place="hung" if match["hung"] == "on" else "against")
    elif match["made"]:
        part = "floor" if match["part"] == "floor" else "wall"
        if last is not None and last.rooms:
            claims[-1] = replace(last, surface=(part, *lexicon.SURFACES[part].get(match["made"], ())))
    else:
        _add_room(claims, match, gap, words)


def _detail(claim: Claim, **details: Any) -> Claim:
    """A claim with something said of its thing, the last one where it has two."""
    if claim.other is not None:
        return replace(claim, other=replace(claim.other, **details))
    return replace(claim, **details)


def _add_length(claims: list[Claim], match: re.Match[str], words: str) -> None:
    """A length belongs to the walk told last, or to the one that follows."""
    number, unit = match["number"], match["unit"]
    count = int(number) if number.isdigit() else lexicon.COUNTS.get(number, 0)
    length_m = count * lexicon.UNITS_M[unit]
    if length_m and match.string[match.end() :].lstrip().startswith(("down", "along")):
        claims.append(Claim("length", words, length_m=length_m))
    elif length_m and claims and claims[-1].kind == "walk":
        claims[-1] = replace(claims[-1], length_m=length_m)


def _turn_size(match: re.Match[str]) -> str:
    size = match["size"] or ""
    verbs = ("bear", "veer", "angle", "drift", "ease", "curve")
    if any(word in size for word in ("slight", "little", "bit")) or match[0].startswith(verbs):
        return "slight"
    if "degrees" in size:
        return "square"
    return "sharp" if any(word in size for word in ("sharp", "hard", "tight")) else ""


def _add_side(claims: list[Claim], match: re.Match[str], gap: str, words: str) -> None:
    """The side of what was named last, or of a door."""
    last = claims[-1] if claims else None
    if match["before"]:
        if last is not None and last.kind == "with" and gap.strip() in ("", "right", "just"):
            beside = re.search("next to|beside|near", match["before"]) is not None
            kind = "by" if beside else "facing" if last.final else "toward"
            claims[-1] = replace(last, kind=kind)
        return
    side = match["on"] or "behind"
    if last is None or re.search(DOOR, gap):
        claims.append(Claim("door", words, side=side))
        return
    kind = {"with": "orient", "by": "pass"}.get(last.kind, last.kind) if last.things else last.kind
    claims[-1] = replace(last, side=side, kind="orient" if side == "behind" else kind)


def _add_room(claims: list[Claim], match: re.Match[str], gap: str, words: str) -> None:
    claim = Claim("mention", words, lexicon.ROOMS[match["room"]])
    claim = replace(claim, traits=tuple(lexicon.ADJECTIVES[w] for w in _adjectives(match["like"])))
    last = claims[-1] if claims else None
    final = re.search(STOP, gap) is not None
    entrance = re.search(
        DOOR + r"( of| to| into| leading to| leading into| that leads to| that leads into|)( the|)\s*$", gap
    )
    relation = _last_word(gap, (*LEAVE, *ENTER, *WALK, *HALL_END, *PASS_ROOM, *IN))
    before = re.search(r"\bbefore (?:you enter|entering)( the|)\s*$", gap) is not None
    if last is not None and last.kind == "turn" and len(claims) > 1 and claims[-2].kind == "door" and relation in ENTER:
        # "At the second door on the left, turn left into the kitchen": the door belongs to the room, after the turn.
        door = claims[-2]
        claims[-2:] = [last, replace(claim, kind="enter", side=door.side, ordinal=door.ordinal)]
    elif last is not None and last.kind == "door" and not final:
        claims[-1] = replace(claim, kind="enter", side=last.side, ordinal=last.ordinal, words=f"{last.words} {words}")
    elif last is not None and last.things and not last.within and re.fullmatch(r" in (the )?", gap):
        claims[-1] = _detail(last, within=claim.rooms)
    elif last is not None and last.kind == "length":
        claims[-1] = replace(claim, kind="walk", length_m=last.length_m, words=f"{last.words} {words}")
    elif last is not None and last.kind == "doorway" and re.fullmatch(r" and (the )?", gap):
        claims[-1] = replace(last, other=claim)
    else:
        claims.append(replace(claim, kind=_room_kind(gap, relation, final, bool(entrance), before), final=final))


def _room_kind(gap: str, relation: str, final: bool, entrance: bool, before: bool) -> str:
    """What is said of a room, by the words before it."""
    if final:  # what comes before the stop says nothing of it
        gap = gap[[match.start() for match in re.finditer(STOP, gap)][-1] :]
    if final and re.search(
        r"\boutside\b|\b(?:by|near|next to|in front of) (?:the )?(?:wide |open )?(?:door|entrance|opening|arch)", gap
    ):
        return "outside"
    if before or (final and (entrance or re.search(r"\bthreshold of|\bway between|\bway looking into", gap))):
        return "doorway"
    if final and re.search(DOOR + r" between|" + DOOR + r", (?:looking|facing) into", gap):
        return "doorway"
    if relation in PASS_ROOM or re.search(r"\b(?:past|pass) (?:the )?" + DOOR[2:] + r" (?:of|to)", gap):
        return "passroom"
    if relation in LEAVE or re.search(r"\bout (?:the )?(?:wide |open )?" + DOOR[2:] + r" of( the)?\s*$", gap):
        return "leave"
    if relation in HALL_END:
        return "hallend"
    if final and (relation in ENTER or re.search(r"\bentering( the)?\s*$", gap)):
        return "inside"
    if relation in ENTER or entrance:
        return "enter"
    if relation in WALK:
        return "walk"
    if relation in ("middle of", "center of", "corner of"):
        return "corner" if relation == "corner of" else "middle"
    if relation in IN:
        return "in" if final else "mention"
    return "mention"


def _adjectives(text: str) -> list[str]:
    """The adjectives of a run of them."""
    return _ADJECTIVE.findall(text)


def _add_thing(claims: list[Claim], match: re.Match[str], gap: str, kinds: tuple[str, ...], stopping: bool) -> None:
    adjectives = match["adjectives"]
    said = _adjectives(adjectives)
    number, left = 0, adjectives
    if adjectives:
        number = next((n for word, n in lexicon.NUMBERS.items() if re.search(rf"\b{word}\b", adjectives)), 0)
        for word in (*said, *lexicon.NUMBERS):
            left = re.sub(rf"\b{word}\b ?", "", left)
    color = lexicon.COLORS.get(left.strip(), left.strip())
    relation = OBJECT.get(_last_word(gap, tuple(OBJECT)), "mention")
    traits = tuple(lexicon.ADJECTIVES[word] for word in said)
    words = (gap + match[0]).strip()
    final = stopping or re.search(STOP, gap) is not None
    claim = Claim(relation, words, things=kinds, color=color, traits=traits, count=number, final=final)
    last = claims[-1] if claims else None
    if kinds == ("window",) and last is not None and last.things and re.fullmatch(r" (by|under|near) (the )?", gap):
        claims[-1] = _detail(last, place="window")
    elif last is not None and last.rooms and re.fullmatch(r" with (the |an? )?", gap):
        claims[-1] = replace(last, holds=kinds)
    elif last is not None and last.things and re.fullmatch(r",? and (then )?(the )?", gap):
        if last.kind == "between":
            claims[-1] = replace(last, other=claim)
        else:
            claims.append(replace(claim, kind=last.kind, final=last.final))
    elif relation == "pass" and final and "alongside" in gap:
        claims.append(replace(claim, kind="by"))
    else:
        claims.append(claim)
