"""Finds the files that the settings name, and fetches the model when it is not on this machine."""

from pathlib import Path

from llama.errors import ModelFileError
from llama.modelfile.fetch import default_model, hub_model
from llama.settings import Settings


def find_model(settings: Settings) -> Path:
    """The model's file. Raises ModelFileError when it is not there, DownloadError when it cannot be fetched."""
    cache_dir = None if settings.cache_dir is None else Path(settings.cache_dir)
    if settings.model is not None:
        path = Path(settings.model).expanduser()
        if not path.is_file():
            raise ModelFileError(f"no model file at {path}: give an existing .gguf file with -m")
        return path
    if settings.hf_repo is not None:
        repo, _, quant = settings.hf_repo.partition(":")
        return hub_model(
            repo,
            quant or None,
            settings.hf_file,
            token=settings.hf_token,
            offline=settings.offline,
            cache_dir=cache_dir,
        )
    return default_model(cache_dir, offline=settings.offline)


def find_adapters(settings: Settings) -> list[Path]:
    """The files of the LoRA adapters, in order. Raises ModelFileError when one is not there."""
    paths = [Path(name).expanduser() for name, _ in settings.lora]
    for path in paths:
        if not path.is_file():
            raise ModelFileError(f"{path} does not exist: give an existing .gguf file with --lora")
    return paths
