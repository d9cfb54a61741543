from __future__ import annotations

import pytest

from ghosts_sim.errors import ConfigError, UnknownNameError
from ghosts_sim.senses import SENSES, SUITES, Shown, parse_senses, sense_summary


def test_shown_orders_names_and_counts_sectors():
    shown = Shown(("captions", "objects"), 90)
    assert shown.senses == ("objects", "captions")
    assert shown.sectors == 3
    assert str(shown) == "objects, captions, 90° of view"
    assert not shown.everything
    assert Shown().everything


@pytest.mark.parametrize("width", [0, 45, 390])
def test_a_field_of_view_has_whole_sectors(width):
    with pytest.raises(ConfigError, match="multiple of 30 degrees"):
        Shown(view_deg=width)


def test_senses_are_named_alone_in_lists_or_as_suites():
    assert parse_senses(["captions,floor", "rooms"]) == ("rooms", "floor", "captions")
    assert parse_senses(["robot"]) == ("floor", "captions", "detections")
    assert parse_senses(["everything"]) == tuple(SENSES)
    with pytest.raises(UnknownNameError, match="did you mean 'robot'"):
        parse_senses(["robt"])


def test_suites_hold_senses_alone():
    assert all(set(names) <= set(SENSES) for names in SUITES.values())


def test_a_summary_says_what_is_shown_missing_and_not_read():
    assert (
        sense_summary(["objects", "floor"], ["floor", "captions"])
        == "shown: floor; missing: objects; not read: captions"
    )
    assert sense_summary([], []) == "shown: nothing"
