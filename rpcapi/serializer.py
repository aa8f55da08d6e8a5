# SPDX-License-Identifier: Apache-2.0
"""Serializer of contexts and versioned objects."""

import time
from collections.abc import Callable
from typing import Any

from oslo_versionedobjects import base as ovo_base
from oslo_versionedobjects import exception as ovo_exception

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.objects.base import GanttObject
from rpcapi.validation.text import MAX_SHOWN

MAX_SHOWN_ERROR = 200  # characters of errors, which may quote the peer's object

Backport = Callable[[RequestContext, dict[str, Any], dict[str, str]], Any]


class GanttSerializer(ovo_base.VersionedObjectSerializer):
    """oslo's object serializer with RequestContext, default values and typed errors.

    ``backport`` asks the conductor for an older version of an argument that is too new. IncompatibleObject is raised
    without it, for a different major version, and for elements of lists or mappings, which could need many backports.
    """

    OBJ_BASE_CLASS = GanttObject

    def __init__(self, backport: Backport | None = None) -> None:
        super().__init__()
        self._backport = backport

    def serialize_context(self, context: RequestContext) -> dict[str, Any]:
        return {**context.to_dict(), "sent_ms": round(1000 * time.time())}

    def deserialize_context(self, context: dict[str, Any]) -> RequestContext:
        return RequestContext.from_dict(context)

    def deserialize_entity(self, context: RequestContext, entity: Any) -> Any:
        try:
            return super().deserialize_entity(context, entity)
        except RecursionError:
            raise errors.MalformedObject(name="argument", why="it is nested too deeply") from None

    def _process_iterable(self, context: Any, action_fn: Callable[[Any, Any], Any], values: Any) -> Any:
        if action_fn == self.deserialize_entity:
            action_fn = _WITHOUT_BACKPORT.deserialize_entity
        return super()._process_iterable(context, action_fn, values)

    def _process_object(self, context: Any, objprim: dict[str, Any]) -> Any:
        name = str(objprim.get("gantt_object.name"))
        try:
            return GanttObject.obj_from_primitive(objprim, context=context)
        except ovo_exception.IncompatibleObjectVersion as error:
            return self._backport_object(context, name, objprim, error)
        except ovo_exception.UnsupportedObjectError as error:
            raise errors.MalformedObject(name=name[:MAX_SHOWN], why="the object type is unknown") from error
        except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
            why = str(error)[:MAX_SHOWN_ERROR] or type(error).__name__
            raise errors.MalformedObject(name=name[:MAX_SHOWN], why=why) from error

    def _backport_object(
        self, context: Any, name: str, objprim: dict[str, Any], newer: ovo_exception.IncompatibleObjectVersion
    ) -> Any:
        details = newer.kwargs
        if self._backport is None or _major(details["objver"]) != _major(details["supported"]):
            raise errors.IncompatibleObject(
                name=details["objname"], version=details["objver"], supported=details["supported"]
            ) from newer
        return self._backport(context, objprim, ovo_base.obj_tree_get_versions(name))


def _major(version: str) -> str:
    return version.partition(".")[0]


_WITHOUT_BACKPORT = GanttSerializer()
