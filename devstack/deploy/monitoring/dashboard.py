# SPDX-License-Identifier: Apache-2.0
"""Generator of dashboard.json for Grafana: ``python -m devstack.deploy.monitoring.dashboard``."""

import json
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("dashboard.json")
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH, HEIGHT, COLUMNS = 8, 7, 3

Graph = dict[str, Any]


def _graph(title: str, unit: str, *queries: Graph, stacked: bool = False) -> Graph:
    """Return a panel without its position; ``unit`` is a Grafana unit id."""
    custom = {"fillOpacity": 10, "stacking": {"mode": "normal" if stacked else "none", "group": "A"}}
    return {
        "type": "timeseries",
        "title": title,
        "datasource": DATASOURCE,
        "gridPos": {},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0, "custom": custom}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [{"refId": chr(ord("A") + number), **query} for number, query in enumerate(queries)],
    }


def _query(expr: str, legend: str = "") -> Graph:
    return {"expr": expr, "legendFormat": legend, "datasource": DATASOURCE}


def _grouped(aggregation: str, expr: str, *labels: str) -> Graph:
    return _query(f"{aggregation} by ({', '.join(labels)}) ({expr})", " ".join(f"{{{{{label}}}}}" for label in labels))


def _rates(counter: str, *labels: str) -> Graph:
    return _grouped("sum", f"rate({counter}[$__rate_interval])", *labels)


def _quantiles(histogram: str, label: str = "") -> list[Graph]:
    by, of = (f", {label}", f" {{{{{label}}}}}") if label else ("", "")
    return [
        _query(
            f"histogram_quantile({share}, sum by (le{by}) (rate({histogram}_bucket[$__rate_interval])))",
            f"p{round(100 * share)}{of}",
        )
        for share in (0.5, 0.99)
    ]


ROWS: dict[str, list[Graph]] = {
    "Placement of servers": [
        _graph(
            "Servers placed",
            "ops",
            _query("sum(rate(gantt_scheduler_instances_placed_total[$__rate_interval]))", "placed"),
        ),
        _graph("Calls by result", "ops", _rates("gantt_scheduler_calls_total", "code"), stacked=True),
        _graph(
            "Refusals by reason",
            "ops",
            _query("topk(10, sum by (reason) (rate(gantt_scheduler_refusals_total[$__rate_interval])))", "{{reason}}"),
        ),
        _graph("Time of a decision", "s", *_quantiles("gantt_scheduler_decision_seconds")),
        _graph("Time of the store to claim", "s", *_quantiles("gantt_scheduler_claim_seconds")),
        _graph("Time of a call", "s", *_quantiles("gantt_scheduler_call_seconds", "method")),
        _graph("Calls decided together", "none", *_quantiles("gantt_scheduler_round_calls")),
        _graph(
            "Verdicts of the store on candidates",
            "ops",
            _rates("gantt_scheduler_verdicts_total", "verdict"),
            stacked=True,
        ),
        _graph(
            "Decisions repeated, plugins that failed",
            "ops",
            _query("sum(rate(gantt_scheduler_conflicts_total[$__rate_interval]))", "conflicts"),
            _query("sum by (name) (rate(gantt_scheduler_plugin_errors_total[$__rate_interval]))", "errors of {{name}}"),
        ),
        _graph("Answers to claim verbs", "ops", _rates("gantt_scheduler_claims_total", "verb", "answer")),
    ],
    "Hosts": [
        _graph("Hosts by state", "none", _grouped("max", "gantt_replica_hosts", "partition", "state"), stacked=True),
        _graph(
            "Used share of each resource class",
            "percentunit",
            _query(
                "max by (partition, resource_class) (gantt_replica_used)"
                " / max by (partition, resource_class) (gantt_replica_capacity > 0)",
                "{{partition}} {{resource_class}}",
            ),
        ),
        _graph(
            "Used share of aggregates, vCPUs",
            "percentunit",
            _query(
                'topk(10, max by (aggregate) (gantt_replica_aggregate_used{resource_class="VCPU"})'
                ' / max by (aggregate) (gantt_replica_aggregate_capacity{resource_class="VCPU"} > 0))',
                "{{aggregate}}",
            ),
        ),
        _graph("Claims by state", "none", _grouped("max", "gantt_store_claims", "partition", "state"), stacked=True),
        _graph(
            "Age of the prepared claim that expires next",
            "s",
            _grouped("max", "gantt_store_prepared_claim_seconds", "partition"),
        ),
        _graph("Reports of hosts", "ops", _rates("gantt_compute_stats_reports_total", "kind", "result")),
        _graph("Builds by outcome", "ops", _rates("gantt_compute_builds_total", "outcome"), stacked=True),
    ],
    "Workers and stores": [
        _graph("Epochs", "none", _grouped("min", "gantt_replica_epoch", "partition")),
        _graph("Silence of the log", "s", _grouped("max", "gantt_replica_silence_seconds", "partition", "instance")),
        _graph("Log entries behind", "none", _grouped("max", "gantt_replica_lag_entries", "partition", "instance")),
        _graph(
            "Share of the store's bounds",
            "percentunit",
            _grouped("max", "gantt_store_bytes / (gantt_store_bound_bytes > 0)", "partition", "collection"),
            _query(
                "max by (collection) (gantt_conductor_records_bytes / (gantt_conductor_records_bound_bytes > 0))",
                "records: {{collection}}",
            ),
        ),
        _graph(
            "Messages that wait",
            "none",
            _grouped("max", "gantt_rpc_waiting_messages", "topic"),
            _query("sum by (topic) (gantt_rpc_backlog_messages)", "{{topic}}, read"),
        ),
        _graph("Processor time", "percentunit", _rates("process_cpu_seconds_total", "instance", "process")),
        _graph("Memory", "bytes", _query("process_resident_memory_bytes", "{{instance}} {{process}}")),
    ],
    "Conductors": [
        _graph("Instances by status", "none", _grouped("max", "gantt_conductor_instances", "status"), stacked=True),
        _graph(
            "Saga steps, and those tried again",
            "ops",
            _rates("gantt_conductor_saga_steps_total", "step"),
            _query("sum by (step) (rate(gantt_conductor_saga_retries_total[$__rate_interval]))", "{{step}}, again"),
        ),
        _graph("Migrations that ended", "ops", _rates("gantt_conductor_migrations_total", "kind", "status")),
        _graph("Time of a saga step", "s", *_quantiles("gantt_conductor_saga_step_seconds", "step")),
        _graph(
            "Time from an instance's last change to its next step",
            "s",
            *_quantiles("gantt_conductor_saga_age_seconds", "step"),
        ),
        _graph("Time of a call", "s", *_quantiles("gantt_conductor_call_seconds", "method")),
    ],
    "Nova and Placement": [
        _graph("Requests of Placement's API", "ops", _rates("gantt_placement_requests_total", "route", "status")),
        _graph("Time of a request", "s", *_quantiles("gantt_placement_request_seconds", "method")),
        _graph(
            "Age of Nova's state",
            "s",
            _query("max(gantt_nova_state_age_seconds)", "scheduler"),
            _query("max(gantt_nova_bridge_lag_seconds)", "bridge"),
        ),
    ],
}


def dashboard() -> Graph:
    panels: list[Graph] = []
    top = 0
    for title, members in ROWS.items():
        panels.append(
            {
                "type": "row",
                "title": title,
                "collapsed": False,
                "panels": [],
                "gridPos": {"x": 0, "y": top, "w": WIDTH * COLUMNS, "h": 1},
            }
        )
        for number, panel in enumerate(members):
            row, column = divmod(number, COLUMNS)
            position = {"x": WIDTH * column, "y": top + 1 + HEIGHT * row, "w": WIDTH, "h": HEIGHT}
            panels.append({**panel, "gridPos": position})
        top += 1 + HEIGHT * -(-len(members) // COLUMNS)
    for number, document in enumerate(panels, 1):
        document["id"] = number
    return {
        "title": "gantt",
        "uid": "gantt",
        "tags": ["gantt"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]},
        "panels": panels,
    }


def text() -> str:
    return json.dumps(dashboard(), indent=1) + "\n"


if __name__ == "__main__":
    PATH.write_text(text())
