# SPDX-License-Identifier: Apache-2.0
"""What flavor and image say of one thing, and what becomes of it where they differ."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rpcapi import errors
from rpcapi.model.images import NO_IMAGE, RENAMED, Image

if TYPE_CHECKING:  # a flavor asks for its own translation
    from rpcapi.model.flavors import Flavor

TRUE = ("1", "t", "true", "on", "y", "yes")


@dataclass(frozen=True, slots=True)
class Asked:
    """A flavor and an image, asked by key: extra spec ``hw:KEY`` of the one, property ``hw_KEY`` of the other."""

    flavor: "Flavor"
    image: Image = NO_IMAGE

    def of_flavor(self, key: str, prefix: str = "hw") -> str | None:
        """Return the flavor's extra spec, or None where it is absent or empty."""
        return self.flavor.extra_specs.get(f"{prefix}:{key}") or None

    def of_image(self, key: str, prefix: str = "hw") -> str | None:
        """Return the image's property, or None where it is absent or empty."""
        wanted = f"{prefix}_{key}"
        for name, value in self.image.properties.items():
            if RENAMED.get(name, name) == wanted:
                return value or None
        return None

    def one(self, key: str, known: Collection[str] = (), prefix: str = "hw") -> str | None:
        """Return what either says, or both alike; raises InvalidSpec where they differ, or for what is not known."""
        own, other = self.of_flavor(key, prefix), self.of_image(key, prefix)
        if own is not None and other is not None and own != other:
            raise self.conflict(key, prefix)
        value = own if own is not None else other
        self.check_known(key, value, known, prefix)
        return value

    def flag(self, key: str, prefix: str = "hw") -> bool:
        """Return whether it is asked for; raises InvalidSpec where one says yes and the other no."""
        said = {value.lower() in TRUE for value in (self.of_flavor(key, prefix), self.of_image(key, prefix)) if value}
        if len(said) > 1:
            raise self.conflict(key, prefix)
        return True in said

    def flavors_own(self, key: str, prefix: str = "hw") -> str | None:
        """Return the flavor's extra spec or the image's property; raises InvalidSpec where there are both."""
        own, other = self.of_flavor(key, prefix), self.of_image(key, prefix)
        if own is not None and other is not None:
            raise self.conflict(key, prefix)
        return own if own is not None else other

    def check_known(self, key: str, value: str | None, known: Collection[str], prefix: str = "hw") -> None:
        """Raise InvalidSpec for a value that is not among the known ones; None is fine."""
        if value is not None and known and value not in known:
            raise self.refuse(f"{prefix}:{key}", f"must be one of {', '.join(known)}, not {value!r}")

    def conflict(self, key: str, prefix: str = "hw") -> errors.InvalidSpec:
        """Return the error that says that flavor and image contradict each other."""
        own, other = self.of_flavor(key, prefix), self.of_image(key, prefix)
        return errors.InvalidSpec(
            why=f"flavor {self.flavor.name!r} says {prefix}:{key}={own} and image {self.image.name!r} "
            f"{prefix}_{key}={other}: the image may not ask for that beside this flavor"
        )

    def refuse(self, key: str, why: str) -> errors.InvalidSpec:
        """Return the error that names an extra spec, or the image's property that stands for it, and what is wrong."""
        return errors.InvalidSpec(why=f"extra spec {key!r} of flavor {self.flavor.name!r}, or its image, {why}")


def integer(text: str | None) -> int | None:
    """Return the number from 0 up that ``text`` is, or None where it is none."""
    return int(text) if text is not None and len(text) <= 12 and text.isascii() and text.isdigit() else None
