"""Compiles the matcher before anybody waits for it, in a process of its own, so that other compiling goes on beside it.

`python -m llama.grammar.warming` is that process; what it compiled is found on disk afterwards.
"""

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

from llama.grammar.matcher import Matcher
from llama.grammar.program import compile_grammar
from llama.grammar.shortening import KEPT_FRAMES
from llama.grammar.trie import TokenTrie
from llama.jit import is_kept

_ROOT = Path(__file__).resolve().parents[2]
_log = logging.getLogger(__name__)


class Warming:
    """The process that compiles, if there is one."""

    def __init__(self, process: "subprocess.Popen[bytes] | None") -> None:
        self._process = process
        self._lock = threading.Lock()

    @classmethod
    def started(cls) -> "Warming":
        """Compile what is not on disk yet."""
        if is_kept("grammar"):
            return cls(None)
        command = [sys.executable, "-m", "llama.grammar.warming"]
        try:
            return cls(subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.DEVNULL))
        except OSError as problem:
            _log.info("grammars are compiled when the first one is used: %s", problem)
            return cls(None)

    @classmethod
    def done(cls) -> "Warming":
        """Nothing to compile."""
        return cls(None)

    @property
    def running(self) -> bool:
        """Whether the compiling goes on."""
        with self._lock:
            return self._process is not None and self._process.poll() is None

    def wait(self, seconds: float = 120.0) -> None:
        """Return when all is compiled, or time is up."""
        with self._lock:
            process, self._process = self._process, None
            if process is None:
                return
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def warm() -> None:
    """Match a little of everything, so that every compiled function has been called."""
    longest = b")" * (KEPT_FRAMES + 1)
    trie = TokenTrie([bytes([byte]) for byte in range(256)] + [b"ab", longest, b""], frozenset({258}))
    for grammar in ('root ::= "a" [b-z]+ "c"{2,5}', 'root ::= ("a" root "b" | "(" root ")")? "c"{0,50}'):
        program = compile_grammar(grammar)
        for matcher in (Matcher(program, trie), Matcher(program, trie, space_bytes=1)):
            constraint = matcher.constraint()
            for token in b"ab":
                constraint.mask()
                if constraint.accepts(token):
                    constraint.advance(token)
    constraint = Matcher(program, trie).constraint()
    constraint.read(b"(" * 1000)  # so deep that tables grow
    constraint.mask()


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(10)  # whoever is served meanwhile comes first
    warm()
