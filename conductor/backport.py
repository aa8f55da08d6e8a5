# SPDX-License-Identifier: Apache-2.0
"""Older versions of objects, for peers that are yet to be upgraded."""

from collections.abc import Mapping
from typing import Any

from oslo_versionedobjects import exception as ovo_exception

from rpcapi import errors
from rpcapi.objects.base import GanttObject


def backport(found: Any, versions: Mapping[str, str]) -> dict[str, Any]:
    """Return the primitive of ``found`` at the version that the manifest ``versions`` {object: version} names.

    Raises MalformedObject for what is no object or no manifest, IncompatibleObject for a version that it cannot
    be given.
    """
    if not isinstance(found, GanttObject):
        raise errors.MalformedObject(name="objinst", why=f"it is of type {type(found).__name__}")
    name = found.obj_name()
    if not isinstance(versions, Mapping) or not isinstance(versions.get(name), str):
        raise errors.MalformedObject(name="object_versions", why=f"it does not say which version of {name} is known")
    try:
        return found.obj_to_primitive(target_version=versions[name], version_manifest=dict(versions))
    except (ovo_exception.VersionedObjectsException, ValueError) as error:
        raise errors.IncompatibleObject(name=name, version=versions[name], supported=found.VERSION) from error
