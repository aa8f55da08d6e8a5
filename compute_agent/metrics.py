# SPDX-License-Identifier: Apache-2.0
"""Prometheus metrics of the agent; only worker processes import this module."""

from rpcapi.daemon import metrics

GUESTS = metrics.gauge("compute_guests", "Guests on the process's nodes, building or running")
UNSERVED_HOSTS = metrics.gauge(
    "compute_unserved_hosts", "Hosts that take no new guests, by reason: identity or renamed", ["reason"]
)
DAMAGED_GUESTS = metrics.counter("compute_damaged_guests", "Guests with damaged files at the start of the agent")
EXCESS = metrics.gauge("compute_nodes_over_capacity", "Nodes that hold more than their capacity")
BUILDS = metrics.counter("compute_builds", "Finished attempts to build an instance, by outcome", ["outcome"])
CONFIRMS = metrics.counter("compute_confirms", "Answers to confirmed claims", ["answer"])
AUDITS = metrics.counter("compute_audits", "Audits of a service host, by result", ["result"])
REPORTS = metrics.counter("compute_stats_reports", "Reports to the scheduler, by kind and result", ["kind", "result"])
INJECTED_FAULTS = metrics.counter("compute_injected_faults", "Simulated faults of service hosts, by kind", ["kind"])
KIND_FAULTS = metrics.counter("compute_resource_kind_faults", "Faults of resource kinds", ["kind", "what"])
RETRIES = metrics.counter("compute_retries", "Calls repeated for lack of a definite answer", ["call"])
MESSAGES = metrics.counter("compute_messages", "Messages to the agent, by method and result code", ["method", "code"])
