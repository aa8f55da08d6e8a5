# SPDX-License-Identifier: Apache-2.0
"""How a conductor works."""

import socket

from oslo_config import cfg

GROUP = "conductor"

OPTS = [
    cfg.StrOpt(
        "host",
        default=socket.gethostname(),
        sample_default="<this machine's name>",
        help="Name under which this conductor is listed and addressed. Each of several conductors needs its own.",
    ),
    cfg.IntOpt(
        "max_attempts",
        default=3,
        min=1,
        max=16,
        mutable=True,
        help="Hosts that are tried for one instance: the chosen one, and then its alternates. 1 means that an "
        "instance goes to ERROR as soon as its host refuses it or fails.",
    ),
    cfg.FloatOpt(
        "build_timeout",
        default=300.0,
        min=0.1,
        mutable=True,
        help="Seconds that a host is given to report what became of a build. After that its claim is ended and an "
        "alternate is tried; where the host has confirmed the claim it is asked once more, for as long again. It "
        "must be longer than the slowest boot. An alternate that cannot be had only because hosts are yet to be "
        "audited, after the store may have forgotten something, is tried again for as long.",
    ),
    cfg.FloatOpt(
        "recast_interval",
        default=20.0,
        min=0.1,
        mutable=True,
        help="Seconds after which a host that has not reported is told again to build, since a message is lost with "
        "an agent or a bus that is killed. Each further pause is as long as the host has been waited for, until "
        "build_timeout ends the wait. A host that has the message already goes on undisturbed. Well below "
        "[scheduler] claim_ttl, a lost message costs this time and no alternate.",
    ),
    cfg.FloatOpt(
        "select_timeout",
        default=180.0,
        min=0.1,
        mutable=True,
        help="Seconds after a request was recorded during which the scheduler is asked again when it gives no answer, "
        "or finds no host while living ones are yet to be audited. After that its instances go to ERROR.",
    ),
    cfg.FloatOpt(
        "lease",
        default=30.0,
        min=1.0,
        help="Seconds after which another conductor takes over the requests of one that died or hangs. A call of "
        "another service is waited for during two thirds of it at most.",
    ),
    cfg.FloatOpt(
        "pump_interval",
        default=1.0,
        min=0.05,
        help="Seconds between two looks for work whose time has come. What this conductor is asked to do begins at "
        "once; this delays only what waits for a time, and what another conductor left.",
    ),
    cfg.IntOpt(
        "threads",
        default=16,
        min=1,
        max=256,
        help="Requests that this conductor works on at a time. More wait in the store, where other conductors find "
        "them too.",
    ),
    cfg.FloatOpt(
        "report_interval",
        default=10.0,
        min=0.1,
        help="Seconds between two signs of life to the scheduler, which lists services. Deleted records whose "
        "retention is over are removed as often.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of group [conductor]."""
    conf.register_opts(OPTS, group=GROUP)
