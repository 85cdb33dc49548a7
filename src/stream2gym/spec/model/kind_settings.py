"""The base of the parts of an experiment that have settings of their kind: faults, engines and stores."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from pydantic import model_validator

from stream2gym.kinds.registry import Family, registry
from stream2gym.kinds.settings import Model, inline_settings


class HasKindSettings(Model):
    """A part with a kind. Keys that are not its own belong to the kind and are moved into ``settings``."""

    INLINE = True
    FAMILY: ClassVar[Family]

    @property
    def kind_name(self) -> str:
        """The name of the kind as the user wrote it."""
        raise NotImplementedError

    @cached_property
    def checked_settings(self) -> Any:
        """The settings as the model of the kind, validated once. ValidationError says what does not fit."""
        kind = registry(self.FAMILY).find(self.kind_name)
        if kind is None:
            raise LookupError(f"there is no {self.FAMILY} of kind {self.kind_name!r}")
        return kind.settings.model_validate(getattr(self, "settings", {}))

    @model_validator(mode="before")
    @classmethod
    def _inline(cls, value: Any) -> Any:
        return inline_settings(cls, value)
