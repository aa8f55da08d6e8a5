# SPDX-License-Identifier: Apache-2.0
"""TLS options of a daemon's listener, shared by the groups of several daemons."""

import functools
import ipaddress
import ssl
from collections.abc import Callable

from oslo_config import cfg

from rpcapi import errors, tls


def tls_opts() -> list[cfg.Opt]:
    return [
        cfg.StrOpt(
            "tls_cert_file",
            default="",
            help="PEM file with the server's certificate and intermediate certificates. Unset: no TLS. SIGHUP rereads "
            "the files of the three tls options for new connections.",
        ),
        cfg.StrOpt(
            "tls_key_file", default="", help="PEM file with the certificate's key. Unset: the key is in tls_cert_file."
        ),
        cfg.StrOpt(
            "tls_client_ca_file",
            default="",
            help="PEM file with the CA of clients. If set, each client needs a certificate from this CA.",
        ),
    ]


def check(conf: cfg.ConfigOpts, group: str) -> None:
    """Raise BadConfiguration if the TLS files are unusable, or TLS is off although a file is set."""
    options = conf[group]
    if options.tls_cert_file:
        server_context(conf, group)
    elif options.tls_key_file or options.tls_client_ca_file:
        raise errors.BadConfiguration(
            why=f"[{group}] tls_key_file and tls_client_ca_file need tls_cert_file: nothing would be encrypted"
        )


def context_source(conf: cfg.ConfigOpts, group: str) -> Callable[[], ssl.SSLContext] | None:
    """Return a loader of the current TLS files; None without TLS."""
    return functools.partial(server_context, conf, group) if conf[group].tls_cert_file else None


def server_context(conf: cfg.ConfigOpts, group: str) -> ssl.SSLContext:
    options = conf[group]
    return tls.server_context(
        f"[{group}] tls_cert_file",
        cert_file=options.tls_cert_file,
        key_file=options.tls_key_file or None,
        client_ca_file=options.tls_client_ca_file or None,
    )


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
