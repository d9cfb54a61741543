"""Facts of a building that a record keeps, and spoilt ones, which are told by file, field and value."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ghosts_houses.audit import RULES
from ghosts_houses.house import House
from ghosts_houses.summary import building_facts, check_building, summarise
from ghosts_sim.errors import DataError

FLAWS = dict.fromkeys(RULES, 0)


def test_facts_of_a_building_are_accepted(handmade: House) -> None:
    facts = building_facts(handmade)
    check_building(facts, partial(DataError, file=Path("h.json")))
    assert facts["rooms"][0] == ["hallway", 23.4, 2.6]
    assert facts["things"]["bed"] == 2


def test_figures_of_graph_and_words_stand_beside_r2rs(handmade: House) -> None:
    figures = {"degree": 3.0, "instructions that begin with walk (%)": 36.0, "houses": 1}
    summary = summarise([{"building": building_facts(handmade), "storeys": 1}], figures)["figures"]
    assert [figure["R2R"] for figure in summary.values()] == [4.11, 36.5, None]


@pytest.mark.parametrize(
    ("building", "message"),
    [
        (None, "field 'building': expected an object (got nothing)"),
        ({"flaws": FLAWS}, "field 'building.rooms': expected a kind and two numbers of every room (got nothing)"),
        (
            {"rooms": [], "flaws": FLAWS},
            "field 'building.rooms': expected a kind and two numbers of every room (got [])",
        ),
        ({"rooms": [["closet", 2.0]], "flaws": FLAWS}, '(got [["closet", 2.0]])'),
        ({"rooms": [["closet", 2.0, None]], "flaws": FLAWS}, '(got [["closet", 2.0, null]])'),
        ({"rooms": [["closet", 2.0, 2.5]], "flaws": 3}, "window, rugs (got 3)"),
        (
            {"rooms": [["closet", 2.0, 2.5]], "flaws": FLAWS | {"essentials": "x"}},
            "field 'building.flaws': expected whole numbers for essentials, size, ",
        ),
    ],
)
def test_spoilt_facts_are_told(building: Any, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        check_building(building, partial(DataError, file=Path("h.json"), hint="remove the file"))
    assert str(caught.value).startswith("h.json")
    assert str(caught.value).endswith("remove the file")
