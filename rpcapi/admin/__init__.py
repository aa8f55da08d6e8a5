# SPDX-License-Identifier: Apache-2.0
"""Cluster operations by RPC, shared by the commands and the dashboard."""

from typing import TYPE_CHECKING, Any

# Not imported at run time: the session's module imports all clients (0.25 s), which `gantt --help` does not need.
if TYPE_CHECKING:
    from rpcapi.admin.session import Session
else:
    Session = Any

__all__ = ["Session"]
