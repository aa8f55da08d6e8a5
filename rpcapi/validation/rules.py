# SPDX-License-Identifier: Apache-2.0
"""Rules for JSON values from peers, and combinations of rules.

A rule takes the path of a value, such as "groups.1.resources", and the value. It raises an InvalidRequest.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from rpcapi.resources import names
from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.validation.text import MAX_TEXT, TEXT, abbreviate, invalid_spec, is_integer, is_text

Rule = Callable[[str, Any], object]


def anything(path: str, value: Any) -> None:
    """Accept every JSON value."""


def text(path: str, value: Any) -> None:
    if not is_text(value):
        raise invalid_spec(f"{path} must be {TEXT}, not {abbreviate(value)}")


def key(path: str, value: Any) -> None:
    if not (isinstance(value, str) and 1 <= len(value) <= MAX_TEXT):
        raise invalid_spec(f"{path} must be 1 to {MAX_TEXT} characters, not {abbreviate(value)}")


def string(path: str, value: Any) -> None:
    if not isinstance(value, str):
        raise invalid_spec(f"{path} must be a string, not {abbreviate(value)}")


def boolean(path: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise invalid_spec(f"{path} must be a boolean, not {abbreviate(value)}")


def resource_name(path: str, value: Any) -> None:
    """Accept the name of a host or provider. Raises InvalidName."""
    if not isinstance(value, str):
        raise invalid_spec(f"{path} must be the name of a host or provider, not {abbreviate(value)}")
    names.canonical(value)


def optional(rule: Rule) -> Rule:
    return lambda path, value: None if value is None else rule(path, value)


def integer(minimum: int = 1, maximum: int = MAX_AMOUNT) -> Rule:
    def check(path: str, value: Any) -> None:
        if not is_integer(value, minimum, maximum):
            raise invalid_spec(f"{path} must be an integer from {minimum} to {maximum}, not {abbreviate(value)}")

    return check


def one_of(allowed: Collection[str]) -> Rule:
    def check(path: str, value: Any) -> None:
        if value not in allowed:
            raise invalid_spec(f"{path} must be one of {', '.join(allowed)}, not {abbreviate(value)}")

    return check


def matching(pattern: str, allowed: str) -> Rule:
    compiled = re.compile(pattern)

    def check(path: str, value: Any) -> None:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            raise invalid_spec(f"{path} must be {allowed}, not {abbreviate(value)}")

    return check


def list_of(rule: Rule, maximum: int, minimum: int = 0) -> Rule:
    def check(path: str, value: Any) -> None:
        if not isinstance(value, (list, tuple)):
            raise invalid_spec(f"{path} must be a list, not {abbreviate(value)}")
        if not minimum <= len(value) <= maximum:
            raise invalid_spec(f"{path} must have {minimum} to {maximum} elements, got {len(value)}")
        for number, element in enumerate(value):
            rule(f"{path}[{number}]", element)

    return check


def mapping(keys: Rule, values: Rule, maximum: int) -> Rule:
    def check(path: str, value: Any) -> None:
        _check_mapping(path, value)
        if len(value) > maximum:
            raise invalid_spec(f"{path} may have at most {maximum} entries, got {len(value)}")
        for name, entry in value.items():
            keys(f"a key of {path}", name)
            values(f"{path}.{name}", entry)

    return check


def document(values: Mapping[str, Rule], required: Collection[str] = ()) -> Rule:
    """Return the rule of a mapping with the keys of ``values``; only ``required`` keys must be present."""

    def check(path: str, value: Any) -> None:
        _check_mapping(path, value)
        for name in value:
            if name not in values:
                raise invalid_spec(f"{path} has an unknown key {abbreviate(name)}; known: {', '.join(sorted(values))}")
        for name, rule in values.items():
            if name in value or name in required:
                rule(f"{path}.{name}", value.get(name))

    return check


def limited(rule: Rule, maximum: int) -> Rule:
    def check(path: str, value: Any) -> None:
        rule(path, value)
        try:
            size = len(json.dumps(value))
        except (RecursionError, ValueError, TypeError):
            raise invalid_spec(f"{path} cannot be encoded as JSON") from None
        if size > maximum:
            raise invalid_spec(f"{path} may take at most {maximum} bytes as JSON, got {size}")

    return check


def _check_mapping(path: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise invalid_spec(f"{path} must be a mapping, not {abbreviate(value)}")
