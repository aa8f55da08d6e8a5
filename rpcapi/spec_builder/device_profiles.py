# SPDX-License-Identifier: Apache-2.0
"""Device profiles for a flavor's ``accel:device_profile``, as in Cyborg."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rpcapi import errors
from rpcapi.resources.groups import RequestGroup
from rpcapi.spec_builder import extra_specs
from rpcapi.spec_builder.draft import FlavorImageProperties, SpecDraft

DEVICE = "_dev{}"
KEY = "accel:device_profile"
DeviceProfile = tuple[RequestGroup, ...]  # Request groups, one per device.


def parse_profile(name: str, groups: Sequence[Mapping[str, str]]) -> DeviceProfile:
    """Build a profile from groups of ``resources:CLASS=N`` and ``trait:NAME=required``; raises InvalidSpec."""
    request_groups = []
    for number, extra_spec_group in enumerate(groups):
        draft = SpecDraft()
        for key, value in extra_spec_group.items():
            match = extra_specs.KEY.fullmatch(key)
            label = f"{key!r} of device profile {name!r}"
            if match is None or match[2]:
                raise errors.InvalidSpec(why=f"{label} must be resources:CLASS or trait:NAME")
            extra_specs.add_to_draft(draft, match, value, label)
        group = draft.requested_group()
        if not group.resources:
            raise errors.InvalidSpec(why=f"a group of device profile {name!r} requests no resources")
        request_groups.append(replace(group, suffix=DEVICE.format(number)))
    return tuple(request_groups)


def translate(flavor_image: FlavorImageProperties, draft: SpecDraft, profiles: Mapping[str, DeviceProfile]) -> None:
    name = flavor_image.flavor_value("device_profile", prefix="accel")
    if name is None:
        return
    if name not in profiles:
        profile_names = ", ".join(sorted(profiles)) or "none"
        raise flavor_image.invalid(KEY, f"names unknown device profile {name!r}; known: {profile_names}")
    for group in profiles[name]:
        draft.add_group(group)
