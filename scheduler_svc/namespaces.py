# SPDX-License-Identifier: Apache-2.0
"""Who may write which namespace of host state."""

from rpcapi import errors
from scheduler_svc.store import namespaces

# One writer a namespace, so that a document's version has one meaning. An agent writes its nodes by reports.
WRITERS = {namespaces.COMPUTE: "gantt-compute", namespaces.SERVICE: "gantt"}


def check_writer(namespace: str, writer: str) -> None:
    """Raise UnknownNamespace, or WriterRefused where somebody else is the namespace's writer."""
    namespaces.check(namespace)
    declared = WRITERS[namespace]
    if writer != declared:
        raise errors.WriterRefused(writer=writer, namespace=namespace, declared=declared)
