"""Where the model lies that is served when none is named."""

from pathlib import Path

from llama.modelfile.source import find_model
from llama.settings import read_settings


def default_model_path() -> Path:
    """The default model's file in the cache folder, fetched if it is not there. Raises DownloadError."""
    settings = read_settings(())
    return find_model(type(settings)(cache_dir=settings.cache_dir))
