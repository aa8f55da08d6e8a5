# SPDX-License-Identifier: Apache-2.0
"""Settings that both flavor and image can have, and the rules for differences."""

from collections.abc import Collection
from dataclasses import dataclass

from rpcapi import errors
from rpcapi.spec_builder.flavors import Flavor
from rpcapi.spec_builder.images import NO_IMAGE, RENAMED, Image

TRUE = ("1", "t", "true", "on", "y", "yes")


@dataclass(frozen=True, slots=True)
class FlavorImageProperties:
    """Flavor and image read by key: extra spec ``hw:KEY`` of the flavor, property ``hw_KEY`` of the image."""

    flavor: Flavor
    image: Image = NO_IMAGE

    def flavor_value(self, key: str, prefix: str = "hw") -> str | None:
        """Return the flavor's extra spec; None if absent or empty."""
        return self.flavor.extra_specs.get(f"{prefix}:{key}") or None

    def image_value(self, key: str, prefix: str = "hw") -> str | None:
        """Return the image's property; None if absent or empty."""
        full_name = f"{prefix}_{key}"
        for name, value in self.image.properties.items():
            if RENAMED.get(name, name) == full_name:
                return value or None
        return None

    def value(
        self, key: str, allowed_values: Collection[str] = (), prefix: str = "hw", *, is_exclusive: bool = False
    ) -> str | None:
        """Return the value of flavor or image; raises InvalidSpec if they differ or the value is not allowed.

        An exclusive value may not be set by both, even if equal.
        """
        flavor_value, image_value = self.flavor_value(key, prefix), self.image_value(key, prefix)
        if None not in (flavor_value, image_value) and (is_exclusive or flavor_value != image_value):
            raise self.conflict(key, prefix)
        value = flavor_value if flavor_value is not None else image_value
        self.check_allowed(key, value, allowed_values, prefix)
        return value

    def flag(self, key: str) -> bool:
        """Return whether the flag is true; raises InvalidSpec if flavor and image differ."""
        answers = {value.lower() in TRUE for value in (self.flavor_value(key), self.image_value(key)) if value}
        if len(answers) > 1:
            raise self.conflict(key)
        return True in answers

    def check_allowed(self, key: str, value: str | None, allowed_values: Collection[str], prefix: str = "hw") -> None:
        """Raise InvalidSpec for a value that is not allowed; None is allowed."""
        if value is not None and allowed_values and value not in allowed_values:
            raise self.invalid(f"{prefix}:{key}", f"must be one of {', '.join(allowed_values)}, not {value!r}")

    def conflict(self, key: str, prefix: str = "hw") -> errors.InvalidSpec:
        """Return an InvalidSpec for contradictory values of flavor and image."""
        flavor_value, image_value = self.flavor_value(key, prefix), self.image_value(key, prefix)
        return errors.InvalidSpec(
            why=f"flavor {self.flavor.name!r} sets {prefix}:{key}={flavor_value} and image {self.image.name!r} "
            f"{prefix}_{key}={image_value}: the flavor does not allow this image value"
        )

    def invalid(self, key: str, why: str) -> errors.InvalidSpec:
        """Return an InvalidSpec for an extra spec or the equivalent image property."""
        return errors.InvalidSpec(why=f"extra spec {key!r} of flavor {self.flavor.name!r}, or its image, {why}")


def parse_integer(text: str | None) -> int | None:
    """Return ``text`` as a non-negative integer, or None."""
    return int(text) if text is not None and len(text) <= 12 and text.isascii() and text.isdigit() else None
