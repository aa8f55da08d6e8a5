# SPDX-License-Identifier: Apache-2.0
"""Operations on a cluster by RPC that commands and dashboard share."""

from typing import TYPE_CHECKING, Any

# The type of their first argument. Only who opens a session imports its module, which brings the clients and takes a
# quarter of a second: `gantt --help` does without.
if TYPE_CHECKING:
    from rpcapi.admin.session import Session
else:
    Session = Any

__all__ = ["Session"]
