"""/metrics: the engine's counts in Prometheus' text form, under llama-server's names, with histograms beside them."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from llama.api.service import Service
from llama.engine.metrics import Histogram
from llama.errors import NotSupported

CONTENT_TYPE = "text/plain; version=0.0.4"
PREFIX = "llamacpp:"
MAXIMUM = b"# TYPE llamacpp:n_tokens_max"
COUNTERS = {
    # name: where the engine counts it, help
    "prompt_tokens": ("prompt_tokens", "Number of prompt tokens processed."),
    "prompt_tokens_cached": ("prompt_tokens_cached", "Number of prompt tokens taken from the cache."),
    "prompt_seconds": ("prompt_seconds", "Prompt process time"),
    "tokens_predicted": ("tokens_predicted", "Number of generation tokens processed."),
    "tokens_predicted_seconds": ("predicted_seconds", "Predict process time"),
    "n_decode": ("n_decode", "Number of steps of the model"),
    "requests_finished": ("n_finished", "Number of choices that were completed"),
    "requests_failed": ("n_failed", "Number of choices that failed"),
    "requests_cancelled": ("n_cancelled", "Number of choices whose client went away, or that were cancelled"),
    "requests_preempted": ("n_preempted", "Number of times a choice had to give its cache to an older one"),
}
HISTOGRAMS = {
    "queue_seconds": "Time from a request to its slot",
    "first_token_seconds": "Time from a request to its first token",
    "token_seconds": "Mean time of a token of a choice, the first one left out",
    "request_seconds": "Time from a request to its end",
}


class EngineCollector:
    """Reads the engine when Prometheus asks. The two rates are averages since it asked last."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._last = (0, 0.0, 0, 0.0)

    def collect(self) -> Iterator[Metric]:
        """Every metric."""
        engine = self._service.engine
        metrics = engine.metrics
        for name, (source, help) in COUNTERS.items():
            yield CounterMetricFamily(PREFIX + name, help, value=float(getattr(metrics, source)))
        prompt, predicted = self._rates()
        steps = max(1, metrics.n_decode)
        busy = sum(slot.is_processing for slot in engine.slots())
        gauges = {
            "n_tokens_max": (metrics.n_tokens_max, "Largest observed n_tokens."),
            "prompt_tokens_seconds": (prompt, "Average prompt throughput in tokens/s."),
            "predicted_tokens_seconds": (predicted, "Average generation throughput in tokens/s."),
            "requests_processing": (busy, "Number of requests processing."),
            "requests_deferred": (engine.n_waiting, "Number of requests deferred."),
            "n_busy_slots_per_decode": (metrics.n_busy_slots / steps, "Average number of busy slots per step"),
        }
        for name, (value, help) in gauges.items():
            yield GaugeMetricFamily(PREFIX + name, help, value=float(value))
        for name, help in HISTOGRAMS.items():
            yield _histogram(PREFIX + name, help, getattr(metrics, name))

    def _rates(self) -> tuple[float, float]:
        metrics = self._service.engine.metrics
        now = (
            metrics.prompt_tokens,
            metrics.prompt_seconds,
            metrics.tokens_predicted_timed,
            metrics.predicted_seconds,
        )
        was, self._last = self._last, now
        return _rate(now[0] - was[0], now[1] - was[1]), _rate(now[2] - was[2], now[3] - was[3])


def _rate(count: float, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0


def _histogram(name: str, help: str, histogram: Histogram) -> HistogramMetricFamily:
    buckets, total = [], 0
    for bound, count in zip((*histogram.bounds, float("inf")), histogram.counts, strict=True):
        total += count
        buckets.append((str(bound) if bound != float("inf") else "+Inf", float(total)))
    family = HistogramMetricFamily(name, help)
    family.add_metric([], buckets, sum_value=histogram.sum)
    return family


class Exposition:
    """A registry of its own for each service, so that two can live in one process."""

    def __init__(self, service: "Service") -> None:
        self._registry = CollectorRegistry()
        self._registry.register(EngineCollector(service))

    def text(self) -> bytes:
        """The page that Prometheus reads."""
        text = bytes(generate_latest(self._registry))
        return text.replace(
            MAXIMUM + b" gauge", MAXIMUM + b" counter"
        )  # llama-server's type, for a name without _total


def metrics_text(service: "Service") -> bytes:
    """The page that Prometheus reads. Raises NotSupported without --metrics."""
    if not service.settings.metrics:
        raise NotSupported("This server does not support metrics endpoint. Start it with `--metrics`")
    return service.resource("metrics", Exposition).text()
