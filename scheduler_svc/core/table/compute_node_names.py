# SPDX-License-Identifier: Apache-2.0
"""Search for hosts by the names that Nova uses."""

from rpcapi.resources import names
from rpcapi.resources.names import SEPARATOR
from scheduler_svc.core.namespaces.compute_node import NAMESPACE, NODE, SERVICE_HOST
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.state_columns import StateColumns


def match(states: StateColumns, name: str) -> Column | None:
    """Return a mask of the rows of a service host, node or "host/node"; None if unknown.

    Ignores the case of service hosts.
    """
    if names.is_api_provider(name):
        return None  # the table finds a row by its own name
    try:
        host, separator, node = name.partition(SEPARATOR)
        host = states.spelling(NAMESPACE, SERVICE_HOST, host)
        if separator:
            return states.equals(NAMESPACE, SERVICE_HOST, host) & states.equals(NAMESPACE, NODE, node)
        return states.equals(NAMESPACE, SERVICE_HOST, host) | states.equals(NAMESPACE, NODE, name)
    except LookupError:
        return None
