# SPDX-License-Identifier: Apache-2.0
"""A filter of nova-scheduler that passes every host and records how many there were: the first of the pipeline."""

import os
from collections.abc import Iterable
from typing import Any

from nova.scheduler import filters


class SeenHostsFilter(filters.BaseHostFilter):
    """Filter that writes the number of hosts of each request to the file in GANTT_LAB_SEEN."""

    RUN_ON_REBUILD = True

    def filter_all(self, filter_obj_list: Iterable[Any], spec_obj: Any) -> list[Any]:
        """Return all hosts."""
        hosts = list(filter_obj_list)
        with open(os.environ["GANTT_LAB_SEEN"], "a") as lines:  # noqa: PTH123 - of the peer's environment
            lines.write(f"{len(hosts)}\n")
        return hosts
