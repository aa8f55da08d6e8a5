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
        help="Name under which this conductor is listed and addressed. It must be unique among the conductors.",
    ),
    cfg.IntOpt(
        "max_attempts",
        default=3,
        min=1,
        max=16,
        mutable=True,
        help="Maximum number of hosts tried for one instance: the selected host, then its alternates. With 1 an "
        "instance goes to ERROR as soon as its host refuses it or fails.",
    ),
    cfg.FloatOpt(
        "build_timeout",
        default=300.0,
        min=0.1,
        mutable=True,
        help="Seconds to wait for a host to report the result of a build. After that the conductor aborts the claim "
        "and tries an alternate; if the host has confirmed the claim, the conductor sends the build once more and "
        "waits as long again. It must be longer than the slowest boot. If no alternate is available only because hosts "
        "still have to be audited after the store lost data, the conductor retries for as long.",
    ),
    cfg.FloatOpt(
        "recast_interval",
        default=20.0,
        min=0.1,
        mutable=True,
        help="Seconds after which the build message is sent again to a host that has not reported, because a killed "
        "agent or bus loses messages. Each further pause is as long as the wait so far, until build_timeout ends it. "
        "A host that already has the message continues undisturbed. If this is well below [scheduler] claim_ttl, a "
        "lost message costs only this delay and no alternate.",
    ),
    cfg.FloatOpt(
        "select_timeout",
        default=180.0,
        min=0.1,
        mutable=True,
        help="Seconds after the first try of a selection during which the conductor retries it if the scheduler does "
        "not answer, or finds no host while live hosts still have to be audited. After that the instances go to ERROR. "
        "What a request waits in the backlog before its first selection does not count.",
    ),
    cfg.IntOpt(
        "shelved_offload_time",
        default=0,
        min=-1,
        max=10 * 365 * 86_400,
        mutable=True,
        help="Seconds for which a shelved server keeps its host and its claim, as Nova's option: 0 offloads it as soon "
        "as it is stopped, -1 only by request. A server that was shelved with -1 is not offloaded by a later change.",
    ),
    cfg.IntOpt(
        "migrate_max_retries",
        default=3,
        min=0,
        max=100,
        mutable=True,
        help="Further destinations that are tried for a live migration after a check or a copy failed, each once. 0: "
        "none, the server runs on at its source.",
    ),
    cfg.BoolOpt(
        "live_migration_post_copy",
        default=False,
        mutable=True,
        help="Complete a live migration by post-copy when that is forced: the server continues at its destination at "
        "once, and memory follows. If the source fails meanwhile, the server is in ERROR. False: the server stands "
        "still until it is copied.",
    ),
    cfg.FloatOpt(
        "resize_confirm_window",
        default=0.0,
        min=0.0,
        max=10 * 365 * 86_400,
        mutable=True,
        help="Seconds after which a migrated or resized server in VERIFY_RESIZE is confirmed, as Nova's option: its "
        "source is removed then and can not be returned to. 0 confirms by request only; a server that finished its "
        "move with 0 is not confirmed by a later change.",
    ),
    cfg.FloatOpt(
        "repeat_horizon",
        default=900.0,
        min=1.0,
        help="Seconds for which callers may repeat a request. An older request that is not known is refused. After the "
        "conductors' store may have lost requests, instances wait for this long before they are scheduled while hosts "
        "have to be audited that may run them. It must not be longer than [conductor_store] retention.",
    ),
    cfg.FloatOpt(
        "lease",
        default=30.0,
        min=1.0,
        help="Seconds after which another conductor takes over the requests of one that died or hangs. A call to "
        "another service times out after at most two thirds of it.",
    ),
    cfg.FloatOpt(
        "pump_interval",
        default=1.0,
        min=0.05,
        help="Seconds between two polls of the store for due work. Calls to this conductor are processed at once; this "
        "delays only timed steps and work taken over from another conductor.",
    ),
    cfg.IntOpt(
        "threads",
        default=16,
        min=1,
        max=256,
        help="Maximum number of requests that this conductor processes at a time. Further requests wait in the store, "
        "where any conductor can take them.",
    ),
    cfg.IntOpt(
        "max_in_flight",
        default=4 * MAX_INSTANCES,
        min=MAX_INSTANCES,
        max=1_000_000,
        help="Maximum number of instances in the requests that this conductor processes at a time, so that at most as "
        "many wait at the schedulers. Requests beyond it wait in the store, one queue for each project. The projects "
        "take turns.",
    ),
    cfg.IntOpt(
        "max_building",
        default=10_000,
        min=1,
        max=100_000_000,
        help="Maximum number of instances of all conductors that are scheduled or built. Further requests wait in the "
        "store, except those of projects with less than their equal share. About as many as the hosts can begin within "
        "a third of [scheduler] claim_ttl: what waits longer at its host loses its claim. The same for all conductors.",
    ),
    cfg.IntOpt(
        "max_backlog",
        default=100_000,
        min=MAX_INSTANCES,
        max=100_000_000,
        mutable=True,
        help="Maximum number of instances that wait to be scheduled, of all projects. Beyond it a request is refused "
        "as Overloaded, unless its project has less than its equal share of them; a single larger one as "
        "RequestTooLarge.",
    ),
    cfg.IntOpt(
        "max_spec_bytes",
        default=256 << 10,
        min=4 << 10,
        max=64 << 20,
        mutable=True,
        help="Maximum size in bytes of a request's spec, as it is stored. A larger one is refused.",
    ),
    cfg.FloatOpt(
        "report_interval",
        default=10.0,
        min=0.1,
        help="Seconds between two heartbeats to the scheduler, which lists services. Deleted records whose retention "
        "has passed are purged at the same interval.",
    ),
    cfg.FloatOpt(
        "reconcile_interval",
        default=60.0,
        min=0.1,
        help="Seconds between two comparisons of all ACTIVE records with their claims. After a fence the instances of "
        "the host go to ERROR within this time, and half a second more for each 500 records.",
    ),
]
