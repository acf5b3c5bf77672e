"""The settings of this process: what the command line said, or else the environment alone."""

from functools import lru_cache

from llama.settings import Settings, read_settings

_given: list[Settings] = []


def use(settings: Settings) -> None:
    """From now on these are the settings."""
    _given[:] = [settings]


def settings() -> Settings:
    """The settings that were given, or those of the environment. Raises SettingsError."""
    return _given[0] if _given else _from_environment()


@lru_cache(maxsize=1)
def _from_environment() -> Settings:
    return read_settings(())
