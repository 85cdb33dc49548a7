"""Hosts, switches and links. Switches forward packets, hosts run processes."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from stream2gym.kinds.link_settings import LinkChange
from stream2gym.kinds.settings import TEXT, Model, Name, Pause, Whole
from stream2gym.link import LinkSettings
from stream2gym.spec.model import topology_generators
from stream2gym.spec.model.link_lines import link_from_text
from stream2gym.units import Share, Size

DEFAULT_LINK = LinkSettings(latency_ms=1.0, bandwidth_bps=1e9)


class Host(Model):
    """A machine. ``cpu`` is its share of the whole real machine."""

    SHORT = (TEXT,)

    name: Name = Field(description="hN has the address 10.0.0.N unless one is given")
    cpu: Share | None = Field(default=None, description="share of the whole machine that it may use")
    memory: Size | None = Field(default=None, description="what its processes may use together")
    disk: Size | None = Field(default=None, description="size of its storage, which lies on memory")
    address: str | None = Field(default=None, description="its IPv4 address")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


class Switch(Model):
    """Forwards packets and runs no processes."""

    SHORT = (TEXT,)

    name: Name = Field(description="its name")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


class Link(LinkChange):
    """A link. The defaults are the published ones: 1 ms in each direction, 1 Gbps."""

    SHORT = (TEXT,)

    between: tuple[Name, Name] = Field(description="its two nodes")
    ports: tuple[Whole | None, Whole | None] = Field(default=(None, None), description="port numbers at both ends")
    forward: LinkChange | None = Field(default=None, description="settings from the first node to the second alone")
    backward: LinkChange | None = Field(default=None, description="settings from the second node to the first alone")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return link_from_text(value) if isinstance(value, str) else value

    @property
    def name(self) -> str:
        return f"{self.between[0]} -- {self.between[1]}"

    def settings(self) -> tuple[LinkSettings, LinkSettings]:
        """The settings of both directions: from the first node to the second, and back."""
        both = self.apply(DEFAULT_LINK)
        return (
            self.forward.apply(both) if self.forward else both,
            self.backward.apply(both) if self.backward else both,
        )


class Routing(Model):
    """How paths are chosen, and how long after a cut they are chosen again."""

    by: Literal["hops", "latency", "widest", "ecmp", "given"] = Field(
        default="hops", description="fewest hops, lowest latency, widest, equal-cost paths by seed, or given"
    )
    reconverge: Pause = Field(default="never", description="how long after a cut paths are chosen anew, or never")
    paths: dict[str, list[Name]] = Field(
        default_factory=dict, description="switches of each path, like {'h1 -> h3': [s1, s2]}, where paths are given"
    )


class Topology(Model):
    """Hosts, switches and links as written, or made by a generator: ``{kind: star, hosts: 20, latency: 5 ms}``."""

    hosts: list[Host] = Field(
        default_factory=list, description="machines: names, or {name, cpu, memory, disk, address}"
    )
    switches: list[Switch] = Field(default_factory=list, description="what forwards: names")
    links: list[Link] = Field(default_factory=list, description="lines like 'h1 -- s1: 5 ms, 100 Mbps', or keys")
    routing: Routing = Field(
        default_factory=Routing, description="how paths are chosen, and whether they are chosen anew after a cut"
    )

    @model_validator(mode="before")
    @classmethod
    def _generated(cls, value: Any) -> Any:
        return topology_generators.expand(value) if isinstance(value, dict) and "kind" in value else value

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = super().__get_pydantic_json_schema__(core_schema, handler)
        definition = handler.resolve_ref_schema(schema)
        written_out = dict(definition)
        generated = [handler(model.__pydantic_core_schema__) for model in topology_generators.GENERATORS.values()]
        definition.clear()
        definition |= {"title": "Topology", "anyOf": [written_out, *generated]}
        return schema
