# SPDX-License-Identifier: Apache-2.0
"""The scheduler's figures, for Prometheus."""

from rpcapi.daemon import metrics

CALLS = metrics.counter("calls_total", "Calls served, by method and by error code or 'ok'", ("method", "code"))
DROPPED_CALLS = metrics.counter(
    "dropped_calls_total", "Calls on Nova's bus that were dropped since their caller had gone", ("method",)
)
CALL_SECONDS = metrics.histogram("call_seconds", "Time from reading a call to its answer", ("method",))
DECISION_SECONDS = metrics.histogram("decision_seconds", "Time to rank hosts for one request, the claim excepted")
ROUND_CALLS = metrics.histogram(
    "round_calls", "Calls that were decided and claimed together", buckets=(1, 2, 4, 8, 16, 32, 64)
)
BATCH_SECONDS = metrics.histogram("batch_seconds", "Time to rank a batch of requests together, the claims excepted")
BATCHED_REQUESTS = metrics.counter("batched_requests_total", "Requests that were ranked together with others")
UNBATCHED_REQUESTS = metrics.counter(
    "unbatched_requests_total", "Requests of a batch that were placed one by one, by reason", ("reason",)
)
INSTANCES_PLACED = metrics.counter("instances_placed_total", "Instances that got a host and a claim")
VERDICTS = metrics.counter("verdicts_total", "Verdicts of the store on the candidates it tried", ("verdict",))
FIRST_CHOICES = metrics.counter(
    "first_choices_total", "Instances that got their first choice, without a candidate lost to others"
)
CONFLICTS = metrics.counter("conflicts_total", "Decisions repeated because others had claimed the candidates")
CLAIMS = metrics.counter("claims_total", "Answers to claim verbs", ("verb", "answer"))
LIVE_CLAIMS = metrics.gauge(
    "live_claims", "Live claims by partition and state, as of the last reaper pass", ("partition", "state"), "max"
)
_COLLECTION_LABELS = ("partition", "collection")
STORE_ENTRIES = metrics.gauge("store_entries", "Entries of a store's collections", _COLLECTION_LABELS, "max")
STORE_BYTES = metrics.gauge("store_bytes", "Bytes of a store's collections", _COLLECTION_LABELS, "max")
STORE_BOUND = metrics.gauge(
    "store_bound_bytes",
    "Bytes at which a store's collection is full, or loses its oldest entries",
    _COLLECTION_LABELS,
    "max",
)
EXPIRED_CLAIMS = metrics.counter("claims_expired_total", "Unconfirmed claims that this reaper expired")
_PARTITION_LABEL = ("partition",)
POSITION = metrics.gauge(
    "replica_position", "Log position that the slowest worker has reached", _PARTITION_LABEL, "min"
)
LAG = metrics.gauge(
    "replica_lag_entries",
    "Log entries not yet applied at the last poll, of the slowest worker",
    _PARTITION_LABEL,
    "max",
)
EPOCH = metrics.gauge("epoch", "Epoch that the workers decide in", _PARTITION_LABEL, "min")
HOSTS = metrics.gauge("hosts", "Hosts in the workers' tables", _PARTITION_LABEL, "max")
SNAPSHOTS = metrics.counter("snapshots_total", "Full snapshots loaded by workers", _PARTITION_LABEL)
OUTAGES = metrics.counter("store_outages_total", "Store outages noticed by workers", _PARTITION_LABEL)
GROUP_MEMBERS = metrics.gauge(
    "service_group_members", "Services in the service group at the last poll", ("partition",), "max"
)
GROUP_AWAY = metrics.counter(
    "service_group_away_total",
    "Polls of the service group without an answer; the liveness of services was kept as it was",
    ("partition",),
)
NOTIFICATIONS = metrics.counter(
    "host_state_notifications_total", "Published changes of host state", ("partition", "kind")
)
PLUGIN_ERRORS = metrics.counter(
    "plugin_errors_total", "Failures of filters and weighers that are not gantt's own", ("kind", "name")
)
HTTP_REQUESTS = metrics.counter(
    "http_requests_total",
    "Requests of Placement's HTTP API, by method, path of the route and status",
    ("method", "route", "status"),
)
HTTP_SECONDS = metrics.histogram(
    "http_request_seconds", "Time from reading a request of Placement's HTTP API to its answer", ("method", "route")
)
SHADOWED_REQUESTS = metrics.counter(
    "shadowed_requests_total", "Requests to another Placement by what became of them on gantt", ("kind", "outcome")
)
SHADOW_REFUSED_WRITES = metrics.counter(
    "shadow_refused_writes_total",
    "Writes that another Placement acknowledged and gantt refused",
    ("method", "route", "status", "code"),
)
BRIDGE_WRITES = metrics.counter(
    "nova_bridge_writes_total", "Documents that the bridge to Nova wrote or deleted", ("namespace",)
)
BRIDGE_PASS_SECONDS = metrics.histogram(
    "nova_bridge_pass_seconds", "Time to read Nova's databases, all or what changed, and to write it", ("kind",)
)
BRIDGE_LAG = metrics.gauge(
    "nova_bridge_lag_seconds", "Age of what the bridge last read from Nova's API database, by the bridge", (), "max"
)
BRIDGE_CELL_AGE = metrics.gauge(
    "nova_bridge_cell_age_seconds", "Time since a cell's database did not answer, 0 while it does", ("cell",), "max"
)
BRIDGE_UNMAPPED = metrics.gauge(
    "nova_bridge_unmapped_hosts", "Compute hosts that are not mapped to their cell", (), "max"
)
BRIDGE_ACTIVE = metrics.gauge("nova_bridge_active", "Whether this bridge has the lease, and others wait", (), "max")
NOVA_STATE_AGE = metrics.gauge(
    "nova_state_age_seconds", "Age of what the bridge last read from Nova's API database, by the scheduler", (), "max"
)
NOVA_SHADOW_INSTANCES = metrics.counter(
    "nova_shadow_instances_total", "Instances that nova-scheduler and gantt decided on, by what differs", ("outcome",)
)
NOVA_SHADOW_SKIPPED = metrics.counter(
    "nova_shadow_skipped_total", "Requests to nova-scheduler that were not compared, by the reason", ("reason",)
)
