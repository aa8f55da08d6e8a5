# SPDX-License-Identifier: Apache-2.0
"""Hosts of a Nova, by the names that Nova uses."""

from rpcapi.resources import names
from rpcapi.resources.names import SEPARATOR
from scheduler_svc.core.namespaces import nova
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.state_columns import StateColumns


def match(states: StateColumns, name: str) -> Column | None:
    """Return a mask of the rows of a service host, node or "host/node" pair; None if Nova has no such name.

    Service hosts match case-insensitively, as in Nova.
    """
    if names.is_api_provider(name):
        return None  # a row's own name
    try:
        host, separator, node = name.partition(SEPARATOR)
        host = states.spelling(nova.NAMESPACE, "service_host", host)
        if separator:
            return states.equals(nova.NAMESPACE, "service_host", host) & states.equals(nova.NAMESPACE, "node", node)
        return states.equals(nova.NAMESPACE, "service_host", host) | states.equals(nova.NAMESPACE, "node", name)
    except LookupError:
        return None
