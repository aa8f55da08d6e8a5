# SPDX-License-Identifier: Apache-2.0
"""Parsers of query parameters for resources, traits and aggregates. ``suffix`` is a request group's, or ''."""

import re

from rpcapi.resources.groups import RequestGroup
from rpcapi.validation.instances import canonical_uuid, is_uuid_like
from scheduler_svc.placement.http.messages import Request
from scheduler_svc.placement.model.problems import bad_request

FORBIDDEN_TRAITS_SINCE = 22
REPEATED_AGGREGATES_SINCE = 24
FORBIDDEN_AGGREGATES_SINCE = 32
ANY_TRAITS_SINCE = 39

MAX_DIGITS = 18  # digits of an amount; no capacity has more
INVALID = "Invalid query string parameters: "

_AMOUNT = re.compile("[+-]?[0-9]+")


def request_group(request: Request, suffix: str = "") -> RequestGroup:
    member_of, forbidden_aggregates = aggregates(request, suffix)
    required, forbidden = traits(request, suffix)
    text = request.parameter(f"resources{suffix}")
    return RequestGroup(
        suffix,
        {} if text is None else resources(text),
        required=tuple(sorted(name for names in required if len(names) == 1 for name in names)),
        any_of=tuple(tuple(sorted(names)) for names in required if len(names) > 1),
        forbidden=tuple(sorted(forbidden)),
        member_of=tuple(tuple(sorted(names)) for names in member_of),
        forbidden_aggregates=tuple(sorted(forbidden_aggregates)),
    )


def resources(text: str) -> dict[str, int]:
    """Parse ``VCPU:2,MEMORY_MB:1024``. Raises Problem 400."""
    form = "Badly formed resources parameter. Expected resources query string parameter in form: "
    form += "?resources=VCPU:2,MEMORY_MB:1024. Got: "
    if not text.strip():
        raise bad_request(f"{form}empty string.")
    amounts = {}
    for part in text.split(","):
        name, colon, number = part.partition(":")
        if not colon or ":" in number:
            raise bad_request(f"{form}{part}.")
        if not _AMOUNT.fullmatch(number.strip()):
            raise bad_request(f"Requested resource {name} expected positive integer amount. Got: {number}.")
        if len(number) > MAX_DIGITS:
            raise bad_request(f"Requested resource {name} expected at most {MAX_DIGITS} digits. Got: {len(number)}.")
        amount = int(number)
        if amount < 1:
            raise bad_request(f"Requested resource {name} requires amount >= 1. Got: {amount}.")
        amounts[name] = amount
    return amounts


def traits(request: Request, suffix: str = "") -> tuple[list[set[str]], set[str]]:
    """Return (sets of traits, one required from each; forbidden traits). Raises Problem 400."""
    required: list[set[str]] = []
    forbidden: set[str] = set()
    for value in request.query.get(f"required{suffix}", []):
        if request.version < ANY_TRAITS_SINCE:
            required, forbidden = [], set()  # the last value replaces the others
        if value.startswith("in:"):
            required.append(_any_traits(value, request.version))
        else:
            all_required, all_forbidden = all_traits(value, request.version)
            required += all_required
            forbidden |= all_forbidden
    return required, forbidden


def aggregates(request: Request, suffix: str = "") -> tuple[list[set[str]], set[str]]:
    """Return (sets of aggregates, one required from each; forbidden aggregates). Raises Problem 400."""
    values = request.query.get(f"member_of{suffix}", [])
    if len(values) > 1 and request.version < REPEATED_AGGREGATES_SINCE:
        raise bad_request(f"Multiple member_of{suffix} parameters are not supported")
    required: list[set[str]] = []
    forbidden: set[str] = set()
    for value in values:
        alternatives, is_forbidden = _aggregates(value)
        if not is_forbidden:
            required.append(alternatives)
        elif request.version < FORBIDDEN_AGGREGATES_SINCE:
            raise bad_request(f"Forbidden member_of{suffix} parameters are not supported in the specified microversion")
        else:
            forbidden |= alternatives
    return required, forbidden


def _any_traits(value: str, version: int) -> set[str]:
    example = "in:HW_CPU_X86_VMX,CUSTOM_MAGIC"
    if version < ANY_TRAITS_SINCE:
        raise bad_request(
            f"{INVALID}The format '{example}' only supported since microversion 1.{ANY_TRAITS_SINCE}. Got: {value}"
        )
    alternatives = {name.strip() for name in value.removeprefix("in:").split(",")}
    if "" in alternatives:
        raise bad_request(
            f"{INVALID}Expected 'required' parameter value of the form: {example}. Got an empty trait in: {value}"
        )
    if any(name.startswith("!") for name in alternatives):
        raise bad_request(f"{INVALID}The format '{example}' does not support forbidden traits. Got: {value}")
    return alternatives


def all_traits(value: str, version: int) -> tuple[list[set[str]], set[str]]:
    """Parse ``A,!B`` into ([{A}], {B}), required and forbidden traits. Raises Problem 400."""
    names = [name.strip() for name in value.split(",")]
    required = [{name} for name in names if not name.startswith("!")]
    forbidden = {name.lstrip("!") for name in names if name.startswith("!")}  # any number of '!', as in Placement
    may_forbid = version >= FORBIDDEN_TRAITS_SINCE
    form = f"Expected 'required' parameter value of the form: HW_CPU_X86_VMX,{'!' if may_forbid else ''}CUSTOM_MAGIC."
    if "" in names or "" in forbidden:
        raise bad_request(f"{INVALID}{form} Got an empty trait in: {value}")
    if forbidden and not may_forbid:
        raise bad_request(f"{INVALID}{form} Got: {value}")
    return required, forbidden


def _aggregates(value: str) -> tuple[set[str], bool]:
    """Parse ``UUID`` or ``in:UUID,...``, after ``!`` if forbidden, into (aggregates, whether forbidden)."""
    names, is_forbidden = value.removeprefix("!"), value.startswith("!")
    if names.startswith("in:"):
        alternatives = set(names.removeprefix("in:").split(","))
    elif "," in names:
        raise bad_request(
            "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword using the valid "
            f"microversion. Got: {value}"
        )
    else:
        alternatives = {names}
    for name in alternatives:
        if not is_uuid_like(name):
            raise bad_request(f"{INVALID}Expected 'member_of' parameter to contain valid UUID(s). Got: {name}")
    return set(map(canonical_uuid, alternatives)), is_forbidden
