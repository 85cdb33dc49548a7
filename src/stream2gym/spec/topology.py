"""Hosts, switches and links: a switch forwards, a host runs processes."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from stream2gym.kinds.base import TEXT, Model, Name, Pause, Whole
from stream2gym.kinds.links import LinkChange
from stream2gym.link import LinkSettings
from stream2gym.spec import generators
from stream2gym.spec.links import link_from_text
from stream2gym.units import Share, Size

DEFAULT_LINK = LinkSettings(latency_ms=1.0, bandwidth_bps=1e9)


class Host(Model):
    """A machine; ``cpu`` is a share of the whole real one."""

    SHORT = (TEXT,)

    name: Name
    cpu: Share | None = None
    memory: Size | None = None
    disk: Size | None = None
    address: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


class Switch(Model):
    """Forwards packets; runs nothing."""

    SHORT = (TEXT,)

    name: Name

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


class Link(LinkChange):
    """A link. What is not said is as published: 1 ms each way, 1 Gbps."""

    SHORT = (TEXT,)

    between: tuple[Name, Name]
    ports: tuple[Whole | None, Whole | None] = (None, None)
    forward: LinkChange | None = None
    backward: LinkChange | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return link_from_text(value) if isinstance(value, str) else value

    @property
    def name(self) -> str:
        return f"{self.between[0]} -- {self.between[1]}"

    def settings(self) -> tuple[LinkSettings, LinkSettings]:
        """Forward (first to second node) and backward settings."""
        both = self.apply(DEFAULT_LINK)
        return (
            self.forward.apply(both) if self.forward else both,
            self.backward.apply(both) if self.backward else both,
        )


class Routing(Model):
    """How paths are chosen, and how long after a cut they are chosen anew."""

    by: Literal["hops", "latency", "widest", "ecmp", "given"] = "hops"
    reconverge: Pause = "never"
    paths: dict[str, list[Name]] = Field(default_factory=dict)  # "h1 -> h3": nodes between or including them


class Topology(Model):
    """Written out, or made by a generator: ``{kind: star, hosts: 20, latency: 5 ms}``."""

    hosts: list[Host] = Field(default_factory=list)
    switches: list[Switch] = Field(default_factory=list)
    links: list[Link] = Field(default_factory=list)
    routing: Routing = Field(default_factory=Routing)

    @model_validator(mode="before")
    @classmethod
    def _generated(cls, value: Any) -> Any:
        return generators.expand(value) if isinstance(value, dict) and "kind" in value else value

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = super().__get_pydantic_json_schema__(core_schema, handler)
        definition = handler.resolve_ref_schema(schema)
        written_out = dict(definition)
        generated = [handler(model.__pydantic_core_schema__) for model in generators.GENERATORS.values()]
        definition.clear()
        definition |= {"title": "Topology", "anyOf": [written_out, *generated]}
        return schema
