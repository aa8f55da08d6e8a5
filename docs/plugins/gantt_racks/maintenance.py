# SPDX-License-Identifier: Apache-2.0
"""Hosts that are about to be taken down: a filter as it would be written for Nova."""

from typing import Any


class MaintenanceFilter:
    """Lets hosts of an aggregate with metadata maintenance=soon pass for servers that ask for no other.

    It is asked host by host, so it costs some microseconds for each host that is left: see `gantt filter list`.
    """

    reason = "maintenance soon"  # what a refusal counts; the filter's name without it

    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        """Tell whether the host may take the server."""
        if spec_obj.get_scheduler_hint("short_lived") == "yes":
            return True
        return all(each.metadata.get("maintenance") != "soon" for each in host_state.aggregates)
