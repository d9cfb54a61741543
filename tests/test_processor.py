"""Forbidden AMX, simulated: oneDNN is told to do without it before torch starts, and nothing else is touched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ghosts import processor
from ghosts.processor import WITHOUT_AMX, announces_amx, grants_amx, settle

NAME, OLD_NAME = "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"
linux_only = pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="reads Linux's /proc")


@pytest.mark.parametrize(
    ("announced", "granted", "before", "after"),
    [
        (False, False, {}, {}),
        (True, True, {}, {}),
        (True, True, {NAME: "ALL"}, {NAME: "ALL"}),
        (True, False, {}, {NAME: WITHOUT_AMX}),
        (True, False, {NAME: ""}, {NAME: WITHOUT_AMX}),
        # What leaves AMX out stays; what does not, or is no name that oneDNN knows, does not.
        (True, False, {NAME: "AVX2"}, {NAME: "AVX2"}),
        (True, False, {NAME: "avx512_core"}, {NAME: "avx512_core"}),
        (True, False, {OLD_NAME: "SSE41"}, {OLD_NAME: "SSE41"}),
        (True, False, {NAME: "AVX512_CORE_AMX"}, {NAME: WITHOUT_AMX}),
        (True, False, {NAME: "ALL", OLD_NAME: "AVX2"}, {NAME: WITHOUT_AMX, OLD_NAME: "AVX2"}),
        (True, False, {NAME: "fast"}, {NAME: WITHOUT_AMX}),
    ],
)
def test_a_limit_where_amx_is_announced_and_not_granted(
    announced: bool, granted: bool, before: dict[str, str], after: dict[str, str]
) -> None:
    assert settle(before, lambda: announced, lambda: granted) == (announced and not granted)
    assert before == after


def test_the_kernel_is_asked_only_where_amx_is_announced() -> None:
    def unexpected() -> bool:
        raise AssertionError("asked")

    assert not settle({}, lambda: False, unexpected)


@linux_only
def test_what_the_processor_announces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    cpuinfo = tmp_path / "cpuinfo"
    flags = "fpu avx512_bf16 avx512_fp16 {}amx_int8 lm"
    for word, expected in (("amx_tile ", True), ("amx_tiles ", False), ("", False)):
        cpuinfo.write_text(f"processor\t: 0\nflags\t\t: {flags.format(word)}\n\nprocessor\t: 1\n")
        assert announces_amx(str(cpuinfo)) == (expected and processor.os.uname().machine == "x86_64")
    assert not announces_amx(str(tmp_path / "none"))
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not announces_amx()


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


def test_this_machine_answers() -> None:
    """Whatever it says, asking is safe; without AMX there is nothing to grant."""
    granted = grants_amx()
    assert granted in (True, False)
    assert processor.amx_forbidden == (announces_amx() and not granted)
    if sys.platform == "linux" and not announces_amx():
        assert not granted


FORBIDDING = """
import builtins, ctypes, io, os, sys
real = builtins.open
def fake(path, *rest, **more):
    return io.BytesIO(b"flags: lm amx_tile") if path == "/proc/cpuinfo" else real(path, *rest, **more)
builtins.open = fake
class Library:
    def __init__(self, *_, **__):
        self.syscall = lambda *_: -1
ctypes.CDLL = Library
os.environ.pop("ONEDNN_MAX_CPU_ISA", None)
os.environ.pop("DNNL_MAX_CPU_ISA", None)
import ghosts
from ghosts import processor
assert "torch" not in sys.modules
assert (processor.amx_forbidden, processor.too_late) == (True, False)
assert os.environ["ONEDNN_MAX_CPU_ISA"] == processor.WITHOUT_AMX
"""


@linux_only
def test_importing_the_package_is_enough() -> None:
    """A machine that forbids AMX, as this process would see it."""
    if processor.os.uname().machine != "x86_64":
        pytest.skip("AMX is a matter of x86-64")
    subprocess.run([sys.executable, "-c", FORBIDDING], check=True)
