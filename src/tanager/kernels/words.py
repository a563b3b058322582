"""Eight bytes at a time, as one integer."""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir
import numba
from numba.core import types
from numba.extending import intrinsic

_WORD = ir.IntType(64)


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _WORD.as_pointer())


@intrinsic
def load_word(typing_context: Any, array: Any, index: Any) -> Any:
    """Eight bytes of a contiguous array of bytes, from ``index`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.load(_address(context, builder, signature.args[0], *arguments))
        value.align = 1
        return value

    return numba.uint64(array, types.intp), generate


@intrinsic
def store_word(typing_context: Any, array: Any, index: Any, word: Any) -> Any:
    """Write eight bytes of a contiguous array of bytes, from ``index`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _address(context, builder, signature.args[0], *arguments[:2])).align = 1
        return context.get_dummy_value()

    return types.void(array, types.intp, numba.uint64), generate
