"""Facts in words: one clause for one fact, or for two that people tell together."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from ghosts_houses.plan.rooms import HALLS
from ghosts_houses.words.author import Author
from ghosts_houses.words.facts import Fact
from ghosts_houses.words.vocabulary import NUMBERS, ORDINALS

_AROUND = {
    "left": "(on your left|to your left|on the left side)",
    "right": "(on your right|to your right|on the right side)",
    "behind": "(behind you|at your back|directly behind you)",
}


@dataclass(frozen=True)
class Clause:
    """A piece of a sentence and the facts it states."""

    text: str
    facts: tuple[Fact, ...]
    look: str = ""
    """What may be said before it at the start of a sentence."""


def turn_size(angle_rad: float, first: bool = False) -> str:
    """ "", "slight", "plain", "sharp" or "around", as people would call a turn."""
    degrees = abs(math.degrees(angle_rad))
    for limit, name in ((28, ""), (52, "slight"), (125, "plain"), (145 if first else 152, "sharp")):
        if degrees < limit:
            return name
    return "around"


def make_clauses(author: Author, stated: list[Fact]) -> list[Clause]:
    """Clauses for facts in order."""
    clauses: list[Clause] = []
    rest = list(stated)
    while rest:
        fact = rest.pop(0)
        both = _pair(author, fact, rest[0]) if rest else None
        if both is not None:
            clauses.append(both)
            rest.pop(0)
            continue
        if fact.kind == "walk" and fact.side == "through" and clauses and author.chance(0.75):
            clauses = _without_entry(clauses, fact.room)
        clause = _single(author, fact, clauses)
        if clause is not None:
            clauses.append(clause)
    return clauses


def _without_entry(clauses: list[Clause], room: int) -> list[Clause]:
    """Drop a plain "enter the room" just before "walk through the room"."""
    last = clauses[-1]
    plain = len(last.facts) == 1 and last.facts[0].kind == "door" and last.facts[0].room == room
    return clauses[:-1] if plain and len(clauses) > 1 else clauses


def _pair(author: Author, fact: Fact, after: Fact) -> Clause | None:
    """Two facts in one clause, where people would tell them together."""
    text = None
    if fact.kind == "turn" and after.kind == "door" and after.turn_rad == fact.turn_rad:
        text = _turn_enter(author, after)
    elif fact.kind == "facing" and after.kind == "turn":
        text = author.expand(author.phrase("facing"), thing=_thing(author, fact), turn=_turn(author, after))
    elif fact.kind == "turn" and after.kind == "walk" and after.side != "through" and author.chance(0.5):
        text = author.expand(author.phrase("turn walk"), turn=_turn(author, fact), room=author.room(after.room))
    elif fact.kind == "walk" and fact.side == "end" and after.kind == "turn" and author.chance(0.6):
        text = author.expand(author.phrase("end turn"), turn=_turn(author, after), room=author.room(fact.room))
    elif fact.kind == "walk" and after.kind in ("pass", "toward") and after.thing >= 0 and author.chance(0.6):
        text = _until(author, fact, after)
    elif fact.kind == "walk" and after.kind == "door" and not after.side and author.chance(0.7):
        slots = {"walk": _walk(author, fact), "room": author.entered(after)}
        text = author.say("until room", **slots)
    elif fact.kind == after.kind == "pass" and after.at_m - fact.at_m < 2.0 and author.chance(0.7):
        slots = {"thing": _thing(author, fact), "other": _thing(author, after), "on": author.on(after.side)}
        text = author.say("pass two", *(["{on}"] if fact.side != after.side else []), **slots)
    return Clause(text, (fact, after)) if text is not None else None


def _single(author: Author, fact: Fact, before: list[Clause]) -> Clause | None:
    """One fact in words."""
    slots: dict[str, str] = {}
    if fact.thing >= 0 and fact.kind != "door":
        slots["thing"] = _thing(author, fact)
    if fact.kind == "turn":
        door = before[-1].facts[-1] if before else None
        look = ""
        if door is not None and door.kind == "door" and not fact.side:
            look = author.expand(
                author.phrase("look"),
                room="the " + author.room_name(door.room),
                left="the " + author.room_name(door.other_room),
            )
        return Clause(
            _turn(author, fact, at_stairs=any(f.kind == "climb" for c in before for f in c.facts)), (fact,), look
        )
    if fact.kind == "door":
        text = _door(author, fact, before)
        return Clause(text, (fact,)) if text else None
    if fact.kind == "walk":
        return Clause(_walk(author, fact, to_end=True), (fact,))
    if fact.kind == "climb":
        return Clause(_climb(author, fact), (fact,))
    if fact.kind == "between":
        slots["other"] = author.thing(fact.other_thing, fact.other_name)
        return Clause(author.say("between", **slots), (fact,))
    if fact.kind == "passdoor":
        slots = {"room": author.room(fact.room), "way": author.way(fact), "on": author.on(fact.side)}
        return Clause(author.say("pass door", **slots), (fact,))
    if fact.kind == "toward":
        slots.setdefault("thing", author.pick(("the window", "the window", "the windows")))
        return Clause(author.say("toward", **slots), (fact,))
    if fact.kind == "pass":
        slots["one"] = slots["thing"].replace("the ", "a ", 1) if fact.name.how != "plural" else slots["thing"]
        slots["one"] = re.sub(r"^a (?=[aeiou])", "an ", slots["one"])
        return Clause(author.expand(author.phrase("pass"), on=author.on(fact.side), **slots), (fact,))
    if fact.kind == "away":
        return Clause(author.say("away", **slots), (fact,))
    if fact.kind == "facing":
        return None
    around = author.expand(_AROUND[fact.side])
    text = author.say("orient", around=around, **slots)
    return Clause(text.replace(f" is {around}", f" {author.is_are(fact.thing, fact.name)} {around}"), (fact,))


def _thing(author: Author, fact: Fact) -> str:
    return author.thing(fact.thing, fact.name)


def _turn(author: Author, fact: Fact, at_stairs: bool = False) -> str:
    size = turn_size(fact.turn_rad, fact.step == 0) or "slight"  # a bend that is told because nothing else is
    hand = "right" if fact.turn_rad > 0 else "left"
    text = author.say(f"{'first turn' if fact.step == 0 else 'turn'} {size}", hand=hand)
    if size == "plain" and "degrees" in text and not 70 < abs(math.degrees(fact.turn_rad)) < 110:
        text = f"turn {hand}"
    if fact.side and at_stairs and author.chance(0.5):
        return author.say("at stairs", turn=text, end=fact.side)
    return text


def _far(author: Author, length_m: float) -> str:
    """A length as people give it."""
    unit, size_m, step = (("feet", 0.305, 5), ("meters", 1.0, 1), ("steps", 0.7, 1), ("paces", 0.8, 1))[
        int(author.rng.choice(4, p=(0.5, 0.2, 0.2, 0.1)))
    ]
    count = max(step, step * round(length_m / size_m / step))
    return f"{NUMBERS[count] if count < len(NUMBERS) and author.chance(0.7) else count} {unit}"


def _walk(author: Author, fact: Fact, to_end: bool = False) -> str:
    if to_end and fact.length_m and author.chance(0.12):
        return author.expand(author.phrase("walk far"), room=author.room(fact.room), far=_far(author, fact.length_m))
    name = "walk through" if fact.side == "through" else "walk along"
    if to_end and fact.side == "end" and author.chance(0.6):
        name = "walk end"
    return author.expand(author.phrase(name), room=author.room(fact.room))


def _climb(author: Author, fact: Fact) -> str:
    whole = fact.ordinal > 0
    text = author.say(f"climb {fact.side}", *(("top", "bottom", "all the way") if not whole else ()))
    # Where there are three floors, their numbers tell more.
    tall = max(room.storey for room in author.house.rooms) > 1
    ended = text.endswith(("top", "bottom")) or " of the" in text
    if whole and not ended and author.chance(0.5 if tall else 0.3):
        floor = author.pick(("first", "ground", "main") if fact.ordinal == 1 else (ORDINALS[fact.ordinal],))
        text += " " + author.say(f"floors {fact.side}", floor=floor)
    return text


def _until(author: Author, walk: Fact, after: Fact) -> str:
    slots = {"walk": _walk(author, walk), "thing": _thing(author, after), "on": author.on(after.side)}
    if after.kind == "toward":
        return author.expand("{walk} (toward|towards|in the direction of) {thing}", **slots)
    text = author.say("until", *(["{on}"] if after.kind != "pass" or not after.side else []), **slots)
    return text.replace(" is " + slots["on"], f" {author.is_are(after.thing, after.name)} {slots['on']}")


def _door(author: Author, fact: Fact, before: list[Clause]) -> str | None:
    """From one room to the next, when no turn goes with it."""
    slots = {"left": author.room(fact.other_room), "way": author.way(fact)}
    from_hall, to_hall = (author.house.rooms[k].kind in HALLS for k in (fact.other_room, fact.room))
    if to_hall and from_hall:
        if not author.chance(0.4):
            return None
        return author.expand(author.phrase("enter"), room=author.room(fact.room), **slots)
    if to_hall and author.chance(0.75):
        return author.say("leave", **slots)
    slots["room"] = author.entered(fact)
    first = not any(f.kind == "door" for clause in before for f in clause.facts)
    if to_hall or (not from_hall and first and author.chance(0.5)):
        return author.say("leave to", **slots)
    return author.say("enter", **slots)


def _turn_enter(author: Author, door: Fact) -> str:
    """A turn straight into a room, by the number of its door where that is known."""
    slots = {"room": author.entered(door), "hand": door.side, "on": author.on(door.side), "way": author.way(door)}
    if 0 < door.ordinal < len(ORDINALS) and author.chance(0.55):
        inner = [o for o in author.house.openings if o.inner and door.other_room in o.rooms]
        count = ("door", "doorway") if all(o.kind == "door" for o in inner) else ("opening", "doorway")
        nth = ORDINALS[door.ordinal] if author.chance(0.8) else ("", "1st", "2nd", "3rd", "4th", "5th")[door.ordinal]
        slots |= {"nth": nth, "count": author.pick(count)}
        return author.say("ordinal enter", **slots)
    return author.say("turn enter", **slots)


def stop_clause(author: Author, choice: Fact, clauses: list[Clause]) -> Clause:
    """Where to stop, and the room unless it has just been entered in words."""
    stated = [fact for clause in clauses for fact in clause.facts]
    last = next((fact.room for fact in reversed(stated) if fact.kind in ("door", "walk")), -1)
    manner = "there" if choice.side == "room" and last == choice.room else choice.side
    slots = {"room": "the " + author.room_name(choice.room), "way": author.way(choice)}
    if manner in ("outside", "doorway"):
        slots["other"] = "the " + author.room_name(choice.other_room)
    if choice.thing >= 0:
        slots["thing"] = _thing(author, choice)
    if choice.other_thing >= 0:
        slots["other"] = author.thing(choice.other_thing, choice.other_name)
    # After an order to enter, no order to stop before the door.
    text = author.say(f"stop {manner}", *(["before (entering"] if last == choice.room else []), **slots)
    named = author.room_name(choice.room) in text or manner in ("doorway", "on", "outside", "top", "bottom")
    if not named and last != choice.room:
        text += f" in the {author.room_name(choice.room)}"
    return Clause(text, (choice,))
