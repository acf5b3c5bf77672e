"""The table of settings as text: for --help and for the documentation."""

from llama.settings.inapplicable import IGNORED, REFUSED
from llama.settings.option import Option
from llama.settings.read import options


def help_text() -> str:
    """What --help prints."""
    lines = ["usage: python app.py [-m MODEL.gguf] [flags]", ""]
    for row in options().values():
        env = f" [{row.env}]" if row.env else ""
        shown = f" (default: {row.shown})" if row.shown else ""
        lines.append(f"  {_flags(row)}{env}")
        lines.append(f"      {row.help}{shown}")
    return "\n".join(lines)


def markdown() -> str:
    """The table for the documentation, with the flags that are read and ignored below it."""
    lines = ["| flag | environment | default | meaning |", "|---|---|---|---|"]
    for row in options().values():
        cells = (f"`{_flags(row)}`", f"`{row.env}`" if row.env else "", row.shown, row.help)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    lines += ["", "Read and without effect, so that a llama-server command line runs:", ""]
    lines += [f"- `{' '.join(row.flags)}`: {row.reason}" for row in IGNORED]
    lines += ["", "Refused, because the answers would be others than asked for:", ""]
    lines += [f"- `{' '.join(row.flags)}`: {row.reason}" for row in REFUSED]
    return "\n".join(lines) + "\n"


def _flags(row: Option) -> str:
    own = ", ".join(row.flags)
    return f"{own} / {', '.join(row.off)}" if row.read is None and row.off and row.shown != "off" else own
