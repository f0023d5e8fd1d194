"""Input arrays from files or random numbers, and output arrays to a file.

NumPy's files have no name for the types of ``ml_dtypes``. They are written as the type of NumPy
that holds them exactly, float32, int8 or uint8, and taken as that or as the bytes that
``numpy.save`` makes of them.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import kind_of, written_dtype
from cugraphmodel.errors import CuGraphModelError
from cugraphmodel.ir import Value

__all__ = [
    "ArrayFileError",
    "UnnamedInputError",
    "fill_inputs",
    "random_array",
    "read_inputs",
    "restored",
    "write_outputs",
]

Array = npt.NDArray[Any]


class ArrayFileError(CuGraphModelError, ValueError):
    """A file is not a NumPy array that can be read."""


class UnnamedInputError(CuGraphModelError, ValueError):
    """An array that belongs to no input, or an input that got no array or two."""


def read_inputs(arguments: Sequence[str], names: Sequence[str]) -> dict[str, Array]:
    """Arrays by input name.

    Args:
        arguments: ``NAME=FILE.npy``, or ``FILE.npy`` for the next input without an array, or
            ``FILE.npz`` with arrays by the names of inputs.
        names: the model's inputs, in the file's order.

    Raises:
        ArrayFileError: a file is missing or not an ``.npy`` or ``.npz`` file.
        UnnamedInputError: more files than inputs, or two for one input.
    """
    arrays: dict[str, Array] = {}
    for argument in arguments:
        name, path = _split(argument, names)
        if name is None and path.suffix == ".npz":
            found = _read_archive(path)
        else:
            if name is None:
                name = next((name for name in names if name not in arrays), "")
            found = {name: _read_array(path)}
        for name, array in found.items():
            if name not in names:
                raise UnnamedInputError(
                    f"--input {argument}: the model's inputs are {list(names)}."
                )
            if name in arrays:
                raise UnnamedInputError(f"--input {argument}: {name!r} has an array already.")
            arrays[name] = array
    return arrays


def fill_inputs(
    inputs: Sequence[Value], given: Mapping[str, Array], seed: int | None
) -> dict[str, Array]:
    """An array for every input: the given one, or one of random numbers.

    Raises:
        ArrayFileError: as :func:`restored`.
    """
    rng = np.random.default_rng(seed)
    arrays = {}
    for value in inputs:
        array = given.get(value.name)
        arrays[value.name] = (
            random_array(rng, value.dtype, value.shape)
            if array is None
            else restored(value.name, array, value.dtype)
        )
    return arrays


def _split(argument: str, names: Sequence[str]) -> tuple[str | None, Path]:
    """The name, if the argument has one, and the path. A name may hold ``=``."""
    for name in names:
        if argument.startswith(f"{name}="):
            return name, Path(argument.removeprefix(f"{name}="))
    if "=" in argument and not Path(argument).exists():
        name = argument.split("=", 1)[0]
        raise UnnamedInputError(f"--input {argument}: no input is named {name!r}; {list(names)}.")
    return None, Path(argument)


def _read_array(path: Path) -> Array:
    try:
        with path.open("rb") as file:
            array: Array = np.lib.format.read_array(file, allow_pickle=False)
    except OSError as error:
        raise ArrayFileError(f"cannot read {str(path)!r}: {error.strerror}.") from error
    except Exception as error:  # a damaged header can break NumPy's reader anywhere
        reason = " ".join(str(error).split())
        raise ArrayFileError(
            f"{str(path)!r} is not an array file as numpy.save writes it (.npy): {reason}"
        ) from error
    return array


def _read_archive(path: Path) -> dict[str, Array]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError as error:
        raise ArrayFileError(f"cannot read {str(path)!r}: {error.strerror}.") from error
    except Exception as error:  # as in _read_array
        reason = " ".join(str(error).split())
        raise ArrayFileError(
            f"{str(path)!r} is not an archive as numpy.savez writes it (.npz): {reason}"
        ) from error


def _file_dtype(dtype: np.dtype) -> np.dtype:
    """What files hold for a type: itself, if NumPy knows it."""
    if dtype.kind != "V":
        return dtype
    return np.dtype({"f": "float32", "i": "int8", "u": "uint8"}[kind_of(dtype)])


def restored(name: str, array: Array, dtype: np.dtype) -> Array:
    """An array from a file for an input, in the input's type if files have no name for that.

    Args:
        name: of the input, for messages.
        array: what the file holds; given back as it is if it is for another type.
        dtype: of the input.

    Raises:
        ArrayFileError: the type does not hold every number of the file.
    """
    if dtype.kind != "V" or array.dtype == dtype:
        return array
    if array.dtype.type is np.void and array.dtype.itemsize == dtype.itemsize:
        return array.view(dtype)
    if array.dtype != _file_dtype(dtype):
        return array
    with np.errstate(all="ignore"):
        narrow = array.astype(dtype)
    if not np.array_equal(narrow.astype(array.dtype), array, equal_nan=True):
        raise ArrayFileError(
            f"input {name!r} is {dtype.name}, which does not hold every number of the file; "
            f"save x.astype({written_dtype(dtype)})."
        )
    return narrow


def random_array(rng: np.random.Generator, dtype: np.dtype, shape: Sequence[int]) -> Array:
    """Normal floats; 0 and 1 for integers and bool, which also suits masks and indices."""
    if kind_of(dtype) == "f":
        data = rng.standard_normal(shape)
        return (np.abs(data) if dtype.name == "float8_e8m0fnu" else data).astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)


def write_outputs(path: Path, outputs: Mapping[str, Array]) -> None:
    """Write an ``.npz`` file. Unlike ``numpy.savez`` this takes any name, also ``file``."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in outputs.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                held = array.astype(_file_dtype(array.dtype), copy=False)
                np.lib.format.write_array(member, held, allow_pickle=False)
