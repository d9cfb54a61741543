"""Shapes and types of annotations, checked while tests run (jaxtyping and beartype)."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jaxtyping
from jaxtyping import config, install_import_hook

FIRST, EVERY = 3, 100
"""Within one test, so many calls of a function are checked, and of those that follow every hundredth."""
COMPILED = "ghosts.fast.fused"
"""Triton compiles the source of these functions. In a check it would not find the names that they use."""
_SHAPE = re.compile(r"\b(Bool|Float|Int|Num|Shaped|UInt)(8|16|32|64)?\[")
_with_shapes = jaxtyping.jaxtyped
_test = 0


def install() -> None:
    """Check every function of the packages that is imported from now on.

    jaxtyping binds the sizes of named axes and checks arguments twice, which takes 20 µs per call. That is left to
    functions whose annotations have axes; the others get beartype alone. Checks are made when a function is first
    called: a process calls few of the 2 600.
    """
    jaxtyping.jaxtyped = checked  # what the hook writes above each function and class
    install_import_hook(["ghosts_sim", "ghosts_houses", "ghosts_benchmarks", *_parts("ghosts")], "beartype.beartype")


def _parts(package: str, folders: list[str] | None = None) -> list[str]:
    """What a package holds, by full name: pytest names our tests after their folders, `ghosts.tests` among them."""
    if folders is None:
        spec = importlib.util.find_spec(package)
        assert spec is not None, f"{package} is installed"
        folders = list(spec.submodule_search_locations or ())
    parts = []
    for item in pkgutil.iter_modules(folders, f"{package}."):
        if COMPILED.startswith(f"{item.name}."):
            parts += _parts(item.name, [f"{folder}/{item.name.rpartition('.')[2]}" for folder in folders])
        elif item.name != COMPILED:
            parts.append(item.name)
    return parts


def checked(thing: Any = None, *, typechecker: Callable[[Any], Any]) -> Any:
    """As `jaxtyping.jaxtyped`: a function, method or property that is checked, or a data class whose fields are."""
    again = functools.partial(checked, typechecker=typechecker)
    if thing is None:
        return again
    if inspect.isclass(thing):
        if dataclasses.is_dataclass(thing) and not hasattr(thing.__init__, "__wrapped__"):
            thing.__init__ = again(thing.__init__)  # type: ignore[misc]
        return thing
    if isinstance(thing, classmethod | staticmethod):
        return type(thing)(again(thing.__func__))
    if isinstance(thing, property):
        return property(*(part and again(part) for part in (thing.fget, thing.fset, thing.fdel)))
    return _when_called(thing, typechecker)


def next_test() -> None:
    """From here on, calls are counted anew."""
    global _test
    _test += 1


def _when_called(function: Callable[..., Any], typechecker: Callable[[Any], Any]) -> Callable[..., Any]:
    check: Callable[..., Any] | None = None
    calls, test = 0, _test

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal check, calls, test
        if config.jaxtyping_disable:
            return function(*args, **kwargs)
        if test != _test:
            calls, test = 0, _test
        calls += 1
        if calls > FIRST and (calls - FIRST) % EVERY:
            return function(*args, **kwargs)
        if check is None:
            check = _check(function, typechecker)
        return check(*args, **kwargs)

    return call


def _check(function: Callable[..., Any], typechecker: Callable[[Any], Any]) -> Callable[..., Any]:
    # Many modules import jaxtyping's names for the type checker alone: running them needs no jaxtyping.
    names = {**vars(jaxtyping), **function.__globals__}
    function.__annotations__ = {key: _hint(text, names) for key, text in function.__annotations__.items()}
    if any(_SHAPE.search(str(hint)) for hint in function.__annotations__.values()):
        return _with_shapes(function, typechecker=typechecker)  # type: ignore[no-any-return]
    return typechecker(function)  # type: ignore[no-any-return]


def _hint(text: Any, names: dict[str, Any]) -> Any:
    """What an annotation says; anything where it names what only a type checker knows (as jaxtyping has it)."""
    try:
        return eval(text, names) if isinstance(text, str) else text
    except NameError:
        return Any


@contextmanager
def unchecked() -> Iterator[None]:
    """Without checks, which take up to half of the time of small computations.

    For long work whose functions other tests call with checks: learning to the end, houses of many seeds.
    """
    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", before)
