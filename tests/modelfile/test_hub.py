"""Fetching from the model hub, against a stand-in on this machine."""

from pathlib import Path

import pytest
from huggingface_hub import constants, file_download

from llama.errors import DownloadError
from llama.modelfile import ModelFile
from llama.modelfile.choice import choose, has_tag, models, with_shards
from llama.modelfile.fetch import hub_model
from tests.modelfile.gguf_bytes import FakeFile
from tests.modelfile.hub import StandInHub
from tests.modelfile.test_shards import split

REPO = "someone/Tiny-GGUF"


def model(mark: str) -> bytes:
    return FakeFile().plus(mark=(8, mark * 400)).bytes()


@pytest.fixture
def files() -> dict[str, bytes]:
    names = ("README.md", "tiny-F16.gguf", "tiny-Q4_K_M.gguf", "tiny-Q4_K_S.gguf", "tiny-q8_0.gguf", "mmproj-F16.gguf")
    return {name: model(name) for name in names}


@pytest.fixture(autouse=True)
def _small_and_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 100)  # what comes is written in pieces of 10 MB otherwise
    monkeypatch.setattr(file_download.time, "sleep", lambda _: None)


@pytest.mark.parametrize(
    ("quant", "name"), [(None, "tiny-Q4_K_M.gguf"), ("q8_0", "tiny-q8_0.gguf"), ("Q4_K_S", "tiny-Q4_K_S.gguf")]
)
def test_the_tag_chooses_the_file(tmp_path: Path, files: dict[str, bytes], quant: str | None, name: str) -> None:
    with StandInHub(REPO, files) as hub:
        path = hub_model(REPO, quant, cache_dir=tmp_path, endpoint=hub.endpoint)
    assert path.name == name
    assert path.read_bytes() == files[name]
    assert {file.suffix for file in tmp_path.rglob("*") if file.is_file()} == {".gguf"}


def test_a_file_may_be_named(tmp_path: Path, files: dict[str, bytes]) -> None:
    with StandInHub(REPO, files) as hub:
        assert hub_model(REPO, None, "tiny-F16.gguf", cache_dir=tmp_path, endpoint=hub.endpoint).name == "tiny-F16.gguf"
        with pytest.raises(DownloadError, match=r'has no model "nope\.gguf"; there are: tiny-F16\.gguf'):
            hub_model(REPO, None, "nope.gguf", cache_dir=tmp_path, endpoint=hub.endpoint)


def test_an_unknown_tag_lists_what_there_is(tmp_path: Path, files: dict[str, bytes]) -> None:
    with (
        StandInHub(REPO, files) as hub,
        pytest.raises(DownloadError, match=r'no model "Q4_K"; there are: .*tiny-Q4_K_M'),
    ):
        hub_model(REPO, "Q4_K", cache_dir=tmp_path, endpoint=hub.endpoint)
    with StandInHub(REPO, {"config.json": b"{}"}) as hub, pytest.raises(DownloadError, match=r"holds no \.gguf file"):
        hub_model(REPO, cache_dir=tmp_path, endpoint=hub.endpoint)


def test_what_is_there_is_not_asked_for_again(tmp_path: Path, files: dict[str, bytes]) -> None:
    with StandInHub(REPO, files) as hub:
        path = hub_model(REPO, "Q8_0", cache_dir=tmp_path, endpoint=hub.endpoint)
        n = len(hub.requests)
        assert hub_model(REPO, "Q8_0", cache_dir=tmp_path, endpoint=hub.endpoint) == path
        assert len(hub.requests) == n
    assert hub_model(REPO, offline=True, cache_dir=tmp_path) == path
    assert hub_model(REPO, cache_dir=tmp_path, endpoint=hub.endpoint) == path  # the hub is gone: the copy will do
    with pytest.raises(DownloadError, match="leave out --offline"):
        hub_model(REPO, "F16", offline=True, cache_dir=tmp_path)


def test_a_cut_connection_goes_on_where_it_stopped(tmp_path: Path, files: dict[str, bytes]) -> None:
    with StandInHub(REPO, files, breaks=2) as hub:
        hub.break_after = 1000
        path = hub_model(REPO, cache_dir=tmp_path, endpoint=hub.endpoint)
        assert hub.ranges() == [None, "bytes=1000-", "bytes=2000-"]
    assert path.read_bytes() == files["tiny-Q4_K_M.gguf"]


def test_a_later_run_goes_on_where_an_earlier_one_stopped(tmp_path: Path, files: dict[str, bytes]) -> None:
    with StandInHub(REPO, files, breaks=99) as hub:
        hub.break_after = 0
        with pytest.raises(DownloadError, match=r"what has come is kept.*-m FILE"):
            hub_model(REPO, cache_dir=tmp_path, endpoint=hub.endpoint)
        hub.break_after, hub.breaks = 1500, 1
        hub.requests.clear()
        (partial,) = tmp_path.rglob("*.partial")
        partial.write_bytes(files["tiny-Q4_K_M.gguf"][:700])
        path = hub_model(REPO, cache_dir=tmp_path, endpoint=hub.endpoint)
        assert hub.ranges() == ["bytes=700-", "bytes=2200-"]
    assert path.read_bytes() == files["tiny-Q4_K_M.gguf"]
    assert not list(tmp_path.rglob("*.partial"))


def test_damage_is_noticed_and_not_kept(tmp_path: Path, files: dict[str, bytes]) -> None:
    with StandInHub(REPO, files, breaks=99) as hub:
        hub.break_after = 0
        with pytest.raises(DownloadError):
            hub_model(REPO, cache_dir=tmp_path, endpoint=hub.endpoint)
        hub.breaks = 0
        (partial,) = tmp_path.rglob("*.partial")
        partial.write_bytes(b"x" * 700)
        with pytest.raises(DownloadError, match="came damaged"):
            hub_model(REPO, cache_dir=tmp_path, endpoint=hub.endpoint)
        assert hub_model(REPO, cache_dir=tmp_path, endpoint=hub.endpoint).is_file()


def test_all_shards_are_fetched(tmp_path: Path) -> None:
    (tmp_path / "origin").mkdir()
    shards = {f"Q4_K_M/{path.name}": path.read_bytes() for path in split(tmp_path / "origin")}
    with StandInHub(REPO, shards) as hub:
        path = hub_model(REPO, cache_dir=tmp_path, endpoint=hub.endpoint)
        assert path.name == "m-00001-of-00003.gguf"
        assert set(ModelFile.open(path).tensors) == {"t0", "t1", "t2"}
        path.with_name("m-00002-of-00003.gguf").unlink()
        hub.requests.clear()
        assert hub_model(REPO, "q4_k_m", cache_dir=tmp_path, endpoint=hub.endpoint) == path
        assert len(hub.ranges()) == 1
        del hub.files["Q4_K_M/m-00003-of-00003.gguf"]
        with pytest.raises(DownloadError, match="lacks Q4_K_M/m-00003-of-00003"):
            hub_model(REPO, cache_dir=tmp_path / "other", endpoint=hub.endpoint)


def test_tokens_and_terms(tmp_path: Path, files: dict[str, bytes]) -> None:
    with StandInHub(REPO, files, token="hf_secret") as hub:
        with pytest.raises(DownloadError, match=r"no repository .* or it is private: pass a token"):
            hub_model(REPO, cache_dir=tmp_path, endpoint=hub.endpoint)
        hub.gated = True
        with pytest.raises(DownloadError, match="gated: accept its terms"):
            hub_model(REPO, cache_dir=tmp_path, endpoint=hub.endpoint, token="hf_wrong")
        assert hub_model(REPO, cache_dir=tmp_path, endpoint=hub.endpoint, token="hf_secret").is_file()


@pytest.mark.parametrize("repo", ["tiny", "a/b/c", "../x", "a/..", "", "a b/c"])
def test_what_is_no_repository_is_refused(tmp_path: Path, repo: str) -> None:
    with pytest.raises(DownloadError, match="write OWNER/NAME"):
        hub_model(repo, cache_dir=tmp_path)


def test_no_hub_at_all(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"could not be fetched from the hub.*-m FILE"):
        hub_model(REPO, cache_dir=tmp_path, endpoint="http://127.0.0.1:9")


def test_choosing() -> None:
    files = ["a-Q8_0.gguf", "a-Q4_K_M-00002-of-00002.gguf", "a-Q4_K_M-00001-of-00002.gguf", "mmproj-a.gguf", "x.bin"]
    assert models(files) == ["a-Q4_K_M-00001-of-00002.gguf", "a-Q8_0.gguf"]
    assert choose(files, None) == "a-Q4_K_M-00001-of-00002.gguf"
    assert choose(files[:1], None) == choose(files, "q8_0") == "a-Q8_0.gguf"
    assert choose(["b-IQ3_S.gguf", "b-F16.gguf"], None) == "b-F16.gguf"
    assert choose(files, "IQ1") is None
    assert not has_tag("a-Q4_K_M.gguf", "Q4_K")
    assert has_tag("a.Q4_K_M.gguf", "q4_k_m")
    assert has_tag("UD-Q4_K_XL/a.gguf", "Q4_K_XL")
    assert list(with_shards("d/a-00001-of-00002.gguf")) == ["d/a-00001-of-00002.gguf", "d/a-00002-of-00002.gguf"]
