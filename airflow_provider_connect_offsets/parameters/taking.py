"""A mixin for operators whose arguments are the fields of parameter models (``parameters``)."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar

from airflow_provider_connect_offsets.offsets.requests.fields import Parameter, Parameters, fields_of

Model = TypeVar("Model", bound=Parameters)
#: The models whose fields an operator takes.
Models: TypeAlias = tuple[type[Parameters], ...]


class TakesParameters:
    """A mixin for operators and sensors: each field of ``parameters`` is an argument, attribute and template field.

    A subclass that names ``parameters`` takes their fields and the arguments of its base class; ``preset`` gives
    arguments of Airflow other defaults. Descriptions of the arguments are added to the class's docstring.
    """

    parameters: ClassVar[Models] = ()
    preset: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own, fields = vars(cls), fields_of(*cls.parameters)
        # Airflow wraps the ``__init__`` of each operator class, so each needs its own; it wraps none of a mixin.
        is_bare = not hasattr(cls.__init__, "__wrapped__")
        if "__init__" not in own and ("parameters" in own or "preset" in own or is_bare):
            cls.__init__ = _init_of(cls)  # type: ignore[method-assign]
        inherited: Sequence[str] = getattr(cls, "template_fields", ())
        setattr(cls, "template_fields", tuple(dict.fromkeys((*inherited, *fields))))  # noqa: B010 - the operator's
        cls.__doc__ = document_args(cls.__doc__, fields)

    def parse_as(self, model: type[Model]) -> Model:
        """Parse the values of the fields of ``model``, once templates are rendered.

        Raises :class:`InvalidRequest` in one sentence that names the first argument whose value does not fit.
        """
        return model.parse(**{name: getattr(self, name) for name in fields_of(model)})


def select_accepted(operator: type[TakesParameters], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``values`` that ``operator`` takes."""
    return {name: value for name, value in values.items() if name in fields_of(*operator.parameters)}


def _init_of(cls: type[TakesParameters]) -> Any:
    """Make the ``__init__`` of ``cls``, which only assigns; Airflow reads its signature (default_args, mapping)."""
    inherited = {name for base in cls.__mro__[1:] for name in fields_of(*vars(base).get("parameters", ()))}
    fields = {name: field for name, field in fields_of(*cls.parameters).items() if name not in inherited}

    def __init__(self: Any, **kwargs: Any) -> None:  # noqa: N807 - that is what it becomes
        values = {name: kwargs.pop(name, field.default) for name, field in fields.items()}
        super(cls, self).__init__(**{**cls.preset, **kwargs})
        for name, value in values.items():
            setattr(self, name, value)

    keyword = inspect.Parameter.KEYWORD_ONLY
    signature = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for name, field in fields.items():
        default = inspect.Parameter.empty if field.is_required else field.default
        signature.append(inspect.Parameter(name, keyword, default=default, annotation=field.type))
    signature.append(inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD))
    __init__.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    __init__.__module__ = cls.__module__
    return __init__


def document_args(text: str | None, fields: Mapping[str, Parameter]) -> str:
    """Return the docstring ``text`` with a section ``Args`` of ``fields``."""
    lines = [f"    {name}: {field.description}" for name, field in fields.items()]
    return "\n".join([inspect.cleandoc(text or ""), "", "Args:", *lines])
