# SPDX-License-Identifier: Apache-2.0
"""Prometheus metrics of the scheduler service."""

from rpcapi.daemon import metrics

_PARTITION = ("partition",)
_COLLECTION = ("partition", "collection")
_PARTITION_CLASS = ("partition", "resource_class")
_AGGREGATE_CLASS = ("aggregate", "resource_class")

CALLS = metrics.counter(
    "scheduler_calls_total", "Calls served, by method and by error code or 'ok'", ("method", "code")
)
DROPPED_CALLS = metrics.counter(
    "scheduler_dropped_calls_total", "Calls on Nova's bus that were dropped because their caller was gone", ("method",)
)
CALL_SECONDS = metrics.histogram("scheduler_call_seconds", "Time from reading a call to its answer", ("method",))
DECISION_SECONDS = metrics.histogram(
    "scheduler_decision_seconds", "Time to rank hosts for one request, without the claim"
)
CLAIM_SECONDS = metrics.histogram(
    "scheduler_claim_seconds", "Time of the store to claim for calls that were decided together"
)
ROUND_CALLS = metrics.histogram(
    "scheduler_round_calls", "Calls that were decided and claimed together", buckets=(1, 2, 4, 8, 16, 32, 64)
)
BATCH_SECONDS = metrics.histogram(
    "scheduler_batch_seconds", "Time to rank a batch of requests together, without the claims"
)
BATCHED_REQUESTS = metrics.counter("scheduler_batched_requests_total", "Requests that were ranked together with others")
UNBATCHED_REQUESTS = metrics.counter(
    "scheduler_unbatched_requests_total", "Requests of a batch that were placed one by one, by reason", ("reason",)
)
INSTANCES_PLACED = metrics.counter("scheduler_instances_placed_total", "Instances that got a host and a claim")
VERDICTS = metrics.counter("scheduler_verdicts_total", "Verdicts of the store on the candidates it tried", ("verdict",))
FIRST_CHOICES = metrics.counter("scheduler_first_choices_total", "Instances that got their first choice")
CONFLICTS = metrics.counter("scheduler_conflicts_total", "Decisions repeated because others had claimed the candidates")
CLAIMS = metrics.counter("scheduler_claims_total", "Answers to claim verbs", ("verb", "answer"))
LIVE_CLAIMS = metrics.gauge(
    "store_claims", "Live claims by partition and state, as of the last reaper pass", ("partition", "state"), "max"
)
STORE_ENTRIES = metrics.gauge("store_entries", "Entries of a store's collections", _COLLECTION, "max")
STORE_BYTES = metrics.gauge("store_bytes", "Bytes of a store's collections", _COLLECTION, "max")
STORE_BOUND = metrics.gauge(
    "store_bound_bytes", "Bytes at which a collection is full, or drops its oldest entries", _COLLECTION, "max"
)
REFUSALS = metrics.counter(
    "scheduler_refusals_total", "Requests without a valid host, by each reason that rejected a host", ("reason",)
)
REAP_REMAINS = metrics.gauge(
    "store_reap_remains", "Whether the last reaper pass left overdue claims or tombstones", _PARTITION, "max"
)
PREPARED_CLAIM_AGE = metrics.gauge(
    "store_prepared_claim_seconds", "Age of the prepared claim with the next deadline; 0 without one", _PARTITION, "max"
)
EXPIRED_CLAIMS = metrics.counter("scheduler_expired_claims_total", "Unconfirmed claims that this reaper expired")
POSITION = metrics.gauge("replica_position", "Log position that a worker has reached", _PARTITION, "all")
LAG = metrics.gauge(
    "replica_lag_entries", "Log entries that a worker had not applied at its last poll", _PARTITION, "all"
)
EPOCH = metrics.gauge("replica_epoch", "Epoch that a worker decides in", _PARTITION, "all")
SILENCE = metrics.gauge(
    "replica_silence_seconds", "Time since the store last answered a worker's read of its log", _PARTITION, "all"
)
HOSTS = metrics.gauge(
    "replica_hosts",
    "Hosts by state: schedulable, disabled, awaiting_audit, down, too_old, set_aside. Nova's hosts count as "
    "schedulable: see the bridge's metrics",
    ("partition", "state"),
    "max",
)
CAPACITY = metrics.gauge(
    "replica_capacity", "Capacity of all providers, without reserved amounts", _PARTITION_CLASS, "max"
)
RESERVED = metrics.gauge("replica_reserved", "Reserved amounts of all providers", _PARTITION_CLASS, "max")
USED = metrics.gauge("replica_used", "Claimed amounts of all providers", _PARTITION_CLASS, "max")
AGGREGATE_CAPACITY = metrics.gauge(
    "replica_aggregate_capacity",
    "Capacity of an aggregate's providers, of the first 100 by name",
    _AGGREGATE_CLASS,
    "max",
)
AGGREGATE_RESERVED = metrics.gauge(
    "replica_aggregate_reserved", "Reserved amounts of an aggregate's providers", _AGGREGATE_CLASS, "max"
)
AGGREGATE_USED = metrics.gauge(
    "replica_aggregate_used", "Claimed amounts of an aggregate's providers", _AGGREGATE_CLASS, "max"
)
SNAPSHOTS = metrics.counter("replica_snapshots_total", "Full snapshots loaded by workers", _PARTITION)
OUTAGES = metrics.counter("replica_store_outages_total", "Store outages noticed by workers", _PARTITION)
GROUP_MEMBERS = metrics.gauge(
    "scheduler_service_group_members", "Services in the service group at the last poll", _PARTITION, "max"
)
GROUP_AWAY = metrics.counter(
    "scheduler_service_group_away_total", "Polls of the service group without an answer", _PARTITION
)
NOTIFICATIONS = metrics.counter(
    "scheduler_notifications_total", "Published changes of host state", ("partition", "kind")
)
PLUGIN_ERRORS = metrics.counter(
    "scheduler_plugin_errors_total", "Failures of filters and weighers, gantt's own included", ("kind", "name")
)
REFUSED_FACTS = metrics.counter(
    "scheduler_refused_facts_total", "Facts with a wrong type or size that hosts reported and that were not stored"
)
HTTP_REQUESTS = metrics.counter(
    "placement_requests_total", "Requests of Placement's HTTP API", ("method", "route", "status")
)
HTTP_SECONDS = metrics.histogram(
    "placement_request_seconds", "Time from reading a request of the HTTP API to its answer", ("method", "route")
)
SHADOWED_REQUESTS = metrics.counter(
    "placement_shadow_requests_total", "Requests to another Placement, by their outcome on gantt", ("kind", "outcome")
)
SHADOW_REFUSED_WRITES = metrics.counter(
    "placement_shadow_refused_writes_total",
    "Writes that another Placement acknowledged and gantt refused",
    ("method", "route", "status", "code"),
)
BRIDGE_WRITES = metrics.counter(
    "nova_bridge_writes_total", "Documents that the Nova bridge wrote or deleted", ("namespace",)
)
BRIDGE_PASS_SECONDS = metrics.histogram(
    "nova_bridge_pass_seconds", "Time of a pass over Nova's databases, full or of changes, writes included", ("kind",)
)
BRIDGE_LAG = metrics.gauge(
    "nova_bridge_lag_seconds", "Age of the bridge's last read of Nova's API database, measured by the bridge", (), "max"
)
BRIDGE_CELL_AGE = metrics.gauge(
    "nova_bridge_cell_age_seconds", "Time since a cell's database stopped answering, or 0", ("cell",), "max"
)
BRIDGE_UNMAPPED = metrics.gauge(
    "nova_bridge_unmapped_hosts", "Compute hosts that are not mapped to their cell", (), "max"
)
BRIDGE_ACTIVE = metrics.gauge("nova_bridge_active", "Whether this bridge holds the lease", (), "max")
NOVA_STATE_AGE = metrics.gauge(
    "nova_state_age_seconds", "Age of the bridge's last read of Nova's API database, seen by the scheduler", (), "max"
)
NOVA_SHADOW_INSTANCES = metrics.counter(
    "nova_shadow_instances_total", "Instances decided by nova-scheduler and gantt, by difference", ("outcome",)
)
NOVA_SHADOW_SKIPPED = metrics.counter(
    "nova_shadow_skipped_total", "Requests to nova-scheduler that were not compared, by reason", ("reason",)
)


def count_failure(kind: str, name: str) -> None:
    PLUGIN_ERRORS.labels(kind=kind, name=name).inc()
