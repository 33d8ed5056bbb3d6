"""Compiled loops that step environments with MuJoCo C, without the interpreter.

A worker thread owns one ``mjData`` and one shallow copy of ``mjModel``. To advance an
environment it loads the environment's state into its ``mjData``, points its model at
the environment's randomised arrays, calls MuJoCo, and stores the results. Nothing of
one environment is left for the next: everything ``mj_step`` depends on is loaded each
time, so the result does not depend on which thread ran it or what it ran before.

Tensors are float32 (what mjlab hands to tasks), MuJoCo computes in float64. Each
writable number therefore exists twice: the tensor entry and its exact float64 value.
Before a step the exact value is kept unless somebody wrote to the tensor, that is,
unless rounding the exact value no longer gives the tensor entry. A trajectory that
nobody disturbs is thereby the one that plain MuJoCo computes, to the bit.

Addresses are passed as integers, also those of C functions, so that the compiled code
can be cached on disk.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, njit, types  # pyright: ignore[reportPrivateImportUsage]
from numba.extending import intrinsic

# Value of every mjData.warning[k].number between steps. MuJoCo prints a warning only
# when the count is 0 and sets it to 1 after its own reset of a bad state; any other
# number keeps it silent and makes every warning visible as a change.
WARNING_BASELINE = 1000

# What a refresh after a step does to a result: nothing; computes it anew; or computes
# parts of it anew, so that the rest has to be loaded first (sensor data).
STALE, RECOMPUTED, UPDATED = 0, 1, 2


def _pointer(typingctx: Any, address: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), codegen


def _call(typingctx: Any, function: Any, model: Any, data: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte_pointer = ir.IntType(8).as_pointer()
        function_type = ir.FunctionType(ir.VoidType(), [byte_pointer, byte_pointer])
        target = builder.inttoptr(args[0], function_type.as_pointer())
        pointers = [builder.inttoptr(a, byte_pointer) for a in args[1:]]
        builder.call(target, pointers)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


pointer: Any = intrinsic(_pointer)
"""Reinterpret an integer as a pointer."""

call: Any = intrinsic(_call)
"""Call ``void function(const mjModel*, mjData*)`` at an address."""


@njit(nogil=True, cache=True)
def merge_rows(tensor: Any, exact: Any, lo: int, hi: int) -> None:
    """Take into ``exact`` what was written to ``tensor`` since they last agreed."""
    for row in range(lo, hi):
        for k in range(tensor.shape[1]):
            value = tensor[row, k]
            if np.float32(exact[row, k]) != value:
                exact[row, k] = value


@njit(nogil=True, cache=True)
def select_env(model: int, env: int, model_fields: Any, model_offsets: Any) -> None:
    """Point a thread's model at the randomised parameters of an environment.

    Args:
        model: Address of the thread's copy of ``mjModel``.
        env: The environment.
        model_fields: int64 [fields, 2]: exact float64 array, row length in bytes.
        model_offsets: int64 [fields]: byte offset in ``mjModel``. The last field is the
            mean inertia, a number in the struct instead of a pointer to an array.
    """
    last = model_fields.shape[0] - 1
    for f in range(last):
        member = carray(pointer(model + model_offsets[f]), 1, np.int64)
        member[0] = model_fields[f, 0] + env * model_fields[f, 1]
    source = carray(pointer(model_fields[last, 0] + env * 8), 1, np.float64)
    number = carray(pointer(model + model_offsets[last]), 1, np.float64)
    number[0] = source[0]


@njit(nogil=True, cache=True)
def load_state(env: int, state: Any, state_of_data: Any) -> bool:
    """Load an environment into a thread's ``mjData``; tell if a task moved it.

    Forces that a task applies act from the next step on; poses and velocities do not
    follow from them.
    """
    written = False
    for f in range(state.shape[0]):
        n = state[f, 2]
        tensor = carray(pointer(state[f, 0] + env * n * 4), n, np.float32)
        exact = carray(pointer(state[f, 1] + env * n * 8), n, np.float64)
        inside = carray(pointer(state_of_data[f]), n, np.float64)
        for k in range(n):
            if np.float32(exact[k]) != tensor[k]:
                exact[k] = tensor[k]
                written |= state[f, 3] != 0
            inside[k] = exact[k]
    return written


@njit(nogil=True, cache=True)
def store_state(env: int, state: Any, state_of_data: Any) -> bool:
    """Take a state out of a thread's ``mjData``; tell if it is finite."""
    finite = True
    for f in range(state.shape[0]):
        n = state[f, 2]
        tensor = carray(pointer(state[f, 0] + env * n * 4), n, np.float32)
        exact = carray(pointer(state[f, 1] + env * n * 8), n, np.float64)
        inside = carray(pointer(state_of_data[f]), n, np.float64)
        for k in range(n):
            exact[k] = inside[k]
            tensor[k] = inside[k]
            finite &= np.isfinite(inside[k])
    return finite


@njit(nogil=True, cache=True)
def copy_outputs(
    env: int, outputs: Any, outputs_of_data: Any, min_level: int, into_data: bool
) -> None:
    """Copy results of at least a level (``STALE``, ...) out of, or into, ``mjData``."""
    for f in range(outputs.shape[0]):
        if outputs[f, 2] >= min_level:
            n = outputs[f, 1]
            tensor = carray(pointer(outputs[f, 0] + env * n * 4), n, np.float32)
            inside = carray(pointer(outputs_of_data[f]), n, np.float64)
            for k in range(n):
                if into_data:
                    inside[k] = tensor[k]
                else:
                    tensor[k] = inside[k]


@njit(nogil=True, cache=True)
def advance(
    functions: Any,
    refresh: Any,
    lo: int,
    hi: int,
    model: int,
    data: int,
    warnings: Any,
    state: Any,
    state_of_data: Any,
    outputs: Any,
    outputs_of_data: Any,
    model_fields: Any,
    model_offsets: Any,
    stepped: Any,
    bad: Any,
    keep_state: bool,
) -> None:
    """Run MuJoCo functions on the environments ``lo`` to ``hi`` in one thread.

    Args:
        functions: Addresses of the C functions to call in order.
        refresh: Addresses of functions that suffice where nothing happened to an
            environment since its last step; empty to always call ``functions``.
        lo: First environment.
        hi: One past the last environment.
        model: Address of this thread's copy of ``mjModel``.
        data: Address of this thread's ``mjData``.
        warnings: This thread's ``mjData.warning`` as int32 [kinds, 2].
        state: int64 [fields, 4]: float32 tensor, exact float64 array, row length,
            whether motion follows from it.
        state_of_data: int64 [fields]: the same arrays in this thread's ``mjData``.
        outputs: int64 [fields, 3]: float32 tensor, row length, and what ``refresh``
            does to it (``STALE``, ``RECOMPUTED`` or ``UPDATED``).
        outputs_of_data: int64 [fields]: the same arrays in this thread's ``mjData``.
        model_fields: See ``select_env``.
        model_offsets: See ``select_env``.
        stepped: uint8 [environments], 1 where the results are those of a step.
        bad: uint8 [environments], set to 1 where MuJoCo warned or the state is not
            finite.
        keep_state: Whether to store the state that the functions leave behind.
    """
    for env in range(lo, hi):
        written = load_state(env, state, state_of_data)
        select_env(model, env, model_fields, model_offsets)
        if refresh.shape[0] and stepped[env] and not written:
            copy_outputs(env, outputs, outputs_of_data, UPDATED, True)
            for f in range(refresh.shape[0]):
                call(refresh[f], model, data)
            copy_outputs(env, outputs, outputs_of_data, RECOMPUTED, False)
            continue
        for f in range(functions.shape[0]):
            call(functions[f], model, data)
        stepped[env] = 1
        for k in range(warnings.shape[0]):
            if warnings[k, 1] != WARNING_BASELINE:
                warnings[k, 1] = WARNING_BASELINE
                bad[env] = 1
        if keep_state and not store_state(env, state, state_of_data):
            bad[env] = 1
        copy_outputs(env, outputs, outputs_of_data, STALE, False)
