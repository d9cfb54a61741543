"""Nothing we ship runs what it reads: no pickle, no eval, no shell; and every dependency's licence is listed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
SOURCES = sorted(path for folder in PROJECT.glob("*/src") for path in folder.rglob("*.py"))
MODULES = {"pickle", "cPickle", "dill", "joblib", "marshal", "shelve", "cloudpickle", "yaml"}
CALLS = {"eval", "exec", "compile", "__import__"}
METHODS = {("torch", "load"), ("os", "system"), ("os", "popen"), ("pickle", "load"), ("pickle", "loads")}


def dangers(source: str) -> list[str]:
    """Imports and calls that would run what a file says."""
    found = []
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module)]
        found += [f"line {node.lineno}: import {name}" for name in names if name.split(".")[0] in MODULES]  # type: ignore[attr-defined]
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id in CALLS:
            found.append(f"line {node.lineno}: {function.id}()")
        owner = function.value if isinstance(function, ast.Attribute) else None
        if isinstance(owner, ast.Name) and (owner.id, function.attr) in METHODS:
            found.append(f"line {node.lineno}: {owner.id}.{function.attr}()")
        for word in node.keywords:
            value = word.value
            if word.arg in ("shell", "allow_pickle") and not (isinstance(value, ast.Constant) and value.value is False):
                found.append(f"line {node.lineno}: {word.arg}=")
    return found


def test_nothing_runs_what_it_reads() -> None:
    found = {str(path): dangers(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert len(found) > 300
    assert not {path: lines for path, lines in found.items() if lines}


def test_the_rule_catches_what_it_should() -> None:
    bad = ["import pickle", "from yaml import load", "eval('1')", "torch.load('x')"]
    bad += ["np.load('x', allow_pickle=True)", "run('x', shell=True)"]
    assert len(dangers("\n".join(bad))) == 6
    assert not dangers("import json\nmodel.eval()\nnp.load('x', allow_pickle=False)\nload('x')\n")


def test_no_text_of_the_package_names_an_unpickler() -> None:
    """A plain search as well, for what a syntax tree does not show (strings handed to other processes)."""
    for path in SOURCES:
        for line in path.read_text(encoding="utf-8").splitlines():
            if re.search(r"\bpickle\.loads?\(|yaml\.load\(|shell=True", line):
                raise AssertionError(f"{path.relative_to(PROJECT)}: {line.strip()}")


def test_every_dependency_has_its_licence_listed() -> None:
    from licences import TARGET, dependencies

    text = TARGET.read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| ([A-Za-z0-9._-]+) \|", text, re.MULTILINE))
    asked = {name for names in dependencies().values() for name in names}
    assert asked <= listed, f"run: python tests/licences.py ({sorted(asked - listed)} are missing)"
    assert not re.search(r"\bA?GPL", text), "a copyleft licence that a product under MIT cannot take in"


def test_the_lock_has_a_version_of_every_dependency_and_no_address() -> None:
    from licences import dependencies

    lines = (PROJECT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.match(r"[a-z0-9.-]+==[\w.]+( ; .*)?$", line) or "://" in line] == []
    locked = {line.split("==")[0] for line in lines}
    (ours,) = re.findall(r"^OURS := (.*)$", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    names = {"sim": "ghosts-sim", "houses": "ghosts-houses", "ghosts": "ghosts"}
    made = {f"{names[name]}[{one}]" for name, some in re.findall(r"/(\w+)\[(.*?)\]", ours) for one in some.split(",")}
    found = {group: names for group, names in dependencies().items() if "[" not in group or group in made}
    asked = {name.lower() for names in found.values() for name in names}
    assert asked <= locked, f"run: make lock ({sorted(asked - locked)} are missing)"


def test_every_shipped_weight_has_a_card() -> None:
    text = (PROJECT / "docs" / "weights.md").read_text(encoding="utf-8")
    for path in (PROJECT / "ghosts" / "src" / "ghosts" / "weights").glob("*.safetensors"):
        assert f"`{path.stem}`" in text, f"docs/weights.md says nothing of {path.stem}"
