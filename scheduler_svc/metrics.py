# SPDX-License-Identifier: Apache-2.0
"""The scheduler's figures, for Prometheus."""

from rpcapi.daemon import metrics

CALLS = metrics.counter("calls_total", "Calls served, by method and by error code or 'ok'", ("method", "code"))
CALL_SECONDS = metrics.histogram("call_seconds", "Time from reading a call to its answer", ("method",))
DECISION_SECONDS = metrics.histogram("decision_seconds", "Time to rank hosts for one request, the claim excepted")
BATCH_SECONDS = metrics.histogram("batch_seconds", "Time to rank a batch of requests together, the claims excepted")
BATCHED = metrics.counter("batched_requests_total", "Requests that were ranked together with others")
ONE_BY_ONE = metrics.counter(
    "unbatched_requests_total", "Requests of a batch that were placed one by one all the same, by reason", ("reason",)
)
PLACED = metrics.counter("instances_placed_total", "Instances that were given a host and a claim")
VERDICTS = metrics.counter("verdicts_total", "What the store said of candidates it tried", ("verdict",))
FIRST_CHOICES = metrics.counter("first_choices_total", "Instances that lost no candidate to others before they got one")
CONFLICTS = metrics.counter("conflicts_total", "Decisions that others' claims outran, so that they were made again")
CLAIMS = metrics.counter("claims_total", "Answers to claim verbs", ("verb", "answer"))
LIVE = metrics.gauge(
    "live_claims", "Live claims by partition and state, as of the last round of tidying", ("partition", "state"), "max"
)
EXPIRED = metrics.counter("claims_expired_total", "Claims that were not confirmed in time, found by this reaper")
_ONE = ("partition",)
POSITION = metrics.gauge("replica_position", "Log position that the workers have reached; the last one's", _ONE, "min")
LAG = metrics.gauge("replica_lag_entries", "Log entries that waited at the last look; the worst worker's", _ONE, "max")
EPOCH = metrics.gauge("epoch", "Epoch that the workers decide in", _ONE, "min")
HOSTS = metrics.gauge("hosts", "Hosts in the workers' tables", _ONE, "max")
SNAPSHOTS = metrics.counter("snapshots_total", "Times that a worker took a fresh copy of everything", _ONE)
OUTAGES = metrics.counter("store_outages_total", "Times that a worker found the store away", _ONE)
GROUP_MEMBERS = metrics.gauge(
    "service_group_members", "Services in the service group at the last look", ("partition",), "max"
)
GROUP_AWAY = metrics.counter(
    "service_group_away_total",
    "Looks at the service group without an answer; who lives stood as it was",
    ("partition",),
)
NOTIFIED = metrics.counter(
    "host_state_notifications_total", "Changes of host state that were published", ("partition", "kind")
)
PLUGIN_ERRORS = metrics.counter(
    "plugin_errors_total", "Failures of filters and weighers that are not gantt's own", ("kind", "name")
)
