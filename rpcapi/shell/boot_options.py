# SPDX-License-Identifier: Apache-2.0
"""What a server is to be and where it may go, as options of a command, and the request spec that they make."""

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from rpcapi.shell.faults import CommandFailed

if TYPE_CHECKING:
    from rpcapi.objects.request_spec import RequestSpec
    from rpcapi.shell.session import Session

T = TypeVar("T")


def add(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add the options; ``spec`` reads them, for which there must be a flavor at least."""
    parser.add_argument("--flavor", required=required, help="Their flavor; see `gantt flavor list`.")
    _add_parts(parser)
    _add_placement(parser)


def spec(session: "Session", args: argparse.Namespace) -> "RequestSpec":
    """Return what the options ask for, checked; raises what a bad request is told."""
    from rpcapi.edge import ports, volumes  # noqa: PLC0415 - lazy: brings the versioned objects
    from rpcapi.model import flavors, images  # noqa: PLC0415 - lazy, see above

    flavor = flavors.find(session.flavors, args.flavor)
    image = images.find(session.images, args.image) if args.image else images.NO_IMAGE
    properties = dict(_pair("--property", text) for text in args.property)
    if properties:
        image = image.with_properties(properties)
    return flavor.request(
        image,
        session.catalog,
        attached_volumes=_each("--volume", args.volume, volumes.read),
        attached_ports=_each("--port", args.port, ports.read),
        **_placement(args),
    )


def _add_parts(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what they are made of").add_argument
    add("--image", metavar="NAME", help="Image they boot from; see `gantt image list`.")
    add("--property", action="append", default=[], metavar="K=V", help="An image property, in place of the image's.")
    add(
        *("--volume",),
        action="append",
        default=[],
        metavar="K=V,...",
        help="A volume: size=GIB to make one, pool=NAME for where it is or is to be, boot=true for the root disk.",
    )
    add(
        *("--port",),
        action="append",
        default=[],
        metavar="K=V,...",
        help="A port: egress_kbps=N, ingress_kbps=N, physnet=NAME, vnic=TYPE, segment=NAME.",
    )


def _add_placement(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("where they may go").add_argument
    add("--az", metavar="ZONE", help="Availability zone.")
    add(
        *("--trait",),
        action="append",
        default=[],
        metavar="T|!T|T,T",
        help="A trait that hosts must have, or (!) lack; of several with commas between, one.",
    )
    add("--member-of", action="append", default=[], metavar="A[,A]", help="An aggregate, or one of many; repeatable.")
    add("--not-member-of", action="append", default=[], metavar="A", help="Not in this aggregate; repeatable.")
    add("--in-tree", metavar="NAME", help="Only from the tree of this provider.")
    add("--hint", action="append", default=[], metavar="K=V", help="A scheduler hint; a repeated key makes a list.")
    add("--host", action="append", default=[], metavar="NAME", help="Only this host, or node as host/node; repeatable.")
    add("--not-host", action="append", default=[], metavar="NAME", help="Not this host or node; repeatable.")
    add("--group", metavar="ID", help="Server group, which the claims of all its servers obey.")
    add(
        *("--group-policy",),
        metavar="POLICY",
        help="Its policy: affinity (all on one node), anti-affinity, or either one with soft- before it, as a wish.",
    )
    add("--group-max-per-host", type=int, default=1, metavar="N", help="How many of it a node may hold (1).")
    add("--driver", metavar="NAME", help="Who decides, where [scheduler] lets requests choose.")


def _placement(args: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of the request spec that the options give."""
    hints = _hints(args.hint)
    return {
        "availability_zone": args.az,
        "required_traits": [name for name in args.trait if not name.startswith("!") and "," not in name],
        "forbidden_traits": [name.removeprefix("!") for name in args.trait if name.startswith("!")],
        "any_traits": [name.split(",") for name in args.trait if not name.startswith("!") and "," in name],
        "member_of": [names.split(",") for names in args.member_of],
        "forbidden_aggregates": args.not_member_of,
        "in_tree": args.in_tree,
        "hints": hints,
        "force_hosts": args.host,
        "ignore_hosts": args.not_host,
        "group_id": args.group or hints.get("group"),
        "group_policy": args.group_policy,
        "group_max_per_host": args.group_max_per_host,
        "driver": args.driver,
    }


def _hints(pairs: Sequence[str]) -> dict[str, Any]:
    found: dict[str, list[str]] = {}
    for pair in pairs:
        key, value = _pair("--hint", pair)
        found.setdefault(key, []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in found.items()}


def _each(option: str, texts: Sequence[str], read: Callable[[dict[str, str]], T]) -> list[T]:
    return [read(dict(_pair(option, pair) for pair in text.split(","))) for text in texts]


def _pair(option: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise CommandFailed(f"{option} takes KEY=VALUE, not {text!r}")
    return key, value
