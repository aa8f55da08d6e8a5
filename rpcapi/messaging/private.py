# SPDX-License-Identifier: Apache-2.0
"""Names from private modules of oslo.messaging, which may change with each release."""

from oslo_messaging._drivers.base import (
    BaseDriver,
    Listener,
    PollStyleListenerAdapter,
    RpcIncomingMessage,
    TransportDriverError,
)
from oslo_messaging._drivers.common import (
    PURPOSE_LISTEN,
    PURPOSE_SEND,
    Timeout,
    deserialize_msg,
    deserialize_remote_exception,
    serialize_remote_exception,
)
from oslo_messaging._metrics.client import oslo_messaging_metrics
from oslo_messaging._tracing.client import oslo_messaging_tracing, trace_receive
