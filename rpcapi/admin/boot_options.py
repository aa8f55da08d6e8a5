# SPDX-License-Identifier: Apache-2.0
"""Command options for servers and their placement, and the request spec built from them."""

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rpcapi.admin import Session, groups
from rpcapi.admin.argument import Argument, parse_pair, parse_pairs, repeatable
from rpcapi.validation.hints import GROUP_HINT, as_list
from rpcapi.validation.text import invalid_spec, join_names

if TYPE_CHECKING:
    from rpcapi.objects.request_spec import RequestSpec


GROUPS = {
    "flavor, image and devices": (
        Argument("--image", metavar="NAME", help="Image to boot from; see `gantt image list`."),
        repeatable(
            "--property", type=parse_pair, metavar="K=V", help="Image property; overrides the image's own value."
        ),
        repeatable(
            "--volume",
            type=parse_pairs,
            metavar="K=V,...",
            help="A volume: size=GIB creates it, pool=NAME is its current or future pool, boot=true makes it the root "
            "disk.",
        ),
        repeatable(
            "--port",
            type=parse_pairs,
            metavar="K=V,...",
            help="A port: egress_kbps=N, ingress_kbps=N, physnet=NAME, vnic=TYPE, segment=NAME.",
        ),
    ),
    "placement": (
        Argument("--az", metavar="ZONE", help="Availability zone."),
        repeatable(
            "--trait",
            metavar="T|!T|T,T",
            help="Required trait of hosts; !T forbids T; T,T requires one of them. Repeatable.",
        ),
        repeatable(
            "--member-of", metavar="A[,A]", help="Host must be in this aggregate, or in one of several; repeatable."
        ),
        repeatable("--not-member-of", metavar="A", help="Host must not be in this aggregate; repeatable."),
        Argument("--in-tree", metavar="NAME", help="Only hosts in the tree of this provider."),
        repeatable("--hint", type=parse_pair, metavar="K=V", help="A scheduler hint; a repeated key makes a list."),
        repeatable("--host", metavar="NAME", help="Only this host, or node as host/node; repeatable."),
        repeatable("--not-host", metavar="NAME", help="Not this host or node; repeatable."),
        Argument("--group", metavar="ID", help="Server group, by id or name; see `gantt group create`."),
        Argument(
            "--group-policy",
            metavar="POLICY",
            help="Policy of the group; the request is refused if the group has another one.",
        ),
        Argument(
            "--group-max-per-host",
            type=int,
            metavar="N",
            help="Maximum servers of the group on one node; refused if the group has another one.",
        ),
        Argument("--driver", metavar="NAME", help="Scheduler driver, if [scheduler] lets requests choose."),
    ),
}


def add_options(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    parser.add_argument("--flavor", required=required, help="Flavor of the servers; see `gantt flavor list`.")
    for title, arguments in GROUPS.items():
        group = parser.add_argument_group(title)
        for argument in arguments:
            argument.add_to(group)


def make_spec(session: Session, args: argparse.Namespace) -> "RequestSpec":
    from rpcapi.spec_builder import attachments, builder, flavors, images  # noqa: PLC0415 - lazy, see session

    flavor = flavors.find(session.flavors, args.flavor)
    image = images.find(session.images, args.image) if args.image else images.NO_IMAGE
    if args.property:
        image = image.with_properties(dict(args.property))
    return builder.build_spec(
        flavor,
        image,
        session.catalog,
        attached_volumes=[attachments.read_volume(texts) for texts in args.volume],
        attached_ports=[attachments.read_port(texts) for texts in args.port],
        **_placement(session, args),
    )


def _placement(session: Session, args: argparse.Namespace) -> dict[str, Any]:
    hints = _hints(args.hint)
    group_texts = [*as_list(hints.pop(GROUP_HINT, [])), *([] if args.group is None else [args.group])]
    group_ids = {groups.find_id(session, text) for text in group_texts}
    if len(group_ids) > 1:
        raise invalid_spec(f"it names {len(group_ids)} server groups: {join_names(group_texts)}")
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
        "group_id": next(iter(group_ids), None),
        "group_policy": args.group_policy,
        "group_max_per_host": args.group_max_per_host,
        "driver": args.driver,
    }


def _hints(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    values_by_key: dict[str, list[str]] = {}
    for key, value in pairs:
        values_by_key.setdefault(key, []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in values_by_key.items()}
