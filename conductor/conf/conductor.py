# SPDX-License-Identifier: Apache-2.0
"""Options of group [conductor]."""

import socket

from oslo_config import cfg

from rpcapi.resources.claims import MAX_INSTANCES

GROUP = "conductor"

OPTS = [
    cfg.StrOpt(
        "host",
        default=socket.gethostname(),
        sample_default="<this machine's name>",
        help="Name of this conductor for operators and on the bus, unique among the conductors.",
    ),
    cfg.IntOpt(
        "max_attempts",
        default=3,
        min=1,
        max=16,
        mutable=True,
        help="Maximum hosts tried for one instance: the selected host, then its alternates. With 1 an instance goes "
        "to ERROR as soon as its host refuses it or fails.",
    ),
    cfg.FloatOpt(
        "build_timeout",
        default=300.0,
        min=0.1,
        mutable=True,
        help="Seconds to wait for a host's report of a build, longer than the slowest boot. Then the conductor aborts "
        "the claim and tries an alternate; if the host has confirmed the claim, it sends the build once more and "
        "waits as long again. If alternates are missing only because hosts must be audited after the store lost data, "
        "it retries for as long.",
    ),
    cfg.FloatOpt(
        "recast_interval",
        default=20.0,
        min=0.1,
        mutable=True,
        help="Seconds until the build message is sent again to a silent host, because a killed agent or bus loses "
        "messages. Each further delay doubles the wait, up to build_timeout; a host that has the message continues "
        "undisturbed. Keep it well below [scheduler] claim_ttl: then a lost message costs this delay, and no "
        "alternate.",
    ),
    cfg.FloatOpt(
        "select_timeout",
        default=180.0,
        min=0.1,
        mutable=True,
        help="Seconds after its first try for which a selection is retried if the scheduler does not answer, or finds "
        "no host for a reason that may pass by itself. Then the instances go to ERROR. The wait in the backlog does "
        "not count.",
    ),
    cfg.IntOpt(
        "shelved_offload_time",
        default=0,
        min=-1,
        max=10 * 365 * 86_400,
        mutable=True,
        help="Seconds that a shelved server keeps its host and claim, like Nova's option: 0 offloads it once it is "
        "stopped, -1 only by request. Servers shelved under -1 are not offloaded by a later change.",
    ),
    cfg.IntOpt(
        "migrate_max_retries",
        default=3,
        min=0,
        max=100,
        mutable=True,
        help="Further destinations tried for a live migration after a failed check or copy, each once. 0: none, the "
        "server keeps running at its source.",
    ),
    cfg.BoolOpt(
        "live_migration_post_copy",
        default=False,
        mutable=True,
        help="Whether a forced live migration completes by post-copy: the server continues at its destination at "
        "once, and its memory follows. If the source fails meanwhile, the server is in ERROR. False: the server is "
        "paused until it is copied.",
    ),
    cfg.FloatOpt(
        "resize_confirm_window",
        default=0.0,
        min=0.0,
        max=10 * 365 * 86_400,
        mutable=True,
        help="Seconds after which a server in VERIFY_RESIZE is confirmed, like Nova's option: its source is removed, "
        "and a revert is no longer possible. 0: only by request; servers that finished their move under 0 are not "
        "confirmed by a later change.",
    ),
    cfg.FloatOpt(
        "repeat_horizon",
        default=900.0,
        min=1.0,
        help="Seconds for which callers may repeat a request; older unknown requests are refused. If the "
        "conductors' store may have lost requests, new instances wait for hosts that have not audited, but no longer "
        "than this. At most [conductor_store] retention.",
    ),
    cfg.FloatOpt(
        "lease",
        default=30.0,
        min=1.0,
        help="Seconds after which another conductor takes over the requests of a conductor that died or hangs. Calls "
        "to other services time out after at most two thirds of it.",
    ),
    cfg.FloatOpt(
        "pump_interval",
        default=1.0,
        min=0.05,
        help="Seconds between polls of the store for due work. It delays only timed steps and work taken over from "
        "other conductors; calls to this conductor are processed at once.",
    ),
    cfg.IntOpt(
        "threads",
        default=16,
        min=1,
        max=256,
        help="Maximum requests that this conductor processes at a time. Further requests wait in the store for any "
        "conductor.",
    ),
    cfg.IntOpt(
        "max_in_flight",
        default=4 * MAX_INSTANCES,
        min=MAX_INSTANCES,
        max=1_000_000,
        help="Maximum instances in the requests that this conductor processes at a time; at most as many wait at the "
        "schedulers. Further requests wait in the store, in one queue per project. The projects take turns.",
    ),
    cfg.IntOpt(
        "max_building",
        default=10_000,
        min=1,
        max=100_000_000,
        help="Maximum instances that all conductors together schedule or build at a time. Further requests wait in "
        "the store, except for projects below their equal share. Use about as many as the hosts can begin within a "
        "third of [scheduler] claim_ttl: instances that wait longer at their hosts lose their claims. Use the same "
        "value for all conductors.",
    ),
    cfg.IntOpt(
        "max_backlog",
        default=100_000,
        min=MAX_INSTANCES,
        max=100_000_000,
        mutable=True,
        help="Maximum instances of all projects that wait to be scheduled. Further requests are refused as "
        "Overloaded, unless their project is below its equal share; a single larger request is refused as "
        "RequestTooLarge.",
    ),
    cfg.IntOpt(
        "max_spec_bytes",
        default=256 << 10,
        min=4 << 10,
        max=64 << 20,
        mutable=True,
        help="Maximum bytes of a request's stored spec; larger requests are refused.",
    ),
    cfg.FloatOpt(
        "report_interval",
        default=10.0,
        min=0.1,
        help="Seconds between heartbeats to the scheduler, which lists services, and between purges of deleted "
        "records after their retention.",
    ),
    cfg.FloatOpt(
        "reconcile_interval",
        default=60.0,
        min=0.1,
        help="Seconds between comparisons of all ACTIVE records with their claims. After a fence the host's instances "
        "go to ERROR within this time, plus half a second per 500 records.",
    ),
]
