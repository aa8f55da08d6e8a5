# SPDX-License-Identifier: Apache-2.0
"""Device profiles: what a flavor's ``accel:device_profile`` stands for, as Cyborg's profiles do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rpcapi import errors
from rpcapi.edge import extra_specs
from rpcapi.edge.asked import Asked
from rpcapi.edge.draft import FORBIDDEN, REQUIRED, Draft
from rpcapi.model.groups import RequestGroup

DEVICE = "_dev{}"
KEY = "accel:device_profile"


@dataclass(frozen=True, slots=True)
class Profile:
    """A name for devices: of each group one provider gives all that it asks."""

    name: str
    groups: tuple[RequestGroup, ...]


def profile(name: str, groups: Sequence[Mapping[str, str]]) -> Profile:
    """Return a profile of groups, each written in extra specs: ``resources:CLASS=N`` and ``trait:NAME=required``.

    Raises InvalidSpec for keys and values that are none.
    """
    found = []
    for number, told in enumerate(groups):
        draft = Draft()
        for key, value in told.items():
            match = extra_specs.match(key)
            what = f"{key!r} of device profile {name!r}"
            if match is None or match[2]:
                raise errors.InvalidSpec(why=f"{what} is neither resources:CLASS nor trait:NAME")
            extra_specs.add(draft, match, value, what)
        asked = draft.groups[""]
        amounts = {resource_class: amount for resource_class, amount in asked.resources.items() if amount}
        if not amounts:
            raise errors.InvalidSpec(why=f"a group of device profile {name!r} asks for no resources")
        traits = {kind: tuple(asked.traits[kind]) for kind in (REQUIRED, FORBIDDEN)}
        found.append(RequestGroup(DEVICE.format(number), amounts, traits[REQUIRED], forbidden=traits[FORBIDDEN]))
    return Profile(name, tuple(found))


def translate(asked: Asked, draft: Draft, profiles: Mapping[str, Profile]) -> None:
    """Add the groups of the flavor's device profile; raises InvalidSpec where there is none of that name."""
    name = asked.of_flavor("device_profile", prefix="accel")
    if name is None:
        return
    if name not in profiles:
        known = ", ".join(sorted(profiles)) or "none"
        raise asked.refuse(KEY, f"names device profile {name!r}, which is not there; known: {known}")
    for group in profiles[name].groups:
        draft.add(group)
