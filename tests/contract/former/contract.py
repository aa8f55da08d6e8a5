# SPDX-License-Identifier: Apache-2.0
"""The recorded contract of the former release, and its object classes, derived from the present ones by history."""

import json
from pathlib import Path
from typing import Any

from rpcapi import objects
from rpcapi.objects.base import GanttObject, GanttObjectRegistry
from tests.contract.test_objects import FIELDS_ADDED, sample

CONTRACT = json.loads(Path(__file__).with_name("contract.json").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = CONTRACT["services"]
FINGERPRINTS: dict[str, str] = CONTRACT["objects"]
VERSIONS = {name: fingerprint.partition("-")[0] for name, fingerprint in FINGERPRINTS.items()}


def former_class(name: str) -> type[GanttObject]:
    """Return the class of the former release: the present one without the fields that later versions added."""
    current = getattr(objects, name)
    minor = int(VERSIONS[name].partition(".")[2])
    late = {field for since, fields in FIELDS_ADDED.get(name, {}).items() if since > minor for field in fields}
    attributes = {
        "VERSION": VERSIONS[name],
        "fields": {field: kind for field, kind in current.fields.items() if field not in late},
        "COLUMNS": tuple(column for column in current.COLUMNS if column not in late),
        "SPARSE": tuple(column for column in current.SPARSE if column not in late),
    }
    return type(name, (GanttObject,), attributes)


def former_primitives() -> dict[str, dict[str, Any]]:
    """Return a sample of each object as the former release sends it; call it before ``install``."""
    return {
        name: sample(name).obj_to_primitive(target_version=version, version_manifest=VERSIONS)
        for name, version in VERSIONS.items()
    }


def install() -> None:
    """Register the objects of the former release in this process, and no others."""
    registered = GanttObjectRegistry.obj_classes()
    for name in objects.__all__:
        registered.pop(name, None)
    for name in VERSIONS:
        GanttObjectRegistry.register(former_class(name))
