"""Sets the log up: one line an event, as text or as JSON."""

import json
import logging
import sys
import time

from llama.settings import Settings

LEVELS = {0: logging.CRITICAL, 1: logging.ERROR, 2: logging.WARNING, 3: logging.INFO, 4: logging.DEBUG}


class JsonLines(logging.Formatter):
    """Each record as a JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of `record`."""
        body = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            body["traceback"] = self.formatException(record.exc_info)
        return json.dumps(body, ensure_ascii=False)


def level(settings: Settings) -> int:
    """The level below which nothing is logged."""
    if settings.log_disable:
        return logging.CRITICAL + 1
    return logging.DEBUG if settings.verbose else LEVELS.get(settings.verbosity, logging.DEBUG)


def set_up_log(settings: Settings) -> None:
    """Send our log to the terminal or to the file that the settings name. Safe to repeat."""
    stream = logging.StreamHandler(sys.stderr) if settings.log_file is None else logging.FileHandler(settings.log_file)
    formatter = JsonLines() if settings.log_jsonl else logging.Formatter("%(asctime)s %(levelname).1s %(message)s")
    formatter.converter = time.localtime
    stream.setFormatter(formatter)
    ours = logging.getLogger("llama")
    ours.handlers[:] = [stream]
    ours.setLevel(level(settings))
    ours.propagate = False
