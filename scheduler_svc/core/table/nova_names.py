# SPDX-License-Identifier: Apache-2.0
"""The hosts of a Nova by the names that Nova gives them."""

from rpcapi.resources import names
from rpcapi.resources.names import SEPARATOR
from scheduler_svc.core.namespaces import nova
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.state_columns import StateColumns


def match(states: StateColumns, name: str) -> Column | None:
    """Return a mask of the rows of this service host, node or pair of them; None for a name that Nova does not give.

    The case of letters in a service host does not matter, as in Nova.
    """
    if names.is_api_provider(name):
        return None  # the name of a row
    try:
        host, separator, node = name.partition(SEPARATOR)
        host = states.spelling(nova.NAMESPACE, "service_host", host)
        if separator:
            return states.equals(nova.NAMESPACE, "service_host", host) & states.equals(nova.NAMESPACE, "node", node)
        return states.equals(nova.NAMESPACE, "service_host", host) | states.equals(nova.NAMESPACE, "node", name)
    except LookupError:
        return None
