# SPDX-License-Identifier: Apache-2.0
"""What a conductor counts. Only a worker imports this module."""

from rpcapi.daemon import metrics

# Every conductor shows what the one store holds: their sum would count each instance several times.
INSTANCES = metrics.gauge("instances", "Instances recorded, by status.", ["status"], across="max")
STEPS = metrics.counter("saga_steps", "Saga steps taken, by step; one may serve many instances.", ["step"])
RETRIES = metrics.counter("saga_retries", "Steps of an instance put off to be tried again, by step.", ["step"])
RECASTS = metrics.counter("build_recasts", "Builds of an instance that a silent host was told of again.")
TAKEOVERS = metrics.counter("saga_takeovers", "Requests taken over from a conductor that let its lease pass.")
LEASES_LOST = metrics.counter("saga_leases_lost", "Requests that another conductor took over from this one.")
CALLS = metrics.counter("conductor_calls", "RPC calls answered, by method and how they ended.", ["method", "code"])
CALL_SECONDS = metrics.histogram("conductor_call_seconds", "Time to answer an RPC call.", ["method"])
REPORTS = metrics.counter("build_reports", "Outcomes reported by agents, by outcome.", ["outcome"])
