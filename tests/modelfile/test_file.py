"""Opening model files: what is read, and what is refused with which words."""

import time
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType

from llama.errors import ModelFileError
from llama.modelfile import ModelFile
from llama.modelfile.tensor import BLOCKS, type_name
from tests.modelfile.gguf_bytes import ARRAY, BOOL, F32, I32, STRING, U32, U64, Fake, FakeFile, everything

LATIN = "été".encode("latin-1")


def test_metadata_has_python_values_and_arrays(tmp_path: Path) -> None:
    with ModelFile.open(everything().write(tmp_path / "m.gguf")) as file:
        assert file.architecture == "llama"
        assert file.metadata["llama.block_count"] == 2
        assert file.metadata["n.7"] is True
        assert file.metadata["n.6"] == 1.0
        assert file.metadata["t"] == ["x", "", "ü"]
        numbers = file.metadata["a.5"]
        assert isinstance(numbers, np.ndarray)
        assert numbers.dtype == np.int32
        assert numbers.tolist() == [1, 0, 1]
        truths = file.metadata["a.7"]
        assert isinstance(truths, np.ndarray)
        assert truths.dtype == bool
        nest = file.metadata["nest"]
        assert isinstance(nest, list)
        assert nest[0].tolist() == [1, 2]
        assert nest[1] == ["y"]


@pytest.mark.parametrize("version", [2, 3])
def test_tensors_are_views_in_numpys_order(tmp_path: Path, version: int) -> None:
    values = np.arange(8, dtype=np.float32)
    fake = FakeFile(tensors={"a": Fake((4, 2), data=values.tobytes()), "b": Fake((32, 3), 8)}, version=version)
    file = ModelFile.open(fake.write(tmp_path / "m.gguf"))
    a, b = file.tensors["a"], file.tensors["b"]
    assert (a.shape, a.data.shape, a.nbytes) == ((2, 4), (2, 16), 32)
    assert a.data.view(np.float32).tolist() == values.reshape(2, 4).tolist()
    assert (b.shape, b.data.shape, b.type) == ((3, 32), (3, 34), GGMLQuantizationType.Q8_0)
    assert not b.data.flags.writeable
    assert (file.size, file.n_params) == (32 + 102, 8 + 96)


def test_a_view_outlives_the_file(tmp_path: Path) -> None:
    with ModelFile.open(FakeFile().write(tmp_path / "m.gguf")) as file:
        data = file.tensors["b"].data
    assert data.sum() == 2 * 34
    assert not file.tensors


def test_every_type_that_can_be_unpacked_opens(tmp_path: Path) -> None:
    for kind, (block, block_bytes) in BLOCKS.items():
        path = FakeFile(tensors={"a": Fake((block * 2, 3), kind)}).write(tmp_path / type_name(kind))
        if type_name(kind) in ("Q8_1", "Q8_K"):
            with pytest.raises(ModelFileError, match=type_name(kind)):
                ModelFile.open(path)
        else:
            assert ModelFile.open(path).tensors["a"].data.shape == (3, block_bytes * 2)


def test_the_file_type_is_named(tmp_path: Path) -> None:
    def named(fake: FakeFile) -> str:
        return ModelFile.open(fake.write(tmp_path / "m.gguf")).file_type

    assert named(FakeFile().plus(general__file_type=(U32, 15))) == "Q4_K_M"
    assert named(FakeFile().plus(general__file_type=(U32, 0))) == "F32"
    assert named(FakeFile().plus(general__file_type=(U32, 1024 + 3))) == "Q4_1"
    assert named(FakeFile().plus(general__file_type=(U32, 999))) == "Q8_0"
    assert named(FakeFile()) == "Q8_0"
    assert named(FakeFile(tensors={})) == "unknown"


def test_own_alignment_counts(tmp_path: Path) -> None:
    fake = FakeFile(alignment=128).plus(general__alignment=(U32, 128))
    assert ModelFile.open(fake.write(tmp_path / "m.gguf")).tensors["b"].data.tolist() == [2] * 34


def test_text_that_is_not_utf8_is_replaced(tmp_path: Path) -> None:
    file = ModelFile.open(FakeFile().plus(x=(STRING, LATIN)).write(tmp_path / "m.gguf"))
    assert file.metadata["x"] == "�t�"


def test_a_large_vocabulary_opens_at_once(tmp_path: Path) -> None:
    words = [f"word{i}" for i in range(262_144)]
    path = FakeFile().plus(tokens=(ARRAY, (STRING, words)), scores=(ARRAY, (F32, range(262_144)))).write(tmp_path / "m")
    began = time.perf_counter()
    file = ModelFile.open(path)
    assert time.perf_counter() - began < 2
    assert file.metadata["tokens"] == words


BROKEN = {
    "big-endian": FakeFile(order=">"),
    "version 1,": FakeFile(version=1),
    "version 4 is unknown": FakeFile(version=4),
    r"not a GGUF file: it begins with b'XXXX'": FakeFile(magic=b"XXXX"),
    "Git LFS pointer": FakeFile(magic=b"vers"),
    "GGJT": FakeFile(magic=b"tjgg"),
    "'general.architecture' is missing": FakeFile(metadata={}),
    r"'general.alignment' must be a power of two up to \d+, got 24": FakeFile().plus(general__alignment=(U32, 24)),
    "'general.alignment' must be a power of two .* got 0": FakeFile().plus(general__alignment=(U32, 0)),
    "'general.alignment' must be a power of two .* got 'x'": FakeFile().plus(general__alignment=(STRING, "x")),
    "tensor 'a' has 5 dimensions": FakeFile(tensors={"a": Fake((1,) * 5)}),
    r"tensor 'a' has the impossible shape \(0, 4\)": FakeFile(tensors={"a": Fake((4, 0))}),
    r"tensor 'a' has the impossible shape": FakeFile(tensors={"a": Fake((1 << 40, 1 << 40), data=b"")}),
    "tensor 'a' has the unknown type 77": FakeFile(tensors={"a": Fake((4, 2), 77)}),
    "rows of 33 elements, but Q8_0 packs 32": FakeFile(tensors={"a": Fake((33, 2), 8)}),
    "offset 8, not a multiple of 32": FakeFile(tensors={"a": Fake((4, 2), offset=8)}),
    "'a' needs 32 bytes at offset 9223372036854775808": FakeFile(tensors={"a": Fake((4, 2), offset=1 << 63)}),
    "tensors 'a' and 'b' overlap": FakeFile(tensors={"a": Fake((4, 2)), "b": Fake((4, 2), offset=0)}),
    "cut off or damaged": FakeFile(tensors={"a": Fake((4, 20), data=b"short")}),
    "metadata entry 2 of 2 is longer than": FakeFile(metadata={"a": (U32, 1), "x" * 70_000: (U32, 1)}),
    "nests arrays deeper": FakeFile().plus(
        x=(ARRAY, (ARRAY, [(ARRAY, [(ARRAY, [(ARRAY, [(I32, [])])])])])),
    ),
}


@pytest.mark.parametrize("problem", BROKEN)
def test_a_broken_file_is_refused_with_the_reason(tmp_path: Path, problem: str) -> None:
    with pytest.raises(ModelFileError, match=problem):
        ModelFile.open(BROKEN[problem].write(tmp_path / "m.gguf"))


def test_names_may_not_repeat(tmp_path: Path) -> None:
    data = FakeFile().plus(xx=(BOOL, True), xy=(BOOL, True)).bytes().replace(b"xy", b"xx")
    (tmp_path / "m.gguf").write_bytes(data)
    with pytest.raises(ModelFileError, match="metadata key 'xx' stands there twice"):
        ModelFile.open(tmp_path / "m.gguf")
    data = FakeFile(tensors={"xx": Fake((4,)), "xy": Fake((4,))}).bytes().replace(b"xy", b"xx")
    (tmp_path / "m.gguf").write_bytes(data)
    with pytest.raises(ModelFileError, match="tensor 'xx' stands there twice"):
        ModelFile.open(tmp_path / "m.gguf")


def test_hostile_counts_name_what_they_count(tmp_path: Path) -> None:
    good = FakeFile().plus(x=(ARRAY, (U64, [1, 2]))).bytes()
    place = good.index(b"x" + (9).to_bytes(4, "little")) + 9
    for at, what in (
        (8, "the number of tensors"),
        (16, "the number of metadata"),
        (place, "the length of the value of 'x'"),
    ):
        (tmp_path / "m.gguf").write_bytes(good[:at] + (1 << 62).to_bytes(8, "little") + good[at + 8 :])
        with pytest.raises(ModelFileError, match=what):
            ModelFile.open(tmp_path / "m.gguf")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name, words in (
        (".", "is a folder"),
        ("none", "does not exist"),
        ("empty", "is empty"),
        ("\0", "cannot be read"),
    ):
        with pytest.raises(ModelFileError, match=words):
            ModelFile.open(tmp_path / name)


def sparse(path: Path, header: bytes, size: int = 1 << 40) -> Path:
    """A huge file that is nothing but zeros after its header, and takes no room on disk."""
    path.write_bytes(header)
    with path.open("r+b") as file:
        file.truncate(size)
    return path


HUGE = {
    "strings or": (ARRAY, STRING, 1 << 30),
    r"strings or \d+ bytes": (ARRAY, F32, 1 << 34),
    "strings": (ARRAY, ARRAY, 1 << 30),
}


@pytest.mark.parametrize("problem", HUGE)
def test_a_huge_file_cannot_make_it_slow_or_large(tmp_path: Path, problem: str) -> None:
    kind, inner, n = HUGE[problem]
    header = FakeFile(tensors={}).plus(x=(kind, (inner, []))).header()
    path = sparse(tmp_path / "m.gguf", header[:-8] + n.to_bytes(8, "little"))
    began = time.perf_counter()
    with pytest.raises(ModelFileError, match=problem):
        ModelFile.open(path)
    assert time.perf_counter() - began < 1


def test_a_huge_number_of_tensors_is_refused_at_once(tmp_path: Path) -> None:
    header = bytearray(FakeFile(tensors={}).header())
    header[8:16] = (1 << 30).to_bytes(8, "little")
    with pytest.raises(ModelFileError, match="more than a model can have"):
        ModelFile.open(sparse(tmp_path / "m.gguf", bytes(header)))
