"""Which instructions of this processor really work, found out before torch computes anything.

Some processors announce AMX (tile registers, for products in bfloat16) where the system, mostly a sandbox, keeps the
registers to itself. oneDNN, by which torch computes on a CPU, then ends the process with an illegal instruction, or
fails to make a kernel and, from then on, any other. It is told to do without AMX there, by its own variable, which it
reads at its first kernel. Nothing else changes: results without AMX are as good.

oneDNN asks the kernel itself and believes it. Some kernels say yes and the instruction fails all the same, so a yes is
tried in a child process (30 ms, on processors with AMX alone).

Free of torch: `import ghosts` does this first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, MutableMapping

WITHOUT_AMX = "AVX512_CORE_BF16"
"""oneDNN's name of the most it may use; every processor with AMX has it."""
AMX_WORKS = "GHOSTS_AMX_WORKS"
"""Variable that spares child processes the trial."""
_NAMES = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")  # oneDNN looks for them in this order
_BELOW_AMX = {
    *("SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2", "AVX512_CORE", "AVX512_CORE_VNNI", "AVX512_CORE_BF16"),
    *("AVX512_CORE_FP16", "AVX10_1_512"),
}
_ARCH_PRCTL, _GET_PERMISSION, _ASK_PERMISSION, _TILE_DATA = 158, 0x1022, 0x1023, 18  # Linux, x86-64
# ldtilecfg [rdi]; tilezero tmm0 to tmm2; tdpbf16ps tmm0, tmm1, tmm2; tilerelease; ret. Tiles have 16 rows of 64 bytes.
_TRIAL = f"""
import ctypes, mmap, resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
ctypes.CDLL(None).syscall(*map(ctypes.c_long, ({_ARCH_PRCTL}, {_ASK_PERMISSION}, {_TILE_DATA})))
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex("c4e2784907 c4e27b49c0 c4e27b49c8 c4e27b49d0 c4e26a5cc1 c4e27849c0 c3"))
tiles = ctypes.create_string_buffer(bytes([1, *[0] * 15, *[64, 0] * 3, *[0] * 26, *[16] * 3, *[0] * 13]))
code = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
code(ctypes.addressof(tiles))
"""
_TRIAL_S = 30.0


def announces_amx(cpuinfo: str = "/proc/cpuinfo") -> bool | None:
    """Whether the processor has AMX, by Linux's list of what the first one can do.

    None: it is not listed, but cannot be ruled out either, since a sandbox may shorten the list.
    """
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return False
    vendor = b""
    try:
        with open(cpuinfo, "rb") as file:
            for line in file:
                if line.startswith(b"vendor_id"):
                    vendor = line.split()[-1]
                if line.startswith(b"flags"):
                    return b"amx_tile" in line.split() or (None if vendor in (b"", b"GenuineIntel") else False)
    except OSError:
        pass
    return None


def grants_amx() -> bool:
    """Whether the kernel says that this process has the tile registers: it is asked for them, then what it gave."""
    import ctypes  # milliseconds, which other processors need not spend

    granted = ctypes.c_ulong(0)
    try:
        call = ctypes.CDLL(None, use_errno=True).syscall
        call.restype = ctypes.c_long
        number = ctypes.c_long(_ARCH_PRCTL)
        if call(number, ctypes.c_long(_ASK_PERMISSION), ctypes.c_long(_TILE_DATA)) != 0:
            return False
        if call(number, ctypes.c_long(_GET_PERMISSION), ctypes.byref(granted)) != 0:
            return False
    except (OSError, AttributeError):  # no C library that could be asked
        return False
    return bool(granted.value >> _TILE_DATA & 1)


def amx_works() -> bool:
    """Whether a product of tiles can be computed, by a child process that computes one."""
    import subprocess

    nowhere = subprocess.DEVNULL
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _TRIAL],
            stdin=nowhere,
            stdout=nowhere,
            stderr=nowhere,
            timeout=_TRIAL_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def settle(
    environment: MutableMapping[str, str] | None = None,
    announced: Callable[[], bool | None] = announces_amx,
    granted: Callable[[], bool] = grants_amx,
    works: Callable[[], bool] = amx_works,
) -> bool:
    """Keep oneDNN from AMX where the processor or the kernel promises it and it does not work.

    A limit that is set already and leaves AMX out stays as it is.

    Args:
        environment: that oneDNN reads; this process's by default.
        announced: whether the processor has AMX.
        granted: whether the kernel says that this process may use it; asked unless the processor has none.
        works: whether it does; asked where the kernel says so.

    Returns:
        Whether AMX is forbidden here.
    """
    environment = os.environ if environment is None else environment
    has_amx = announced()
    if has_amx is False or environment.get(AMX_WORKS):
        return False
    if granted():
        if works():
            environment[AMX_WORKS] = "1"
            return False
    elif not has_amx:
        return False
    limit = next((environment[name] for name in _NAMES if environment.get(name)), "")
    if limit.upper() not in _BELOW_AMX:
        environment[_NAMES[0]] = WITHOUT_AMX
    return True


too_late = "torch" in sys.modules
"""Whether torch may have read its settings before `settle` was called."""
amx_forbidden = settle()
"""Whether AMX is promised here and does not work."""
