"""Models of the Hugging Face hub: found by repository and quantisation, fetched with resume, kept in a cache folder."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from llama.errors import DownloadError
from llama.folder import default_cache_dir
from llama.modelfile.cache import Bar, check_file, writing
from llama.modelfile.choice import PREFERRED, choose, models, with_shards

REPO = re.compile(r"[\w.-]+/[\w.-]+")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class RemoteFile:
    """A file of the repository: size in bytes, and its sha256 when the hub knows it."""

    size: int
    sha256: str | None
    id: str


def hub_model(
    repo: str,
    quant: str | None = None,
    file: str | None = None,
    *,
    token: str | None = None,
    offline: bool = False,
    cache_dir: Path | None = None,
    endpoint: str | None = None,
) -> Path:
    """The model file of `repo` ("owner/name"), the first one if it is split; all shards are fetched.

    `file` names it outright; else `quant` is looked for in the names; else Q4_K_M, Q8_0 or the first one is taken.
    What the cache folder has is used without asking the hub. Raises DownloadError.
    """
    if not REPO.fullmatch(repo) or ".." in repo:
        raise DownloadError(f'"{repo}" is no repository of the model hub: write OWNER/NAME or OWNER/NAME:QUANT')
    folder = (cache_dir or default_cache_dir()) / "hub" / repo.replace("/", "--")
    quant = None if quant == "latest" else quant
    wanted = file or choose(_kept(folder), quant or (None if offline else PREFERRED[0]))
    if wanted and _complete(folder, wanted):
        return folder / wanted
    if offline:
        raise DownloadError(f"{repo}: the model is not in {folder} and nothing may be fetched; leave out --offline")
    return _Hub(repo, token, endpoint).fetch(folder, quant, file)


def _kept(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*.gguf")] if folder.is_dir() else []


def _complete(folder: Path, file: str) -> bool:
    return all((folder / shard).is_file() for shard in with_shards(file))


class _Hub:
    """One repository on the hub."""

    def __init__(self, repo: str, token: str | None, endpoint: str | None) -> None:
        from huggingface_hub import HfApi  # slow to import, and few start-ups need it

        self._repo, self._token = repo, token
        self._api = HfApi(endpoint=endpoint, token=token)

    def fetch(self, folder: Path, quant: str | None, file: str | None) -> Path:
        """All files of the chosen model, in `folder`; the path of the first."""
        try:
            revision = str(self._ask(lambda: self._api.model_info(self._repo).sha))
            files = self._ask(lambda: self._list(revision))
        except DownloadError:
            kept = file or choose(_kept(folder), quant)  # the hub is out of reach: an older copy is better than none
            if kept and _complete(folder, kept):
                return folder / kept
            raise
        chosen = file or choose(files, quant)
        if not chosen or chosen not in files:
            raise DownloadError(self._no_match(quant or file, list(files)))
        for shard in with_shards(chosen):
            if shard not in files:
                raise DownloadError(f"{self._repo}: the repository lacks {shard}, a part of {chosen}")
            if not (folder / shard).is_file():
                self._fetch_file(revision, shard, files[shard], folder)
        return folder / chosen

    def _list(self, revision: str) -> dict[str, RemoteFile]:
        from huggingface_hub.hf_api import RepoFile

        tree = self._api.list_repo_tree(self._repo, recursive=True, revision=revision)
        entries = [entry for entry in tree if isinstance(entry, RepoFile)]
        return {
            entry.path: RemoteFile(entry.size, entry.lfs.sha256 if entry.lfs else None, entry.blob_id)
            for entry in entries
            if entry.path.endswith(".gguf") and ".." not in entry.path and not entry.path.startswith("/")
        }

    def _no_match(self, wanted: str | None, files: list[str]) -> str:
        found = models(files)
        if not found:
            return f"{self._repo} holds no .gguf file: name a repository of GGUF models, or pass -m FILE.gguf"
        return f'{self._repo} has no model "{wanted}"; there are: {", ".join(found[:40])}'

    def _fetch_file(self, revision: str, name: str, remote: RemoteFile, folder: Path) -> None:
        """One file, going on where an earlier attempt ended: what is there is kept under the name of its content."""
        from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]

        target = folder / name
        partial = folder / f"{remote.sha256 or remote.id}.partial"
        with writing(target.parent), WeakFileLock(partial.with_suffix(".lock")):
            if target.is_file():  # another process was quicker
                return
            self._ask(lambda: self._transfer(revision, name, remote, partial))
            if remote.sha256:
                check_file(partial, remote.sha256, name)
            partial.replace(target)
        partial.with_suffix(".lock").unlink(missing_ok=True)

    def _transfer(self, revision: str, name: str, remote: RemoteFile, partial: Path) -> None:
        from huggingface_hub import hf_hub_url
        from huggingface_hub.file_download import http_get
        from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

        url = hf_hub_url(self._repo, name, revision=revision, endpoint=self._api.endpoint)
        partial.touch()
        with partial.open("r+b") as file:
            start = file.seek(0, 2)
            if start > remote.size:
                start = 0
                file.truncate(0)
                file.seek(0)
            http_get(
                url,
                file,
                resume_size=start,
                headers=build_hf_headers(token=self._token),
                expected_size=remote.size,
                displayed_filename=name,
                tqdm_class=Bar,
            )

    def _ask(self, call: Callable[[], Answer]) -> Answer:
        """What `call` returns; the hub's and the network's errors become DownloadError with a remedy."""
        from huggingface_hub import errors

        try:
            return call()
        except errors.GatedRepoError as problem:
            raise DownloadError(
                f"{self._repo} is gated: accept its terms on the hub, then pass a token by --hf-token or HF_TOKEN"
            ) from problem
        except errors.RepositoryNotFoundError as problem:
            raise DownloadError(
                f"the hub has no repository {self._repo}, or it is private: pass a token by --hf-token or HF_TOKEN"
            ) from problem
        except (errors.HTTPError, OSError, ValueError) as problem:  # type: ignore[attr-defined]
            reason = str(problem).strip().splitlines()[:1]
            raise DownloadError(
                f"{self._repo} could not be fetched from the hub: {''.join(reason) or type(problem).__name__}; "
                "try again (what has come is kept), or pass a model of your own with -m FILE.gguf"
            ) from problem
