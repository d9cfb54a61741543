"""All facts along a path."""

from __future__ import annotations

from ghosts_houses.words.doors import doors, passed_doors
from ghosts_houses.words.facts import Fact, Setting
from ghosts_houses.words.sights import sights
from ghosts_houses.words.stops import stops
from ghosts_houses.words.stretches import climbs, turns, walks


def gather(setting: Setting) -> list[Fact]:
    """All facts of a setting, in order; the ways to say where the path ends come last."""
    facts = turns(setting) + walks(setting) + climbs(setting)
    facts += doors(setting) + passed_doors(setting) + sights(setting) + stops(setting)
    return sorted(facts, key=lambda fact: (fact.at_m, fact.kind == "stop"))
