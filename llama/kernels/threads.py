"""The compute threads: each runs the whole table of steps from top to bottom, taking its share of every step.

A row of the table is ROW int64: the kernel's address, whether to meet at the barrier first, the address of a counter
that is 0 at the start, then the kernel's own arguments. A kernel is called with (row, context, thread, n_threads).
Threads are started at the first use and again after a fork; between two runs they spin for a moment, then sleep.
"""

import ctypes
import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numba import types
from numpy.typing import NDArray

from llama.kernels.atomics import (
    LINE,
    add_atomic,
    barrier,
    call_kernel,
    read_atomic,
    rest,
    swap_if,
    write_atomic,
)
from llama.kernels.codecache import Compiler
from llama.kernels.vectors import int_at, put_int

ROW = 24
ARGS = 3  # the first of a row's own arguments
# Places in a job (int64): written by the caller before each run.
TABLE, N_STEPS, CONTEXT, GIVE_WAY, JOB, BARRIER, THREAD = 0, 1, 2, 3, 8, 16, 32
AWAKE, ASLEEP = 0, 1
CGROUPS = Path("/sys/fs/cgroup")
PATIENCE = 8_000  # turns of waiting between runs before a thread goes to sleep
_SERVE = types.void(types.int64, types.int64, types.int64)
_START = types.int64(types.int64, types.int64)


def _build_run() -> Callable[..., None]:
    def run(job: int, thread: int, threads: int, unused: int) -> None:
        table, context = int_at(job + 8 * TABLE), int_at(job + 8 * CONTEXT)
        give_way = int_at(job + 8 * GIVE_WAY)
        for i in range(int_at(job + 8 * N_STEPS)):
            row = table + i * 8 * ROW
            if int_at(row + 8) != 0:
                barrier(job + 8 * BARRIER, threads, give_way)
            call_kernel(int_at(row), row, context, thread, threads)
        barrier(job + 8 * BARRIER, threads, give_way)

    return run


def _build_serve(run_address: int) -> Callable[..., None]:
    """Helper threads: run every job that comes; return when none came for a while."""

    def serve(job: int, thread: int, threads: int) -> None:
        mine = job + 8 * THREAD + thread * LINE  # asleep or awake, then the last job done
        run = int_at(job + 8 * (THREAD - 1))
        spins = 0
        while True:
            number = read_atomic(job + 8 * JOB)
            if number != int_at(mine + 8):
                put_int(mine + 8, number)
                call_kernel(run, job, thread, threads, 0)
                spins = 0
                continue
            spins += 1
            rest(spins, int_at(job + 8 * GIVE_WAY))
            if spins > PATIENCE:
                write_atomic(mine, ASLEEP)
                # a job that came meanwhile is ours, unless its caller saw us asleep and wakes us
                if read_atomic(job + 8 * JOB) == number or swap_if(mine, ASLEEP, AWAKE) == 0:
                    return

    return serve


def _build_start() -> Callable[..., int]:
    def start(job: int, threads: int) -> int:
        """Publish the job; returns a bit for each thread that sleeps and must be woken."""
        add_atomic(job + 8 * JOB, 1)
        asleep = 0
        for thread in range(1, threads):
            if swap_if(job + 8 * THREAD + thread * LINE, ASLEEP, AWAKE) == 1:
                asleep |= 1 << thread
        return asleep

    return start


def available_cores() -> int:
    """The cores that this process may use: affinity and cgroup quotas included."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    return max(1, min(cores, _quota() or cores))


def _quota() -> int | None:
    """Whole cores that the cgroup's CPU quota allows (version 2, then 1), None without one."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    own = [CGROUPS / line.split(":", 2)[2].strip("/") for line in lines if line.count(":") >= 2]
    for folder in (*own, CGROUPS, CGROUPS / "cpu"):
        limits = _numbers(folder / "cpu.max")
        limits = limits or _numbers(folder / "cpu.cfs_quota_us", folder / "cpu.cfs_period_us")
        if limits and limits[0] > 0:
            return max(1, -(-limits[0] // limits[1]))
    return None


def _numbers(*paths: Path) -> tuple[int, int] | None:
    """Two numbers from one file or two; None for "max" or where there are none."""
    try:
        words = [word for path in paths for word in path.read_text().split()]
        return int(words[0]), int(words[1])
    except (OSError, ValueError, IndexError):
        return None


def _yield_address() -> int:
    """The C function that gives the core to another process; 0 where there is none."""
    try:
        return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0
    except (AttributeError, OSError, TypeError):
        return 0


class Threads:
    """n threads that run tables of steps; the caller's own thread is the first. One caller at a time."""

    def __init__(self, n: int, compiler: Compiler) -> None:
        self.n = n or available_cores()
        self._process = 0
        self._closed = False
        self._locks: list[threading.Lock] = []
        run = compiler.address("run", _build_run)
        self._run = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(run)
        self._start = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 2)(
            compiler.address("start", _build_start, _START)
        )
        self._serve = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(
            compiler.address("serve", lambda: _build_serve(run), _SERVE)
        )
        self._memory, self._job = self._new_job(run)

    def _new_job(self, run: int) -> tuple[NDArray[np.int64], int]:
        words = THREAD + 8 * self.n
        memory = np.zeros(words + 8, np.int64)
        offset = (-memory.ctypes.data) % LINE // 8
        job = memory[offset : offset + words]
        job[GIVE_WAY], job[THREAD - 1] = _yield_address(), run
        job[THREAD::8] = ASLEEP
        return job, job.ctypes.data

    def run(self, table: NDArray[np.int64], context: int) -> None:
        """Run the steps of `table` (n, ROW); returns when all threads are done."""
        if self._process != os.getpid():
            self._launch()
        self._memory[TABLE], self._memory[N_STEPS], self._memory[CONTEXT] = table.ctypes.data, len(table), context
        if self.n > 1:
            asleep = self._start(self._job, self.n)
            for thread in range(1, self.n):
                if asleep >> thread & 1:
                    self._locks[thread].release()
        self._run(self._job, 0, self.n, 0)

    def _launch(self) -> None:
        """Start the helper threads: the first time, or again in a forked process."""
        self._process = os.getpid()
        self._memory[JOB : THREAD - 1] = 0
        self._memory[THREAD::8], self._memory[THREAD + 1 :: 8] = ASLEEP, 0
        self._locks = [threading.Lock() for _ in range(self.n)]
        for thread in range(1, self.n):
            self._locks[thread].acquire()
            name = f"llama-compute-{thread}"
            threading.Thread(target=self._help, args=(thread, self._locks[thread]), name=name, daemon=True).start()

    def _help(self, thread: int, wake: threading.Lock) -> None:
        while True:
            wake.acquire()
            if self._closed:
                return
            self._serve(self._job, thread, self.n)

    def close(self) -> None:
        """Let the helper threads end. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        if self._process == os.getpid():
            for lock in self._locks[1:]:
                if lock.locked():
                    lock.release()
