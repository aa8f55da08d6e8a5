# SPDX-License-Identifier: Apache-2.0
"""A program that uses the library, for mypy: what it may rely on, and what must be an error."""

from typing import assert_type

import rpcapi
from rpcapi import objects


def boot(session: rpcapi.Session, server: str) -> None:
    spec = rpcapi.build_spec(session.flavors["m1.small"], availability_zone="nova")
    assert_type(spec, rpcapi.RequestSpec)
    assert_type(session.call(session.scheduler.dry_run, spec), objects.Decision)
    session.call(session.conductor.build_instances, spec, [server], is_repeat=True)
    assert_type(session.call(session.conductor.get_instances, [server]), objects.InstancePage)


def misuse(session: rpcapi.Session, spec: rpcapi.RequestSpec) -> None:
    session.call(session.conductor.build_instances, spec, "not a list")  # type: ignore[arg-type]
    session.call(session.conductor.build_instances, spec)  # type: ignore[call-arg]
    session.call(session.conductor.get_instances, [], unknown=1)  # type: ignore[call-arg]
    rpcapi.build_spec("m1.small")  # type: ignore[arg-type]
    rpcapi.Unknown  # type: ignore[attr-defined]  # noqa: B018


def refused(session: rpcapi.Session) -> str:
    try:
        session.call(session.conductor.check_store)
    except rpcapi.GanttError as error:
        return str(error)
    return ""
