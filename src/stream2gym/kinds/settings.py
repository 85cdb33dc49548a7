"""The base of the models of an experiment and of the settings of plug-ins: strict keys, quantities with units.

``SHORT`` lists the short forms that the validators of a model expand ("h1" for a host). ``INLINE`` marks models that
take the keys of their kind beside their own. Both are there for the JSON Schema that editors use.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from stream2gym.units import ByteRate, Duration, OtherUnit, Rate, Share, UnitError

TEXT: dict[str, Any] = {"type": "string"}


class Model(BaseModel):
    """Unknown keys are errors. Aliases (``from``, ``for``) and Python names are both accepted."""

    # Validators are built at first use: most kinds are never used, and a start must not wait for them.
    model_config = ConfigDict(extra="forbid", populate_by_name=True, validate_default=False, defer_build=True)

    SHORT: ClassVar[tuple[dict[str, Any], ...]] = ()
    INLINE: ClassVar[bool] = False

    @classmethod
    def known_keys(cls) -> list[str]:
        """The keys as they stand in a file."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core_schema)
        definition = handler.resolve_ref_schema(schema)
        if cls.INLINE:
            definition["additionalProperties"] = True
        if cls.SHORT:
            long = dict(definition)
            definition.clear()
            definition |= {"title": long.get("title", cls.__name__), "anyOf": [*cls.SHORT, long]}
        return schema


class NoSettings(Model):
    """The kind has no settings."""


def _whole(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a whole number, not true or false")
    return value


def _text(value: Any) -> Any:
    """Accept a number where text is wanted. Booleans are refused, because their spelling would be a guess."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def as_list(value: Any) -> Any:
    """Accept one text where a list of texts is wanted."""
    return [value] if isinstance(value, str) else value


def known_ignoring_case(*names: str) -> BeforeValidator:
    """A validator that reads a word in any case as the spelling in ``names``."""
    spelling = {name.lower(): name for name in names}
    return BeforeValidator(lambda value: spelling.get(value.lower(), value) if isinstance(value, str) else value)


def rate_of(value: Any) -> Rate | ByteRate | None:
    """A rate of messages, or of bytes if the unit is one of bytes."""
    if value is None or isinstance(value, Rate | ByteRate):
        return value
    try:
        return Rate.parse(value)
    except ValueError as not_messages:
        try:
            return ByteRate.parse(value)
        except OtherUnit:
            raise
        except ValueError:
            raise not_messages from None


def moment_of(value: Any) -> Duration | Share | None:
    """A time from the start of the load, or a share of its duration."""
    if value is None or isinstance(value, Duration | Share):
        return value
    if isinstance(value, str) and value.rstrip().endswith(("%", "percent", "per cent")):
        return Share.parse(value)
    return Duration.parse(value)


def pause_of(value: Any) -> Any:
    """A duration, or the word ``never``."""
    return "never" if value == "never" else Duration.parse(value)


def interval_of(value: Any) -> Any:
    """The time between two looks of a monitor, or the word ``off``."""
    if value is False or value == "off":
        return "off"
    try:
        return Duration.parse(value)
    except UnitError as error:
        raise ValueError(f"{error}, or off") from None


def _shown(value: Any) -> str | None:
    return None if value is None else str(value)


def _schema(*examples: str) -> WithJsonSchema:
    return WithJsonSchema({"type": ["string", "number", "null"], "examples": list(examples)})


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=63)]
TopicName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$", max_length=249)]
Whole = Annotated[int, BeforeValidator(_whole)]
Text = Annotated[str, BeforeValidator(_text, json_schema_input_type=str | int | float)]
Texts = Annotated[list[Text], BeforeValidator(as_list, json_schema_input_type=list[Text] | str)]
Strings = Annotated[list[str], BeforeValidator(as_list, json_schema_input_type=list[str] | str)]
Properties = dict[str, str | int | float | bool]
AnyRate = Annotated[
    Rate | ByteRate | None, PlainValidator(rate_of), PlainSerializer(_shown), _schema("1000/s", "30 KB/s")
]
Moment = Annotated[
    Duration | Share | None, PlainValidator(moment_of), PlainSerializer(_shown), _schema("10 s", "10 %")
]
Interval = Annotated[
    Duration | str,
    PlainValidator(interval_of),
    PlainSerializer(_shown),
    WithJsonSchema({"type": ["string", "boolean"], "examples": ["2 s", "off"]}),
]
Pause = Annotated[Duration | str, PlainValidator(pause_of), PlainSerializer(_shown), _schema("never", "1 s")]


def inline_settings(cls: type[Model], value: Any) -> Any:
    """Move the keys that are not the model's own into ``settings``, which its kind checks."""
    if not isinstance(value, dict):
        return value
    own = set(cls.known_keys()) | set(cls.model_fields)
    extra = {key: item for key, item in value.items() if key not in own}
    settings = value.get("settings", {})
    if not extra or not isinstance(settings, dict):
        return value
    twice = sorted(map(str, extra.keys() & settings.keys()))
    if twice:
        raise ValueError(f"{', '.join(twice)} is given twice: beside 'settings' and in it")
    return {key: item for key, item in value.items() if key in own} | {"settings": {**settings, **extra}}
