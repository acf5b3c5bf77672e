"""Split models: opened from any part, and refused with the reason when parts are missing or mixed up."""

from pathlib import Path

import pytest

from llama.errors import ModelFileError
from llama.modelfile import ModelFile
from tests.modelfile.gguf_bytes import SMALL, U16, Fake, FakeFile


def split(folder: Path, n: int = 3, total: int | None = None) -> list[Path]:
    """A model of `n` parts with a tensor in each."""
    paths = []
    for i in range(n):
        keys = {
            "split.no": (U16, i),
            "split.count": (U16, n),
            "split.tensors.count": (U16, n if total is None else total),
        }
        fake = FakeFile(
            metadata={**(SMALL if i == 0 else {}), **keys}, tensors={f"t{i}": Fake((8,), data=bytes([i]) * 32)}
        )
        paths.append(fake.write(folder / f"m-{i + 1:05d}-of-{n:05d}.gguf"))
    return paths


@pytest.mark.parametrize("given", [0, 1, 2])
def test_any_part_opens_the_whole_model(tmp_path: Path, given: int) -> None:
    file = ModelFile.open(split(tmp_path)[given])
    assert {name: int(tensor.data[0]) for name, tensor in file.tensors.items()} == {"t0": 0, "t1": 1, "t2": 2}
    assert file.architecture == "llama"
    assert file.n_params == 24


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    paths = split(tmp_path)
    paths[2].unlink()
    with pytest.raises(ModelFileError, match=r"missing beside it: m-00003-of-00003\.gguf"):
        ModelFile.open(paths[0])


def test_a_renamed_or_concatenated_part_says_which_name_is_expected(tmp_path: Path) -> None:
    paths = split(tmp_path)
    joined = tmp_path / "model.gguf"
    joined.write_bytes(b"".join(path.read_bytes() for path in paths))
    with pytest.raises(ModelFileError, match=r"invalid split file.*-NNNNN-of-00003\.gguf"):
        ModelFile.open(joined)
    with pytest.raises(ModelFileError, match="invalid split file"):
        ModelFile.open(paths[0].rename(tmp_path / "m-00009-of-00003.gguf"))


def test_swapped_parts_are_noticed(tmp_path: Path) -> None:
    paths = split(tmp_path)
    paths[1].write_bytes(paths[2].read_bytes())
    with pytest.raises(ModelFileError, match="name says part 2 of 3, its metadata part 3 of 3"):
        ModelFile.open(paths[0])


def test_a_wrong_number_of_tensors_is_refused_with_both_numbers(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="says 5 tensors, but the 3 parts hold 3"):
        ModelFile.open(split(tmp_path, total=5)[0])


def test_a_tensor_in_two_parts_is_refused(tmp_path: Path) -> None:
    paths = split(tmp_path, 2)
    paths[1].write_bytes(paths[1].read_bytes().replace(b"t1", b"t0"))
    with pytest.raises(ModelFileError, match="'t0' stands in two parts"):
        ModelFile.open(paths[0])


def test_one_part_of_one_needs_no_special_name(tmp_path: Path) -> None:
    assert ModelFile.open(split(tmp_path, 1)[0].rename(tmp_path / "x.gguf")).n_params == 8
