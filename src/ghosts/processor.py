"""What this processor really grants, settled before torch computes anything.

Some processors announce AMX (tile registers, for products in bfloat16) where the operating system, mostly a sandbox,
keeps the registers to itself. oneDNN, by which torch computes on a CPU, then ends the process with an illegal
instruction, or fails to make a kernel and, from then on, any other. It is told to do without AMX there, by its own
variable, which it reads at its first kernel. Nothing else changes: results without AMX are as good.

Free of torch: `import ghosts` does this first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, MutableMapping

WITHOUT_AMX = "AVX512_CORE_BF16"
"""oneDNN's name of the most it may use; every processor with AMX has it."""
_NAMES = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")  # oneDNN looks for them in this order
_BELOW_AMX = {
    *("SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2", "AVX512_CORE", "AVX512_CORE_VNNI", "AVX512_CORE_BF16"),
    *("AVX512_CORE_FP16", "AVX10_1_512"),
}
_ARCH_PRCTL, _GET_PERMISSION, _ASK_PERMISSION, _TILE_DATA = 158, 0x1022, 0x1023, 18  # Linux, x86-64


def announces_amx(cpuinfo: str = "/proc/cpuinfo") -> bool:
    """Whether Linux lists AMX among the first processor's abilities; elsewhere nothing is known, and False."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return False
    try:
        with open(cpuinfo, "rb") as file:
            flags = next((line for line in file if line.startswith(b"flags")), b"")
    except OSError:
        return False
    return b"amx_tile" in flags.split()


def grants_amx() -> bool:
    """Whether the kernel gives this process the tile registers: it is asked for them, and then what it gave."""
    import ctypes  # milliseconds, which only these processors need to spend

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


def settle(
    environment: MutableMapping[str, str] | None = None,
    announced: Callable[[], bool] = announces_amx,
    granted: Callable[[], bool] = grants_amx,
) -> bool:
    """Keep oneDNN from AMX where the processor announces it and the kernel does not grant it.

    A limit that is set already and leaves AMX out stays as it is.

    Args:
        environment: that oneDNN reads; this process's by default.
        announced: whether the processor has AMX.
        granted: whether this process may use it; asked only where it is announced.

    Returns:
        Whether AMX is forbidden here.
    """
    environment = os.environ if environment is None else environment
    if not announced() or granted():
        return False
    limit = next((environment[name] for name in _NAMES if environment.get(name)), "")
    if limit.upper() not in _BELOW_AMX:
        environment[_NAMES[0]] = WITHOUT_AMX
    return True


too_late = "torch" in sys.modules
"""Whether torch may have read its settings before `settle` was called."""
amx_forbidden = settle()
"""Whether the processor announces AMX and the kernel does not grant it."""
