# SPDX-License-Identifier: Apache-2.0
"""The agents as the conductor sees them; nobody else may send to them."""

from rpcapi import objects
from rpcapi.client import ServiceClient
from rpcapi.context import RequestContext


class ComputeAPI(ServiceClient):
    """Client of the agents, topic ``compute``, one server a service host.

    1.0 - Initial version
    """

    TOPIC = "compute"
    VERSION = "1.0"
    CAP = "compute"

    def build_instances(self, ctxt: RequestContext, host: str, request: objects.BuildRequest) -> None:
        """Have the agent of ``host`` confirm the claims and spawn; it reports to the conductor."""
        self._cast(ctxt, "1.0", "build_instances", host, request=request)

    def terminate_instances(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> None:
        """Have the agent of ``host`` stop the guests, then release their claims."""
        self._cast(ctxt, "1.0", "terminate_instances", host, refs=refs)

    def audit(self, ctxt: RequestContext, partition: str, epoch: int) -> None:
        """Have every agent of the partition audit in ``epoch``."""
        self._fanout(ctxt, "1.0", "audit", partition=partition, epoch=epoch)
