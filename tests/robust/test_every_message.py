"""Every message of the package, read from its syntax trees: what is wrong in plain words, with a value or a way out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from ghosts.cli import commands

SOURCE = Path(__file__).parents[2] / "src" / "ghosts"
ERRORS = {"GhostsError", "DataError", "ConfigError", "MissingExtraError", "UnknownNameError"}
REFUSAL = "wrong"  # `partial(DataError, file=…)`: readers that find many faults with a file name the error once
HELD = "\0"  # stands for an interpolated value
NAMES = ("Pose.", "UTF-8", "JSON", "PNG", "JPEG")
# What Python or torch say to a programmer; a message of ours says it in words.
JARGON = re.compile(
    r"\bNone\b|NoneType|out of range|IndexError|KeyError|TypeError|\bself\b|\bkwargs\b|\bdict\b|\bstr\b|ndarray"
    r"|\bassert|[Ii]nvalid input|[Ss]omething went wrong|[Uu]nexpected error|size mismatch"
)
PASSED_ON = {
    ("data/tile_bank.py", "error.problem"): "the store's problem, told again with the command that repairs it",
}
"""Messages that are written elsewhere, and why."""


class Site(NamedTuple):
    """One place that makes an error."""

    file: str
    line: int
    error: str
    message: ast.expr
    details: frozenset[str]
    function: ast.AST
    call: ast.Call


def _name(call: ast.Call) -> str:
    function = call.func
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


def _visit(node: ast.AST, function: ast.AST, file: str) -> Iterator[Site]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        function = node
    if isinstance(node, ast.Call) and (name := _name(node)) in {*ERRORS, REFUSAL, "require"}:
        details = {word.arg or "**" for word in node.keywords}
        details |= {"require": {"value"}, REFUSAL: {"file"}}.get(name, set())
        if name in ("UnknownNameError", "MissingExtraError") and len(node.args) > 1:
            details.add("name")
        error = "DataError" if name == REFUSAL else name
        yield Site(file, node.lineno, error, node.args[name == "require"], frozenset(details), function, node)
    for child in ast.iter_child_nodes(node):
        yield from _visit(child, function, file)


@cache
def trees() -> dict[str, ast.Module]:
    """Syntax trees of all modules, by file."""
    return {
        file.relative_to(SOURCE).as_posix(): ast.parse(file.read_text(encoding="utf-8"))
        for file in sorted(SOURCE.rglob("*.py"))
    }


@cache
def sites() -> tuple[Site, ...]:
    """All of them, `errors.py` itself left out."""
    return tuple(site for file, tree in trees().items() if file != "errors.py" for site in _visit(tree, tree, file))


def texts(value: ast.expr, function: ast.AST, depth: int = 0) -> list[str]:
    """Texts an expression can have; values of f-strings and what is not known here are `HELD`."""
    if isinstance(value, ast.Constant):
        return [str(value.value)]
    if isinstance(value, ast.JoinedStr):
        return ["".join(str(part.value) if isinstance(part, ast.Constant) else HELD for part in value.values)]
    if isinstance(value, ast.IfExp):
        return texts(value.body, function, depth) + texts(value.orelse, function, depth)
    if isinstance(value, ast.BinOp):
        rights = texts(value.right, function, depth)
        return [left + right for left in texts(value.left, function, depth) for right in rights]
    if isinstance(value, ast.Name) and depth < 3:
        given = [
            node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and value.id in [ast.unparse(target) for target in node.targets]
        ]
        return [text for part in given for text in texts(part, function, depth + 1)] or [HELD]
    return [HELD]


def faults(text: str, details: frozenset[str]) -> list[str]:
    """What a newcomer would stumble over in a message."""
    plain = text.replace(HELD, "").strip()
    lone = len(plain.split()) < 2 and HELD not in text and not details & {"file", "field", "record", "name"}
    checks = {
        "is empty": not text,
        "is not written here": bool(text) and not plain and "name" not in details,
        "is a single word": lone,
        "starts with a capital": text[:1].isupper() and not text.startswith(NAMES),
        "ends with a full stop": text.endswith("."),
        "names no value and no way out": not (HELD in text or details or re.search("[;:] ", text)),
        "speaks to programmers": JARGON.search(text) is not None,
        "is badly set": "!" in text or "  " in text.replace("\n  ", " "),
    }
    return [fault for fault, found in checks.items() if found]


def test_every_site_is_found() -> None:
    count = {name: sum(site.error == name for site in sites()) for name in sorted({*ERRORS, "require"})}
    assert count["DataError"] > 200, count
    assert count["ConfigError"] > 80, count
    assert count["require"] > 50, count


def test_every_message_can_be_read_by_a_newcomer() -> None:
    wrong = [
        f"{site.file}:{site.line} {site.error} {text.replace(HELD, '…')!r} {fault}"
        for site in sites()
        if (site.file, ast.unparse(site.message)) not in PASSED_ON
        for text in texts(site.message, site.function)
        for fault in faults(text, site.details)
    ]
    assert not wrong, "\n".join(wrong)


def test_a_setting_out_of_range_is_named_first() -> None:
    """`require` adds the value; the message starts with the setting, as it is typed or written."""
    setting = re.compile(rf"(--)?[a-z0-9_{HELD}]+([.-][a-z0-9_{HELD}]+)*,? ")
    told = [text for site in sites() if site.error == "require" for text in texts(site.message, site.function)]
    assert not [text for text in told if not setting.match(text)]


def test_a_wrong_value_is_shown_not_its_python_type() -> None:
    """ "got {}" rather than "got 'dict'"."""
    shown = [(site.file, site.line, ast.unparse(word.value)) for site in sites() for word in site.call.keywords]
    assert not [site for site in shown if site[2].startswith("type(") and site[2].endswith(".__name__")]


COMMAND = re.compile(r"\bghosts ([a-z]+)((?: +[^\s;,()]+)*)")
FOREIGN = ("view/images.py", "world/matterport/raw.py")
"""Files that name options of other programs: of a browser, of Matterport's script."""
FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9_.-]*[a-z0-9])")


@cache
def _fields(file: str) -> frozenset[str]:
    """Options that the dataclasses of a file make, as they are typed."""
    classes = [node for node in trees()[file].body if isinstance(node, ast.ClassDef)]
    made = [item.target for node in classes for item in node.body if isinstance(item, ast.AnnAssign)]
    return frozenset(item.id.replace("_", "-") for item in made if isinstance(item, ast.Name))


def _strings(node: ast.AST) -> Iterator[str]:
    """Every string below a node that is no docstring; values of f-strings are `HELD`."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        yield texts(node, node)[0]
    elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        for child in ast.iter_child_nodes(node):
            yield from _strings(child)


def test_commands_and_options_that_messages_name_exist() -> None:
    known, usual = commands(), {"help", "preset", "version"}
    anywhere = usual.union(*map(_fields, trees()))
    shared = {"train": ("cli/_launch.py",), "eval": ("cli/_runs.py",), "world": ("world/houses/index.py",)}
    seen = 0
    for file, tree in trees().items():
        for text in _strings(tree):
            flags = {flag.split(".")[-1].removeprefix("no-") for flag in FLAG.findall(text)}
            assert flags <= anywhere or file in FOREIGN, (file, text)
            for command, words in COMMAND.findall(text):
                own = {flag for flag in FLAG.findall(words) if "." not in flag}
                files = (f"cli/{command}.py", *shared.get(command, ())) if command in known else ()
                assert own <= usual.union(*map(_fields, files)), (file, text)
                seen += command in known
    assert seen > 40


def test_no_exception_is_left_over() -> None:
    assert not PASSED_ON.keys() - {(site.file, ast.unparse(site.message)) for site in sites()}


@pytest.mark.parametrize(
    ("text", "details", "fault"),
    [
        ("", set(), "is empty"),
        (HELD, {"file"}, "is not written here"),
        ("missing", set(), "is a single word"),
        ("No such file", {"file"}, "starts with a capital"),
        ("no such file.", {"file"}, "ends with a full stop"),
        ("the walk is wrong", set(), "names no value and no way out"),
        ("the value is None", {"value"}, "speaks to programmers"),
        ("list index out of range: 3", set(), "speaks to programmers"),
        ("no  such file", {"file"}, "is badly set"),
    ],
)
def test_poor_messages_are_caught(text: str, details: set[str], fault: str) -> None:
    assert fault in faults(text, frozenset(details))
