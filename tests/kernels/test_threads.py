"""Compute threads: all of them work, also after a fork and with others beside them; idle ones sleep."""

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from llama.kernels.codecache import Compiler
from llama.kernels.compiled import default_code_folder
from llama.kernels.threads import Threads, available_cores
from tests.kernels.graphs import batch, decoder
from tests.kernels.test_compiled import blocks, opened, tokens


def test_counts_the_cores_we_may_use() -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)


def test_two_engines_in_one_process_do_not_disturb_each_other() -> None:
    graph = decoder()
    step = batch((tokens(0, 40), 0, blocks(0)))
    with opened(graph, n_threads=2) as one, opened(graph, n_threads=2) as two:
        expected = one.run(step).copy()
        wrong: list[int] = []

        def work(executor: object) -> None:
            for i in range(30):
                if not np.array_equal(executor.run(step), expected):  # type: ignore[attr-defined]
                    wrong.append(i)

        workers = [threading.Thread(target=work, args=(executor,)) for executor in (one, two)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert not wrong


@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_works_after_a_fork() -> None:
    with opened(decoder(), n_threads=2) as executor:
        step = batch((tokens(0, 40), 0, blocks(0)))
        expected = executor.run(step).copy()
        child = os.fork()
        if child == 0:
            os._exit(0 if np.array_equal(executor.run(step), expected) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_idle_threads_sleep() -> None:
    with opened(decoder(), n_threads=3) as executor:
        executor.run(batch((tokens(0, 40), 0, blocks(0))))
        time.sleep(0.3)
        before = time.process_time()
        time.sleep(0.3)
        assert time.process_time() - before < 0.1


def test_closing_twice_is_fine_and_ends_the_threads() -> None:
    pool = Threads(3, Compiler(default_code_folder()))
    pool.run(np.zeros((0, 24), np.int64), 0)
    count = threading.active_count()
    pool.close()
    pool.close()
    deadline = time.monotonic() + 5
    while threading.active_count() > count - 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= count - 2


@pytest.mark.parametrize("folder", [None, Path("/proc/nowhere")])
def test_a_cache_folder_that_cannot_be_written_only_costs_time(folder: Path | None) -> None:
    pool = Threads(1, Compiler(folder))
    pool.run(np.zeros((0, 24), np.int64), 0)
    pool.close()


def test_compiled_code_is_kept_and_a_broken_file_is_no_error(tmp_path: Path) -> None:
    Threads(1, Compiler(tmp_path)).close()
    files = sorted(tmp_path.glob("*.kernel"))
    assert files
    files[0].write_bytes(b"nonsense")
    Threads(1, Compiler(tmp_path)).close()
    assert files[0].read_bytes() != b"nonsense"
