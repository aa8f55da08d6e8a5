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
    cfg.IntOpt("threads", default=8, min=1, max=64, help="Requests of browsers that are answered at a time."),
    cfg.StrOpt(
        "auth_strategy",
        default=TOKEN,
        choices=[
            (TOKEN, "one token for all operators, in [dashboard] token"),
            (KEYSTONE, "users of Keystone with one of [dashboard] roles in [dashboard] project_name"),
        ],
        help="How those who open the dashboard prove that they may.",
    ),
    cfg.StrOpt(
        "token",
        default="",
        secret=True,
        help=f"The token that opens the dashboard, of at least {MIN_TOKEN} characters; belongs in the secrets file.",
    ),
    cfg.StrOpt("auth_url", default="", help="URL of Keystone's API version 3, with auth_strategy = keystone."),
    cfg.StrOpt(
        "auth_ca_file", default="", help="PEM file with the authority of Keystone's certificate; else the system's."
    ),
    cfg.StrOpt("project_name", default="admin", help="Project in Keystone in which a user needs a role to sign in."),
    cfg.StrOpt("project_domain_name", default="Default", help="Domain of that project."),
    cfg.ListOpt("roles", default=["admin", "reader"], help="Roles there of which a user needs one to sign in."),
    cfg.IntOpt(
        "session_time", default=28800, min=60, max=604800, help="Seconds after which a user has to sign in again."
    ),
    cfg.IntOpt(
        "refresh_interval",
        default=10,
        min=1,
        max=3600,
        help="Seconds between two reads of what the pages show, while a browser shows them.",
    ),
    cfg.ListOpt(
        "exporters",
        default=[],
        help="URLs of daemons' metrics, such as http://192.0.2.1:9402/metrics, which say how far each daemon's workers "
        "are behind the store.",
    ),
    cfg.BoolOpt(
        "actions",
        default=False,
        help="Whether hosts can be enabled, disabled, drained and fenced. transport_url needs the broker's user "
        "'operator' for it, and otherwise 'reader', which can change nothing.",
    ),
    cfg.ListOpt("action_roles", default=["admin"], help="Roles there of which a user needs one for these actions."),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTS, group=GROUP)


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration if nobody could sign in or TLS cannot be served."""
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
            why=f"[dashboard] host = {options.host} can be reached by others, and passwords would be sent "
            "to it without TLS: set tls_cert_file, or behind_tls_proxy where a proxy adds TLS"
        )
    if options.auth_strategy == KEYSTONE and not options.auth_url:
        raise errors.BadConfiguration(why="[dashboard] auth_strategy = keystone needs [dashboard] auth_url")


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
