# SPDX-License-Identifier: Apache-2.0
"""Contexts of Nova's services. Their objects stay primitives."""

from typing import Any

import oslo_messaging as messaging

from rpcapi.context import RequestContext


class NovaSerializer(messaging.NoOpSerializer):
    """Makes a request context of Nova's one."""

    def deserialize_context(self, context: dict[str, Any]) -> RequestContext:
        """Return a context with request id, project and user; raises MalformedObject."""
        return RequestContext.from_dict({key: context.get(key) for key in ("request_id", "project_id", "user_id")})
