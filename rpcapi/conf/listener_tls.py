# SPDX-License-Identifier: Apache-2.0
"""The address that a daemon serves: options of TLS, the same ones in each daemon's group."""

import functools
import ipaddress
import ssl
from collections.abc import Callable

from oslo_config import cfg

from rpcapi import errors, tls


def tls_opts() -> list[cfg.Opt]:
    """Return the options, for the group of one daemon."""
    return [
        cfg.StrOpt(
            "tls_cert_file",
            default="",
            help="PEM file with the server's certificate, and those between it and its authority. Without it there is "
            "no TLS. SIGHUP reads the files of the three tls options again, for new connections.",
        ),
        cfg.StrOpt(
            "tls_key_file", default="", help="PEM file with the certificate's key, where tls_cert_file has none."
        ),
        cfg.StrOpt(
            "tls_client_ca_file",
            default="",
            help="PEM file with the authority of clients. With it, each client needs a certificate of this authority.",
        ),
    ]


def check(conf: cfg.ConfigOpts, group: str) -> None:
    """Raise BadConfiguration where TLS cannot be served, or would not be although files are named."""
    options = conf[group]
    if options.tls_cert_file:
        server_context(conf, group)
    elif options.tls_key_file or options.tls_client_ca_file:
        raise errors.BadConfiguration(
            why=f"[{group}] tls_key_file and tls_client_ca_file need tls_cert_file: nothing would be encrypted"
        )


def context_source(conf: cfg.ConfigOpts, group: str) -> Callable[[], ssl.SSLContext] | None:
    """Return what reads the files as they are at the time of each call, None without TLS."""
    return functools.partial(server_context, conf, group) if conf[group].tls_cert_file else None


def server_context(conf: cfg.ConfigOpts, group: str) -> ssl.SSLContext:
    """Return the TLS context by the files as they are now; raises BadConfiguration."""
    options = conf[group]
    return tls.server_context(
        f"[{group}] tls_cert_file",
        cert_file=options.tls_cert_file,
        key_file=options.tls_key_file or None,
        client_ca_file=options.tls_client_ca_file or None,
    )


def is_loopback(host: str) -> bool:
    """Return whether an address or name is this machine's own, which no other machine reaches."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
