# SPDX-License-Identifier: Apache-2.0
"""Generator of dashboard.json for Grafana: ``python -m devstack.deploy.monitoring.dashboard``."""

import json
from pathlib import Path
from typing import Any, NamedTuple

PATH = Path(__file__).with_name("dashboard.json")
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH, HEIGHT, COLUMNS = 8, 7, 3


class Query(NamedTuple):
    expr: str
    legend: str = ""


class Panel(NamedTuple):
    """Graph of the dashboard; ``unit`` is a Grafana unit id."""

    title: str
    unit: str
    queries: tuple[Query, ...]
    stacked: bool = False


def _grouped(aggregation: str, expr: str, *labels: str) -> Query:
    return Query(f"{aggregation} by ({', '.join(labels)}) ({expr})", " ".join(f"{{{{{label}}}}}" for label in labels))


def _rates(counter: str, *labels: str) -> Query:
    return _grouped("sum", f"rate({counter}[$__rate_interval])", *labels)


def _quantiles(histogram: str, label: str = "") -> tuple[Query, ...]:
    by, of = (f", {label}", f" {{{{{label}}}}}") if label else ("", "")
    return tuple(
        Query(
            f"histogram_quantile({share}, sum by (le{by}) (rate({histogram}_bucket[$__rate_interval])))",
            f"p{round(100 * share)}{of}",
        )
        for share in (0.5, 0.99)
    )


ROWS: dict[str, tuple[Panel, ...]] = {
    "Placement of servers": (
        Panel(
            "Servers placed",
            "ops",
            (Query("sum(rate(gantt_scheduler_instances_placed_total[$__rate_interval]))", "placed"),),
        ),
        Panel(
            "Calls by result",
            "ops",
            (_rates("gantt_scheduler_calls_total", "code"),),
            stacked=True,
        ),
        Panel(
            "Refusals by reason",
            "ops",
            (
                Query(
                    "topk(10, sum by (reason) (rate(gantt_scheduler_refusals_total[$__rate_interval])))",
                    "{{reason}}",
                ),
            ),
        ),
        Panel("Time of a decision", "s", _quantiles("gantt_scheduler_decision_seconds")),
        Panel("Time of the store to claim", "s", _quantiles("gantt_scheduler_claim_seconds")),
        Panel("Time of a call", "s", _quantiles("gantt_scheduler_call_seconds", "method")),
        Panel("Calls decided together", "none", _quantiles("gantt_scheduler_round_calls")),
        Panel(
            "Verdicts of the store on candidates",
            "ops",
            (_rates("gantt_scheduler_verdicts_total", "verdict"),),
            stacked=True,
        ),
        Panel(
            "Decisions repeated, plugins that failed",
            "ops",
            (
                Query("sum(rate(gantt_scheduler_conflicts_total[$__rate_interval]))", "conflicts"),
                Query(
                    "sum by (name) (rate(gantt_scheduler_plugin_errors_total[$__rate_interval]))", "errors of {{name}}"
                ),
            ),
        ),
        Panel(
            "Answers to claim verbs",
            "ops",
            (_rates("gantt_scheduler_claims_total", "verb", "answer"),),
        ),
    ),
    "Hosts": (
        Panel(
            "Hosts by state",
            "none",
            (_grouped("max", "gantt_replica_hosts", "partition", "state"),),
            stacked=True,
        ),
        Panel(
            "Used share of each resource class",
            "percentunit",
            (
                Query(
                    "max by (partition, resource_class) (gantt_replica_used)"
                    " / max by (partition, resource_class) (gantt_replica_capacity > 0)",
                    "{{partition}} {{resource_class}}",
                ),
            ),
        ),
        Panel(
            "Used share of aggregates, vCPUs",
            "percentunit",
            (
                Query(
                    'topk(10, max by (aggregate) (gantt_replica_aggregate_used{resource_class="VCPU"})'
                    ' / max by (aggregate) (gantt_replica_aggregate_capacity{resource_class="VCPU"} > 0))',
                    "{{aggregate}}",
                ),
            ),
        ),
        Panel(
            "Claims by state",
            "none",
            (_grouped("max", "gantt_store_claims", "partition", "state"),),
            stacked=True,
        ),
        Panel(
            "Age of the prepared claim that expires next",
            "s",
            (_grouped("max", "gantt_store_prepared_claim_seconds", "partition"),),
        ),
        Panel(
            "Reports of hosts",
            "ops",
            (_rates("gantt_compute_stats_reports_total", "kind", "result"),),
        ),
        Panel(
            "Builds by outcome",
            "ops",
            (_rates("gantt_compute_builds_total", "outcome"),),
            stacked=True,
        ),
    ),
    "Workers and stores": (
        Panel("Epochs", "none", (_grouped("min", "gantt_replica_epoch", "partition"),)),
        Panel(
            "Silence of the log",
            "s",
            (_grouped("max", "gantt_replica_silence_seconds", "partition", "instance"),),
        ),
        Panel(
            "Log entries behind",
            "none",
            (_grouped("max", "gantt_replica_lag_entries", "partition", "instance"),),
        ),
        Panel(
            "Share of the store's bounds",
            "percentunit",
            (
                _grouped("max", "gantt_store_bytes / (gantt_store_bound_bytes > 0)", "partition", "collection"),
                Query(
                    "max by (collection) (gantt_conductor_records_bytes / (gantt_conductor_records_bound_bytes > 0))",
                    "records: {{collection}}",
                ),
            ),
        ),
        Panel(
            "Messages that wait",
            "none",
            (
                _grouped("max", "gantt_rpc_waiting_messages", "topic"),
                Query("sum by (topic) (gantt_rpc_backlog_messages)", "{{topic}}, read"),
            ),
        ),
        Panel(
            "Processor time",
            "percentunit",
            (_rates("process_cpu_seconds_total", "instance", "process"),),
        ),
        Panel(
            "Memory",
            "bytes",
            (Query("process_resident_memory_bytes", "{{instance}} {{process}}"),),
        ),
    ),
    "Conductors": (
        Panel(
            "Instances by status",
            "none",
            (_grouped("max", "gantt_conductor_instances", "status"),),
            stacked=True,
        ),
        Panel(
            "Saga steps, and those tried again",
            "ops",
            (
                _rates("gantt_conductor_saga_steps_total", "step"),
                Query("sum by (step) (rate(gantt_conductor_saga_retries_total[$__rate_interval]))", "{{step}}, again"),
            ),
        ),
        Panel("Migrations that ended", "ops", (_rates("gantt_conductor_migrations_total", "kind", "status"),)),
        Panel("Time of a saga step", "s", _quantiles("gantt_conductor_saga_step_seconds", "step")),
        Panel(
            "Time from an instance's last change to its next step",
            "s",
            _quantiles("gantt_conductor_saga_age_seconds", "step"),
        ),
        Panel("Time of a call", "s", _quantiles("gantt_conductor_call_seconds", "method")),
    ),
    "Nova and Placement": (
        Panel(
            "Requests of Placement's API",
            "ops",
            (_rates("gantt_placement_requests_total", "route", "status"),),
        ),
        Panel("Time of a request", "s", _quantiles("gantt_placement_request_seconds", "method")),
        Panel(
            "Age of Nova's state",
            "s",
            (
                Query("max(gantt_nova_state_age_seconds)", "scheduler"),
                Query("max(gantt_nova_bridge_lag_seconds)", "bridge"),
            ),
        ),
    ),
}


def dashboard() -> dict[str, Any]:
    panels: list[dict[str, Any]] = []
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
            panels.append(_graph(panel, {"x": WIDTH * column, "y": top + 1 + HEIGHT * row, "w": WIDTH, "h": HEIGHT}))
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


def _graph(panel: Panel, position: dict[str, int]) -> dict[str, Any]:
    custom = {"fillOpacity": 10, "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"}}
    return {
        "type": "timeseries",
        "title": panel.title,
        "datasource": DATASOURCE,
        "gridPos": position,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0, "custom": custom}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [
            {
                "refId": chr(ord("A") + number),
                "expr": query.expr,
                "legendFormat": query.legend,
                "datasource": DATASOURCE,
            }
            for number, query in enumerate(panel.queries)
        ],
    }


def text() -> str:
    return json.dumps(dashboard(), indent=1) + "\n"


if __name__ == "__main__":
    PATH.write_text(text())
