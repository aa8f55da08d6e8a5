# SPDX-License-Identifier: Apache-2.0
"""The project of an instance, for callers that act for one project only."""

from collections.abc import Iterable

from conductor.store.interface import ConductorStore
from conductor.store.records import InstanceRecord
from rpcapi import errors


def check_project(store: ConductorStore, records: Iterable[InstanceRecord], project: str | None, method: str) -> None:
    """Raise CallerRefused if an instance is of another project; None stands for all projects.

    An instance whose request has been purged meanwhile is of no project.
    """
    if project is None:
        return
    records = list(records)
    requests = store.requests(sorted({record.request for record in records}))
    for record in records:
        request = requests.get(record.request)
        if request is None or request.project != project:
            raise errors.CallerRefused(
                caller=f"a client of project {project!r}",
                service="conductor",
                method=method,
                why=f"instance {record.uuid} is of another project",
            )
