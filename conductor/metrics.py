# SPDX-License-Identifier: Apache-2.0
"""Metrics of a conductor; only worker processes import this module."""

from rpcapi.daemon import metrics

# Maximum, not sum: every conductor reports the same shared store.
INSTANCES = metrics.gauge("conductor_instances", "Instances recorded, by status.", ["status"], across="max")
_COLLECTION = ["collection"]
STORE_ENTRIES = metrics.gauge(
    "conductor_records_entries", "Entries of the store's collections.", _COLLECTION, across="max"
)
STORE_BYTES = metrics.gauge("conductor_records_bytes", "Bytes of the store's collections.", _COLLECTION, across="max")
STORE_BOUND = metrics.gauge(
    "conductor_records_bound_bytes", "Bytes at which requests are refused.", _COLLECTION, across="max"
)
STEPS = metrics.counter(
    "conductor_saga_steps", "Saga steps taken, by step; one step may serve many instances.", ["step"]
)
STEP_SECONDS = metrics.histogram("conductor_saga_step_seconds", "Time of a saga step, by step.", ["step"])
STEP_AGE = metrics.histogram(
    "conductor_saga_age_seconds",
    "Time from an instance's last change to its next step, by step.",
    ["step"],
    buckets=(0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600),
)
RETRIES = metrics.counter("conductor_saga_retries", "Instance steps postponed for a retry, by step.", ["step"])
MIGRATIONS = metrics.counter(
    "conductor_migrations_total", "Ended migrations, including evacuations, by kind and status.", ["kind", "status"]
)
RECASTS = metrics.counter("conductor_build_recasts", "Build messages sent again to silent hosts, per instance.")
TAKEOVERS = metrics.counter("conductor_saga_takeovers", "Requests taken over from a conductor after its lease expired.")
LOST_LEASES = metrics.counter("conductor_saga_leases_lost", "Requests that another conductor took over from this one.")
SELECTIONS_PER_CALL = metrics.histogram(
    "conductor_selections_per_call",
    "Requests sent to the scheduler in one call.",
    buckets=(1, 2, 4, 8, 16, 32, 64),
)
CALLS = metrics.counter("conductor_calls", "RPC calls answered, by method and result code.", ["method", "code"])
CALL_SECONDS = metrics.histogram("conductor_call_seconds", "Time to answer an RPC call.", ["method"])
REPORTS = metrics.counter("conductor_build_reports", "Build outcomes reported by agents, by outcome.", ["outcome"])
RECONCILED = metrics.counter("conductor_records_reconciled", "ACTIVE records changed because their claims differed.")
