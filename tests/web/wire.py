"""Reads what servers send."""

import json
from typing import Any

from werkzeug.test import TestResponse


def events(response: TestResponse) -> list[Any]:
    """The events of a stream, the closing [DONE] as text; comments are left out. The framing is checked."""
    assert response.status_code == 200, response.get_data(as_text=True)
    assert response.mimetype == "text/event-stream"
    assert "Content-Length" not in response.headers
    raw = response.get_data()
    assert raw.endswith(b"\n\n")
    found = []
    for frame in raw.decode().split("\n\n")[:-1]:
        if frame == ":":
            continue
        assert frame.startswith("data: "), frame
        assert "\n" not in frame
        found.append("[DONE]" if frame == "data: [DONE]" else json.loads(frame[6:]))
    return found
