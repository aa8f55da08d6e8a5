# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry spans: one trace per request id, across all processes.

Some steps of a boot have no call that could propagate a context, and one call carries selections of many requests. So
the trace id is the UUID of the request id, and spans without a parent are children of a root context derived from it,
which has no span of its own. Before ``start`` nothing is recorded, and opentelemetry is not imported.
"""

import contextlib
import hashlib
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from rpcapi import errors

GROUP = "oslo_messaging_tracing"
PACKAGES = "opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"
EXPORT_SECONDS = 5  # time limit of an export

_tracer: Any = None
_provider: Any = None
_NO_SPAN = contextlib.nullcontext()


def start(conf: Any) -> None:
    """Record spans as configured in [oslo_messaging_tracing]. Starts a thread, so call it after any fork."""
    global _tracer, _provider  # noqa: PLW0603 - as in opentelemetry, one provider for each process
    options = conf[GROUP]
    if not options.tracing_enabled or _tracer is not None:
        return
    conf.set_default("tracing_service_name", conf.prog or "gantt", group=GROUP)
    if options.otlp_protocol != "http/protobuf":
        raise errors.BadConfiguration(why=f"[{GROUP}] otlp_protocol must be http/protobuf")
    try:
        from opentelemetry import trace  # noqa: PLC0415 - see above
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as error:
        raise errors.BadConfiguration(
            why=f"[{GROUP}] tracing_enabled needs {error.name}; run: pip install {PACKAGES}"
        ) from error
    endpoint = f"{options.otel_exporter_otlp_endpoint.rstrip('/')}/v1/traces"
    _provider = TracerProvider(resource=Resource.create({"service.name": options.tracing_service_name}))
    _provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, timeout=EXPORT_SECONDS)))
    trace.set_tracer_provider(_provider)  # oslo.messaging uses the global provider
    _tracer = _provider.get_tracer("gantt")


def stop() -> None:
    global _tracer, _provider  # noqa: PLW0603 - see above
    if _provider is not None:
        _provider.force_flush(1000 * EXPORT_SECONDS)
        _provider.shutdown()
    _tracer = _provider = None


def span(name: str, request_id: str | None) -> AbstractContextManager[Any]:
    if _tracer is None or not request_id:
        return _NO_SPAN
    started: AbstractContextManager[Any] = _tracer.start_as_current_span(
        name, _parent(request_id), attributes=_attributes(request_id)
    )
    return started


def shared_span(name: str, request_ids: Iterable[str | None]) -> AbstractContextManager[Any]:
    """Return a context manager of work shared by several requests, with a span for each."""
    return _NO_SPAN if _tracer is None else _shared_span(name, request_ids)


@contextlib.contextmanager
def _shared_span(name: str, request_ids: Iterable[str | None]) -> Iterator[None]:
    began = time.time_ns()
    try:
        yield
    finally:
        ended = time.time_ns()
        for request_id in request_ids:
            if request_id and _tracer is not None:
                parent, attributes = _parent(request_id), _attributes(request_id)
                _tracer.start_span(name, parent, attributes=attributes, start_time=began).end(ended)


def trace_id(request_id: str) -> int:
    """Return the trace id of a request: the UUID of ``req-<uuid>``, or an MD5 of any other text."""
    try:
        number = uuid.UUID(request_id.removeprefix("req-")).int
    except ValueError:
        number = 0
    return number or int.from_bytes(hashlib.md5(request_id.encode(), usedforsecurity=False).digest())


def _parent(request_id: str) -> Any:
    from opentelemetry import context, trace  # noqa: PLC0415 - see above

    number = trace_id(request_id)
    if trace.get_current_span().get_span_context().trace_id == number:
        return context.get_current()
    root_id = number % (1 << 64) or 1
    root = trace.SpanContext(number, root_id, is_remote=True, trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED))
    return trace.set_span_in_context(trace.NonRecordingSpan(root))


def _attributes(request_id: str) -> dict[str, str]:
    return {"openstack.request_id": request_id}
