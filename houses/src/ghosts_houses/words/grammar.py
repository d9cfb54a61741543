"""From facts to sentences: what an author mentions, how he begins, and how he joins his clauses."""

from __future__ import annotations

import re

import numpy as np

from ghosts_houses.house import House
from ghosts_houses.plan.rooms import HALLS
from ghosts_houses.words.author import Author
from ghosts_houses.words.clauses import Clause, make_clauses, stop_clause, turn_size
from ghosts_houses.words.facts import Fact
from ghosts_houses.words.vocabulary import SMALL

OPENINGS = {"walk": 0.34, "go": 0.16, "turn": 0.16, "exit": 0.2, "leave": 0.07, "enter": 0.03, "head": 0.02, "": 0.02}
"""How often an instruction begins with a word, where the path allows it; R2R's shares, more for those that some paths
do not allow."""
_MANNERS = {"room": 0.5, "beside": 3.0, "in front": 3.0, "inside": 1.5, "between": 0.3, "facing": 0.25, "window": 0.3}
"""How often each way to say where a path ends is chosen against the others; 1 where none is given."""
_TRIES = 40
_JOIN: dict[str, tuple[str, ...]] = {
    "plain": (". ", " and ", ", ", ". ", " and then ", ", then ", " and ", ". Then "),
    "terse": (", ", ", ", ". ", ", then ", " and "),
    "chatty": (
        *(". ", ". ", " and ", " and ", ". Then ", ". Then ", " and then ", " and then ", ". Next, ", ", and "),
        *(". After that, ", ". From there, ", ". Now ", ". At this point, ", ". Afterwards, "),
        *(". Following that, ", ". After this, ", ". Once there, ", ". Having done that, ", ". From that point, "),
    ),
}
"""What may stand between two clauses."""

_SHORT = {"you are": "you're", "you will": "you'll", "that is": "that's", "do not": "don't", "there is": "there's"}
"""What people run together."""
_LAST = (". Finally, ", ". Lastly, ", " and finally ", ". To finish, ")
"""What a talkative author may say before the last clause."""


def write(author: Author, facts: list[Fact]) -> tuple[str, tuple[Fact, ...]]:
    """Write one instruction from everything true along the path. Returns it and the facts that it states."""
    stop = _choose_stop(author, facts)
    opening = author.rng.choice(list(OPENINGS), p=np.array(list(OPENINGS.values())))
    stated = _opened(author, str(opening), _select(author, facts, stop), facts)
    clauses = make_clauses(author, stated)
    clauses.append(stop_clause(author, stop, clauses))
    clauses = _begin(author, str(opening), clauses, stated)
    return _punctuate(author, clauses), tuple(f for clause in clauses for f in clause.facts)


def _choose_stop(author: Author, facts: list[Fact]) -> Fact:
    """One of the ways to say where the path ends: a landmark more often than the room alone."""
    stops = [fact for fact in facts if fact.kind == "stop"]
    manners = sorted({fact.side for fact in stops})
    weight = np.array([_MANNERS.get(manner, 1.0) for manner in manners])
    manner = manners[int(author.rng.choice(len(manners), p=weight / weight.sum()))]
    options = [fact for fact in stops if fact.side == manner]
    return options[int(author.rng.integers(len(options)))]


def _select(author: Author, facts: list[Fact], stop: Fact) -> list[Fact]:
    """Choose what to mention."""
    stated: list[Fact] = []
    mentioned = {stop.thing, stop.other_thing}
    for fact in facts:
        if fact.kind != "stop" and _mentions(author, fact, facts, stop, stated, mentioned):
            stated.append(fact)
            mentioned |= {fact.thing, fact.other_thing} if fact.kind != "door" else set()
    if not stated:  # nobody says only where to stop
        turns = [fact for fact in facts if fact.kind == "turn" and fact.step > 0 and turn_size(fact.turn_rad)]
        stated = [fact for fact in facts if fact.kind in ("door", "walk") or fact in turns][:1]
    return _ordered(author.house, _fewer(author, stated, stop))


def _fewer(author: Author, stated: list[Fact], stop: Fact) -> list[Fact]:
    """At most as many facts as the style's length allows; doors into the goal's room and stairs are always kept."""
    needed = [f for f in stated if f.kind == "climb" or (f.kind == "door" and f.room in (stop.room, stop.other_room))]
    spare = [f for f in stated if f not in needed]
    keep = max(0 if len(needed) > 1 else 1, 2 + int(5.0 * author.detail) - len(needed))
    kept = {int(k) for k in author.rng.permutation(len(spare))[:keep]}
    return [f for f in stated if f in needed] + [f for k, f in enumerate(spare) if k in kept]


def _mentions(
    author: Author, fact: Fact, facts: list[Fact], stop: Fact, stated: list[Fact], mentioned: set[int]
) -> bool:
    """Whether an author mentions a fact."""
    style, detail = author.style, author.detail
    if fact.kind == "turn":
        return _mentions_turn(author, fact, facts, stop)
    if fact.kind == "climb":
        return True
    if fact.kind == "door":
        # The room of the goal is always told; others may go without saying.
        return fact.room in (stop.room, stop.other_room) or author.chance(0.5 + 0.4 * detail)
    if fact.kind == "walk":
        return author.chance(style.walks * (0.3 + 0.7 * detail) * (1.5 if fact.side == "end" else 1.0))
    if fact.kind in ("orient", "away", "facing"):
        started = any(other.kind in ("orient", "away", "facing") for other in stated)
        return not started and fact.thing not in mentioned and author.chance(style.orient * 0.5)
    if fact.kind == "passdoor":
        return author.chance(1.2 * style.passes * detail)
    wish = {"pass": style.passes, "between": 2.5 * style.passes, "toward": style.toward}[fact.kind]
    crowded = any(other.thing >= 0 and abs(other.at_m - fact.at_m) < 0.7 for other in stated if other.kind != "door")
    again = fact.thing >= 0 and ({fact.thing, fact.other_thing} - {-1}) & mentioned
    rare = fact.thing >= 0 and author.house.things[fact.thing].kind in SMALL
    return not again and not crowded and author.chance(wish * (0.2 + 0.8 * detail) * (0.3 if rare else 1.0))


def _mentions_turn(author: Author, fact: Fact, facts: list[Fact], stop: Fact) -> bool:
    size = turn_size(fact.turn_rad, fact.step == 0)
    if fact.step == 0 or not size:
        return False  # the first turn belongs to the opening
    wish = (
        author.style.slight * author.detail if size == "slight" else author.style.turns * (0.75 + 0.25 * author.detail)
    )
    # "Exit the bedroom" already brings the walker to its door.
    implied = any(f.kind == "door" and not f.side and 0 < f.at_m - fact.at_m < 1.8 for f in facts)
    last = fact.at_m > facts[-1].at_m - 1.8 and stop.thing >= 0
    return author.chance(wish * (0.45 if implied or last else 1.0))


def _ordered(house: House, stated: list[Fact]) -> list[Fact]:
    """Facts by place; out of a room first, then the turn, where both happen in the doorway."""

    def place(fact: Fact) -> float:
        leaving = fact.kind == "door" and house.rooms[fact.other_room].kind not in HALLS and not fact.side
        return fact.at_m - (0.4 if leaving else 0.0)

    return sorted(stated, key=place)


def _opened(author: Author, opening: str, stated: list[Fact], facts: list[Fact]) -> list[Fact]:
    """The facts stated, so that an instruction can begin with a word: with the first turn, or out of the first room."""
    first = next((f for f in facts if f.kind == "turn" and f.step == 0 and turn_size(f.turn_rad, True)), None)
    start = [fact for fact in stated if fact.kind in ("orient", "away", "facing")]
    rest = [fact for fact in stated if fact not in start]
    if opening == "turn":
        return [first, *rest] if first is not None else rest
    if opening in ("exit", "leave", "enter"):
        door = next((fact for fact in facts if fact.kind == "door" and fact.at_m < 4.5), None)
        hall = door is not None and author.house.rooms[door.other_room].kind in HALLS
        if door is not None and hall == (opening == "enter"):
            return [door, *(fact for fact in rest if fact.at_m > door.at_m - 0.4 and fact != door)]
        return rest
    if start and start[0].kind == "facing":
        return [start[0], first, *rest] if first is not None and not opening else rest
    return start + rest


def _begin(author: Author, opening: str, clauses: list[Clause], stated: list[Fact]) -> list[Clause]:
    """Word the first clause so that it begins with a word."""
    if not opening or not stated:
        return clauses
    first = clauses[0]
    count = len(first.facts)
    for _ in range(_TRIES):
        if first.text.split()[0] == opening:
            return [first, *clauses[1:]]
        again = make_clauses(author, list(stated[:count]))
        if len(again) == 1 and again[0].facts == clauses[0].facts:
            first = again[0]
    if opening in ("walk", "go") and first.facts[0].at_m > 0.5:
        straight = author.pick(("forward", "straight", "straight ahead", "ahead"))
        return [Clause(f"{opening} {straight} and {first.text}", first.facts), *clauses[1:]]
    return [first, *clauses[1:]]


def _punctuate(author: Author, clauses: list[Clause]) -> str:
    """Join clauses into sentences."""
    joins = _JOIN[author.style.join]
    chatty = author.style.join == "chatty"
    text, run = clauses[0].text, 1
    if chatty and author.chance(0.1):
        text = f"{author.phrase('openers')}, {text}"
    elif author.start_room >= 0 and clauses[0].facts[0].kind not in ("door", "stop") and author.chance(0.02):
        start = author.phrase("starts")
        text = author.expand(start, room="the " + author.room_name(author.start_room)) + " " + text
    for k, clause in enumerate(clauses[1:], 1):
        join = author.pick(joins)
        last = k == len(clauses) - 1
        # Long sentences and the last clause get a full stop more often than chance would give.
        if run >= 3 or (last and author.chance(0.25)) or (run >= 2 and author.chance(0.3)):
            join = ". "
        if last and chatty and author.chance(0.12):
            join = author.pick(_LAST)
        said = clause.text
        if join == ". " and clause.look and author.chance(0.35):
            said = f"{clause.look} {said}"
        elif join == ". " and chatty and not last and re.match("(walk|go|turn|take|continue|pass|enter|head) ", said):
            said = f"{author.phrase('modals')} {said}" if author.chance(0.35) else said
        if last and re.match("stop (?!and)", said) and run < 3 and author.chance(0.12):
            join, said = ", ", "stopping" + said[4:]
        run = 1 if join.startswith(".") else run + 1
        text += join + said
    if author.style.bare and author.chance(0.7):
        bare = r"\b(?:the|an?(?= (?:left|right|slight|sharp|hard|quick))) "
        text = re.sub(bare, lambda match: "" if author.chance(0.6) else match[0], text)
    if author.chance(0.4):
        for whole, short in _SHORT.items():
            text = re.sub(rf"\b{whole}\b", short, text, flags=re.IGNORECASE)
    if chatty and author.chance(0.2):
        text += ". " + author.phrase("closers")
    sentences = re.split(r"(?<=\. )", text)
    if not (author.style.bare and author.chance(0.3)):
        sentences = [sentence[:1].upper() + sentence[1:] for sentence in sentences]
    return "".join(sentences).rstrip() + "."
