"""Mutated files and extreme options through the command line: no traceback, no signal, no hang, no gigabytes.

By hand: `make script RUN="ghosts/tests/robust/fuzz.py --files 10000 --seed 7"`, `… --only .safetensors --files 500` for
checkpoints, `… --options 300` for options. The suite runs a part (`test_inputs`). Everything follows from the seed.
A file that went wrong, or was accepted and answered otherwise, is kept with its command line.

Commands run in forks of this process, which has everything imported. What is refused in words is found out in one fork
for several files, which saves half the time; everything else is tried again, each in its own.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import importlib
import io
import os
import pkgutil
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))
from mutator import spoil
from sound import PAIRS, Pair, make_work

import ghosts
from ghosts_sim.cli import main

LONGEST_S, LONGEST_WAIT_S, MOST_BYTES = 30, 120, 2 << 30
"""Of the processor's time, of time on a busy machine, and of memory."""
TIMES = re.compile(
    r"^.*━.*$|[ ]*\d+\.?\d* (s|a second|per second|episodes/s|GB free)\b|0:00:\d\d"
    r"|\"(episodes_per_s|waiting)\": [\d.e-]+|[ ]+\d+\.\d[ ]+\d+$",
    re.MULTILINE,
)
"""What differs from run to run; the last is a table's column of episodes per second."""
GOOD = ("refused", "mended", "same", "other")
"""Mended: something else is said, and the same is written. Other: accepted, with another answer."""
SCREENED = 12
"""Pairs whose files one process tries first."""
TRACEBACK = 70
"""The exit status of a command that ended in an exception."""
EXTREMES = (
    "99999999999999999999999",
    "-1",
    "0",
    "nan",
    "inf",
    "1e400",
    "1e-300",
    "[/b]",
    "\udcff",
    "/dev/null/x",
    "0x10",
    "٣",
)
EXTREMES += ("", "a\nb", "x" * 5000, "9" * 5000)
"""What an option is set to. No device is named itself: root's commands would replace it."""


class Fuzzer:
    """Mutates files in a work folder and runs commands on them.

    Args:
        folder: empty; files that went wrong stay in it.
        seed: of all mutations.
        pairs: files and commands that will be tried.
    """

    def __init__(self, folder: Path, seed: int, pairs: Sequence[Pair]) -> None:
        self.folder, self.work, self.out = folder, folder / "work", folder / "out"
        self.seed, self.pairs = seed, pairs
        # Of a process that ran other tests before; it is no memory of a command.
        self.had_bytes = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        os.environ["GHOSTS_CACHE"] = str(self.work / "cache")
        for module in pkgutil.walk_packages(ghosts.__path__, "ghosts."):
            importlib.import_module(module.name)
        self.work.mkdir()
        # In a process of its own: whatever is kept of the sound files there cannot stand in for a spoilt one.
        status, output, _ = self.fork(lambda: make_work(self.work, any(pair.slow for pair in pairs)))
        assert status == 0, output
        gc.freeze()  # whoever looks for garbage copies every page it looks at
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.told: list[str] = []
        self.most_bytes = 0
        self.paths = {pair: sorted(self.work.glob(pair.file))[0] for pair in pairs}
        self._sound: dict[Pair, tuple[str, str]] = {}
        self._tried: set[tuple[Pair, bytes]] = set()

    def mutations(self, pair: Pair, turn: int) -> Iterator[tuple[str, bytes | None]]:
        """Seeded damage, in a seeded order; None is a pipe in the file's place."""
        content = self.paths[pair].read_bytes()
        random = np.random.default_rng([self.seed, turn, *f"{pair.file} {pair.words}".encode()])
        found: list[tuple[str, bytes | None]] = [] if pair.copied else [("a pipe in its place", None)]
        found += spoil(self.paths[pair], content, random, 2 if len(content) > 1 << 20 else 12)  # all are in memory
        for number in random.permutation(len(found)):
            what, spoilt = found[number]
            key = pair, hashlib.sha256(spoilt or b"a pipe").digest()
            if spoilt != content and key not in self._tried:
                self._tried.add(key)
                yield what, spoilt

    def round(self, turn: int, most: int, until: float) -> int:
        """Some files of every pair; returns how many were tried."""
        tried = 0
        for first in range(0, len(self.pairs), SCREENED):
            if time.monotonic() > until:
                break
            files = [
                (pair, what, content)
                for pair in self.pairs[first : first + SCREENED]
                for what, content in islice(self.mutations(pair, turn), max(1, most // 12) if pair.slow else most)
            ]
            noted, sound = self.folder / "refused", {pair: self.paths[pair].read_bytes() for pair, _, _ in files}
            noted.write_text("")
            _, _, most_bytes = self.fork(partial(self._screen, files, sound, noted))
            for pair, whole in sound.items():
                self._put(pair, whole)
            refused = set(noted.read_text().split()) if most_bytes < MOST_BYTES else set()
            for number, (pair, what, content) in enumerate(files):
                if str(number) in refused:
                    self.counts[pair.name]["refused"] += 1
                else:
                    self.attempt(pair, what, content)
            tried += len(files)
        return tried

    def _screen(self, files: Sequence[tuple[Pair, str, bytes | None]], sound: dict[Pair, bytes], noted: Path) -> None:
        """Note the files that are refused in words; those behind one that ends the process are left to `attempt`."""
        values = [
            value
            for name, module in sys.modules.items()
            if name.startswith("ghosts")
            for value in vars(module).values()
        ]
        caches = [value for value in values if hasattr(value, "cache_clear")]
        for number, (pair, _, content) in enumerate(files):
            _limit()
            for cache in caches:
                cache.cache_clear()
            self._put(pair, content)
            words = self._place(pair)
            said, sys.stderr = sys.stderr, io.StringIO()
            status: object = 0
            try:
                main(words)
            except SystemExit as end:
                status = end.code
            except BaseException:
                status = TRACEBACK
            text, sys.stderr = sys.stderr.getvalue(), said
            self._put(pair, sound[pair])
            named = self.paths[pair].name in text or pair.words.startswith("doctor")
            if status == 1 and named and "Traceback" not in text and not list(self.out.rglob(".*")):
                with open(noted, "a", encoding="utf-8") as file:
                    file.write(f"{number}\n")

    def _put(self, pair: Pair, content: bytes | None) -> None:
        """Another file in the place of a pair's; None is a pipe."""
        path = self.paths[pair]
        path.unlink(missing_ok=True)
        if content is None:
            os.mkfifo(path)
        else:
            path.write_bytes(content)

    def _place(self, pair: Pair) -> list[str]:
        """Everything as before the command; returns its words."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        if pair.copied:
            shutil.copytree(self.work / pair.copied, self.out / pair.copied)
        return [word.format(work=self.work, out=self.out) for word in pair.words.split()]

    def sound(self, pair: Pair) -> tuple[str, str]:
        """What the command answers to the sound file."""
        if pair not in self._sound:
            words = self._place(pair)
            status, output, _ = self.fork(lambda: main(words))
            assert status == int(pair.refused), f"{pair.words}: {output}"
            self._sound[pair] = self.answer(output)
        return self._sound[pair]

    def attempt(self, pair: Pair, what: str, content: bytes | None) -> None:
        """One file."""
        sound, words = self.paths[pair].read_bytes(), self._place(pair)
        self._put(pair, content)
        status, output, most_bytes = self.fork(lambda: main(words))
        self._put(pair, sound)
        answer, kind = self.answer(output), self.judge(status, output, most_bytes)
        if not kind:
            whole = self.sound(pair)
            kind = "same" if answer == whole else "mended" if whole[1] and answer[1] == whole[1] else "other"
        self.note(pair.name, kind, what, f"ghosts {pair.words}\n{output}", content or b"")

    def option(self, random: np.random.Generator) -> None:
        """A command with an option that is extreme, by its own help's names."""
        pair = self.pairs[int(random.integers(0, len(self.pairs)))]
        words, kind = self._place(pair), pair.words.split()
        help_of = kind[: 1 + (kind[0] in ("eval", "train"))] + (kind[2:4] if kind[0] == "train" else [])
        _, text, _ = self.fork(lambda: main([*help_of, "--help"]))
        names = sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z0-9.-]+[a-z0-9]", text)) - {"--help", "--open"})
        name, value = str(random.choice(names)), str(random.choice(EXTREMES))
        if name in words:
            words[words.index(name) + 1] = value
        else:
            words += [name, value]
        status, output, most_bytes = self.fork(lambda: (os.chdir(self.out), main(words)))  # relative paths lead there
        self.note(kind[0], self.judge(status, output, most_bytes) or "other", " ".join(words), output, b"")

    def note(self, name: str, kind: str, what: str, output: str, content: bytes) -> None:
        """Count it, and keep what is not as it should be."""
        self.counts[name][kind] += 1
        if kind not in GOOD[:3]:
            self.told.append(f"{kind}: {name}: {what}")
            folder = self.folder / ("other" if kind == "other" else "wrong")
            folder.mkdir(exist_ok=True)
            kept = folder / str(len(self.told))
            kept.write_bytes(content)
            kept.with_suffix(".txt").write_text(f"{kind}: {name}: {what}\n{output}", errors="replace")

    def judge(self, status: int, output: str, most_bytes: int) -> str:
        """In a word, what came of it; nothing where it was accepted."""
        self.most_bytes = max(self.most_bytes, most_bytes)
        if status < 0:
            return "hang" if -status in (signal.SIGALRM, signal.SIGXCPU) else f"signal {-status}"
        if status == TRACEBACK or "Traceback (most recent call last)" in output:
            return "traceback"
        if list(self.out.rglob(".*")):
            return "left a temporary file"
        return "memory" if most_bytes > MOST_BYTES else "" if status == 0 else "refused"

    def answer(self, output: str) -> tuple[str, str]:
        """Digests of what a command said and wrote, without what differs from run to run."""
        digest, files = hashlib.sha256(), [file for file in sorted(self.out.rglob("*")) if file.is_file()]
        for file in files:
            content = file.read_bytes()
            if file.suffix == ".jsonl":
                content = TIMES.sub("", content.decode(errors="replace")).encode()
            digest.update(str(file.relative_to(self.out)).encode() + content)
        return hashlib.sha256(TIMES.sub("", output).encode()).hexdigest(), digest.hexdigest() if files else ""

    def fork(self, do: Callable[[], object]) -> tuple[int, str, int]:
        """Exit status (negative: a signal), what was printed, and the most memory, in a process of its own."""
        printed = self.folder / "printed"
        child = os.fork()
        if child == 0:
            _child(do, printed)
        _, status, usage = os.wait4(child, 0)
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return code, printed.read_text(errors="replace"), max(0, (usage.ru_maxrss << 10) - self.had_bytes)


def _limit() -> None:
    signal.alarm(LONGEST_WAIT_S)
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]  # not everybody may raise it
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + LONGEST_S, most))


def _child(do: Callable[[], object], printed: Path) -> None:
    """The forked process; never returns."""
    status = TRACEBACK
    try:
        _limit()
        descriptor = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number in (1, 2):
            os.dup2(descriptor, number)
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.FileIO(number, "w", closefd=False), "utf-8", "backslashreplace") for number in (1, 2)
        )
        warnings.simplefilter("ignore")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            do()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
    finally:
        os._exit(status)


def fuzz(arguments: list[str]) -> int:
    """Run by hand or by the suite; returns how many files or options went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1e6, help="for how long")
    parser.add_argument("--files", type=int, default=0, help="how many, at least")
    parser.add_argument("--options", type=int, default=0, help="how many extreme options, after the files")
    parser.add_argument("--each", type=int, default=10, help="of a pair, before the next one")
    parser.add_argument("--only", default="", help="pairs whose file or command has this in it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="fast pairs alone")
    parser.add_argument("--keep", type=Path, help="folder for what went wrong or was answered otherwise")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    folder = options.keep or Path(tempfile.mkdtemp(prefix="ghosts-fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [pair for pair in PAIRS if options.only in f"{pair.file} {pair.words}"]
    fuzzer = Fuzzer(folder, options.seed, [pair for pair in chosen if not (options.quick and pair.slow)])
    until, tried, turn = time.monotonic() + 60.0 * options.minutes, 0, 0
    while tried < options.files and time.monotonic() < until:
        tried += fuzzer.round(turn, options.each, until)
        turn += 1
        print(f"{tried} files", file=sys.stderr, flush=True)
    random = np.random.default_rng([options.seed, 1])
    for _ in range(options.options):
        fuzzer.option(random)
    total: Counter[str] = sum(fuzzer.counts.values(), Counter())
    for name, counts in fuzzer.counts.items():
        print(f"{name}: {dict(counts)}")
    print("\n".join(fuzzer.told).encode(errors="backslashreplace").decode())
    bad = total.total() - sum(total[kind] for kind in GOOD)
    print(f"{total.total()} tries of seed {options.seed}: {dict(total)}; most memory {fuzzer.most_bytes / 1e9:.2f} GB")
    if bad or options.keep:
        print(f"{bad} went wrong: {folder}", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return bad


if __name__ == "__main__":
    raise SystemExit(min(fuzz(sys.argv[1:]), 99))
