"""What threads meet at: atomic integers, a barrier that spins and then gives way, and calls through addresses."""

from typing import Any

from llvmlite import ir
from numba import njit, types

from llama.kernels import detect, simd
from llama.kernels.simd import I64
from llama.kernels.vectors import emitted, int_at

i64, void = types.int64, types.void
SPINS = 150  # about 3 microseconds; where threads share a core, each turn more delays what is waited for
LINE = 64  # bytes of a cache line


@emitted(i64, i64, i64)
def add_atomic(b: Any, address: Any, amount: Any) -> Any:
    """Add to an int64; returns what it was."""
    return b.atomic_rmw("add", simd.pointer(b, address, I64), amount, "seq_cst")


@emitted(i64, i64)
def read_atomic(b: Any, address: Any) -> Any:
    """An int64, and everything written before it was."""
    return b.load_atomic(simd.pointer(b, address, I64), "seq_cst", 8)


@emitted(void, i64, i64)
def write_atomic(b: Any, address: Any, value: Any) -> None:
    """Write an int64 after everything before it."""
    b.store_atomic(value, simd.pointer(b, address, I64), "seq_cst", 8)


@emitted(i64, i64, i64, i64)
def swap_if(b: Any, address: Any, old: Any, new: Any) -> Any:
    """Change an int64 from `old` to `new`; 1 when it was `old`."""
    result = b.cmpxchg(simd.pointer(b, address, I64), old, new, "seq_cst", "seq_cst")
    return b.zext(b.extract_value(result, 1), I64)


@emitted(void)
def pause(b: Any) -> None:
    """Tell the processor that we spin."""
    if "sse2" in detect.features():
        b.call(simd.function(b, "llvm.x86.sse2.pause", ir.VoidType()), [])


@emitted(void, i64)
def call_plain(b: Any, address: Any) -> None:
    """Call a C function without arguments."""
    kind = ir.FunctionType(ir.IntType(32), [])
    b.call(b.inttoptr(address, kind.as_pointer()), [])


@emitted(void, i64, i64, i64, i64, i64)
def call_kernel(b: Any, address: Any, args: Any, context: Any, thread: Any, threads: Any) -> None:
    """Call a kernel."""
    kind = ir.FunctionType(ir.VoidType(), [I64] * 4)
    b.call(b.inttoptr(address, kind.as_pointer()), [args, context, thread, threads])


@njit
def rest(spins: int, give_way: int) -> None:
    """One turn of waiting: spin at first, later let other processes have the core."""
    if spins < SPINS or give_way == 0:
        pause()
    else:
        call_plain(give_way)


@njit
def barrier(place: int, threads: int, give_way: int) -> None:
    """Wait until all threads are here. `place`: two cache lines, a count and a generation."""
    if threads == 1:
        return
    seen = read_atomic(place + LINE)
    if add_atomic(place, 1) == threads - 1:
        write_atomic(place, 0)
        add_atomic(place + LINE, 1)
    else:
        spins = 0
        while read_atomic(place + LINE) == seen:
            spins += 1
            rest(spins, give_way)


@njit
def claim_of(args: int, share: int) -> int:
    """The next piece of a thread's share of a step, counted from 0: its own thread takes them, later anyone."""
    return add_atomic(int_at(args + 16) + 8 * share, 1)


@njit
def claim(args: int) -> int:
    """The next piece of a step's work, counted from 0, that no thread has taken."""
    return add_atomic(int_at(args + 16), 1)
