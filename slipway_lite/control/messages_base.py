"""What every message of the control plane has in common: closed, frozen, strict, and never null.

Models say what is on the wire, validate what comes in, and make the JSON Schemas; inside, documents travel
as the plain dicts that were validated. An absent field is absent: ``null`` is refused, and the schemas do
not offer it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema

from slipway_lite.control import instants, refs
from slipway_lite.control.refusals import Refused
from slipway_lite.text import is_blank

if TYPE_CHECKING:
    from collections.abc import Hashable

    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import core_schema

T = TypeVar("T")
MAX_REPORTED_ERRORS = 20


class Message(BaseModel):
    """A closed, frozen object whose absent fields are absent, not null."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _absent_is_not_null(cls, value: Any) -> Any:
        if isinstance(value, dict) and None in value.values():
            raise ValueError("a member is null: leave it out instead")
        return value


class OpenMessage(Message):
    """An object that may carry members of its author's choice beside the named ones."""

    model_config = ConfigDict(extra="allow")


class WireSchema(GenerateJsonSchema):
    """JSON Schemas as the contract writes them: optional means "may be missing", never "may be null"."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])


def validate(model: type[Message], document: Any, *, code: str = "INVALID_REQUEST") -> dict[str, Any]:
    """``document`` itself, once ``model`` accepts it.

    Raises :class:`Refused` with ``code``; its details name path, kind and rule of each fault, never the
    value.
    """
    try:
        model.model_validate(document)
    except ValidationError as error:
        faults = [
            {
                "path": ".".join(("$", *map(str, fault["loc"])))[:200],
                "code": fault["type"],
                "message": fault["msg"],
            }
            for fault in error.errors(include_url=False, include_context=False, include_input=False)[
                :MAX_REPORTED_ERRORS
            ]
        ]
        raise Refused(code, f"The document is no valid {model.__name__}.", details={"errors": faults}) from None
    if not isinstance(document, dict):
        raise Refused(code, f"The document is no valid {model.__name__}.")
    return document


def _typed_ref(text: str) -> str:
    if not refs.is_typed_ref(text):
        raise ValueError("not <domain>:<entity_type>:<provider>:<entity_id>")
    return text


def _date_time(text: str) -> str:
    instants.parse(text)
    return text


def _not_blank(text: str) -> str:
    if is_blank(text):
        raise ValueError("only white space")
    return text


def _unique(items: list[T]) -> list[T]:
    seen: set[Hashable] = set()
    for item in items:
        if item in seen:
            raise ValueError("an item stands there twice")
        seen.add(item)
    return items


def _no_colon(text: str) -> str:
    if ":" in text:
        raise ValueError("a version has no colon")
    return text


Text = Annotated[str, Field(min_length=1)]
Title = Annotated[str, Field(min_length=1, max_length=500)]
LongText = Annotated[str, Field(min_length=1, max_length=5000, pattern=r"\S"), AfterValidator(_not_blank)]
Note = Annotated[str, Field(max_length=5000)]
LARGEST = 2**53
"""The largest integer that every JSON reader keeps exactly."""
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]
Whole = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
Sha = Annotated[str, Field(pattern=r"^[a-fA-F0-9]{7,64}$")]
TypedRef = Annotated[
    str, Field(pattern=refs.TYPED_REF_PATTERN, max_length=refs.TYPED_REF_LIMIT), AfterValidator(_typed_ref)
]
DateTime = Annotated[str, AfterValidator(_date_time), Field(json_schema_extra={"format": "date-time"})]
Uri = Annotated[str, Field(min_length=1, json_schema_extra={"format": "uri"})]
DocVersion = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^:]+$"), AfterValidator(_no_colon)]
UNIQUE = AfterValidator(_unique)
UNIQUE_ITEMS: dict[str, Any] = {"uniqueItems": True}
Unique = Annotated[list[T], Field(json_schema_extra=UNIQUE_ITEMS), UNIQUE]
"""A list without repetitions. One with bounds is written out: what stands after a validator reaches no schema."""
Scalar = str | int | float | bool
Metadata = dict[
    str, Annotated[Scalar | None, WithJsonSchema({"type": ["string", "number", "integer", "boolean", "null"]})]
]
"""The one place where null is a value: the contract's open maps of scalars."""
