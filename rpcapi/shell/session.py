# SPDX-License-Identifier: Apache-2.0
"""One run of the command: its configuration, its request id, and the services it asks."""

import functools
import getpass
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rpcapi import errors

if TYPE_CHECKING:  # the bus takes half a second to import: `gantt --help` does without
    from oslo_config import cfg

    from rpcapi.claims import ClaimsAPI
    from rpcapi.conductor import ConductorAPI
    from rpcapi.context import RequestContext
    from rpcapi.edge.catalog import Catalog
    from rpcapi.model.flavors import Flavor
    from rpcapi.model.images import Image
    from rpcapi.scheduler import SchedulerAPI

LOG = logging.getLogger("gantt.shell")
ATTEMPTS = 3
PAGE = 1000
NOWHERE = (
    "no transport_url says where the cluster's bus is; name the configuration with --config-file or "
    "$GANTT_CONFIG_FILE, or start a cluster of your own"
)


class Session:
    """Clients of the services, made when they are first asked for, and closed with the session."""

    def __init__(self, config_files: Sequence[str] = (), project: str = "default") -> None:
        self._config_files = config_files
        self._project = project

    @functools.cached_property
    def conf(self) -> "cfg.ConfigOpts":
        """The configuration; raises BadConfiguration."""
        from rpcapi.shell import configuration  # noqa: PLC0415 - lazy, see above

        return configuration.load(self._config_files)

    @functools.cached_property
    def flavors(self) -> "dict[str, Flavor]":
        """All flavors by name; raises BadConfiguration."""
        from rpcapi.conf import flavors  # noqa: PLC0415 - lazy, see above

        return flavors.load(self.conf, self.catalog)

    @functools.cached_property
    def images(self) -> "dict[str, Image]":
        """All images by name; raises BadConfiguration."""
        from rpcapi.conf import images  # noqa: PLC0415 - lazy, see above

        return images.load(self.conf)

    @functools.cached_property
    def catalog(self) -> "Catalog":
        """What flavors name of devices; raises BadConfiguration."""
        from rpcapi.conf import catalog  # noqa: PLC0415 - lazy, see above

        return catalog.load(self.conf)

    @functools.cached_property
    def ctxt(self) -> "RequestContext":
        """The context of this run: all its calls carry one request id."""
        from rpcapi import context  # noqa: PLC0415 - lazy, see above

        return context.new(project_id=self._project, user_id=_user())

    @functools.cached_property
    def transport(self) -> Any:
        """The bus; raises BadConfiguration, and Unavailable where no broker is there."""
        return _open_bus(self.conf)

    @functools.cached_property
    def conductor(self) -> "ConductorAPI":
        """The conductor's client."""
        from rpcapi.conductor import ConductorAPI  # noqa: PLC0415 - lazy, see above

        return ConductorAPI(self.conf, self.transport)

    @functools.cached_property
    def scheduler(self) -> "SchedulerAPI":
        """The scheduler's client, with the backend that the configuration names."""
        from rpcapi.scheduler import SchedulerAPI  # noqa: PLC0415 - lazy, see above

        return SchedulerAPI(self.conf, self.transport)

    @functools.cached_property
    def claims(self) -> "ClaimsAPI":
        """The client of the claims of the configured partition."""
        return self.claims_of(self.conf.rpc.partition)

    def claims_of(self, partition: str | None) -> "ClaimsAPI":
        """Return the client of the claims of a partition; None: of the configured one."""
        from rpcapi.claims import ClaimsAPI  # noqa: PLC0415 - lazy, see above

        return ClaimsAPI(self.conf, self.transport, partition or self.conf.rpc.partition)

    def partitions(self, only: str | None = None) -> list[str]:
        """Return the names of the deployment's partitions, or ``only`` that one; raises UnknownPartition."""
        try:
            known = list(self.ask(self.scheduler.list_partitions).names)
        except errors.UnknownMethod:  # a scheduler that is older has one
            known = [self.conf.rpc.partition]
        if only is None:
            return known
        if only not in known:
            raise errors.UnknownPartition(partition=only, known=", ".join(known))
        return [only]

    def ask(self, method: Callable[..., Any], *args: Any, **values: Any) -> Any:
        """Call an API method in this run's context; what gets no answer is asked again, as every call may be."""
        import oslo_messaging as messaging  # noqa: PLC0415 - lazy, see above
        import tenacity  # noqa: PLC0415 - lazy, see above

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type((messaging.MessagingTimeout, errors.Unavailable)),
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            wait=tenacity.wait_random_exponential(multiplier=0.2, max=2),
            before_sleep=lambda state: LOG.info("No answer yet (attempt %d), asking again", state.attempt_number),
            reraise=True,
        )
        # A late message is dropped by the service: by then it has been sent again.
        return retrying(lambda: method(self.ctxt.within(self.conf.rpc.call_timeout), *args, **values))

    def pages(self, method: Callable[..., Any], items: str, *args: Any, **values: Any) -> Iterator[Any]:
        """Yield each of ``items`` of every page of a listing call, to the end."""
        marker = values.pop("marker", None)
        while True:
            page = self.ask(method, *args, marker=marker, limit=PAGE, **values)
            yield from getattr(page, items)
            marker = page.marker
            if marker is None:
                return

    def new_request(self) -> str:
        """Begin another request: what is asked from here on carries a new request id, which is returned."""
        self.__dict__.pop("ctxt", None)
        return self.ctxt.request_id

    def close(self) -> None:
        """Let go of the bus."""
        if "transport" in vars(self):
            self.transport.cleanup()


def _open_bus(conf: "cfg.ConfigOpts") -> Any:
    from oslo_config.cfg import Locations  # noqa: PLC0415 - lazy, see above
    from oslo_messaging import TransportURL  # noqa: PLC0415 - lazy, see above

    from rpcapi import bus  # noqa: PLC0415 - lazy, see above
    from rpcapi.shell import reach  # noqa: PLC0415 - lazy, see above

    bus.set_defaults(conf)
    place = conf.get_location("transport_url")
    if place is None or place.location is Locations.opt_default:
        raise errors.BadConfiguration(why=NOWHERE)
    # First what says of a URL that it is wrong without quoting its password.
    transport = bus.get_transport(conf)
    reach.check(TransportURL.parse(conf))
    return transport


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a uid without a name, as in containers
        return ""
