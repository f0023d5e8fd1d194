"""Giving every open dimension of the inputs a size, and turning output requests into values."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import kind_of, plain_bools
from cugraphmodel.errors import ArgumentError, DtypeError, PositionError, ShapeError
from cugraphmodel.front.source import SourceModel, TensorInfo

__all__ = ["bind_constants", "bind_inputs", "resolve_name", "resolve_outputs"]

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
_OpenShape = list[int | str | None]


def bind_inputs(
    inputs: Sequence[TensorInfo],
    batch_size: int | None,
    dims: Mapping[str, int],
    input_shapes: Mapping[str, Sequence[int]],
) -> dict[str, Shape]:
    """Concrete shape of every input.

    ``input_shapes`` is taken first, then ``dims``, then ``batch_size`` for what is still open in
    dimension 0. A named dimension has one size wherever it occurs.

    Raises:
        ShapeError: two sizes for one dimension, a size nothing takes, or dimensions that stay
            open; all of the latter are listed.
        ArgumentError: a name that no input or dimension has.
        TypeError: ``dims`` or ``input_shapes`` is no dict.
    """
    _check_dict("dims", dims)
    _check_dict("input_shapes", input_shapes)
    shapes: dict[str, _OpenShape] = {}
    for info in inputs:
        if info.shape is None and info.dtype is not None and info.name not in input_shapes:
            raise ShapeError(
                f"input {info.name!r} declares no shape. "
                f"Pass input_shapes={{{info.name!r}: (...)}} to capture_graph."
            )
        shapes[info.name] = list(info.shape if info.shape is not None else ())
    _check_names(inputs, dims, input_shapes)
    sizes = {name: _size(f"dims[{name!r}]", size) for name, size in dims.items()}
    sources = dict.fromkeys(sizes, "dims")
    for info in inputs:
        if info.name in input_shapes:
            shapes[info.name] = _given_shape(info, input_shapes[info.name], sizes, sources)
    _fill_names(shapes, sizes)
    _fill_batch(shapes, batch_size)
    still_open = [
        f"input {name!r} dimension {axis}" + (f" ({size!r})" if isinstance(size, str) else "")
        for name, shape in shapes.items()
        for axis, size in enumerate(shape)
        if not isinstance(size, int)
    ]
    if still_open:
        raise ShapeError(
            f"These dimensions are open: {'; '.join(still_open)}. Pass dims={{name: size}} for "
            "named ones or input_shapes={input: shape} to capture_graph.",
            open_dimensions=tuple(still_open),
        )
    return {
        name: tuple(size for size in shape if isinstance(size, int))
        for name, shape in shapes.items()
    }


def _check_dict(what: str, given: object) -> None:
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} takes a dict, not {type(given).__name__}.")


def _check_names(
    inputs: Sequence[TensorInfo],
    dims: Mapping[str, int],
    input_shapes: Mapping[str, Sequence[int]],
) -> None:
    names = [info.name for info in inputs]
    unknown = [name for name in input_shapes if name not in names]
    if unknown:
        raise ArgumentError(f"input_shapes names {unknown}, but the inputs are {names}.")
    named = sorted({size for info in inputs for size in info.shape or () if isinstance(size, str)})
    unknown = [name for name in dims if name not in named]
    if unknown:
        raise ArgumentError(f"dims names {unknown}, but the named open dimensions are {named}.")


def _size(what: str, size: object, least: int = 0) -> int:
    try:
        number = operator.index(size)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if isinstance(size, bool) or not least <= number < 2**63:
        shown = "over 2**63" if number >= 2**63 else repr(size)
        raise ShapeError(f"{what} is {shown}; a size is a whole number, at least {least}.")
    return number


def _given_shape(
    info: TensorInfo, given: Sequence[int], sizes: dict[str, int], sources: dict[str, str]
) -> _OpenShape:
    """The shape of one input from ``input_shapes``; its named dimensions are added to ``sizes``."""
    label = f"input_shapes[{info.name!r}]"
    if not isinstance(given, (Sequence, np.ndarray)) or isinstance(given, (str, bytes)):
        raise ShapeError(f"{label} is {given!r}; a shape is a list or tuple of sizes.")
    shape = tuple(_size(f"{label}[{axis}]", size) for axis, size in enumerate(given))
    if info.shape is None:
        return list(shape)
    if len(shape) != len(info.shape):
        raise ShapeError(f"input {info.name!r} cannot have shape {shape}: the file says {info}.")
    for size, declared in zip(shape, info.shape, strict=True):
        if isinstance(declared, int) and declared != size:
            raise ShapeError(
                f"input {info.name!r} cannot have shape {shape}: the file says {info}."
            )
        if isinstance(declared, str):
            if sizes.setdefault(declared, size) != size:
                raise ShapeError(
                    f"dimension {declared!r} would be {sizes[declared]} by {sources[declared]} "
                    f"and {size} by {label}; a named dimension has one size."
                )
            sources.setdefault(declared, label)
    return list(shape)


def _fill_names(shapes: dict[str, _OpenShape], sizes: Mapping[str, int]) -> None:
    for shape in shapes.values():
        shape[:] = [sizes.get(size, size) if isinstance(size, str) else size for size in shape]


def _fill_batch(shapes: dict[str, _OpenShape], batch_size: int | None) -> None:
    """Put the batch size where dimension 0 is open."""
    size = 1 if batch_size is None else _size("batch_size", batch_size, least=1)
    leading = {name: shape[0] for name, shape in shapes.items() if shape}
    waiting = {name: first for name, first in leading.items() if not isinstance(first, int)}
    names = sorted({first for first in waiting.values() if isinstance(first, str)})
    if len(names) > 1:
        raise ShapeError(
            f"dimension 0 is {' and '.join(map(repr, names))} in different inputs, so one "
            f"batch_size does not fit them. Bind all but one by dims or input_shapes.",
            open_dimensions=tuple(names),
        )
    if batch_size is not None and not waiting and size not in leading.values():
        found = ", ".join(f"{name!r} has {first}" for name, first in leading.items()) or "none"
        raise ShapeError(
            f"batch_size={size} fits no input: none has an open dimension 0 ({found}). "
            "Leave batch_size out."
        )
    for name in waiting:
        shapes[name][0] = size
    _fill_names(shapes, dict.fromkeys(names, size))


def bind_constants(inputs: Sequence[TensorInfo], given: Mapping[str, object]) -> dict[str, Array]:
    """The values of ``constant_inputs``, checked against what the file declares.

    Python numbers and lists are taken where the input's dtype holds them: integers exactly,
    fractions rounded.

    Raises:
        ArgumentError: a name that no input has.
        DtypeError, ShapeError: a value that does not fit its input.
        TypeError: not a dict.
    """
    _check_dict("constant_inputs", given)
    infos = {info.name: info for info in inputs}
    unknown = [name for name in given if name not in infos]
    if unknown:
        raise ArgumentError(f"constant_inputs names {unknown}, but the inputs are {list(infos)}.")
    return {name: _constant(infos[name], value) for name, value in given.items()}


def _constant(info: TensorInfo, value: object) -> Array:
    label = f"constant_inputs[{info.name!r}]"
    if info.dtype is None:
        raise DtypeError(f"{label}: the type of input {info} is not supported.")
    if isinstance(value, np.ma.MaskedArray):
        raise DtypeError(f"{label} is a masked array; fill it with x.filled(value).")
    try:
        array = np.array(value)
    except ValueError as error:  # lists of unequal length
        raise ShapeError(f"{label} is no array: {error}") from None
    if not isinstance(value, (np.ndarray, np.generic)) and array.dtype.kind in "biuf":
        array = _held(array, info.dtype)
    if array.dtype != info.dtype:
        raise DtypeError(f"{label} = {value!r} is {array.dtype.name}, expected {info}.")
    declared = array.shape if info.shape is None else info.shape
    fits = len(declared) == array.ndim and all(
        not isinstance(size, int) or size == found
        for size, found in zip(declared, array.shape, strict=False)
    )
    if not fits:
        raise ShapeError(f"{label} has shape {array.shape}, expected {info}.")
    return plain_bools(array)


def _held(array: Array, dtype: np.dtype) -> Array:
    """The array in another dtype if that holds its values, else as it is."""
    with np.errstate(all="ignore"):
        cast = array.astype(dtype)
        if array.dtype.kind == "f" and kind_of(dtype) == "f":
            fits = np.array_equal(np.isfinite(cast), np.isfinite(array))
        else:
            fits = cast.tolist() == array.tolist()  # Python compares numbers exactly
    return cast if fits else array


def resolve_outputs(source: SourceModel, wanted: Sequence[int | str] | None) -> tuple[str, ...]:
    """Names of the values to compute, in the order asked for.

    Args:
        source: the model.
        wanted: positions in the file's ``graph.node`` (negative as in Python), value names or
            node names; None for the model's own outputs.

    Raises:
        PositionError: an index outside the nodes.
        ArgumentError: an unknown or ambiguous name, an output that is left out, or nothing asked.
        TypeError: an entry that is neither an integer nor a string, or not a sequence.
    """
    if wanted is None:
        if not source.outputs:
            raise ArgumentError(
                f"{source.name} declares no outputs; ask for some with output_node_indices."
            )
        return tuple(info.name for info in source.outputs)
    if isinstance(wanted, (str, bytes)) or not isinstance(wanted, Sequence):
        raise TypeError(
            "output_node_indices takes a list of node indices and names, "
            f"not {type(wanted).__name__}; pass [{wanted!r}] for one."
        )
    if not wanted:
        raise ArgumentError("output_node_indices is empty; ask for at least one node or value.")
    return tuple(_resolve(source, entry) for entry in wanted)


def _resolve(source: SourceModel, entry: int | str) -> str:
    nodes = source.file_nodes
    if isinstance(entry, str):
        return resolve_name(source, entry)
    if isinstance(entry, bool) or not hasattr(entry, "__index__"):
        raise TypeError(f"output_node_indices holds {entry!r}; an entry is a node index or a name.")
    index = operator.index(entry)
    if not -len(nodes) <= index < len(nodes):
        raise PositionError(
            f"node index {index} is outside {source.name}, which has {len(nodes)} nodes "
            f"(0 to {len(nodes) - 1}).",
            index=index,
        )
    return _first_output(nodes[index].outputs, f"node {index % len(nodes)}")


def _first_output(outputs: tuple[str, ...], label: str) -> str:
    if not outputs or not outputs[0]:
        raise ArgumentError(
            f"{label} leaves its first output out, so it cannot be asked for by index; ask for "
            f"another of its outputs by value name: {[name for name in outputs if name]}."
        )
    return outputs[0]


def resolve_name(source: SourceModel, name: str) -> str:
    """The value that a name means: that of a value, or of a node for its first output.

    Raises:
        ArgumentError: an unknown or ambiguous name, or an output that is left out.
    """
    values = {output for node in source.file_nodes for output in node.outputs if output}
    if name in values or name in source.parameters or name in {i.name for i in source.inputs}:
        return name
    found = [node for node in source.file_nodes if name and node.name == name]
    if len(found) == 1:
        return _first_output(found[0].outputs, f"node {found[0].index} {name!r}")
    if found:
        raise ArgumentError(
            f"{len(found)} nodes are named {name!r}; ask by index: {[n.index for n in found]}."
        )
    close = difflib.get_close_matches(name, [*values, *source.parameters])
    hint = f"; close to it are {close}" if close else ""
    raise ArgumentError(f"{source.name} has no value and no node named {name!r}{hint}.")
