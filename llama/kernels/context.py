"""What kernels know of the running step: a row of int64 that the executor fills before each run."""

from numba import njit

from llama.kernels.vectors import int_at

# Places in the context.
N_ROWS = 0  # tokens of this run
N_WANTED = 1  # rows whose result is wanted
N_SEQUENCES = 2
TOKENS = 3  # address of int32, as are the next ones
STARTS = 4
POSITIONS = 5
BLOCKS = 6
BLOCKS_STRIDE = 7  # bytes of a sequence's row of BLOCKS
STATES = 8
OUTPUTS = 9
ROW_POSITIONS = 10  # of each row
ROW_SEQUENCES = 11
ITEMS = 12  # attention's pieces of work, int64: see attention.py
N_ITEMS = 13
SPANS = 14  # how many spans the longest context has, when spans are shared out; else 1
PARTIALS = 15
SCRATCH = 16
SCRATCH_BYTES = 17  # of each thread
SCALES = 18  # address of float32, how strong each adapter is for each sequence; 0: no adapter is used
SCALES_STRIDE = 19  # bytes of a sequence's row of SCALES
SIZE = 32

ALL, WANTED = 0, 1  # kinds of rows that an operation works on


@njit
def get(context: int, place: int) -> int:
    """The int64 at a place."""
    return int_at(context + 8 * place)


@njit
def rows_of(context: int, kind: int) -> int:
    """How many rows an operation has."""
    return int_at(context + 8 * kind)


@njit
def scratch_of(context: int, thread: int) -> int:
    """Address of memory that only this thread uses."""
    return get(context, SCRATCH) + thread * get(context, SCRATCH_BYTES)
