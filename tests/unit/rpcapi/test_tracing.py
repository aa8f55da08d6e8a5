# SPDX-License-Identifier: Apache-2.0
"""Spans of a request have one trace id in all processes, and none are made unless tracing is enabled."""

import sys
import uuid

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from oslo_config import cfg

from rpcapi import errors, tracing
from rpcapi.messaging import bus

REQUEST = f"req-{uuid.uuid4()}"


@pytest.fixture
def spans(monkeypatch):
    """Return a function that returns the ended spans."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "_tracer", provider.get_tracer("test"))
    return exporter.get_finished_spans


@pytest.fixture
def conf():
    conf = cfg.ConfigOpts()
    conf([], project="gantt", prog="gantt-test", default_config_files=[], default_config_dirs=[])
    bus.set_defaults(conf)
    return conf


def test_trace_id_is_the_uuid_of_the_request_id():
    number = uuid.uuid4()
    assert tracing.trace_id(f"req-{number}") == tracing.trace_id(str(number)) == number.int
    other = tracing.trace_id("nightly batch")
    assert other == tracing.trace_id("nightly batch") != tracing.trace_id("nightly batch 2")
    assert 0 < other < 1 << 128
    assert tracing.trace_id(str(uuid.UUID(int=0))) > 0, "a trace id of zeros is invalid"


def test_spans_of_processes_that_know_only_the_request_id_are_siblings_of_one_trace(spans):
    for name in ("conductor.select", "compute.spawn"):
        with tracing.span(name, REQUEST):
            pass
    first, second = spans()
    assert first.context.trace_id == second.context.trace_id == tracing.trace_id(REQUEST)
    assert first.parent == second.parent and first.parent.span_id
    assert first.attributes["openstack.request_id"] == REQUEST


def test_span_within_one_of_the_same_request_is_its_child(spans):
    with tracing.span("outer", REQUEST), tracing.span("inner", REQUEST):
        pass
    inner, outer = spans()
    assert inner.parent.span_id == outer.context.span_id


def test_span_within_one_of_another_request_is_of_its_own_trace(spans):
    with tracing.span("outer", REQUEST), tracing.span("inner", "req-other"):
        pass
    inner, outer = spans()
    assert inner.context.trace_id == tracing.trace_id("req-other") != outer.context.trace_id


def test_shared_work_is_a_span_of_each_request(spans):
    with pytest.raises(KeyError), tracing.shared_span("rank", iter([REQUEST, None, "req-other"])):
        raise KeyError
    ended = spans()
    assert [span.context.trace_id for span in ended] == [tracing.trace_id(REQUEST), tracing.trace_id("req-other")]
    assert len({(span.start_time, span.end_time) for span in ended}) == 1
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_nothing_is_recorded_or_imported_unless_enabled(conf, monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)  # an import would fail
    tracing.start(conf)
    with tracing.span("name", REQUEST), tracing.shared_span("name", iter([REQUEST])):
        pass
    assert tracing.span("name", REQUEST) is tracing.span("other", REQUEST)


def test_missing_packages_and_other_protocols_are_refused(conf, monkeypatch):
    conf.set_override("tracing_enabled", True, group=tracing.GROUP)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    with pytest.raises(errors.BadConfiguration, match="pip install opentelemetry-sdk"):
        bus.get_transport(conf, "fake://")
    conf.set_override("otlp_protocol", "grpc", group=tracing.GROUP)
    with pytest.raises(errors.BadConfiguration, match="otlp_protocol must be http/protobuf"):
        bus.get_transport(conf, "fake://")
