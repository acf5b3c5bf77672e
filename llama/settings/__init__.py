"""This package turns a command line and an environment into one frozen value.

Nothing else in the program reads `os.environ` or `argv`.
"""

from llama.settings.read import read_settings
from llama.settings.settings import Settings, read_text
from llama.settings.table import help_text, markdown

__all__ = ["Settings", "help_text", "markdown", "read_settings", "read_text"]
