"""The encoder in a model file: kind, cuts, categories and names of all columns, packed together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.data import CategoryColumn, FrameEncoder, NumericColumn
from tanager.data.coders import sort_categories
from tanager.data.contents import UNLIMITED, BinContents
from tanager.files.container import Arrays
from tanager.files.values import ELEMENTS, array_of, check_distinct, element_of, pack_values, take_spans, unpack_values

_NUMERIC, _CATEGORY, _ORDINAL = 0, 1, 2
_LONGEST_DTYPE = 100  # characters of the name of a type


def pack_encoder(encoder: FrameEncoder) -> dict[str, NDArray[Any]]:
    """Turn an encoder into arrays."""
    kinds, elements, cuts, values, n_cuts, n_values = [], [], [], [], [], []
    for index, column in enumerate(encoder.columns):
        if isinstance(column, NumericColumn):
            kinds.append(_NUMERIC)
            elements.append(0)
            cuts.append(column.cuts)
            n_cuts.append(column.cuts.size)
            n_values += [0, 0]
            continue
        kinds.append(_ORDINAL if column.is_ordinal else _CATEGORY)
        elements.append(ELEMENTS.index(element_of(column.categories, f"values of {encoder.column_label(index)}")))
        n_cuts.append(0)
        n_values += [column.categories.size, column.pooled.size]
        own = [*column.categories.tolist(), *column.pooled.tolist()]
        values.append(pack_values("column", own, f"values of {encoder.column_label(index)}"))
    arrays = {
        "columns.kind": np.array(kinds, np.uint8),
        "columns.has_missing": np.array([column.has_missing for column in encoder.columns], np.uint8),
        "columns.element": np.array(elements, np.uint8),
        "columns.cuts": np.concatenate([np.empty(0), *cuts]),
        "columns.cuts_end": np.cumsum(n_cuts, dtype=np.int64),
        "columns.values_end": np.cumsum(n_values, dtype=np.int64),
        **_join(values),
        **_pack_contents([column.contents for column in encoder.columns if isinstance(column, NumericColumn)]),
    }
    if encoder.names is not None:
        arrays |= pack_values("columns.names", list(encoder.names), "names of the columns")
    if encoder.dtypes is not None:
        arrays |= pack_values("columns.dtypes", list(encoder.dtypes), "types of the columns")
    return arrays


def unpack_encoder(arrays: Arrays, n_features: int, has_names: bool) -> FrameEncoder:
    """The inverse of `pack_encoder`; checks everything."""
    kinds = _take_choices(arrays, "columns.kind", n_features, 3)
    has_missing = _take_choices(arrays, "columns.has_missing", n_features, 2)
    elements = _take_choices(arrays, "columns.element", n_features, len(ELEMENTS))
    cuts = arrays.take("columns.cuts", "float64")
    cut_spans = take_spans(arrays, "columns.cuts_end", n_features, cuts.size)
    values = unpack_values(arrays, "columns.values")
    value_spans = take_spans(arrays, "columns.values_end", 2 * n_features, len(values))
    if not np.isfinite(cuts).all():
        raise ValueError("array 'columns.cuts' must be finite")
    contents = _unpack_contents(
        arrays, [len(range(*span)) + 1 for span, kind in zip(cut_spans, kinds, strict=True) if kind == _NUMERIC]
    )
    columns: list[NumericColumn | CategoryColumn] = []
    for i in range(n_features):
        own_cuts = cuts[slice(*cut_spans[i])].copy()
        categories, pooled = (values[slice(*span)] for span in value_spans[2 * i : 2 * i + 2])
        what = f"column {i}"
        if kinds[i] == _NUMERIC:
            if categories or pooled or np.any(np.diff(own_cuts) <= 0):
                raise ValueError(f"{what} is numeric, but its cuts do not rise or it has categories")
            columns.append(NumericColumn(_frozen(own_cuts), bool(has_missing[i]), contents.pop(0)))
            continue
        if own_cuts.size:
            raise ValueError(f"{what} is a category, but it has cuts")
        is_ordinal = kinds[i] == _ORDINAL
        _check_values(categories, pooled, what, is_ordinal)
        both = [_frozen(array_of(part, ELEMENTS[elements[i]], f"values of {what}")) for part in (categories, pooled)]
        columns.append(CategoryColumn(both[0], both[1], bool(has_missing[i]), is_ordinal))
        if columns[-1].card == 0:
            raise ValueError(f"{what} has no values")
    names = _unpack_names(arrays, n_features) if has_names else None
    return FrameEncoder(tuple(columns), names, _unpack_dtypes(arrays, n_features))


def _pack_contents(contents: list[BinContents]) -> dict[str, NDArray[Any]]:
    """The contents of the bins of all numeric columns."""
    return {
        "columns.points": np.concatenate([np.empty(0), *(each.points.ravel() for each in contents)]),
        "columns.points_end": np.cumsum([each.points.size for each in contents], dtype=np.int64),
        "columns.decimals": np.array([each.decimals for each in contents], np.int8),
    }


def _unpack_contents(arrays: Arrays, n_bins: list[int]) -> list[BinContents]:
    """The inverse of `_pack_contents`, for the numbers of bins of the numeric columns."""
    points, decimals = (
        arrays.take("columns.points", "float64"),
        arrays.take("columns.decimals", "int8", length=len(n_bins)),
    )
    spans = take_spans(arrays, "columns.points_end", len(n_bins), points.size)
    contents = []
    for number, (bins, span) in enumerate(zip(n_bins, spans, strict=True)):
        own = points[slice(*span)].copy()
        if not own.size or own.size % (2 * bins) != bins or not np.isfinite(own).all():
            raise ValueError(f"the bins of numeric column {number} must have an odd number of finite points each")
        own = own.reshape(bins, -1)
        if (np.diff(own, axis=1) < 0).any():
            raise ValueError(f"the points in the bins of numeric column {number} must not fall")
        if not UNLIMITED <= decimals[number] <= 6:
            raise ValueError(f"numeric column {number} has {decimals[number]} decimals, which is not possible")
        contents.append(BinContents(_frozen(own), int(decimals[number])))
    return contents


def _join(parts: list[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """The packed values of all columns as one list."""
    joined = pack_values("columns.values", [], "")
    for key in ("type", "data"):
        joined[f"columns.values.{key}"] = np.concatenate(
            [joined[f"columns.values.{key}"], *(part[f"column.{key}"] for part in parts)]
        )
    lengths = [np.diff(part["column.end"], prepend=0) for part in parts]
    joined["columns.values.end"] = np.cumsum(np.concatenate([np.empty(0, np.int64), *lengths]), dtype=np.int64)
    return joined


def _take_choices(arrays: Arrays, name: str, length: int, n_choices: int) -> list[int]:
    """An array of small numbers below ``n_choices`` as a list."""
    array = arrays.take(name, "uint8", length=length)
    if array.size and array.max() >= n_choices:
        raise ValueError(f"array {name!r} must hold numbers below {n_choices}, got {array.max()}")
    choices: list[int] = array.tolist()
    return choices


def _unpack_names(arrays: Arrays, n_features: int) -> tuple[str, ...]:
    names = unpack_values(arrays, "columns.names", length=n_features)
    if any(type(name) is not str for name in names) or len(set(names)) < n_features:
        raise ValueError("names of the columns must be different texts")
    return tuple(names)


def _unpack_dtypes(arrays: Arrays, n_features: int) -> tuple[str, ...] | None:
    if "columns.dtypes.type" not in arrays.names:
        return None
    dtypes = unpack_values(arrays, "columns.dtypes", length=n_features)
    if any(type(each) is not str or len(each) > _LONGEST_DTYPE for each in dtypes):
        raise ValueError("types of the columns must be short texts")
    return tuple(dtypes)


def _check_values(categories: list[Any], pooled: list[Any], what: str, is_ordinal: bool) -> None:
    """Check that values are distinct, and sorted unless they have an order of their own."""
    check_distinct(categories + pooled, f"values of {what}")
    if not is_ordinal and any(sort_categories(part, what) != part for part in (categories, pooled)):
        raise ValueError(f"values of {what} are not sorted")


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only, as those of a fitted encoder are."""
    array.setflags(write=False)
    return array
