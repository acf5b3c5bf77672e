"""Where this program keeps what can be fetched or made again: models, and the machine code of kernels and grammars."""

import sys
from pathlib import Path

#: The name of our own folder inside the platform's.
FOLDER = "llama-server-py"


def default_cache_dir(platform: str = sys.platform, home: Path | None = None) -> Path:
    """The platform's folder for things that can be fetched again."""
    home = home or Path.home()
    parents = {"darwin": home / "Library" / "Caches", "win32": home / "AppData" / "Local"}
    return parents.get(platform, home / ".cache") / FOLDER
