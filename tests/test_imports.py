"""The one-way rule: a package imports only from packages before it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ghosts

ROOT = Path(ghosts.__file__).parent
# World, observation, map, belief, action, score, picture. `language` comes before `world` because a data root hands out
# instructions, `evaluate` before `learn` because training scores itself.
HOUSES = ROOT / "world" / "houses"
ORDER = [
    "processor",
    "errors",
    "types",
    "geometry",
    "limits",
    "locks",
    "workers",
    "files",
    "config",
    "presets",
    "devices",
    "precision",
    "weights",
    "language",
    "world",
    "mattersim",
    "mapping",
    "belief",
    "act",
    "data",
    "run",
    "evaluate",
    "continuous",
    "learn",
    "view",
    "bench",
    "cli",
]
# The order in which a house is made.
HOUSE_ORDER = [
    "house",
    "solids",
    "touch",
    "plan",
    "furniture",
    "audit",
    "make",
    "render",
    "graph",
    "mesh",
    "body",
    "assets",
    "words",
    "landmarks",
    "statistics",
    "summary",
    "index",
    "record",
    "world",
    "check",
]


def imported(path: Path, parent: str = "ghosts") -> set[str]:
    """Packages and modules right below `parent` that a module imports, at its top or inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write it from ghosts"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {name.removeprefix(f"{parent}.").split(".")[0] for name in names if name.startswith(f"{parent}.")}
    return found


def later(order: list[str], package: str, others: set[str]) -> list[str]:
    return sorted(other for other in others if order.index(other) > order.index(package))


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_only_from_packages_before(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if package == "__init__":
        assert imported(path) == {"processor"}  # which imports none
        return
    assert package in ORDER, f"{path}: {package!r} has no place in ORDER"
    wrong = later(ORDER, package, imported(path) - {"__version__"})
    assert not wrong, f"{path.relative_to(ROOT)} imports from later packages: {wrong}"


@pytest.mark.parametrize("path", sorted(HOUSES.rglob("[!_]*.py")), ids=lambda path: str(path.relative_to(HOUSES)))
def test_houses_import_in_the_order_they_are_made(path: Path) -> None:
    package = path.relative_to(HOUSES).parts[0].removesuffix(".py")
    wrong = later(HOUSE_ORDER, package, imported(path, "ghosts.world.houses"))
    assert not wrong, f"{path.relative_to(ROOT)} imports from later packages: {wrong}"


def test_rule_catches_a_violation(tmp_path: Path) -> None:
    module = tmp_path / "bad.py"
    module.write_text("def f():\n    from ghosts.belief import filter\n", encoding="utf-8")
    assert imported(module) == {"belief"}
    assert later(ORDER, "mapping", imported(module)) == ["belief"]
