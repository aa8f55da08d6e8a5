# SPDX-License-Identifier: Apache-2.0
"""Schema of the request spec, for all its checks by client, conductor, scheduler and agent."""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import os_resource_classes as orc

from rpcapi import errors
from rpcapi.objects.request_spec import RequestSpec
from rpcapi.resources import names, vocabulary
from rpcapi.resources.claims import MIGRATION, GroupPolicy
from rpcapi.resources.groups import MAX_CLASSES, MAX_GROUPS, MAX_SUBTREES, POLICIES, RequestGroup
from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.validation import documents, hints, rules, server_groups, topology
from rpcapi.validation.instances import canonical_uuid
from rpcapi.validation.text import abbreviate, invalid_spec, join_names

MAX_TRAITS = 100  # per group, in all lists
MAX_AGGREGATES = 1000
MAX_HOSTS = 1000
MAX_ATTACHMENTS = 64  # Limit of volumes, and of ports.
UNSATISFIABLE = "no host can satisfy that"
SERVICES = ("compute", "volume", "network")


def _resource_class(path: str, value: Any) -> None:
    vocabulary.check_resource_class(value)


def _trait(path: str, value: Any) -> None:
    vocabulary.check_trait(value)


_AMOUNTS = rules.mapping(_resource_class, rules.integer(), MAX_CLASSES)
_TRAITS = rules.list_of(_trait, MAX_TRAITS)
_ANY_TRAITS = rules.list_of(rules.list_of(_trait, MAX_TRAITS, 1), MAX_TRAITS)
_AGGREGATES = rules.list_of(rules.text, MAX_AGGREGATES)
_MEMBER_OF = rules.list_of(rules.list_of(rules.text, MAX_AGGREGATES, 1), MAX_AGGREGATES)
_HOSTS = rules.list_of(rules.resource_name, MAX_HOSTS)
_SUFFIX = rules.matching(r"[A-Za-z0-9_-]{1,64}", "1 to 64 letters, digits, '_' or '-'")
_TYPE = rules.matching("[A-Z0-9_]{1,255}", "1 to 255 characters of A-Z, 0-9 and '_', such as 'INSTANCE'")


def _consumer_type(path: str, value: Any) -> None:
    _TYPE(path, value)
    if value == MIGRATION:
        raise invalid_spec(f"{path} {MIGRATION!r} is reserved for sources of moves")


_GROUP = rules.document(
    {
        "resources": _AMOUNTS,
        "required": _TRAITS,
        "any_of": _ANY_TRAITS,
        "forbidden": _TRAITS,
        "member_of": _MEMBER_OF,
        "forbidden_aggregates": _AGGREGATES,
        "in_tree": rules.optional(rules.resource_name),
    }
)
_VOLUME = rules.document(
    {
        "pool": rules.optional(rules.resource_name),
        "size_gb": rules.optional(rules.integer()),
        "group": rules.optional(rules.string),
        "boot": rules.boolean,
    }
)
_PORT = rules.document(
    {
        "physnet": rules.optional(rules.text),
        "segment": rules.optional(rules.text),
        "group": rules.optional(rules.string),
    }
)
_DESTINATION = rules.document(
    {
        "host": rules.optional(rules.resource_name),
        "partition": rules.optional(rules.text),
        "allow_cross_cell_move": rules.boolean,
    }
)

# Rules of values that differ from their default. For other fields, the type of the field is enough.
RULES: Mapping[str, rules.Rule] = {
    "flavor": rules.text,
    "flavor_amounts": _AMOUNTS,
    "resources": _AMOUNTS,
    "required_traits": _TRAITS,
    "forbidden_traits": _TRAITS,
    "availability_zone": rules.text,
    "ignore_hosts": _HOSTS,
    "force_hosts": _HOSTS,
    "hints": hints.check,
    "consumer_type": _consumer_type,
    "group_id": rules.resource_name,
    "group_policy": rules.one_of(tuple(GroupPolicy)),
    "group_max_per_host": rules.integer(),
    "any_traits": _ANY_TRAITS,
    "member_of": _MEMBER_OF,
    "forbidden_aggregates": _AGGREGATES,
    "in_tree": rules.resource_name,
    "groups": rules.mapping(_SUFFIX, _GROUP, MAX_GROUPS),
    "groups_policy": rules.one_of(POLICIES),
    "root_required": _TRAITS,
    "root_forbidden": _TRAITS,
    "same_subtree": rules.list_of(rules.list_of(rules.string, MAX_GROUPS, 1), MAX_SUBTREES),
    "numa": topology.NUMA,
    "image": documents.IMAGE,
    "extra_specs": documents.EXTRA_SPECS,
    "volumes": rules.list_of(_VOLUME, MAX_ATTACHMENTS),
    "ports": rules.list_of(_PORT, MAX_ATTACHMENTS),
    "service": rules.one_of(SERVICES),
    "driver": rules.matching(r"[A-Za-z0-9_.-]{1,64}", "1 to 64 letters, digits, '_', '.' or '-'"),
    "requested_destination": _DESTINATION,
}


def amount_of_flavor(spec: RequestSpec, resource_class: str) -> int:
    """Return the flavor's amount; without flavor amounts, the requested amount except volumes and ports."""
    if spec.flavor_amounts:
        return int(spec.flavor_amounts.get(resource_class, 0))
    attached = attached_groups(spec)
    groups = [group for suffix, group in spec.groups.items() if suffix not in attached]
    return sum(group.get("resources", {}).get(resource_class, 0) for group in ({"resources": spec.resources}, *groups))


def attached_groups(spec: RequestSpec) -> Set[str]:
    return {item["group"] for item in (*spec.volumes, *spec.ports) if item.get("group") is not None}


def boot_volume(spec: RequestSpec) -> Mapping[str, Any] | None:
    """Return the volume that is the root disk; None if the server boots from a local disk."""
    return next((volume for volume in spec.volumes if volume.get("boot")), None)


def check_spec(spec: Any) -> None:
    """Raise an InvalidRequest if ``spec`` is malformed, contradictory, or unsatisfiable on any host."""
    if not isinstance(spec, RequestSpec):
        raise errors.MalformedObject(name="RequestSpec", why=f"it is of type {type(spec).__name__}")
    values = spec.values_set()
    for name, value in values.items():
        RULES.get(name, rules.anything)(name, value)
    if not spec.resources and not spec.groups:
        raise invalid_spec(f"it must request 1 to {MAX_CLASSES} resource classes, got 0")
    for needed_by, check in _CONSISTENCY:
        if not needed_by.isdisjoint(values):
            check(spec)


def canonical(spec: RequestSpec) -> RequestSpec:
    """Return a checked spec with canonical uuids of instances, server group, aggregates and API providers.

    A server group in the hints becomes ``group_id``.
    """
    values = {
        "hints": hints.canonical(spec.hints),
        "group_id": hints.named_group(spec.hints) if spec.group_id is None else canonical_uuid(spec.group_id),
        "groups": {suffix: {**group, **_canonical_group(group)} for suffix, group in spec.groups.items()},
        **_canonical_group({name: getattr(spec, name) for name in _GROUP_UUIDS}),
    }
    return spec if values == {name: getattr(spec, name) for name in values} else spec.with_values(**values)


def _canonical_group(group: Mapping[str, Any]) -> dict[str, Any]:
    return {name: spell(group[name]) for name, spell in _GROUP_UUIDS.items() if group.get(name)}


def _canonical_provider(name: str) -> str:
    prefix = names.api_provider("")
    return prefix + canonical_uuid(name.removeprefix(prefix)) if name.startswith(prefix) else name


def _canonical_list(texts: Sequence[str]) -> list[str]:
    return [canonical_uuid(text) for text in texts]


# Fields of a request group that may contain uuids.
_GROUP_UUIDS: Mapping[str, Callable[[Any], Any]] = {
    "member_of": lambda choices: [_canonical_list(names) for names in choices],
    "forbidden_aggregates": _canonical_list,
    "in_tree": _canonical_provider,
}


def _check_hosts(spec: RequestSpec) -> None:
    ignored = set(spec.ignore_hosts)
    if all(not ignored.isdisjoint((name, names.host_of(name))) for name in spec.force_hosts):
        raise invalid_spec("every host in force_hosts is also in ignore_hosts")


def _check_server_group(spec: RequestSpec) -> None:
    hint = hints.named_group(spec.hints)
    if None not in (hint, spec.group_id) and hint != canonical_uuid(spec.group_id):
        raise invalid_spec(f"hint 'group' {hint} differs from group_id {abbreviate(spec.group_id)}")
    if hint is None and spec.group_id is None and not (spec.group_policy is spec.group_max_per_host is None):
        raise invalid_spec("a policy of a server group needs the group's id")
    if spec.group_policy is not None:
        server_groups.check_rule(spec.group_policy, spec.group_max_per_host or 1)


def _check_unsuffixed_group(spec: RequestSpec) -> None:
    if not spec.resources and (spec.required_traits or spec.any_traits or spec.forbidden_traits):
        raise invalid_spec(
            "the group without a suffix has traits but no resources; use root_required for traits of the host"
        )
    traits = spec.required_traits, spec.any_traits, spec.forbidden_traits
    _check_satisfiable("", RequestGroup("", {}, *traits, spec.member_of, spec.forbidden_aggregates))


def _check_root(spec: RequestSpec) -> None:
    _check_satisfiable(" of the root", RequestGroup("", {}, spec.root_required, forbidden=spec.root_forbidden))


def _check_groups(spec: RequestSpec) -> None:
    in_subtrees = {suffix for subtree in spec.same_subtree for suffix in subtree}
    for suffix in in_subtrees:
        _check_group_exists("same_subtree", suffix, spec)
    for suffix, fields in spec.groups.items():
        group = RequestGroup.from_dict(suffix, fields)
        if not group.resources and suffix not in in_subtrees:
            raise invalid_spec(f"group {suffix!r} requests no resources; only groups named by same_subtree may")
        _check_satisfiable(f" of group {suffix!r}", group)
    if spec.groups_policy is None and len(spec.groups) > 1:
        raise invalid_spec(f"{len(spec.groups)} request groups need a groups policy: {' or '.join(POLICIES)}")


def _check_satisfiable(owner: str, group: RequestGroup) -> None:
    if len(group.required) + len(group.forbidden) + sum(map(len, group.any_of)) > MAX_TRAITS:
        raise invalid_spec(f"it names more than {MAX_TRAITS} traits{owner}")
    both = set(group.required).intersection(group.forbidden)
    if both:
        raise invalid_spec(f"it requires and forbids {join_names(sorted(both))}{owner}: {UNSATISFIABLE}")
    for choice in group.any_of:
        _check_choice(choice, group.forbidden, owner)
    for choice in group.member_of:
        _check_choice(choice, group.forbidden_aggregates, owner)


def _check_choice(choice: Sequence[str], forbidden: Sequence[str], owner: str) -> None:
    if set(choice).issubset(forbidden):
        raise invalid_spec(f"it requires one of {join_names(choice)}{owner}, but forbids all: {UNSATISFIABLE}")


def _check_attachments(spec: RequestSpec) -> None:
    for volume in spec.volumes:
        size_gb, pool, group = map(volume.get, ("size_gb", "pool", "group"))
        if (size_gb is None) != (group is None):
            raise invalid_spec("a new volume needs size_gb and the request group that requests its space")
        if size_gb is None and pool is None:
            raise invalid_spec("an existing volume needs the name of its pool")
    if sum(volume.get("boot", False) for volume in spec.volumes) > 1:
        raise invalid_spec("at most one volume may boot the server")
    for attached in (*spec.volumes, *spec.ports):
        if attached.get("group") is not None:
            _check_group_exists("a volume or port", attached["group"], spec)


def _check_image_minimum(spec: RequestSpec) -> None:
    volume = boot_volume(spec)
    owner = "the request" if spec.flavor is None else f"flavor {spec.flavor!r}"
    disk = owner, amount_of_flavor(spec, orc.DISK_GB)
    if volume is not None:  # an existing volume has an unknown size
        disk = "the boot volume", volume.get("size_gb") or MAX_AMOUNT
    memory = owner, amount_of_flavor(spec, orc.MEMORY_MB)
    for key, unit, (provider, amount) in (
        ("min_ram_mb", "MiB of memory", memory),
        ("min_disk_gb", "GiB of disk", disk),
    ):
        minimum = spec.image.get(key, 0)
        if amount < minimum:
            name = spec.image.get("name") or spec.image.get("id") or ""
            raise invalid_spec(f"image {name!r} needs {minimum} {unit}, and {provider} has {amount}")


def _check_group_exists(owner: str, suffix: str, spec: RequestSpec) -> None:
    if suffix not in spec.groups:
        raise invalid_spec(f"{owner} names group {abbreviate(suffix)}, which is not in the request")


# Checks across fields, each with the fields that trigger it.
_CONSISTENCY: Sequence[tuple[Set[str], Callable[[RequestSpec], None]]] = (
    ({"force_hosts"}, _check_hosts),
    ({"hints", "group_id", "group_policy", "group_max_per_host"}, _check_server_group),
    (
        {"required_traits", "any_traits", "forbidden_traits", "member_of", "forbidden_aggregates"},
        _check_unsuffixed_group,
    ),
    ({"root_required", "root_forbidden"}, _check_root),
    ({"groups", "same_subtree"}, _check_groups),
    ({"volumes", "ports"}, _check_attachments),
    ({"image"}, _check_image_minimum),
    ({"numa"}, lambda spec: topology.check(spec.numa, spec.groups)),
)
