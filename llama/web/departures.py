"""Says at once when a client goes away: one sleeping thread that the system wakes, whatever the requests are doing."""

import selectors
import socket
import threading
from collections.abc import Callable
from typing import cast

from llama.web.peek import is_gone

Tell = Callable[[], None]


class Departures:
    """Connections whose end is waited for. Nothing starts before the first one, and a forked process starts anew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._selector: selectors.BaseSelector = selectors.SelectSelector()
        self._thread: threading.Thread | None = None

    def watch(self, connection: socket.socket, tell: Tell) -> Tell:
        """Call `tell`, in a thread of ours, when the peer closes. Returns what ends the waiting; safe to repeat.

        A connection that cannot be watched, or is already, is left alone.
        """
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._start()
            selector = self._selector
            try:
                key = selector.register(connection, selectors.EVENT_READ, tell)
            except (KeyError, ValueError, OSError):
                return lambda: None

        def forget() -> None:
            with self._lock:
                if selector.get_map().get(key.fd) is key:
                    selector.unregister(key.fd)

        return forget

    def _start(self) -> None:
        self._selector = selectors.DefaultSelector()
        arguments = (self._selector,)
        self._thread = threading.Thread(target=self._run, args=arguments, name="departures", daemon=True)
        self._thread.start()

    def _run(self, selector: selectors.BaseSelector) -> None:
        while True:
            for key, _ in selector.select():
                self._look(selector, key)

    def _look(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        """There is something to read: the end, or the next request, behind which the end is not seen any more."""
        with self._lock:
            if selector.get_map().get(key.fd) is not key:
                return  # forgotten meanwhile; the number may be that of another connection by now
            selector.unregister(key.fd)
            gone = is_gone(cast(socket.socket, key.fileobj))
        if gone:
            key.data()


DEPARTURES = Departures()
