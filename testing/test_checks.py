"""The checks of annotations find what is wrong, in every kind of function; without them nothing is checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float, TypeCheckError

from checks import EVERY, FIRST, checked, next_test, unchecked
from ghosts.fast import fused, strided
from ghosts_sim.types import Intrinsics

beartype = pytest.importorskip("beartype")


def of(thing: Any) -> Any:
    return checked(typechecker=beartype.beartype)(thing)


@of
def half(count: int) -> str:
    return "half" if count else count  # type: ignore[return-value]


@of
def add(one: Float[np.ndarray, " n"], other: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    return one + other


Line = Float[np.ndarray, " n"]


@of
def line(count: int) -> Line:
    return np.ones(count)


@of
def longer(one: Float[np.ndarray, " n"]) -> Float[np.ndarray, " m"]:
    return line(len(one) + 1)


@of
@dataclass
class Pair:
    left: int
    right: Float[np.ndarray, "2 3"]


class Kinds:
    @of
    def method(self, count: int) -> int:
        return count

    @of
    @classmethod
    def of_class(cls, count: int) -> int:
        return count

    @of
    @staticmethod
    def alone(count: int) -> int:
        return count

    @of
    @property
    def wrong(self) -> int:
        return "no number"  # type: ignore[return-value]


WRONG: dict[str, Callable[[], Any]] = {
    "argument": lambda: half("one"),
    "result": lambda: half(0),
    "axes": lambda: add(np.zeros(2), np.zeros(3)),
    "type beside a shape": lambda: Pair("one", np.zeros((2, 3))),  # type: ignore[arg-type]
    "shape of a field": lambda: Pair(1, np.zeros((3, 2))),
    "method": lambda: Kinds().method("one"),
    "class method": lambda: Kinds.of_class("one"),
    "static method": lambda: Kinds.alone("one"),
    "property": lambda: Kinds().wrong,
    "the package's own": lambda: Intrinsics("wide", 3, 1.0),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_found(call: Callable[[], Any]) -> None:
    with pytest.raises((TypeCheckError, beartype.roar.BeartypeCallHintViolation)):
        call()


def test_what_is_right_is_not() -> None:
    assert half(1) == "half"
    assert Kinds().method(1) == Kinds.of_class(1) == Kinds.alone(1) == 1
    assert add(np.ones(2), np.ones(2)).tolist() == [2.0, 2.0]
    assert Pair(1, np.zeros((2, 3))).left == 1


def test_an_annotation_by_name_has_axes_of_its_own() -> None:
    """The `n` of `line` is not the one of its caller."""
    assert longer(np.ones(2)).shape == (3,)


def test_a_function_that_is_called_often_is_checked_now_and_then() -> None:
    for _ in range(FIRST):
        add(np.ones(2), np.ones(2))
    for _ in range(EVERY - 1):
        assert add(np.ones(1), np.ones(3)).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(TypeCheckError):
        add(np.ones(1), np.ones(3))
    assert add(np.ones(1), np.ones(3)).tolist() == [2.0, 2.0, 2.0]
    next_test()
    with pytest.raises(TypeCheckError):
        add(np.ones(1), np.ones(3))


def test_unchecked() -> None:
    with unchecked():
        assert half(0) == 0
        assert add(np.ones(1), np.ones(3)).tolist() == [2.0, 2.0, 2.0]


def test_what_triton_compiles_is_left_alone() -> None:
    assert not hasattr(fused.can_fuse, "__wrapped__")
    assert hasattr(strided.displace, "__wrapped__")
