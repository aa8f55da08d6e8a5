# SPDX-License-Identifier: Apache-2.0
"""kombu transport to RabbitMQ: reads end at a deadline, and TLS always verifies certificate and host name.

py-amqp limits each read of a frame, not the wait for an answer: while RabbitMQ blocks publishers, each heartbeat would
restart the wait for a publisher confirm. The stock driver verifies no host name without ``ssl_ca_file``, nothing with
``ssl_version`` but no ``ssl_ca_file``, and expects the first host's name from all hosts of a URL.
"""

import ssl
from typing import Any

from kombu import transport
from kombu.transport import pyamqp

from rpcapi import errors, tls
from rpcapi.messaging.drivers import deadline

GROUP = "[oslo_messaging_rabbit]"
FILES = ("ssl_ca_file", "ssl_cert_file", "ssl_key_file")
# kombu's name for VerifyingTransport: oslo.messaging replaces "rabbit" in our driver's name by "amqp".
SCHEME = "gantt-amqp"


class DeadlineConnection(pyamqp.Connection):
    """kombu's AMQP connection; reads raise TimeoutError at the thread's deadline."""

    def blocking_read(self, timeout: float | None = None) -> bool:
        remaining = deadline.remaining_seconds()
        if remaining is not None:
            timeout = remaining if timeout is None else min(timeout, remaining)
        is_complete: bool = super().blocking_read(timeout)
        return is_complete


class VerifyingTransport(pyamqp.Transport):
    """kombu transport that verifies the name of its host; reads end at the thread's deadline."""

    Connection = DeadlineConnection

    def establish_connection(self) -> Any:
        connection: Any = self.client
        host = connection.hostname
        if connection.ssl:
            connection.ssl = {**connection.ssl, "server_hostname": host}
        try:
            return super().establish_connection()  # type: ignore[no-untyped-call]
        finally:
            # Undo kombu's change of "localhost" to 127.0.0.1, which would be the next name to verify.
            connection.hostname = host


transport.TRANSPORT_ALIASES[SCHEME] = f"{__name__}:{VerifyingTransport.__name__}"


def parameters(stock: dict[str, Any] | bool) -> dict[str, Any] | bool:
    """Return the stock driver's amqp parameters with verification; False without TLS."""
    if not stock:
        return False
    return {**(stock if isinstance(stock, dict) else {}), "cert_reqs": ssl.CERT_REQUIRED}


def check(options: Any) -> None:
    files = {name: getattr(options, name) for name in FILES}
    configured = [name for name, path in files.items() if path]
    if not options.ssl:
        if configured:
            raise errors.BadConfiguration(
                why=f"{GROUP} {configured[0]} is set, but ssl is not: without it nothing is encrypted; set ssl = true"
            )
        return
    tls.client_context(
        GROUP, ca_file=files["ssl_ca_file"], cert_file=files["ssl_cert_file"], key_file=files["ssl_key_file"]
    )
