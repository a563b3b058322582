"""How kernels are compiled: every option of numba that the library uses is set here.

* ``contract`` and ``nsz`` let the compiler fuse multiply and add. Reordering of sums is left out, so that results are
  the same on every run, and so are the flags that assume away NaN and infinity.
* ``error_model="numpy"`` drops the check for division by zero, which would keep loops from being vectorised.
* ``nogil`` lets threads run kernels side by side; ``cache`` keeps the machine code on disk.

A loop is vectorised only if its index is known not to be negative (numba wraps negative indices), so kernels slice the
part they need and count from zero instead of adding an offset to the index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import llvmlite.ir as ir
import numba
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"fastmath": {"contract", "nsz"}, "error_model": "numpy", "nogil": True, "cache": True}


def kernel(function: Function) -> Function:
    """Compile a function over arrays on its first call."""
    return cast(Function, numba.njit(**_OPTIONS)(function))


def inlined(function: Function) -> Function:
    """Compile a scalar function that kernels inline into their loops."""
    return cast(Function, numba.njit(inline="always", **_OPTIONS)(function))


@intrinsic
def float_from_bits(typing_context: Any, bits: Any) -> Any:
    """Read the 32 bits of an integer as a float."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return numba.float32(numba.int32), generate


@intrinsic
def bits_of_float(typing_context: Any, number: Any) -> Any:
    """Read the 32 bits of a float as an integer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return numba.int32(numba.float32), generate
