# SPDX-License-Identifier: Apache-2.0
"""Options of group [dashboard]."""

from urllib.parse import urlsplit

from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import listener_tls
from rpcapi.conf.listener_tls import is_loopback

GROUP = "dashboard"
TOKEN, KEYSTONE = "token", "keystone"
MIN_TOKEN = 20  # characters; shorter tokens could be guessed

OPTS: list[cfg.Opt] = [
    cfg.HostAddressOpt(
        "host",
        default="127.0.0.1",
        help="Address on which gantt-dashboard serves its pages, with TLS if tls_cert_file is set.",
    ),
    cfg.PortOpt("port", default=8780, help="Port on which gantt-dashboard serves its pages."),
    *listener_tls.tls_opts(),
    cfg.BoolOpt(
        "behind_tls_proxy",
        default=False,
        help="Whether a proxy adds TLS: the cookie is then sent over TLS only, as with tls_cert_file. Without either, "
        "host must be a loopback address.",
    ),
    cfg.IntOpt("threads", default=8, min=1, max=64, help="Browser requests answered at a time."),
    cfg.StrOpt(
        "auth_strategy",
        default=TOKEN,
        choices=[
            (TOKEN, "all operators share [dashboard] token"),
            (KEYSTONE, "Keystone users with one of [dashboard] roles in [dashboard] project_name"),
        ],
        help="How dashboard users authenticate.",
    ),
    cfg.StrOpt(
        "token",
        default="",
        secret=True,
        help=f"Sign-in token of at least {MIN_TOKEN} characters; keep it in the secrets file.",
    ),
    cfg.StrOpt("auth_url", default="", help="URL of Keystone's API version 3, with auth_strategy = keystone."),
    cfg.StrOpt(
        "auth_ca_file", default="", help="PEM file with the CA of Keystone's certificate. Unset: the system's CAs."
    ),
    cfg.StrOpt("project_name", default="admin", help="Keystone project in which users need a role to sign in."),
    cfg.StrOpt("project_domain_name", default="Default", help="Domain of that project."),
    cfg.ListOpt("roles", default=["admin", "reader"], help="Roles in the project that may sign in; one is enough."),
    cfg.IntOpt("session_time", default=28800, min=60, max=604800, help="Seconds until a user must sign in again."),
    cfg.IntOpt(
        "refresh_interval",
        default=10,
        min=1,
        max=3600,
        help="Seconds between reads of the pages' data while a browser shows them.",
    ),
    cfg.ListOpt(
        "exporters",
        default=[],
        help="Metrics URLs of daemons, such as http://192.0.2.1:9402/metrics; the dashboard shows their replica lag.",
    ),
    cfg.BoolOpt(
        "actions",
        default=False,
        help="Whether users can enable, disable, drain and fence hosts. If so, transport_url needs broker user "
        "'operator', otherwise the read-only user 'reader'.",
    ),
    cfg.ListOpt(
        "action_roles", default=["admin"], help="Roles in the project that may use these actions; one is enough."
    ),
]


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for invalid options, or if passwords would be sent without TLS."""
    options = conf[GROUP]
    listener_tls.check(conf, GROUP)
    if options.auth_strategy == TOKEN and len(options.token) < MIN_TOKEN:
        raise errors.BadConfiguration(
            why=f"[dashboard] token must have at least {MIN_TOKEN} characters; make one with 'openssl rand -hex 16'"
        )
    for url in options.exporters:
        if not _is_http(url):
            raise errors.BadConfiguration(why=f"[dashboard] exporters has {url!r}, which is not an HTTP URL")
    if not (options.tls_cert_file or options.behind_tls_proxy or is_loopback(options.host)):
        raise errors.BadConfiguration(
            why=f"[dashboard] host = {options.host} can be reached from other machines, and passwords would be sent "
            "without TLS: set tls_cert_file, or behind_tls_proxy if a proxy adds TLS"
        )
    if options.auth_strategy == KEYSTONE and not options.auth_url:
        raise errors.BadConfiguration(why="[dashboard] auth_strategy = keystone needs [dashboard] auth_url")


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
