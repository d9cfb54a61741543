"""The one-way rule: a room imports only from rooms before it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ghosts

ROOT = Path(ghosts.__file__).parent
# The way through the house. `language` comes before `world` because the environment hands out instructions.
ORDER = [
    "processor",
    "errors",
    "types",
    "geometry",
    "files",
    "weights",
    "config",
    "language",
    "world",
    "mattersim",
    "mapping",
    "belief",
    "act",
    "presets",
    "learn",
    "evaluate",
    "view",
    "bench",
    "cli",
]


def imported_rooms(path: Path) -> set[str]:
    """Rooms of `ghosts` that a module imports, at its top or inside functions."""
    rooms = set()
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
        rooms |= {name.split(".")[1] for name in names if name.startswith("ghosts.")}
    return rooms


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_only_from_rooms_before(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if room == "__init__":
        assert imported_rooms(path) == {"processor"}  # which imports none
        return
    assert room in ORDER, f"{path}: room {room!r} has no place in ORDER"
    later = {other for other in imported_rooms(path) - {"__version__"} if ORDER.index(other) > ORDER.index(room)}
    assert not later, f"{path.relative_to(ROOT)} imports from later rooms: {sorted(later)}"


def test_rule_catches_a_violation(tmp_path: Path) -> None:
    module = tmp_path / "bad.py"
    module.write_text("def f():\n    from ghosts.belief import filter\n", encoding="utf-8")
    assert imported_rooms(module) == {"belief"}
