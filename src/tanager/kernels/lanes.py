"""Several numbers at a time, as values that kernels can hold in variables.

The compiler vectorises long loops over whole tables by itself, but not the short ones over the classes of one table
line. Here such a line is read in blocks of 8, 16 or 32 numbers, the *lanes* of one value. The last block of a line runs
over into the next one, so

* arrays that are read or written by lanes end in some slack, and
* the lanes beyond the last class must not matter: they meet zeros, or are overwritten by the line that follows.

How many lanes a kernel works with is the type of the zeros that it is handed, so that one source serves every width. On
any processor the compiler turns these operations into the vector instructions it has.
"""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir
import numba
import numpy as np
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, register_model
from numpy.typing import NDArray

LANES, MANY_LANES = 8, 16

_NUMBERS = {"float32": ir.FloatType(), "int16": ir.IntType(16), "int32": ir.IntType(32)}

_CACHE_LINE = 64  # bytes

_WIDE = ir.VectorType(ir.DoubleType(), LANES)


class LanesType(types.Type):
    """The numba type of so many numbers."""

    def __init__(self, count: int, number: str = "float32") -> None:
        super().__init__(name=f"{number}x{count}")
        self.vector = ir.VectorType(_NUMBERS[number], count)
        self.align = np.dtype(number).itemsize


class WideLanesType(types.Type):
    """The numba type of eight doubles."""

    def __init__(self) -> None:
        super().__init__(name="float64x8")


wide_lanes_type = WideLanesType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, frontend_type: Any) -> None:
        super().__init__(manager, frontend_type, frontend_type.vector)


@register_model(WideLanesType)
class _WideLanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, frontend_type: Any) -> None:
        super().__init__(manager, frontend_type, _WIDE)


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any, vector: Any) -> Any:
    """Pointer to the numbers from ``index`` on; the array must be contiguous."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _zeros(count: Any, number: str) -> Any:
    """Signature and code of so many zeros."""
    if not isinstance(count, types.IntegerLiteral):
        raise TypingError("the number of lanes must be written out")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(signature.return_type.vector, None)

    return LanesType(count.literal_value, number)(count), generate


@intrinsic(prefer_literal=True)
def zeros(typing_context: Any, count: Any) -> Any:
    """So many zeros, as floats."""
    return _zeros(count, "float32")


@intrinsic(prefer_literal=True)
def short_zeros(typing_context: Any, count: Any) -> Any:
    """So many zeros, as 16-bit integers."""
    return _zeros(count, "int16")


@intrinsic
def n_lanes(typing_context: Any, like: Any) -> Any:
    """The number of lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(ir.IntType(64), signature.args[0].vector.count)

    return numba.int64(like), generate


@intrinsic
def load(typing_context: Any, array: Any, index: Any, like: Any) -> Any:
    """As many entries of a contiguous array of their type, from ``index`` on, as ``like`` has lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = signature.return_type
        value = builder.load(_address(context, builder, signature.args[0], *arguments[:2], lanes.vector))
        value.align = lanes.align
        return value

    return like(array, types.intp, like), generate


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for the line of the cache that holds an entry of a contiguous array, without waiting for it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        place = _address(context, builder, signature.args[0], *arguments, ir.IntType(8))
        builder.call(function, [place, flag(0), flag(3), flag(1)])  # to be read, to be kept near, data
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@intrinsic
def store(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Write the lanes to a contiguous array of their type, from ``index`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = signature.args[2]
        place = _address(context, builder, signature.args[0], *arguments[:2], lanes.vector)
        builder.store(arguments[2], place).align = lanes.align
        return context.get_dummy_value()

    return types.void(array, types.intp, value), generate


@intrinsic
def add(typing_context: Any, a: Any, b: Any) -> Any:
    """Sum, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(*arguments)

    return a(a, a), generate


@intrinsic
def multiply_add(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """``a * b + c``, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        product = builder.fmul(arguments[0], arguments[1], flags=["contract"])
        return builder.fadd(product, arguments[2], flags=["contract"])

    return a(a, a, a), generate


@intrinsic
def total(typing_context: Any, a: Any) -> Any:
    """Sum of the lanes, pairwise."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (vector,) = arguments
        lanes = [builder.extract_element(vector, ir.Constant(ir.IntType(32), k)) for k in range(vector.type.count)]
        while len(lanes) > 1:
            lanes = [builder.fadd(a, b) for a, b in zip(lanes[::2], lanes[1::2], strict=True)]
        return lanes[0]

    return numba.float32(a), generate


def _call(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    """Call a function of the compiler that is named after the type of its arguments, lanes of integers."""
    vector = arguments[0].type
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    name = f"{name}.v{vector.count}i{vector.element.width}"
    return builder.call(builder.module.declare_intrinsic(name, fnty=kind), arguments)


@intrinsic
def add_short(typing_context: Any, a: Any, b: Any) -> Any:
    """Sum of 16-bit integers, lane by lane, which stops at the ends of their range."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _call(builder, "llvm.sadd.sat", signature.return_type.vector, arguments)

    return a(a, a), generate


@intrinsic
def lower(typing_context: Any, a: Any, b: Any) -> Any:
    """The lower of two integers, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _call(builder, "llvm.smin", signature.return_type.vector, arguments)

    return a(a, a), generate


@intrinsic
def lengthen(typing_context: Any, a: Any) -> Any:
    """Integers of 16 bits as integers of 32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.sext(arguments[0], signature.return_type.vector)

    return LanesType(a.vector.count, "int32")(a), generate


@intrinsic
def add_long(typing_context: Any, a: Any, b: Any) -> Any:
    """Sum of 32-bit integers, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.add(*arguments)

    return a(a, a), generate


@intrinsic
def highest(typing_context: Any, a: Any) -> Any:
    """The highest of lanes of integers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        top = _call(builder, "llvm.vector.reduce.smax", signature.args[0].vector.element, arguments)
        return builder.sext(top, ir.IntType(64))

    return numba.int64(a), generate


@intrinsic
def reaching(typing_context: Any, a: Any, bound: Any) -> Any:
    """The lanes of integers that are at least ``bound``, as bits of an integer, the first lane lowest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = signature.args[0].vector
        undefined = ir.Constant(vector, ir.Undefined)
        first = ir.Constant(ir.IntType(32), 0)
        bound = builder.insert_element(undefined, builder.trunc(arguments[1], vector.element), first)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None)
        is_reached = builder.icmp_signed(">=", arguments[0], builder.shuffle_vector(bound, undefined, everywhere))
        return builder.zext(builder.bitcast(is_reached, ir.IntType(vector.count)), ir.IntType(64))

    return numba.int64(a, numba.int64), generate


@intrinsic
def lowest_bit(typing_context: Any, bits: Any) -> Any:
    """Number of the lowest bit that is set; 64 if none is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return numba.int64(numba.int64), generate


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

    return wide_lanes_type(wide_lanes_type, LanesType(LANES)), generate


def aligned_zeros(shape: tuple[int, int], dtype: type[np.generic]) -> NDArray[Any]:
    """Zeros that start with a line of the cache, so that lanes which fill a line do not straddle two.

    >>> array = aligned_zeros((3, 8), np.float32)
    >>> array.shape, array.ctypes.data % 64
    ((3, 8), 0)
    """
    size, itemsize = shape[0] * shape[1], np.dtype(dtype).itemsize
    room = np.zeros(size + _CACHE_LINE // itemsize, dtype)
    start = -room.ctypes.data % _CACHE_LINE // itemsize
    return room[start : start + size].reshape(shape)


def padded(length: int, multiple: int = LANES) -> int:
    """The least multiple that is not below ``length``.

    >>> padded(26), padded(50, multiple=4)
    (32, 52)
    """
    return -(-length // multiple) * multiple
