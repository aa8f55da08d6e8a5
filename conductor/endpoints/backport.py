# SPDX-License-Identifier: Apache-2.0
"""Backport of versioned objects for peers with an older release."""

from collections.abc import Mapping
from typing import Any

from oslo_versionedobjects import exception as ovo_exception

from rpcapi import errors
from rpcapi.objects.base import GanttObject


def backport(obj: Any, versions: Mapping[str, str]) -> dict[str, Any]:
    """Return ``obj`` as a primitive in the version that ``versions`` {object: version} names.

    Raises MalformedObject for anything without a version there, IncompatibleObject if ``obj`` cannot be converted.
    """
    if not isinstance(obj, GanttObject):
        raise errors.MalformedObject(name="objinst", why=f"it is of type {type(obj).__name__}")
    name = obj.obj_name()
    if not isinstance(versions, Mapping) or not isinstance(versions.get(name), str):
        raise errors.MalformedObject(name="object_versions", why=f"it has no version for {name}")
    try:
        return obj.obj_to_primitive(target_version=versions[name], version_manifest=dict(versions))
    except (ovo_exception.VersionedObjectsException, ValueError) as error:
        raise errors.IncompatibleObject(name=name, version=versions[name], supported=obj.VERSION) from error
