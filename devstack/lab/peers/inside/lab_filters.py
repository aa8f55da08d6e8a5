# SPDX-License-Identifier: Apache-2.0
"""First filter of nova-scheduler's pipeline, which passes every host and records their number."""

import os
from collections.abc import Iterable
from typing import Any

from nova.scheduler import filters


class SeenHostsFilter(filters.BaseHostFilter):
    """Filter that appends the number of hosts of each request to the file in GANTT_LAB_SEEN."""

    RUN_ON_REBUILD = True

    def filter_all(self, filter_obj_list: Iterable[Any], spec_obj: Any) -> list[Any]:
        hosts = list(filter_obj_list)
        with open(os.environ["GANTT_LAB_SEEN"], "a") as lines:  # noqa: PTH123 - of the peer's environment
            lines.write(f"{len(hosts)}\n")
        return hosts
