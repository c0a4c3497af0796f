"""Spans for OpenTelemetry (setting ``observe.traces``: an OTLP address over HTTP; needs extra ``traces``).

Without that setting nothing of the SDK is loaded and `span` costs one comparison. A task's span bears the trace of
the request that enqueued it, through `carrier` and ``parent``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from vetro import __version__
from vetro.data_classes import dataclass
from vetro.server.config.config import Config, ConfigError

_NOTHING: AbstractContextManager[Any] = nullcontext()


class _State:
    tracer: Any = None
    provider: Any = None


def configure(settings: Config, service: str = "vetro") -> bool:
    """Begins to send spans if the settings want it; whether they do. Raises `ConfigError` without the extra."""
    address = str(settings["observe.traces"])
    if not address:
        return False
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise ConfigError("'observe.traces' needs the extra: pip install 'vetro[traces]'") from None
    url = address.rstrip("/")
    use(
        BatchSpanProcessor(OTLPSpanExporter(endpoint=url if url.endswith("/v1/traces") else url + "/v1/traces")),
        service,
    )
    return True


def use(processor: Any, service: str = "vetro") -> None:
    """Sends spans to a processor of the SDK; None ends it."""
    if _State.provider is not None:
        _State.provider.shutdown()
    _State.tracer = _State.provider = None
    if processor is None:
        return
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    provider = TracerProvider(resource=Resource.create({"service.name": service, "service.version": __version__}))
    provider.add_span_processor(processor)
    _State.provider = provider
    _State.tracer = provider.get_tracer("vetro", __version__)


def enabled() -> bool:
    """Whether spans are sent."""
    return _State.tracer is not None


def span(
    name: str, attributes: Mapping[str, Any] | None = None, parent: Mapping[str, str] | None = None
) -> AbstractContextManager[Any]:
    """A span around a block; its value is the span, or None while nothing is traced.

    ``parent``: what `carrier` gave where the work was ordered. Attributes hold names and ids, never values of models.
    """
    if _State.tracer is None:
        return _NOTHING
    return _span(name, attributes, parent)


@contextmanager
def _span(name: str, attributes: Mapping[str, Any] | None, parent: Mapping[str, str] | None) -> Iterator[Any]:
    with _State.tracer.start_as_current_span(
        name,
        context=_context(parent),
        attributes=dict(attributes or {}),
        record_exception=False,  # its text may hold what a person typed
        set_status_on_exception=False,
    ) as found:
        try:
            yield found
        except BaseException as error:
            _fail(found, type(error).__name__)
            raise


@dataclass(frozen=True, slots=True)
class Past:
    """A span of something that was measured elsewhere. ``began``, ``ended``: seconds since 1970."""

    name: str
    began: float
    ended: float
    attributes: Mapping[str, Any]
    failed: bool = False
    #: What is below it.
    parts: Sequence[Past] = ()


def past_tree(root: Past, parent: Mapping[str, str] | None = None) -> None:
    """Sends a span and all below it, below ``parent`` (see `carrier`) or the current span."""
    if _State.tracer is None:
        return
    from opentelemetry.trace import set_span_in_context

    opened = [(root, _begin(root, _context(parent)))]
    for above, span in opened:  # it grows meanwhile
        below = set_span_in_context(span)
        opened += [(part, _begin(part, below)) for part in reversed(above.parts)]
    for past, span in reversed(opened):
        _end(span, past)


def _begin(past: Past, context: Any) -> Any:
    return _State.tracer.start_span(
        past.name, context=context, attributes=dict(past.attributes), start_time=int(past.began * 1e9)
    )


def _end(span: Any, past: Past) -> None:
    if past.failed:
        _fail(span)
    span.end(end_time=int(max(past.began, past.ended) * 1e9))


def _fail(span: Any, why: str | None = None) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_status(Status(StatusCode.ERROR, why))


def carrier() -> dict[str, str]:
    """The current span as plain text, to be handed to whoever goes on; empty while nothing is traced."""
    found: dict[str, str] = {}
    if _State.tracer is not None:
        _propagator().inject(found)
    return found


def _context(parent: Mapping[str, str] | None) -> Any:
    if not parent:
        return None
    return _propagator().extract(parent)


def _propagator() -> Any:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator()
