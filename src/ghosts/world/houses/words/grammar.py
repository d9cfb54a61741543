"""From facts to sentences, in the voices of different imagined annotators."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

import numpy as np

from ghosts.world.houses.house import House
from ghosts.world.houses.plan.rooms import HALLS
from ghosts.world.houses.words import phrases
from ghosts.world.houses.words.facts import Fact
from ghosts.world.houses.words.vocabulary import article, nouns, plural, room_names

_ORDINALS = ("", "first", "second", "third", "fourth", "fifth")


@dataclass(frozen=True)
class Style:
    """How an annotator writes: what he mentions (probabilities) and how he joins it."""

    name: str
    join: str
    """Key of `phrases.JOIN`."""
    turns: float
    """Mentions a turn that he has to make."""
    slight: float
    """Mentions a slight turn."""
    first: float
    """Mentions which way to turn before the first step."""
    walks: float
    """Mentions walking along a hallway or through a room."""
    passes: float
    """Mentions a thing passed."""
    toward: float
    """Mentions a thing walked towards."""
    colors: float
    """Adds a colour that is not needed."""
    orient: float
    """Starts by placing the reader among the things around."""
    bare: bool = False
    """Leaves out most articles."""


STYLES = (
    Style("plain", "plain", 0.88, 0.20, 0.40, 0.45, 0.12, 0.08, 0.2, 0.10),
    Style("terse", "terse", 0.80, 0.05, 0.20, 0.10, 0.02, 0.02, 0.1, 0.00, bare=True),
    Style("chatty", "chatty", 0.92, 0.30, 0.60, 0.60, 0.16, 0.12, 0.4, 0.15),
    Style("landmarks", "plain", 0.80, 0.10, 0.30, 0.30, 0.32, 0.25, 0.7, 0.30),
    Style("turns", "plain", 1.00, 0.65, 0.85, 0.40, 0.05, 0.03, 0.1, 0.05),
)


@dataclass(frozen=True)
class Clause:
    """A piece of a sentence and the facts it states."""

    text: str
    facts: tuple[Fact, ...]


@dataclass
class Voice:
    """One annotator writing one instruction: his style, his dice, and the words he keeps to."""

    house: House
    style: Style
    rng: np.random.Generator
    chosen: dict[str, str] = field(default_factory=dict)

    def pick(self, options: tuple[str, ...]) -> str:
        """One of several, at random."""
        return options[int(self.rng.integers(len(options)))]

    def chance(self, probability: float) -> bool:
        """Whether something of a given probability happens."""
        return bool(self.rng.random() < probability)

    def expand(self, template: str, **slots: str) -> str:
        """Fill the choices and slots of a template."""
        while (match := re.search(r"\(([^()]*)\)", template)) is not None:
            template = template[: match.start()] + self.pick(tuple(match[1].split("|"))) + template[match.end() :]
        return template.format(**slots)

    def word(self, kind: str, options: tuple[str, ...]) -> str:
        """A synonym, kept to for the whole instruction."""
        if kind not in self.chosen:
            # People agree on the first word more often than not.
            self.chosen[kind] = options[0] if self.chance(0.5) else self.pick(options)
        return self.chosen[kind]

    def room(self, index: int) -> str:
        """A room with its article."""
        kind = self.house.rooms[index].kind
        return "the " + self.word("room " + kind, room_names(kind))

    def thing(self, fact: Fact) -> str:
        """A thing with its article and all that is needed to tell it apart."""
        item = self.house.things[fact.thing]
        noun = self.word("thing " + item.kind, nouns(item.kind))
        if fact.naming == "plural":
            return "the " + plural(noun)
        color = item.color_word and (fact.naming == "color" or self.chance(self.style.colors))
        text = f"the {item.color_word} {noun}" if color else f"the {noun}"
        return f"{text} in {self.room(item.room)}" if fact.naming == "room" else text

    def way(self, fact: Fact) -> str:
        """A door or an opening."""
        door = fact.opening < 0 or self.house.openings[fact.opening].kind == "door"
        return self.pick(("door", "doorway") if door else ("opening", "archway", "doorway"))

    def on(self, side: str) -> str:
        """ "on your left" and its like."""
        return self.pick(phrases.SIDES).format(hand=side)


def turn_size(angle_rad: float, first: bool = False) -> str:
    """ "", "slight", "plain", "sharp" or "around", as people would call a turn."""
    degrees = abs(math.degrees(angle_rad))
    for limit, name in ((28, ""), (52, "slight"), (125, "plain"), (145 if first else 152, "sharp")):
        if degrees < limit:
            return name
    return "around"


def write(house: House, facts: list[Fact], style: Style, rng: np.random.Generator) -> tuple[str, tuple[Fact, ...]]:
    """Write one instruction.

    Args:
        house: the house.
        facts: everything true along the path (`facts.gather`).
        style: the annotator.
        rng: his dice.

    Returns:
        The text and the facts that it states.
    """
    voice = Voice(house, style, rng)
    stop = _choose_stop(voice, facts)
    clauses = _clauses(voice, _select(voice, facts, stop))
    clauses.append(_stop(voice, stop, clauses))
    return _punctuate(voice, [clause.text for clause in clauses]), tuple(f for clause in clauses for f in clause.facts)


def _choose_stop(voice: Voice, facts: list[Fact]) -> Fact:
    """One of the ways to say where the path ends: a landmark more often than the room alone."""
    stops = [fact for fact in facts if fact.kind == "stop"]
    if len(stops) > 1 and voice.chance(0.88):
        return stops[1 + int(voice.rng.integers(len(stops) - 1))]
    return stops[0]


def _select(voice: Voice, facts: list[Fact], stop: Fact) -> list[Fact]:
    """Choose what to mention."""
    style = voice.style
    # The same annotator writes more or less: without this the lengths spread less than R2R's.
    detail = float(voice.rng.uniform(0.0, 1.0))
    told: list[Fact] = []
    mentioned = {stop.thing}
    started = False
    for fact in facts:
        keep = False
        if fact.kind == "orient":
            keep = not started and fact.thing not in mentioned and voice.chance(style.orient)
            started = started or keep
        elif fact.kind == "turn":
            size = turn_size(fact.turn_rad, fact.step == 0)
            if fact.step == 0:
                boost = 0.2 if size in ("around", "sharp") else 0.0
                keep = size != "" and not started and voice.chance(style.first * min(1.0, 0.5 + detail) + boost)
            else:
                wish = style.slight * detail if size == "slight" else style.turns * (0.75 + 0.25 * detail)
                # "Exit the bedroom" already brings the walker to its door.
                implied = any(f.kind == "door" and not f.side and 0 < f.at_m - fact.at_m < 1.8 for f in facts)
                last = fact.at_m > facts[-1].at_m - 1.8 and stop.thing >= 0
                keep = size != "" and voice.chance(wish * (0.45 if implied or last else 1.0))
        elif fact.kind == "climb":
            keep = True
        elif fact.kind == "door":
            # The room of the goal is always told; others may go without saying.
            keep = fact.room == stop.room or voice.chance(0.7 + 0.3 * detail)
        elif fact.kind == "walk":
            keep = voice.chance(style.walks * detail)
        elif fact.kind in ("pass", "toward"):
            wish = style.passes if fact.kind == "pass" else style.toward
            crowded = any(other.thing >= 0 and abs(other.at_m - fact.at_m) < 0.7 for other in told)
            keep = fact.thing not in mentioned and not crowded and voice.chance(wish * detail)
        if keep:
            told.append(fact)
            if fact.kind in ("orient", "pass", "toward"):
                mentioned.add(fact.thing)
    return _ordered(voice.house, told)


def _ordered(house: House, told: list[Fact]) -> list[Fact]:
    """Facts by place; out of a room first, then the turn, where both happen in the doorway."""

    def place(fact: Fact) -> float:
        leaving = fact.kind == "door" and house.rooms[fact.other_room].kind not in HALLS and not fact.side
        return fact.at_m - (0.4 if leaving else 0.0)

    orient = [fact for fact in told if fact.kind == "orient"]
    return orient + sorted(
        (fact for fact in told if fact.kind != "orient" and not (orient and fact.at_m == 0.0)), key=place
    )


def _clauses(voice: Voice, told: list[Fact]) -> list[Clause]:
    clauses: list[Clause] = []
    index = 0
    while index < len(told):
        fact = told[index]
        after = told[index + 1] if index + 1 < len(told) else None
        if fact.kind == "turn" and after is not None and after.kind == "door" and after.turn_rad == fact.turn_rad:
            clauses.append(_turn_enter(voice, fact, after))
            index += 2
            continue
        if fact.kind == "walk" and fact.side == "through" and clauses and voice.chance(0.75):
            clauses = _without_entry(clauses, fact.room)
        clause = _clause(voice, fact, clauses)
        if clause is not None:
            clauses.append(clause)
        index += 1
    return clauses


def _without_entry(clauses: list[Clause], room: int) -> list[Clause]:
    """Drop a plain "enter the room" just before "walk through the room"."""
    last = clauses[-1]
    plain = len(last.facts) == 1 and last.facts[0].kind == "door" and last.facts[0].room == room
    return clauses[:-1] if plain and len(clauses) > 1 else clauses


def _clause(voice: Voice, fact: Fact, before: list[Clause]) -> Clause | None:
    """Say one fact."""
    text: str | None
    style = voice.style
    if fact.kind == "turn":
        size = turn_size(fact.turn_rad, fact.step == 0)
        table = phrases.FIRST_TURN if fact.step == 0 else phrases.TURN
        text = voice.expand(voice.pick(table[size]), hand=_hand(fact.turn_rad))
        door = before[-1].facts[-1] if before else None
        if door is not None and door.kind == "door" and style.join == "chatty" and voice.chance(0.35):
            text = voice.expand(voice.pick(phrases.LOOK), room=voice.room(door.room)) + text
    elif fact.kind == "door":
        text = _door(voice, fact, before)
    elif fact.kind == "walk":
        options = phrases.WALK_ALONG if fact.side == "along" else phrases.WALK_THROUGH
        text = voice.expand(voice.pick(options), room=voice.room(fact.room))
    elif fact.kind == "pass":
        text = voice.expand(voice.pick(phrases.PASS), thing=voice.thing(fact), on=voice.on(fact.side))
    elif fact.kind == "toward":
        text = voice.expand(voice.pick(phrases.TOWARD), thing=voice.thing(fact))
    elif fact.kind == "climb":
        text = voice.expand(voice.pick(phrases.CLIMB[fact.side]))
    else:
        around = voice.expand(phrases.AROUND[fact.side])
        text = voice.expand(voice.pick(phrases.ORIENT), thing=voice.thing(fact), around=around)
    return Clause(text, (fact,)) if text is not None else None


def _hand(turn_rad: float) -> str:
    return "right" if turn_rad > 0 else "left"


def _door(voice: Voice, fact: Fact, before: list[Clause]) -> str | None:
    """From one room to the next, when no turn goes with it."""
    slots = {"room": _entered(voice, fact), "left": voice.room(fact.other_room), "way": voice.way(fact)}
    from_hall, to_hall = (voice.house.rooms[k].kind in HALLS for k in (fact.other_room, fact.room))
    if to_hall and from_hall:
        return voice.expand(voice.pick(phrases.ENTER), **slots) if voice.chance(0.3) else None
    if to_hall:
        return voice.expand(voice.pick(phrases.LEAVE if voice.chance(0.75) else phrases.LEAVE_TO), **slots)
    if not from_hall and not any(f.kind == "door" for clause in before for f in clause.facts) and voice.chance(0.5):
        return voice.expand(voice.pick(phrases.LEAVE_TO), **slots)
    return voice.expand(voice.pick(phrases.ENTER), **slots)


def _entered(voice: Voice, fact: Fact) -> str:
    """The room entered, sometimes with what stands in it when the house has several of its kind."""
    kind = voice.house.rooms[fact.room].kind
    several = sum(room.kind == kind for room in voice.house.rooms) > 1 and kind not in HALLS
    if fact.thing >= 0 and several and voice.chance(0.35):
        noun = voice.word("thing " + voice.house.things[fact.thing].kind, nouns(voice.house.things[fact.thing].kind))
        return f"{voice.room(fact.room)} with {article(noun)} {noun}"
    return voice.room(fact.room)


def _turn_enter(voice: Voice, turn: Fact, door: Fact) -> Clause:
    """A turn straight into a room, by the number of its door where that is known."""
    slots = {"room": _entered(voice, door), "hand": door.side, "on": voice.on(door.side), "way": voice.way(door)}
    if 0 < door.ordinal < len(_ORDINALS) and voice.chance(0.55):
        inner = [o for o in voice.house.openings if o.inner and door.other_room in o.rooms]
        count = ("door", "doorway") if all(o.kind == "door" for o in inner) else ("opening", "doorway")
        text = voice.expand(
            voice.pick(phrases.ORDINAL_ENTER), nth=_ORDINALS[door.ordinal], count=voice.pick(count), **slots
        )
    else:
        text = voice.expand(voice.pick(phrases.TURN_ENTER), **slots)
    return Clause(text, (turn, door))


def _stop(voice: Voice, choice: Fact, clauses: list[Clause]) -> Clause:
    """Where to stop, and the room unless it has just been entered in words."""
    told = [fact for clause in clauses for fact in clause.facts]
    last = next((fact.room for fact in reversed(told) if fact.kind in ("door", "walk")), -1)
    manner = "there" if choice.side == "room" and last == choice.room else choice.side
    slots = {"room": voice.room(choice.room), "way": voice.way(choice)}
    if choice.thing >= 0:
        slots["thing"] = voice.thing(choice)
    text = voice.expand(voice.pick(phrases.STOPS[manner]), **slots)
    if voice.room(choice.room) not in text and last != choice.room and manner not in ("doorway", "on"):
        text += f" in {voice.room(choice.room)}"
    return Clause(text, (choice,))


def _punctuate(voice: Voice, texts: list[str]) -> str:
    """Join clauses into sentences."""
    joins = phrases.JOIN[voice.style.join]
    chatty = voice.style.join == "chatty"
    text, run = (voice.pick(phrases.OPENERS) if chatty and voice.chance(0.2) else "") + texts[0], 1
    for k, clause in enumerate(texts[1:], 1):
        join = voice.pick(joins)
        # Long sentences and the last clause get a full stop more often than chance would give.
        if run >= 3 or (k == len(texts) - 1 and voice.chance(0.4)) or (run >= 2 and voice.chance(0.4)):
            join = ". "
        run = 1 if join.startswith(".") else run + 1
        text += join + clause
    if voice.style.bare and voice.chance(0.7):
        text = re.sub(r"\b(?:the|a|an) (?=\w)", lambda m: "" if voice.chance(0.6) else m[0], text)
    if chatty and voice.chance(0.2):
        text += "." + voice.pick(phrases.CLOSERS)
    sentences = re.split(r"(?<=\. )", text)
    if not (voice.style.bare and voice.chance(0.3)):
        sentences = [sentence[:1].upper() + sentence[1:] for sentence in sentences]
    return "".join(sentences).rstrip() + "."
