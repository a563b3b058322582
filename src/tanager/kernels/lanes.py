"""Eight floats at a time, as values that kernels can hold in variables.

The compiler vectorises long loops over whole tables by itself, but not the short ones over the classes of one table
line. Here such a line is read in blocks of eight numbers. The last block of a line runs over into the next one, so

* arrays that are read or written by lanes end in some slack, and
* the lanes beyond the last class must not matter: they meet zeros, or are overwritten by the line that follows.

On any processor the compiler turns these operations into the vector instructions it has.
"""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir
import numba
from numba.core import types
from numba.extending import intrinsic, models, register_model

LANES = 8

_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_WIDE = ir.VectorType(ir.DoubleType(), LANES)


class LanesType(types.Type):
    """The numba type of eight floats."""

    def __init__(self) -> None:
        super().__init__(name="float32x8")


class WideLanesType(types.Type):
    """The numba type of eight doubles."""

    def __init__(self) -> None:
        super().__init__(name="float64x8")


lanes_type = LanesType()
wide_lanes_type = WideLanesType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, frontend_type: Any) -> None:
        super().__init__(manager, frontend_type, _VECTOR)


@register_model(WideLanesType)
class _WideLanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, frontend_type: Any) -> None:
        super().__init__(manager, frontend_type, _WIDE)


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any, vector: Any = _VECTOR) -> Any:
    """Pointer to the eight numbers from ``index`` on; the array must be contiguous."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


@intrinsic
def zeros(typing_context: Any) -> Any:
    """Eight zeros."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(_VECTOR, [0.0] * LANES)

    return lanes_type(), generate


@intrinsic
def load(typing_context: Any, array: Any, index: Any) -> Any:
    """Eight entries of a contiguous float32 array, from ``index`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.load(_address(context, builder, signature.args[0], *arguments))
        value.align = 4
        return value

    return lanes_type(array, types.intp), generate


@intrinsic
def store(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Write eight entries of a contiguous float32 array, from ``index`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _address(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], place).align = 4
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes_type), generate


@intrinsic
def add(typing_context: Any, a: Any, b: Any) -> Any:
    """Sum, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(*arguments)

    return lanes_type(lanes_type, lanes_type), generate


@intrinsic
def multiply_add(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """``a * b + c``, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        product = builder.fmul(arguments[0], arguments[1], flags=["contract"])
        return builder.fadd(product, arguments[2], flags=["contract"])

    return lanes_type(lanes_type, lanes_type, lanes_type), generate


@intrinsic
def total(typing_context: Any, a: Any) -> Any:
    """Sum of the eight lanes, pairwise."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (vector,) = arguments
        lanes = [builder.extract_element(vector, ir.Constant(ir.IntType(32), k)) for k in range(LANES)]
        while len(lanes) > 1:
            lanes = [builder.fadd(a, b) for a, b in zip(lanes[::2], lanes[1::2], strict=True)]
        return lanes[0]

    return numba.float32(lanes_type), generate


@intrinsic
def load_wide(typing_context: Any, array: Any, index: Any) -> Any:
    """Eight entries of a contiguous float64 array, from ``index`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.load(_address(context, builder, signature.args[0], *arguments, vector=_WIDE))
        value.align = 8
        return value

    return wide_lanes_type(array, types.intp), generate


@intrinsic
def store_wide(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Write eight entries of a contiguous float64 array, from ``index`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _address(context, builder, signature.args[0], *arguments[:2], vector=_WIDE)
        builder.store(arguments[2], place).align = 8
        return context.get_dummy_value()

    return types.void(array, types.intp, wide_lanes_type), generate


@intrinsic
def add_wide(typing_context: Any, a: Any, b: Any) -> Any:
    """Sum of eight doubles and eight floats, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(arguments[0], builder.fpext(arguments[1], _WIDE))

    return wide_lanes_type(wide_lanes_type, lanes_type), generate


def padded(length: int, multiple: int = LANES) -> int:
    """The least multiple that is not below ``length``.

    >>> padded(26), padded(50, multiple=4)
    (32, 52)
    """
    return -(-length // multiple) * multiple
