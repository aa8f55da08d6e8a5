# SPDX-License-Identifier: Apache-2.0
"""Serializer of contexts from Nova's services; objects stay primitives."""

from typing import Any

import oslo_messaging as messaging

from rpcapi.context import RequestContext


class NovaSerializer(messaging.NoOpSerializer):
    def deserialize_context(self, context: dict[str, Any]) -> RequestContext:
        """Return a context with the request id, project and user. Raises MalformedObject."""
        return RequestContext.from_dict({key: context.get(key) for key in ("request_id", "project_id", "user_id")})
