"""The reference executor: a row's result depends on its own sequence alone, however the work is cut up."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from llama.kernels.batch import Batch
from llama.modelfile import ModelFile
from llama.models import Model, load_model
from tests.models.zoo import zoo_model, zoo_names

#: One of each kind of memory: keys and values, windows, sinks, latent rows, experts, recurrent states, convolutions.
KINDS = ["llama", "llama-moe", "gemma3", "gpt-oss", "deepseek2", "mamba2", "qwen35", "lfm2"]
pytestmark = pytest.mark.skipif(not zoo_names(), reason="no shared zoo beside the checkout")


@pytest.fixture(params=KINDS)
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Model]:
    with ModelFile.open(zoo_model(request.param).write(tmp_path)) as file:
        model = load_model(file, kernels="numpy", type_k="f32", type_v="f32")
        model.executor.allocate(12, 4)
        yield model
        model.close()


def batch(*parts: tuple[list[int], int, list[int], int]) -> Batch:
    """Sequences as (tokens, position of the first, blocks, state); every row wanted."""
    starts = np.cumsum([0, *(len(tokens) for tokens, _, _, _ in parts)]).astype(np.int32)
    width = max(len(blocks) for _, _, blocks, _ in parts)
    tables = [blocks + [-1] * (width - len(blocks)) for _, _, blocks, _ in parts]
    return Batch(
        tokens=np.array([token for tokens, _, _, _ in parts for token in tokens], np.int32),
        starts=starts,
        positions=np.array([position for _, position, _, _ in parts], np.int32),
        blocks=np.array(tables, np.int32),
        states=np.array([state for _, _, _, state in parts], np.int32),
        outputs=np.arange(starts[-1], dtype=np.int32),
    )


def run(model: Model, *parts: tuple[list[int], int, list[int], int]) -> NDArray[np.float32]:
    return model.forward(batch(*parts)).copy()


TEXT = [5 + (37 * i) % 190 for i in range(70)]
OTHER = [7 + (53 * i) % 190 for i in range(45)]


@pytest.mark.parametrize("cut", [1, 2, 15, 16, 17, 31, 32, 33, 64, 69])
def test_a_prompt_in_two_parts_gives_the_same_bits(model: Model, cut: int) -> None:
    whole = run(model, (TEXT, 0, [0, 1, 2], 0))
    first = run(model, (TEXT[:cut], 0, [5, 4, 3], 1))
    second = run(model, (TEXT[cut:], cut, [5, 4, 3], 1))
    assert np.array_equal(np.concatenate([first, second]), whole)


def test_token_by_token_gives_the_same_bits(model: Model) -> None:
    whole = run(model, (TEXT, 0, [0, 1, 2], 0))
    rows = [run(model, ([token], i, [6, 7, 8], 2)) for i, token in enumerate(TEXT)]
    assert np.array_equal(np.concatenate(rows), whole)


def test_sequences_in_one_batch_do_not_see_each_other(model: Model) -> None:
    alone, other = run(model, (TEXT, 0, [0, 1, 2], 0)), run(model, (OTHER, 0, [3, 4], 1))
    together = run(model, (OTHER, 0, [5, 6], 2), (TEXT, 0, [9, 7, 8], 3))
    assert np.array_equal(together, np.concatenate([other, alone]))


def test_only_wanted_rows_come_back(model: Model) -> None:
    whole = run(model, (TEXT, 0, [0, 1, 2], 0))
    some = batch((TEXT, 0, [0, 1, 2], 0))
    some = Batch(some.tokens, some.starts, some.positions, some.blocks, some.states, np.array([3, 69], np.int32))
    assert np.array_equal(model.forward(some), whole[[3, 69]])


def test_a_step_may_want_no_rows_at_all(model: Model) -> None:
    whole = run(model, (TEXT, 0, [0, 1, 2], 0))
    first = batch((TEXT[:40], 0, [3, 4, 5], 1))
    nothing = Batch(first.tokens, first.starts, first.positions, first.blocks, first.states, np.zeros(0, np.int32))
    assert model.forward(nothing).shape == (0, model.n_vocab)
    assert np.array_equal(run(model, (TEXT[40:], 40, [3, 4, 5], 1)), whole[40:])


def test_a_copied_sequence_goes_on_alone(model: Model) -> None:
    run(model, (TEXT[:40], 0, [0, 1], 0))
    for source, target in ((0, 4), (1, 5)):
        model.executor.copy_block(source, target)
    model.executor.copy_state(0, 3)
    one = run(model, (TEXT[40:60], 40, [0, 1], 0))
    two = run(model, (TEXT[40:60], 40, [4, 5], 3))
    assert np.array_equal(one, two)


def test_saved_blocks_and_states_can_be_put_back(model: Model) -> None:
    run(model, (TEXT[:40], 0, [0, 1], 0))
    blocks = [model.executor.read_block(block) for block in (0, 1)]
    state = model.executor.read_state(0)
    wanted = run(model, (TEXT[40:], 40, [0, 1, 2], 0))
    model.executor.allocate(12, 4)
    for block, content in zip((7, 8), blocks, strict=True):
        model.executor.write_block(block, content)
    model.executor.write_state(2, state)
    assert np.array_equal(run(model, (TEXT[40:], 40, [7, 8, 9], 2)), wanted)


def test_a_saved_block_of_another_size_is_refused(model: Model) -> None:
    with pytest.raises(ValueError, match="bytes"):
        model.executor.write_block(0, b"x" * 7)


def test_a_sequence_that_begins_anew_forgets_its_state(model: Model) -> None:
    first = run(model, (TEXT, 0, [0, 1, 2], 0))
    run(model, (OTHER, 0, [0, 1], 0))
    assert np.array_equal(run(model, (TEXT, 0, [0, 1, 2], 0)), first)
