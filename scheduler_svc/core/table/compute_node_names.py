# SPDX-License-Identifier: Apache-2.0
"""Compute nodes by the names that their own system uses."""

from rpcapi.resources import names
from rpcapi.resources.names import SEPARATOR
from scheduler_svc.core.namespaces.compute_node import NAMESPACE, NODE, SERVICE_HOST
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.state_columns import StateColumns


def match(states: StateColumns, name: str) -> Column | None:
    """Return a mask of the rows of a service host, node or "host/node" pair; None if no compute node is read.

    Service hosts match case-insensitively, as in Nova.
    """
    if names.is_api_provider(name):
        return None  # a row's own name
    try:
        host, separator, node = name.partition(SEPARATOR)
        host = states.spelling(NAMESPACE, SERVICE_HOST, host)
        if separator:
            return states.equals(NAMESPACE, SERVICE_HOST, host) & states.equals(NAMESPACE, NODE, node)
        return states.equals(NAMESPACE, SERVICE_HOST, host) | states.equals(NAMESPACE, NODE, name)
    except LookupError:
        return None
