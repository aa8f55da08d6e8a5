# SPDX-License-Identifier: Apache-2.0
"""Error classes of gantt. The bus delivers them to callers with their types.

The annotated fields of a class are the keyword arguments of its constructor, and attributes of the error::

    GanttError
        InvalidRequest
            InvalidName, InvalidSpec, InvalidCount, InvalidStats, InvalidFact, UnknownFlavor, UnknownImage,
            UnknownTrait, UnknownResourceClass, UnknownDriver, UnknownNamespace, WriterRefused, CallerRefused,
            InvalidHostState, UnknownPartition, MalformedObject, IncompatibleObject, UnknownMethod, RequestTooOld,
            RequestTooLarge
        NotFound
            UnknownHost, UnknownInstance, UnknownMigration, UnknownDecision
        NoValidHost, NotClaimed, DeadlinePassed
        Conflict
            VersionConflict, GroupContradicted, GroupInUse, HostInUse, HostIsUp, HostIdentityConflict, ZoneConflict,
            InstanceConflict
        ClaimError
            ClaimEnded, ClaimConflict, ClaimClosed
        Unavailable
            StoreUnavailable
                NotReplicated, NewerRecord
            Overloaded, NotReady
        StoreFull, AnswerTooLarge, QuotaExceeded, PluginFailed, BadConfiguration
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, dataclass_transform

_WORD = re.compile("[A-Z][a-z]*")


@dataclass_transform(eq_default=False, kw_only_default=True)
class GanttError(Exception):
    """Raised when gantt cannot process a request, always as a subclass; its ``code`` is in answers and metrics."""

    code: ClassVar[str] = "error"
    template: ClassVar[str] = "gantt cannot process the request"
    _fields: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        # oslo.messaging raises a delivered error as a new subclass, which must keep the code.
        if "code" not in vars(cls) and cls.__module__ == __name__:
            cls.code = "_".join(_WORD.findall(cls.__name__)).lower()
        cls._fields |= frozenset(vars(cls).get("__annotations__", ()))

    def __init__(self, message: str | None = None, **kwargs: Any) -> None:
        """Render the template with ``kwargs``, or use ``message`` as rendered by a peer."""
        self.kwargs = kwargs
        # Set only fields, so that no peer can replace the code, a label of metrics.
        vars(self).update((name, value) for name, value in kwargs.items() if name in self._fields)
        super().__init__(message or self.template.format_map(kwargs))

    @classmethod
    def of_message(cls, message: str, **fields: Any) -> Self:
        return cls(message, **fields)

    @property
    def sentence(self) -> str:
        """Message alone; ``str()`` of an error from oslo.messaging has the peer's traceback too."""
        return str(self.args[0])


class InvalidRequest(GanttError):
    """Raised when a request is invalid; repeating it cannot succeed."""

    template = "Invalid request: {why}"
    why: str = ""


class InvalidName(InvalidRequest):
    """Raised when a resource name is neither a string nor a (host, node) pair, or is malformed."""

    template = "{name!r} is not a resource name: {why}"
    name: Any
    why: str


class InvalidSpec(InvalidRequest):
    """Raised when a request spec is contradictory or impossible."""

    template = "Invalid request spec: {why}"
    why: str


class InvalidCount(InvalidRequest):
    """Raised when a request has no instances, or too many."""

    template = "A request may be for 1 to {most} instances, not {count}"
    most: int
    count: Any


class InvalidStats(InvalidRequest):
    """Raised when a host report has invalid values; the whole report is rejected."""

    template = "Invalid stats: {what}: {why}"
    what: str
    why: str


class InvalidFact(InvalidRequest):
    """Raised when a host reports a fact of a wrong type or size; the rest of its report is kept."""

    template = "Ignored fact {fact!r} of {node!r}: it must be {why}"
    fact: str
    node: str
    why: str


class UnknownFlavor(InvalidRequest):
    """Raised when a flavor is neither built in, nor stored in the cluster, nor configured."""

    template = "Unknown flavor {name!r}; known: {choices}"
    name: str
    choices: str


class UnknownImage(InvalidRequest):
    """Raised when an image is neither stored in the cluster nor configured."""

    template = "Unknown image {name!r}; known: {choices}"
    name: str
    choices: str


class UnknownTrait(InvalidRequest):
    """Raised when a trait is neither standard (os-traits) nor ``CUSTOM_``."""

    template = "Unknown trait {name!r}: use a standard trait, or a name that begins with CUSTOM_"
    name: str


class UnknownResourceClass(InvalidRequest):
    """Raised when a resource class is neither standard (os-resource-classes) nor ``CUSTOM_``."""

    template = "Unknown resource class {name!r}: use a standard class, or a name that begins with CUSTOM_"
    name: str


class UnknownDriver(InvalidRequest):
    """Raised when a request names an unknown scheduler driver, or a driver that requests may not select."""

    template = "Requests may not select driver {name!r}; allowed: {choices}"
    name: str
    choices: str


class UnknownNamespace(InvalidRequest):
    """Raised when a host state namespace is not declared."""

    template = "Unknown host state namespace {namespace!r}; declared: {choices}"
    namespace: str
    choices: str


class WriterRefused(InvalidRequest):
    """Raised when the writer of an update is not the namespace's declared writer."""

    template = "{writer!r} may not write namespace {namespace!r}; its declared writer is {declared!r}"
    writer: str
    namespace: str
    declared: str


class CallerRefused(InvalidRequest):
    """Raised when the sender may not call the method, or not for this host."""

    template = "{service}.{method} refused {caller}: {why}"
    service: str
    method: str
    caller: str
    why: str


class InvalidHostState(InvalidRequest):
    """Raised when a host state document violates the schema of its namespace."""

    template = "Host state of {name!r} in namespace {namespace!r} is refused: {why}"
    name: str
    namespace: str
    why: str


class UnknownPartition(InvalidRequest):
    """Raised when a partition is not configured in this deployment or this scheduler."""

    template = "Unknown partition {partition!r}; configured here: {choices}"
    partition: str
    choices: str


class MalformedObject(InvalidRequest):
    """Raised when a payload is not a valid versioned object of its stated type."""

    template = "Malformed {name}: {why}"
    name: str
    why: str


class IncompatibleObject(InvalidRequest):
    """Raised when an object is newer than this service knows and could not be backported."""

    template = (
        "{name} {version} is newer than this service supports ({supported}); upgrade the service, or cap the sender"
    )
    name: str
    version: str | int
    supported: str | int


class UnknownMethod(InvalidRequest):
    """Raised when a service lacks the called method."""

    template = "The service on topic {topic!r} has no method {method!r} in version {version}"
    topic: str
    method: str
    version: str


class NotFound(GanttError):
    """Raised when the requested record is unknown."""

    template = "{what} was not found"
    what: str = ""


class UnknownHost(NotFound):
    """Raised when no host or node of that name has ever reported."""

    template = "Unknown host or node {name!r}; see 'gantt host list'"
    name: str


class UnknownInstance(NotFound):
    """Raised when no instance of that uuid is recorded."""

    template = "No instance {uuid} is recorded"
    uuid: str


class UnknownMigration(NotFound):
    """Raised when no migration of that uuid is recorded."""

    template = "No migration {uuid} is recorded; see 'gantt migration list'"
    uuid: str


class UnknownDecision(NotFound):
    """Raised when no decision of that request id is recorded."""

    template = "No decision of request {request_id} is recorded; old decisions are removed"
    request_id: str


class NoValidHost(GanttError):
    """Raised when no host can accept the request; ``reasons`` counts rejected hosts by reason."""

    template = "No valid host: {reason}"
    reason: str
    reasons: Mapping[str, int]


class NotClaimed(GanttError):
    """Raised when a scheduler in shadow mode has decided; ``hosts`` are its unclaimed selections."""

    template = (
        "Request {request_id} was decided and recorded, but nothing was claimed: this scheduler runs in shadow mode"
    )
    request_id: str
    hosts: Sequence[str]


class DeadlinePassed(GanttError):
    """Raised when a request is read after its deadline; nothing was claimed."""

    template = "Request {request_id} was read {late:.1f} s after its deadline and dropped; nothing was claimed"
    request_id: str
    late: float


class RequestTooOld(InvalidRequest):
    """Raised when an unknown request was first sent so long ago that its record may be lost."""

    template = (
        "Unknown request, first sent {age_s:.0f} s ago; requests may be repeated for {horizon_s:.0f} s. Its record "
        "may have been lost after it was served: check 'gantt server list', then use new uuids"
    )
    age_s: float
    horizon_s: float


class Conflict(GanttError):
    """Raised when the state has changed; the caller must read it again."""

    template = "{what} conflicts with the recorded state: {why}"
    what: str = ""
    why: str = ""


class VersionConflict(Conflict):
    """Raised when a document has changed since the writer read it."""

    template = "{what} is at version {version}, not {expected}: read it again, then update"
    what: str
    version: int
    expected: int


class GroupContradicted(Conflict):
    """Raised when a request contradicts the policy or limit of its server group."""

    template = "Server group {group} has {what} {recorded}, not {requested}: omit {what}, or use another group"
    group: str
    what: str
    recorded: str | int
    requested: str | int


class GroupInUse(Conflict):
    """Raised when a server group to be deleted has members."""

    template = "Server group {group} has members ({members}): delete them first"
    group: str
    members: int


class HostInUse(Conflict):
    """Raised when a host to be removed has live claims."""

    template = "Host {host!r} holds {claims} live claims in partition {partition!r}: move or delete its instances first"
    host: str
    claims: int
    partition: str


class HostIsUp(Conflict):
    """Raised when a host to be fenced or evacuated still sends heartbeats."""

    template = (
        "Host {host!r} is up: it still sends heartbeats. Power it off and wait until 'gantt host list' shows it down, "
        "or fence it with --force if it only seems to be up"
    )
    host: str


class HostIdentityConflict(Conflict):
    """Raised when the host belongs to a different state folder; nothing was changed."""

    code = "host_identity"
    template = (
        "Host {host!r} cannot be served from this state folder: {why}. Restore the host's own folder, or use another "
        "host name; if the former machine is gone for good, run 'gantt host replace {host}'"
    )
    host: str
    why: str


class ZoneConflict(Conflict):
    """Raised when a change of an aggregate would take a zone from servers, or give a host a second zone."""

    template = "Refused unless forced: {why}"
    why: str


class InstanceConflict(Conflict):
    """Raised when a uuid belongs to a different request, or the instance's state forbids the call."""

    template = "Instance {uuid}: {why}"
    uuid: str
    why: str


class ClaimError(GanttError):
    """Raised when a claim verb is refused; nothing was changed."""

    template = "Claim of {consumer} (attempt {attempt}): {why}"
    consumer: str
    attempt: int
    partition: str | None = None
    host: str | None = None
    why: str = ""


class ClaimEnded(ClaimError):
    """Raised when a claim was already aborted or released."""

    template = "The claim of {consumer} (attempt {attempt}) has ended"


class ClaimConflict(ClaimError):
    """Raised when another attempt of the consumer is live, or the claim is already confirmed."""

    template = "Consumer {consumer} has a live claim other than attempt {attempt}"


class ClaimClosed(ClaimError):
    """Raised when a claim is undecided because a host may run a lost claim, or reports an unverified one."""

    template = (
        "The claim of {consumer} (attempt {attempt}) is undecided: hosts that may run it have not audited, or it has "
        "unverified claims ('gantt audit' lists them); retry later"
    )


class Unavailable(GanttError):
    """Raised when a required component cannot be reached; a retry later can succeed."""

    template = "{what} cannot be reached: {why}"
    what: str = ""
    why: str = ""


class StoreUnavailable(Unavailable):
    """Raised when the store does not answer or has lost its data."""

    template = "The store cannot be reached: {why}"
    why: str = ""


class NotReplicated(StoreUnavailable):
    """Raised when too few replicas acknowledged a write in time. The write stands; a repeated call waits again."""

    template = (
        "{store}: {acknowledged} of {needed} replicas had the write after {wait_ms} ms, so it is not acknowledged. "
        "Start the missing replicas, then repeat the call"
    )
    store: str
    acknowledged: int
    needed: int
    wait_ms: int


class NewerRecord(StoreUnavailable):
    """Raised when a newer release wrote a stored record, which this release cannot interpret."""

    template = "{record} was written by a newer release: {why}. Upgrade all gantt-conductor services to it, then retry"
    record: str
    why: str


class StoreFull(GanttError):
    """Raised when a store collection is at its size limit; calls that end work are still accepted."""

    template = (
        "{store}: {collection} take {bytes} bytes, {option} allows {bound}; new work is refused until entries end and "
        "are removed, or the option is raised"
    )
    store: str
    collection: str
    bytes: int
    option: str
    bound: int


class Overloaded(Unavailable):
    """Raised when a queue is full; nothing was accepted. ``retry_s`` is the suggested wait."""

    template = "{what} is overloaded: {waiting} {unit} of at most {bound} wait; retry in {retry_s} s"
    what: str
    waiting: int
    unit: str
    bound: int
    retry_s: int


class RequestTooLarge(InvalidRequest):
    """Raised when a request exceeds a limit on instances or bytes; no retry succeeds."""

    template = "The request has {count} {unit}, {option} allows {bound}; split the request"
    count: int
    unit: str
    option: str
    bound: int


class AnswerTooLarge(GanttError):
    """Raised when an answer is too large for the message bus; the call was carried out."""

    template = "The answer has {size} bytes, {option} allows {bound}; ask for less, such as a smaller page"
    size: int
    option: str
    bound: int


class QuotaExceeded(GanttError):
    """Raised when a request exceeds a limit of its project; nothing was accepted."""

    template = (
        "Project {project!r} may use {limit} {resource}: {used} in use, {requested} more requested; delete instances, "
        "or have an operator raise the limit in [quota]"
    )
    project: str
    resource: str
    limit: int
    used: int
    requested: int


class NotReady(Unavailable):
    """Raised when a service runs but is not ready, such as a worker that loads its replica."""

    template = "{what} is not ready yet: {why}"
    what: str
    why: str


class PluginFailed(GanttError):
    """Raised when a filter or weigher plugin failed and [filter_scheduler] on_plugin_error is fatal."""

    template = "Plugin {kind} {name!r} of {source} failed: {why}; no decision was made"
    kind: str
    name: str
    source: str
    why: str


class BadConfiguration(GanttError):
    """Raised when the configuration is invalid; a daemon exits with this message."""

    template = "Bad configuration: {why}"
    why: str


def of_code(code: str | None, message: str, fields: Mapping[str, Any]) -> GanttError:
    kind = _CLASSES.get(code or "", GanttError)
    return kind(message, **fields)


def _subclasses(kind: type[GanttError]) -> Iterator[type[GanttError]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


_CLASSES = {kind.code: kind for kind in reversed([*_subclasses(GanttError)])}
