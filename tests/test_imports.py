"""The one-way rule: a package imports only from packages before it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ghosts

ROOT = Path(ghosts.__file__).parent
# World, observation, map, belief, action, score, picture. `language` comes before `world` because a data root hands out
# instructions, `evaluate` before `learn` because training scores itself.
ORDER = [
    "processor",
    "errors",
    "types",
    "geometry",
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
    "learn",
    "view",
    "bench",
    "cli",
]


def imported_packages(path: Path) -> set[str]:
    """Packages of `ghosts` that a module imports, at its top or inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write it from ghosts"
            names = [
                f"{node.module}.{alias.name}" if node.module == "ghosts" else str(node.module) for alias in node.names
            ]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("ghosts.")}
    return found


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_only_from_packages_before(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if package == "__init__":
        assert imported_packages(path) == {"processor"}  # which imports none
        return
    assert package in ORDER, f"{path}: package {package!r} has no place in ORDER"
    later = {other for other in imported_packages(path) - {"__version__"} if ORDER.index(other) > ORDER.index(package)}
    assert not later, f"{path.relative_to(ROOT)} imports from later packages: {sorted(later)}"


def test_rule_catches_a_violation(tmp_path: Path) -> None:
    module = tmp_path / "bad.py"
    module.write_text("def f():\n    from ghosts.belief import filter\n", encoding="utf-8")
    assert imported_packages(module) == {"belief"}
