"""Settings that Vertex AI gives a container by its own variables."""

from dataclasses import dataclass

from llama.settings.option import integer, option, text

PREDICTION = "PREDICTION"


@dataclass(frozen=True, kw_only=True)
class VertexSettings:
    """Whether predictions are served in Vertex AI's form, and where."""

    aip_mode: str = option(
        "--aip-mode", read=text, default="", env="AIP_MODE", help=f"{PREDICTION} = serve Vertex AI's predictions"
    )
    aip_predict_route: str = option(
        "--aip-predict-route", read=text, default="/predict", env="AIP_PREDICT_ROUTE", help="path of the predictions"
    )
    aip_health_route: str = option(
        "--aip-health-route", read=text, default="", env="AIP_HEALTH_ROUTE", help="one more path of /health then"
    )
    aip_http_port: int = option(
        "--aip-http-port",
        read=integer,
        default=0,
        env="AIP_HTTP_PORT",
        help="port then, in place of --port; 0 = --port",
    )

    @property
    def predict_path(self) -> str | None:
        """Where predictions are asked for; None for nowhere."""
        return _path(self.aip_predict_route or "predict") if self.aip_mode == PREDICTION else None

    @property
    def predict_health_path(self) -> str | None:
        """Where Vertex AI looks for health, if it named a path."""
        return _path(self.aip_health_route) if self.predict_path and self.aip_health_route else None


def _path(text: str) -> str:
    return text if text.startswith("/") else f"/{text}"
