# SPDX-License-Identifier: Apache-2.0
"""Spans of a boot in all processes, received by a collector that speaks OTLP over HTTP."""

import gzip
import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from devstack.cluster_size import ClusterSize
from rpcapi import tracing
from tests.support.clusters import clusters
from tests.support.clusters.booting import boot
from tests.support.clusters.clusters import RunningCluster

SHAPE = ClusterSize(computes=1, nodes_per_host=2)
SECONDS = 60
# Names of spans that are gantt's own; others are oslo.messaging's.
OWN_NAMES = {
    *("gantt.build_instances", "conductor.select", "conductor.cast", "scheduler.rank", "scheduler.claim"),
    *("compute.confirm_claims", "compute.spawn", "compute.report_builds"),
}


class Span(NamedTuple):
    service: str
    name: str
    trace_id: int
    span_id: bytes
    parent_id: bytes
    request_id: str | None


class Collector:
    """A server that keeps the spans that it receives."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._arrived = threading.Condition()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                assert self.path == "/v1/traces"
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.receive(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *values):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def receive(self, request: ExportTraceServiceRequest) -> None:
        with self._arrived:
            for resource in request.resource_spans:
                service = next(
                    item.value.string_value for item in resource.resource.attributes if item.key == "service.name"
                )
                for span in (span for scope in resource.scope_spans for span in scope.spans):
                    values = {item.key: item.value.string_value for item in span.attributes}
                    self.spans.append(
                        Span(
                            service,
                            span.name,
                            int.from_bytes(span.trace_id),
                            span.span_id,
                            span.parent_span_id,
                            values.get("openstack.request_id"),
                        )
                    )
            self._arrived.notify_all()

    def wait_for(self, condition) -> list[Span]:
        """Return the spans once they meet the condition."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: condition(self.spans), SECONDS), sorted(
                {(span.service, span.name) for span in self.spans}
            )
            return list(self.spans)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.close()


def options(url: str) -> dict[str, dict[str, object]]:
    return {"oslo_messaging_tracing": {"tracing_enabled": True, "otel_exporter_otlp_endpoint": url}}


def overrides(url: str) -> dict[str, dict[str, dict[str, object]]]:
    return {daemon: options(url) for daemon in ("scheduler", "conductor", "compute")}


@pytest.fixture(scope="module")
def cluster(collector) -> Iterator[RunningCluster]:
    with clusters.running_cluster(SHAPE, overrides=overrides(collector.url)) as running:
        yield running


def run_gantt(cluster: RunningCluster, url: str, *arguments: str) -> subprocess.CompletedProcess:
    conf = Path(cluster.cluster.client_conf)
    traced = conf.with_name("traced-client.conf")
    traced.touch(mode=0o600)
    traced.write_text(
        f"{conf.read_text()}\n[oslo_messaging_tracing]\ntracing_enabled = true\notel_exporter_otlp_endpoint = {url}\n"
    )
    command = [str(Path(sys.executable).with_name("gantt")), "--config-file", str(traced), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


def ancestors(span: Span, spans: list[Span]) -> list[Span]:
    """Return the spans above one, as far as they are there."""
    by_id, above = {item.span_id: item for item in spans}, []
    while span.parent_id in by_id:
        span = by_id[span.parent_id]
        above.append(span)
    return above


def test_a_boot_is_one_trace_across_all_services(cluster, collector):
    completed = run_gantt(cluster, collector.url, "boot", "--flavor", "m1.tiny", "--wait", "-f", "json")
    assert completed.returncode == 0, completed.stderr
    expected = {
        ("gantt", "gantt.build_instances"),
        ("gantt-conductor", "build_instances receive"),
        ("gantt-conductor", "conductor.select"),
        ("gantt-scheduler", "scheduler.rank"),
        ("gantt-scheduler", "scheduler.claim"),
        ("gantt-conductor", "conductor.cast"),
        ("gantt-compute", "build_instances receive"),
        ("gantt-compute", "compute.confirm_claims"),
        ("gantt-scheduler", "confirm_claims receive"),
        ("gantt-compute", "compute.spawn"),
        ("gantt-compute", "compute.report_builds"),
    }
    (server,) = json.loads(completed.stdout)
    trace = tracing.trace_id(server["request_id"])
    spans = collector.wait_for(
        lambda spans: expected <= {(span.service, span.name) for span in spans if span.trace_id == trace}
    )
    own = {(span.service, span.name): span for span in spans if span.trace_id == trace}
    # A received call is a child of the call that was sent, and that one of the step that sent it.
    by_id = {span.span_id: span for span in spans}
    received = own["gantt-scheduler", "confirm_claims receive"]
    sent = by_id[received.parent_id]
    assert (sent.service, sent.name) == ("gantt-compute", "claims.default.confirm_claims")
    assert by_id[sent.parent_id] == own["gantt-compute", "compute.confirm_claims"]
    # Spans between them end later, and may arrive later.
    for child, parent in (
        (("gantt-conductor", "build_instances receive"), ("gantt", "gantt.build_instances")),
        (("gantt-scheduler", "scheduler.rank"), ("gantt-conductor", "conductor.select")),
        (("gantt-compute", "build_instances receive"), ("gantt-conductor", "conductor.cast")),
    ):
        collector.wait_for(lambda spans, child=child, parent=parent: own[parent] in ancestors(own[child], spans))
    assert {span.request_id for (_, name), span in own.items() if name in OWN_NAMES} == {server["request_id"]}
    assert own["gantt-scheduler", "scheduler.rank"].parent_id == own["gantt-scheduler", "scheduler.claim"].parent_id


def test_a_cluster_boots_while_the_collector_is_away():
    with clusters.running_cluster(SHAPE, overrides=overrides("http://127.0.0.1:9")) as running:
        instance = boot(running)
        assert instance.status == "ACTIVE", instance.reason
        completed = run_gantt(running, "http://127.0.0.1:9", "server", "list", "-f", "value", "-c", "status")
        assert (completed.returncode, completed.stdout) == (0, "ACTIVE\n"), completed.stderr
