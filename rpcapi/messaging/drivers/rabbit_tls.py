# SPDX-License-Identifier: Apache-2.0
"""TLS to RabbitMQ, by the options ``ssl...`` of oslo.messaging. The broker and its name are always verified.

The stock driver verifies no name without ``ssl_ca_file``, and nothing at all with ``ssl_version`` and without
``ssl_ca_file``. With several hosts in the URL it expects of each the name of the first one.
"""

import ssl
from typing import Any

from kombu import transport
from kombu.transport import pyamqp

from rpcapi import errors, tls

GROUP = "[oslo_messaging_rabbit]"
FILES = ("ssl_ca_file", "ssl_cert_file", "ssl_key_file")
# kombu's name of VerifyingTransport: oslo.messaging writes "amqp" for "rabbit" in the name of our driver.
SCHEME = "gantt-amqp"


class VerifyingTransport(pyamqp.Transport):
    """kombu's transport, which verifies the name of the host that it connects to."""

    def establish_connection(self) -> Any:
        """Connect to the current host of the connection."""
        connection: Any = self.client
        host = connection.hostname
        if connection.ssl:
            connection.ssl = {**connection.ssl, "server_hostname": host}
        try:
            return super().establish_connection()  # type: ignore[no-untyped-call]
        finally:
            # kombu connects to 127.0.0.1 for "localhost", and would take that for the name from then on.
            connection.hostname = host


transport.TRANSPORT_ALIASES[SCHEME] = f"{__name__}:{VerifyingTransport.__name__}"


def parameters(stock: dict[str, Any] | bool) -> dict[str, Any] | bool:
    """Return the stock driver's parameters of amqp, with verification; False without TLS."""
    if not stock:
        return False
    return {**(stock if isinstance(stock, dict) else {}), "cert_reqs": ssl.CERT_REQUIRED}


def check(options: Any) -> None:
    """Raise BadConfiguration if the options of TLS in this group cannot be used."""
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
