"""Writes the generated part of the documentation: `python -m llama.cli.docs`."""

from pathlib import Path

from llama.settings import markdown

TARGET = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
INTRODUCTION = """# Settings

Every setting is a flag of `python app.py` (and so of `make run ARGS=...`), most are an environment variable too, both
named as in llama-server; a flag beats the variable. `--foo_bar` is `--foo-bar`; a switch `--x` has its `--no-x`. This
page is written by `make docs`.

"""


def page() -> str:
    """The page of all settings."""
    return INTRODUCTION + markdown()


if __name__ == "__main__":
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(page())
    print(f"wrote {TARGET}")
