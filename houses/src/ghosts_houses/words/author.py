"""An author who writes one instruction: a style, a random generator, and the words kept to so far."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from ghosts_houses.house import House
from ghosts_houses.plan.rooms import HALLS
from ghosts_houses.tables import entries, lines, sections
from ghosts_houses.words.facts import Fact, Name
from ghosts_houses.words.traits import Appearance
from ghosts_houses.words.vocabulary import (
    COLORS,
    MANY,
    NUMBERS,
    PLACES,
    SIZES,
    TRAITS,
    article,
    countable,
    nouns,
    plural,
    room_names,
)

_TEXTS = sections("words/phrases.txt")
_SYNONYMS = entries(_TEXTS.pop("words"))
PHRASES = {name: lines(text) for name, text in _TEXTS.items()}
"""Templates by what they say."""


@dataclass(frozen=True)
class Style:
    """How an author writes: probabilities of what is mentioned, and how clauses are joined."""

    name: str
    join: str
    """How clauses are joined (`grammar`)."""
    turns: float
    """Mentions a turn that he has to make."""
    slight: float
    """Mentions a slight turn."""
    walks: float
    """Mentions walking along a hallway or through a room."""
    passes: float
    """Mentions a thing or a door passed."""
    toward: float
    """Mentions a thing walked towards."""
    adjectives: float
    """Adds a colour, size or material that is not needed."""
    orient: float
    """Starts by placing the reader among the things around."""
    bare: bool = False
    """Leaves out most articles."""


STYLES = (
    Style("plain", "plain", 0.75, 0.15, 0.40, 0.14, 0.09, 0.35, 0.10),
    Style("terse", "terse", 0.70, 0.03, 0.15, 0.05, 0.04, 0.25, 0.00, bare=True),
    Style("chatty", "chatty", 0.80, 0.20, 0.45, 0.14, 0.10, 0.45, 0.15),
    Style("landmarks", "plain", 0.55, 0.05, 0.25, 0.30, 0.20, 0.55, 0.30),
    Style("turns", "plain", 0.95, 0.45, 0.35, 0.06, 0.05, 0.25, 0.05),
)


@dataclass
class Author:
    """Turns facts into words in one style; draws at random, and keeps to a word once chosen."""

    house: House
    appearance: Appearance
    style: Style
    rng: np.random.Generator
    detail: float
    """How much he writes, from 0 to 1."""
    start_room: int
    """The room the path starts in; −1 where it starts in a doorway."""
    chosen: dict[str, str] = field(default_factory=dict)

    def pick(self, options: tuple[str, ...]) -> str:
        """One of several, at random."""
        return options[int(self.rng.integers(len(options)))]

    def chance(self, probability: float) -> bool:
        """Whether something of a given probability happens."""
        return bool(self.rng.random() < probability)

    def expand(self, template: str, **slots: str) -> str:
        """Fill the choices, words and slots of a template."""
        while (match := re.search(r"\(([^()]*)\)", template)) is not None:
            template = template[: match.start()] + self.pick(tuple(match[1].split("|"))) + template[match.end() :]
        template = re.sub(r"<(\w+)>", lambda match: self.pick(_SYNONYMS[match[1]]), template)
        return re.sub(r" +", " ", template.format(**slots)).strip()

    def phrase(self, name: str) -> str:
        """One of the templates of a name."""
        return self.pick(PHRASES[name])

    def say(self, name: str, /, *without: str, **slots: str) -> str:
        """One of the templates of a name, except those with some words, filled with slots that are known already."""
        fit = tuple(text for text in PHRASES[name] if not any(words in text for words in without))
        return self.expand(self.pick(fit), **slots)

    def word(self, kind: str, options: tuple[str, ...]) -> str:
        """A synonym, kept to for the whole instruction where it fits."""
        if self.chosen.get(kind) not in options:
            # People agree on the first word more often than not.
            self.chosen[kind] = options[0] if self.chance(0.3) else self.pick(options)
        return self.chosen[kind]

    def room_name(self, index: int) -> str:
        """A room's name, without article."""
        kind = self.house.rooms[index].kind
        return self.word("room " + kind, room_names(kind))

    def room(self, index: int) -> str:
        """A room with its article; the first time perhaps with a word on its size."""
        name, traits = self.room_name(index), self.appearance.rooms[index]
        if traits and f"said {index}" not in self.chosen and self.chance(0.3 * self.style.adjectives):
            name = f"{self.pick(TRAITS[self.pick(traits)])} {name}"
        self.chosen[f"said {index}"] = name
        return "the " + name

    def entered(self, fact: Fact) -> str:
        """The room entered, perhaps by what stands in it or by its floor where that tells it from others."""
        kind = self.house.rooms[fact.room].kind
        thing, surfaces = self.house.things[fact.thing], self.appearance.surfaces[fact.room]
        if kind not in HALLS and fact.thing >= 0 and self.chance(0.3):
            return f"{self.room(fact.room)} with {self.one(thing.kind, fact.name)}"
        if kind not in HALLS and surfaces and self.chance(0.25):
            return f"{self.room(fact.room)} with the {self.pick(surfaces)}"
        lone = fact.thing >= 0 and sum(other.kind == thing.kind for other in self.house.things) == 1
        if kind not in HALLS and lone and f"said {fact.room}" not in self.chosen and self.chance(0.3):
            return f"the {self.pick(('room', 'room', 'next room', 'area'))} with the {self.noun(thing.kind, fact.name)}"
        return self.room(fact.room)

    def noun(self, kind: str, name: Name) -> str:
        """A noun for a kind of thing."""
        return self.word("thing " + kind, name.words or nouns(kind))

    def one(self, kind: str, name: Name) -> str:
        """ "a piano", "the piano", or "curtains"."""
        noun = self.noun(kind, name)
        return f"{article(noun)} {noun}".strip() if self.chance(0.5) else f"the {noun}"

    def thing(self, index: int, name: Name) -> str:
        """A thing with its article and all that is needed to tell it apart."""
        item = self.house.things[index]
        noun = self.noun(item.kind, name)
        if name.how == "plural":
            number = NUMBERS[name.count] if name.count < len(NUMBERS) and countable(noun) and self.chance(0.7) else ""
            number = str(name.count) if number and self.chance(0.25) else number
            if number == "two" and self.chance(0.3):
                return self.pick((f"the pair of {plural(noun)}", f"both {plural(noun)}", f"a couple of {plural(noun)}"))
            colors = {t.color_word for t in self.house.things if t.room == item.room and t.kind == item.kind}
            shade = item.color_word if len(colors) == 1 and self.chance(self.style.adjectives) else ""
            return re.sub(" +", " ", f"the {number} {shade} {plural(noun)}")
        text = "the " + " ".join([*self._adjectives(index, name, noun), noun])
        if name.how == "room":
            return f"{text} in {self.room(item.room)}"
        places = tuple(place for place in self.appearance.places[index] if place not in noun)
        if name.how == "place":
            return f"{text} {self.pick(PLACES[name.trait])}"
        if places and self.chance(0.35 * self.style.adjectives):
            return f"{text} {self.pick(PLACES[self.pick(places)])}"
        return text

    def _adjectives(self, index: int, name: Name, noun: str) -> list[str]:
        """Words on a thing's size, colour and material: those needed, and sometimes one more."""
        item, traits = self.house.things[index], self.appearance.traits[index]
        wanted = {name.trait} if name.how == "trait" else set()
        if traits and self.chance(0.6 * self.style.adjectives):
            wanted.add(self.pick(traits))
        color = item.color_word and (name.how == "color" or self.chance(self.style.adjectives))
        wanted = {trait for trait in wanted if not set(TRAITS[trait]) & set(noun.split())}
        words = [self.pick(TRAITS[trait]) for trait in TRAITS if trait in wanted]
        shade = [self.word("color " + item.color_word, COLORS.get(item.color_word, (item.color_word,)))]
        sizes = sum(trait in SIZES for trait in wanted)
        words = words[:sizes] + (shade if color else []) + words[sizes:]
        return [word for word in words if word not in noun.split()]

    def is_are(self, index: int, name: Name) -> str:
        """The verb that goes with a thing's name."""
        noun = self.noun(self.house.things[index].kind, name)
        return "are" if name.how == "plural" or noun in MANY else "is"

    def way(self, fact: Fact) -> str:
        """A door or an opening."""
        opening = self.house.openings[fact.opening]
        if fact.opening < 0 or opening.kind == "door":
            return self.phrase("door")
        return self.pick(PHRASES["opening"] + (("wide opening",) if opening.width_m > 1.4 else ()))

    def on(self, side: str) -> str:
        """ "on your left" and its like; "" where a thing lies on no one side."""
        return self.phrase("sides").format(hand=side) if side else ""
