"""Forbidden AMX, simulated: oneDNN is told to do without it before torch starts, and nothing else is touched."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ghosts import processor
from ghosts.processor import AMX_WORKS, WITHOUT_AMX, amx_works, announces_amx, grants_amx, settle

NAME, OLD_NAME = "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"
linux_only = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="AMX is asked for on Linux, x86-64"
)


@pytest.mark.parametrize(
    ("announced", "granted", "works", "forbidden"),
    [
        (False, None, None, False),
        (None, False, None, False),  # an Intel processor without AMX
        (None, True, True, False),
        (None, True, False, True),  # a list that hides it, and a kernel that promises it
        (True, False, None, True),
        (True, True, False, True),  # the kernel says yes, and the instruction fails
        (True, True, True, False),
    ],
)
def test_who_is_asked_and_believed(
    announced: bool | None, granted: bool | None, works: bool | None, forbidden: bool
) -> None:
    def answer(value: bool | None) -> Callable[[], bool]:
        def ask() -> bool:
            assert value is not None, "must not be asked"
            return value

        return ask

    environment: dict[str, str] = {}
    assert settle(environment, lambda: announced, answer(granted), answer(works)) == forbidden
    assert environment == ({NAME: WITHOUT_AMX} if forbidden else {AMX_WORKS: "1"} if works else {})
    if works:  # child processes need not try again
        assert not settle(environment, lambda: announced, answer(None), answer(None))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({NAME: ""}, {NAME: WITHOUT_AMX}),
        # What leaves AMX out stays; what does not, or is no name that oneDNN knows, does not.
        ({NAME: "AVX2"}, {NAME: "AVX2"}),
        ({NAME: "avx512_core"}, {NAME: "avx512_core"}),
        ({OLD_NAME: "SSE41"}, {OLD_NAME: "SSE41"}),
        ({NAME: "AVX512_CORE_AMX"}, {NAME: WITHOUT_AMX}),
        ({NAME: "ALL", OLD_NAME: "AVX2"}, {NAME: WITHOUT_AMX, OLD_NAME: "AVX2"}),
        ({NAME: "fast"}, {NAME: WITHOUT_AMX}),
    ],
)
def test_limits_that_are_set_already(before: dict[str, str], after: dict[str, str]) -> None:
    assert settle(before, lambda: True, lambda: False)
    assert before == after


@linux_only
def test_what_the_processor_announces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    for vendor, word, expected in (
        ("GenuineIntel", "amx_tile", True),
        ("GenuineIntel", "amx_tiles", None),
        ("AuthenticAMD", "lm", False),
        ("AuthenticAMD", "amx_tile", True),
    ):
        lines = ["processor\t: 0", f"vendor_id\t: {vendor}", f"flags\t\t: fpu avx512_bf16 {word} amx_int8", "", ""]
        cpuinfo.write_text("\n".join(lines))
        assert announces_amx(str(cpuinfo)) is expected
    assert announces_amx(str(tmp_path / "none")) is None
    monkeypatch.setattr(sys, "platform", "darwin")
    assert announces_amx() is False


@pytest.mark.parametrize(
    ("asked", "read", "given", "granted"),
    [
        (0, 0, 1 << 18, True),
        (-1, 0, 1 << 18, False),  # refused, as a kernel that does not know the question refuses it
        (0, -1, 0, False),
        (0, 0, 0b111, False),  # says yes, and gives nothing
    ],
)
def test_what_the_kernel_answers(
    monkeypatch: pytest.MonkeyPatch, asked: int, read: int, given: int, granted: bool
) -> None:
    import ctypes

    class Library:
        def __init__(self, *_: object, **__: object) -> None:
            def syscall(number: ctypes.c_long, what: ctypes.c_long, where: object) -> int:
                assert number.value == 158
                if what.value == 0x1023:
                    return asked
                where._obj.value = given  # type: ignore[attr-defined]
                return read

            self.syscall = syscall

    monkeypatch.setattr(ctypes, "CDLL", Library)
    assert grants_amx() == granted


@linux_only
def test_this_machine_answers() -> None:
    """Whatever it says, asking is safe: a processor without AMX ends the child that tries, and nothing else."""
    told, granted, works = announces_amx(), grants_amx(), amx_works()
    print(f"announced {told}, granted {granted}, works {works}")
    assert granted or not works
    assert processor.amx_forbidden == (granted and not works if told is None else told and not works)


@linux_only
def test_the_trial_without_its_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that reads what it is given and returns: the rest of the trial fails nowhere."""
    harmless = re.sub(r'fromhex\("[^"]*"\)', 'fromhex("8a07 c3")', processor._TRIAL)
    assert harmless != processor._TRIAL
    monkeypatch.setattr(processor, "_TRIAL", harmless)
    assert amx_works()


def test_a_trial_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert not amx_works()


FORBIDDING = """
import builtins, ctypes, io, os, sys
real = builtins.open
def fake(path, *rest, **more):
    return io.BytesIO(b"flags : lm amx_tile") if path == "/proc/cpuinfo" else real(path, *rest, **more)
builtins.open = fake
class Library:
    def __init__(self, *_, **__):
        self.syscall = lambda *_: -1
ctypes.CDLL = Library
os.environ.pop("ONEDNN_MAX_CPU_ISA", None)
os.environ.pop("DNNL_MAX_CPU_ISA", None)
os.environ.pop("GHOSTS_AMX_WORKS", None)
import ghosts
from ghosts import processor
assert "torch" not in sys.modules
assert (processor.amx_forbidden, processor.too_late) == (True, False)
assert os.environ["ONEDNN_MAX_CPU_ISA"] == processor.WITHOUT_AMX
"""


@linux_only
def test_importing_the_package_is_enough() -> None:
    """A machine that forbids AMX, as this process would see it."""
    subprocess.run([sys.executable, "-c", FORBIDDING], check=True)
