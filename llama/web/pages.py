"""Answers that are not JSON: the page for people who open our address in a browser, and the one for Prometheus."""

from collections.abc import Mapping
from html import escape
from typing import Any

from flask import Response, request

from llama.api.metrics import CONTENT_TYPE, metrics_text
from llama.api.service import Service

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{model}</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:3rem auto;padding:0 1rem}}</style>
<h1>{model}</h1>
<p>A local LLM server. It speaks the OpenAI API at <code>{root}/v1</code>.</p>
<ul>
<li><a href="health">{root}/health</a></li>
<li><a href="v1/models">{root}/v1/models</a></li>
<li><a href="openapi.json">{root}/openapi.json</a>: every endpoint and field</li>
</ul>
</html>
"""


def index(service: Service, body: dict[str, Any], query: Mapping[str, str]) -> Response:
    """A short page that says what is served here. Its links are relative: they hold behind any prefix."""
    root = escape(f"{request.script_root}{request.path}".rstrip("/"))
    return Response(PAGE.format(model=escape(service.model_id), root=root), content_type="text/html; charset=utf-8")


def metrics(service: Service, body: dict[str, Any], query: Mapping[str, str]) -> Response:
    """What Prometheus reads."""
    headers = {"Process-Start-Time-Unix": str(int(service.started_at))}
    return Response(metrics_text(service), headers=headers, content_type=CONTENT_TYPE)
