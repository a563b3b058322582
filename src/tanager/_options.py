"""Options as values: frozen dataclasses that check, compare, print, nest and change like scikit-learn's parameters.

A value carries only the options it uses. It never changes: `Options.set_params` returns a changed copy, so a preset
that several estimators share stays what it is. Nested options have scikit-learn's dotted names, ``loss__gamma``.

The checks that values and layers share stand here too, so that an error reads the same wherever it is raised.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np

_SEPARATOR = "__"
_Value = TypeVar("_Value")


class ShortNames(dict[str, Callable[[], Any]]):
    """Words that stand for values of one kind, such as "subset" for ``Subset()``.

    Parameters
    ----------
    option : str
        The option that takes them, for messages.
    names : mapping from words to functions that make the values
    method : str
        What every value of the kind has, by which a value of another kind is told.
    also : sequence of str
        Other words that the option takes, such as "auto".
    others : str
        What else the option takes, for messages.
    renamed : mapping, optional
        For words of earlier versions, what to write now.

    Examples
    --------
    >>> ShortNames("size", {"small": lambda: 1, "large": lambda: 9}, method="__add__").resolve("large")
    9
    """

    def __init__(
        self,
        option: str,
        names: Mapping[str, Callable[[], Any]],
        method: str,
        also: Sequence[str] = (),
        others: str = "a value",
        renamed: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(names)
        self.option = option
        self.method = method
        self.also = also
        self.others = others
        self.renamed = renamed or {}

    def resolve(self, value: Any) -> Any:
        """The value a word stands for; a value of the right kind is returned as it is."""
        if not isinstance(value, str):
            self._check_value(value)
            return value
        if value in self.renamed:
            raise ValueError(f"{self.option}={value!r} is now {self.renamed[value]}")
        if value not in self:
            check_choice(self.option, value, (*self.also, *self))
            raise ValueError(f"{self.option}={value!r} leaves the choice open, which is not possible here")
        return self[value]()

    def _check_value(self, value: Any) -> None:
        """Require a value of this kind; one that a model file did not keep is for `refuse_not_kept` to find."""
        if isinstance(value, type):
            raise ValueError(f"{self.option} must be a value, got the class itself: write {value.__name__}()")
        if not isinstance(value, NotKept) and not hasattr(value, self.method):
            words = ", ".join(map(repr, (*self.also, *self)))
            raise ValueError(f"{self.option} must be {words} or {self.others}, got {value!r}")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
class Options:
    """Base of option values. A subclass only declares its fields; it becomes a frozen dataclass by itself.

    Examples
    --------
    >>> class Tree(Options):
    ...     depth: int = 3
    ...     root: int = 0
    >>> Tree(depth=4), Tree(depth=4) == Tree(4), Tree().set_params(root=2)
    (Tree(depth=4), True, Tree(root=2))
    >>> Tree(dept=4)
    Traceback (most recent call last):
        ...
    TypeError: Tree has no option 'dept'; did you mean 'depth'?
    """

    short_names: ClassVar[Mapping[str, ShortNames]] = {}
    """For each field whose value may be a word, what the words stand for."""

    renamed: ClassVar[Mapping[str, str]] = {}
    """For options of earlier versions, where they are now."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, repr=False, eq=False)(cls)
        if "__init__" in vars(cls):
            refuse_unknown = naming_unknown_options(cls.__name__, cls.renamed)
            setattr(cls, "__init__", refuse_unknown(vars(cls)["__init__"]))  # noqa: B010

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Options by name; ``deep`` adds those of nested values, as in scikit-learn."""
        params = {name: getattr(self, name) for name in _names(self)}
        if deep:
            for name, value in tuple(params.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    params |= {f"{name}{_SEPARATOR}{key}": inner for key, inner in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Return a copy with other options; nested ones are named as in ``loss__gamma``."""
        return replace(self, **changed_params(self, params, self.renamed))  # type: ignore[type-var]

    def resolved(self, name: str) -> Any:
        """The value of an option, where it may be given by a word."""
        return self.short_names[name].resolve(getattr(self, name))

    def __sklearn_clone__(self) -> Self:
        """A value never changes, so it is its own clone."""
        return self

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_is_equal(getattr(self, name), getattr(other, name)) for name in _names(self))

    def __hash__(self) -> int:
        return hash((type(self), *(value for name in _names(self) if _is_hashable(value := getattr(self, name)))))

    def __repr__(self) -> str:
        given = [
            f"{each.name}={value!r}"
            for each in fields(self)  # type: ignore[arg-type]
            if not _is_equal(value := getattr(self, each.name), _default(each))
        ]
        return f"{type(self).__name__}({', '.join(given)})"


@dataclass(frozen=True)
class NotKept:
    """Stands for an option that a model file does not hold, such as a function.

    Estimators that hold one predict but refuse to fit; ``set_params`` puts the real option back.

    Examples
    --------
    >>> NotKept("my_loss")
    <my_loss, which the model file does not hold: give it again with set_params>
    """

    name: str

    def __repr__(self) -> str:
        return f"<{self.name}, which the model file does not hold: give it again with set_params>"


def refuse_not_kept(params: Mapping[str, Any]) -> None:
    """Raise an error if one of the options, nested ones included, was not kept by a model file."""
    for name, value in params.items():
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, NotKept):
                raise ValueError(f"{name.replace(_SEPARATOR, '.')} is {each!r}")


def changed_params(owner: Any, params: Mapping[str, Any], renamed: Mapping[str, str] | None = None) -> dict[str, Any]:
    """New values of the options of ``owner`` that ``params``, with nested names, would change.

    Parameters
    ----------
    owner : object
        Has ``get_params`` and ``short_names``.
    params : mapping
        Nested names are applied to what the outer name has, or is given in the same call.
    renamed : mapping, optional
        For options that there were once, where they are now.
    """
    current, kind = owner.get_params(deep=False), type(owner).__name__
    for name in params:
        outer = name.partition(_SEPARATOR)[0]
        if outer not in current:
            raise ValueError(_no_such_option(kind, outer, current, renamed))
    changed = {name: value for name, value in params.items() if name in current}
    nested: dict[str, dict[str, Any]] = {}
    for name, value in params.items():
        outer, separator, inner = name.partition(_SEPARATOR)
        if separator:
            nested.setdefault(outer, {})[inner] = value
    for outer, inner_params in nested.items():
        value = changed.get(outer, current[outer])
        names = owner.short_names.get(outer, {})
        if isinstance(value, str) and value in names:
            value = names[value]()
        if not isinstance(value, Options):
            wanted = next(iter(inner_params)).partition(_SEPARATOR)[0]
            having = [word for word, make in names.items() if hasattr(make(), wanted)]
            raise ValueError(
                f"{outer}={value!r} has no option {wanted!r}: set {outer} to a value that has it{_words(having)}"
            )
        changed[outer] = value.set_params(**inner_params)
    return changed


def naming_unknown_options(
    kind: str, renamed: Mapping[str, str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a constructor so that an unknown option is refused with a close name, or with its new place."""

    def decorate(init: Callable[..., None]) -> Callable[..., None]:
        known = [name for name in init.__code__.co_varnames[: _n_arguments(init)] if name != "self"]

        @functools.wraps(init)
        def checked(self: Any, *args: Any, **kwargs: Any) -> None:
            for name in kwargs:
                if name not in known:
                    raise TypeError(_no_such_option(kind, name, known, renamed))
            init(self, *args, **kwargs)

        return checked

    return decorate


def suggest(name: str, known: Iterable[str]) -> str:
    """Close names to try instead of a wrong one, and otherwise the known ones.

    >>> suggest("incom", ["age", "income"])
    "did you mean 'income'?"
    >>> suggest("z", ["age", "income"])
    "there are 'age', 'income'"
    """
    names = list(known)
    close = get_close_matches(name, names, n=3, cutoff=0.6)
    if not close:
        lower = {other.lower(): other for other in names}
        close = [lower[name.lower()]] if name.lower() in lower else []
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    if not names:
        return "it has none"
    shown = ", ".join(map(repr, names[:20]))
    return f"there are {shown}" + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def is_auto(value: Any) -> bool:
    """Whether an option is left open by the word "auto"; what is not a word, such as an array, never is."""
    return isinstance(value, str) and value == "auto"


def check_choice(option: str, value: Any, allowed: Iterable[Any]) -> None:
    """Require one of a few values; a word that is close to one of them is answered by it.

    >>> check_choice("binning", "quantiles", ["auto", "mdlp", "quantile"])
    Traceback (most recent call last):
        ...
    ValueError: binning must be 'auto', 'mdlp' or 'quantile', got 'quantiles'; did you mean 'quantile'?
    """
    choices = list(allowed)
    if any(type(value) is type(choice) and value == choice for choice in choices):
        return
    words = [choice for choice in choices if isinstance(choice, str)]
    hint = "; " + suggest(value, words) if isinstance(value, str) and get_close_matches(value, words) else ""
    raise ValueError(f"{option} must be {_listed(choices)}, got {value!r}{hint}")


def check_count(option: str, value: Any, least: int = 1) -> None:
    """Require a whole number of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{option} must be a whole number of at least {least}, got {value!r}")


def check_number(
    option: str, value: Any, *, above: float | None = None, least: float | None = None, below: float | None = None
) -> None:
    """Require a finite number in a range.

    >>> check_number("learning_rate", 0, above=0)
    Traceback (most recent call last):
        ...
    ValueError: learning_rate must be a finite number above 0, got 0
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    bounds = []
    if above is not None:
        bounds.append(f"above {above:g}")
        is_number = is_number and value > above
    if least is not None:
        bounds.append(f"of at least {least:g}")
        is_number = is_number and value >= least
    if below is not None:
        bounds.append(f"below {below:g}")
        is_number = is_number and value < below
    if not is_number:
        raise ValueError(
            " ".join([f"{option} must be a finite number", " and ".join(bounds)]).rstrip() + f", got {value!r}"
        )


def check_pair(option: str, value: Any) -> None:
    """Require a pair of finite numbers above 0."""
    try:
        first, second = value
        check_number(option, first, above=0)
        check_number(option, second, above=0)
    except (TypeError, ValueError):
        raise ValueError(f"{option} must be a pair of finite numbers above 0, got {value!r}") from None


def _no_such_option(kind: str, name: str, known: Iterable[str], renamed: Mapping[str, str] | None) -> str:
    hint = f"it is now {renamed[name]}" if renamed and name in renamed else suggest(name, known)
    return f"{kind} has no option {name!r}; {hint}"


def _words(names: Sequence[str]) -> str:
    return f", such as {', '.join(map(repr, names))}" if names else ""


def _listed(choices: list[Any]) -> str:
    words = [repr(choice) for choice in choices]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _n_arguments(function: Callable[..., Any]) -> int:
    return function.__code__.co_argcount + function.__code__.co_kwonlyargcount


def _names(value: Options) -> list[str]:
    return [each.name for each in fields(value)]  # type: ignore[arg-type]


def _default(each: Any) -> Any:
    if each.default_factory is not MISSING:
        return each.default_factory()
    return each.default


def _is_equal(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return type(first) is type(second) and np.array_equal(first, second)
    try:
        return bool(first == second)
    except ValueError:  # such as of two Series, which compare by element
        return type(first) is type(second) and np.array_equal(first, second)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
