"""A loaded model: what is in the file, its parameters, and the way to captured graphs."""

from __future__ import annotations

import difflib
import html
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import plain_bools
from cugraphmodel.errors import ArgumentError, ParameterError, ShapeError
from cugraphmodel.executors import open_device
from cugraphmodel.executors.base import Device, Executable, Progress
from cugraphmodel.forks import renew_lock_in_child
from cugraphmodel.front.bind import bind_constants, bind_inputs, resolve_outputs
from cugraphmodel.front.reader import ModelSource, read_model
from cugraphmodel.front.source import FileNode, SourceModel, TensorInfo
from cugraphmodel.front.state import bind_state, outputs_beside
from cugraphmodel.front.trace import Traced, class_labels, trace
from cugraphmodel.graph_model import CudaGraphModel, Inputs, check_dtype, ordered_inputs
from cugraphmodel.ir import Constant, Graph, Parameters
from cugraphmodel.passes import Precision, numerics_of, run_passes
from cugraphmodel.plan import Plan, build_plan
from cugraphmodel.tuning import choose_launches

__all__ = ["LoadedModel", "load"]

Array = npt.NDArray[Any]


def load(source: ModelSource, device: str | None = None) -> LoadedModel:
    """Read a model and choose where it runs.

    Args:
        source: path of an ONNX file, its bytes, or an ``onnx.ModelProto``.
        device: ``"cuda"``, ``"cuda:1"``, ``"cpu"``, or ``"cpu:check"`` to look for faults in
            kernels; None takes the first GPU if there is one, else the CPU, and says which once
            through ``logging``.

    Raises:
        FileNotFoundError: there is no such file.
        ModelLoadError: it is not a valid ONNX model.
        DeviceUnavailableError: the device asked for cannot be used.
        ArgumentError: ``device`` is not the name of a device.
    """
    return LoadedModel(read_model(source), open_device(device))


@dataclass(eq=False)
class _Record:
    """What ``load_param`` must know of a graph or of the eager form of a model."""

    label: str
    constants: tuple[Constant, ...]
    shape_parameters: frozenset[str]
    built_in: frozenset[str]


@dataclass(eq=False)
class _Eager:
    """The eager form of a model for one set of shapes and outputs."""

    key: tuple[Any, ...]
    executable: Executable
    record: _Record


class LoadedModel:
    """An ONNX model with its parameters, on one device. Made by :func:`load`.

    Any thread may call any method.

    Attributes:
        name: what messages call the model.
        device: ``"cpu"``, ``"cuda:0"``, ...
        nodes: the file's nodes; a position here is an index for ``capture_graph``.
        inputs, outputs: names, dtypes and shapes as the file declares them, open sizes included.
            Declared output shapes are the file's claim; the graph's are computed.
    """

    def __init__(self, source: SourceModel, device: Device) -> None:
        self._source = source
        self._device = device
        self._parameters = Parameters(source.parameters)
        self._store = device.weight_store()
        self._lock = threading.RLock()
        renew_lock_in_child(self)
        self._records: weakref.WeakKeyDictionary[object, _Record] = weakref.WeakKeyDictionary()
        self._eager: _Eager | None = None
        self._num_captured = 0
        self.name = source.name
        self.device = device.name
        self.nodes: tuple[FileNode, ...] = source.file_nodes
        self.inputs: tuple[TensorInfo, ...] = source.inputs
        self.outputs: tuple[TensorInfo, ...] = source.outputs

    @property
    def params(self) -> tuple[TensorInfo, ...]:
        """Name, shape and dtype of every parameter, under the file's names."""
        arrays = ((name, self._parameters[name]) for name in self._parameters)
        return tuple(TensorInfo(name, array.dtype, array.shape) for name, array in arrays)

    def capture_graph(
        self,
        batch_size: int | None = None,
        output_node_indices: Sequence[int | str] | None = None,
        *,
        dims: Mapping[str, int] | None = None,
        input_shapes: Mapping[str, Sequence[int]] | None = None,
        constant_inputs: Mapping[str, Array] | None = None,
        state: Mapping[str, str] | None = None,
        initial_state: Mapping[str, Array] | None = None,
        bounded_outputs: bool = False,
        precision: Precision = "fp32",
        tune: bool | None = None,
        progress: Progress | None = None,
    ) -> CudaGraphModel:
        """Plan, compile, allocate and capture the model for fixed shapes.

        Args:
            batch_size: size of dimension 0 of every input where it is open; 1 if left out.
            output_node_indices: what to give back: positions in :attr:`nodes` (the node's first
                output), value names or node names; None for the model's own outputs.
            dims: sizes of named open dimensions, wherever they occur.
            input_shapes: whole shapes of inputs, for open dimensions without a name.
            constant_inputs: inputs whose value is fixed now; they are gone from ``run``, and what
                hangs on them alone is computed here.
            state: input -> output whose value it has in the next run. Both stay on the device:
                such inputs are gone from ``run``, and such outputs too unless
                ``output_node_indices`` names them. Instead of an output any value may stand here,
                and instead of an input a parameter. A run that raises leaves the state as it was.
            initial_state: the state before the first run and after
                :meth:`CudaGraphModel.reset_state`, of exactly its dtype and shape; where left out,
                zeros, or a parameter's value now.
            bounded_outputs: let an output of NonZero, NonMaxSuppression, Unique or Compress whose
                size hangs on data have the largest size that it can have. It begins with what the
                operator gives and ends with a fill: -1 for indices, 0 for values and counts. One
                more output for each such node, called ``NAME.count`` after the first of its outputs
                that are read, a scalar of int64, says how many entries count. No other node can
                read what has such a size.
            precision: ``"fp32"``, accurate to fp32; ``"ieee"``, fp32 multiply-adds only;
                ``"tf32"``, which rounds the float32 operands of matrix products to 10 bits of
                fraction and adds up in fp32; ``"fp16"`` or ``"bf16"``, which keep float32 values
                in that type from one kernel to the next, where they compute in fp32. Inputs,
                outputs and state have the model's types in every mode.
            tune: measure on the device which of the launches that a product may take are fastest,
                unless that is known from an earlier capture; results may then differ in their last
                bits from a capture without. None: on a GPU, but not on the CPU.
            progress: called as ``progress(what, done, total)`` while launches are measured and
                kernels compile.

        Returns:
            A graph that owns all memory it needs.

        Raises:
            UnsupportedModelError: lists every node that cannot run, and why.
            ShapeError: dimensions that stayed open, or two sizes for one.
            PositionError, ArgumentError, DtypeError, TypeError: an argument is wrong.
            DeviceMemoryError: the device has less memory free than the graph needs.
            KernelCompileError, CaptureError, CompilerNotFoundError: the device failed.
        """
        numerics = numerics_of(precision, self._device.compute_capability)
        fixed = bind_constants(self.inputs, constant_inputs or {})
        follower = bind_state(self._source, {} if state is None else state, fixed)
        outputs = resolve_outputs(self._source, output_node_indices)
        if output_node_indices is None:
            outputs = outputs_beside(outputs, follower)
        free = [info for info in self.inputs if info.name not in fixed]
        shapes = bind_inputs(free, batch_size, dims or {}, input_shapes or {})
        with self._lock:
            traced = trace(
                self._source,
                self._parameters,
                shapes,
                outputs,
                fixed,
                follower,
                bounded_outputs=bounded_outputs,
            )
            start = _initial_state(traced.graph, initial_state or {}, self._parameters)
            fused = run_passes(traced.graph, numerics)
            if tune or (tune is None and self._device.compute_capability is not None):
                fused = choose_launches(fused, self._device, progress)
            plan = build_plan(fused)
            executable = self._prepare(plan, capture=True, progress=progress)
            self._num_captured += 1
            name = f"graph {self._num_captured} of {self.name}"
            labels = class_labels(traced.graph)
            graph = CudaGraphModel(name, self.device, precision, plan, executable, labels, start)
            self._records[graph] = self._record(name, plan, traced, fused.built_in)
        return graph

    def forward(
        self, inputs: Inputs, output_node_indices: Sequence[int | str] | None = None
    ) -> list[Array]:
        """Run the model node by node, nothing fused and nothing captured: the way to debug.

        Open dimensions take their sizes from the arrays. Agrees with a captured graph within
        tolerance, not bit for bit. The memory of the last call's shapes is kept. Raises what
        :meth:`capture_graph` and :meth:`CudaGraphModel.run` raise.

        Args:
            inputs: as :meth:`CudaGraphModel.run`.
            output_node_indices: as :meth:`capture_graph`.

        Returns:
            Fresh arrays, one per output.
        """
        outputs = resolve_outputs(self._source, output_node_indices)
        with self._lock:
            arrays = ordered_inputs(inputs, [info.name for info in self.inputs])
            eager = self._eager_form(self._shapes_of(arrays), outputs)
            for view, array in zip(eager.executable.inputs, arrays, strict=True):
                view[...] = plain_bools(array).reshape(view.shape)
            eager.executable.replay()
            return [view.copy() for view in eager.executable.outputs]

    def load_param(self, name: str, array: Array) -> None:
        """Replace a parameter; every captured graph uses it from its next run on.

        What was derived from it (folded, packed or transposed copies) is recomputed.

        Args:
            name: one of :attr:`params`.
            array: exactly the parameter's dtype and shape; copied.

        Raises:
            ParameterError: no such parameter, another shape, or a parameter whose value decided
                shapes of a graph that is still in use, or is one number that its kernels have
                built in: the bound of a Clip after a convolution, or the 0.5 of a Gelu.
            DtypeError: not an array of the parameter's dtype.
        """
        with self._lock:
            fresh = self._checked_parameter(name, array)
            if self._eager is not None and name in self._eager.record.shape_parameters:
                self._drop_eager_form()
            with self._quiet_graphs() as records:
                for record in records:
                    if name in record.shape_parameters | record.built_in:
                        did = "is built into" if name in record.built_in else "decided shapes of"
                        raise ParameterError(
                            f"parameter {name!r} {did} {record.label}; close that graph first.",
                            name=name,
                        )
                changed = {c.key: c for r in records for c in r.constants if name in c.params}
                old = self._parameters[name]
                self._parameters.set(name, fresh)
                try:
                    arrays = {key: c.compute(self._parameters) for key, c in changed.items()}
                except BaseException:
                    self._parameters.set(name, old)
                    raise
                self._store.update(arrays)

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        outputs = ", ".join(map(str, self.outputs))
        return (
            f"<LoadedModel {self.name} on {self.device}, {len(self.nodes)} nodes: "
            f"({inputs}) -> ({outputs})>"
        )

    def _repr_html_(self) -> str:
        """A small table for notebooks."""
        rows = [("input", info) for info in self.inputs] + [("output", o) for o in self.outputs]
        body = "".join(
            f"<tr><td>{kind}</td><td>{html.escape(str(info))}</td></tr>" for kind, info in rows
        )
        num_bytes = sum(self._parameters[name].nbytes for name in self._parameters)
        return (
            f"<b>{html.escape(self.name)}</b> on {self.device}: {len(self.nodes)} nodes, "
            f"{len(self.params)} parameters ({num_bytes:,} bytes)<table>{body}</table>"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self.name} is bound to a device and cannot be copied; load it again.")

    def _prepare(self, plan: Plan, *, capture: bool, progress: Progress | None) -> Executable:
        return self._device.prepare(
            plan, self._store, self._parameters, capture=capture, progress=progress
        )

    @staticmethod
    def _record(
        label: str, plan: Plan, traced: Traced, built_in: frozenset[str] = frozenset()
    ) -> _Record:
        constants = tuple(plan.constants.values())
        return _Record(label, constants, traced.shape_parameters, built_in)

    @contextmanager
    def _quiet_graphs(self) -> Iterator[list[_Record]]:
        """The records of all living graphs, none of which runs meanwhile.

        A graph that is closed uses no parameter any more. The eager form runs under the lock of
        the model, which the caller holds.
        """
        graphs = list(self._records.items())  # keeps them alive in here
        with ExitStack() as stack:
            for graph, _ in graphs:
                if isinstance(graph, CudaGraphModel):
                    stack.enter_context(graph._lock)
            yield [r for g, r in graphs if not (isinstance(g, CudaGraphModel) and g.closed)]

    def _shapes_of(self, arrays: Sequence[Array]) -> dict[str, tuple[int, ...]]:
        """Concrete input shapes for ``forward``, from the arrays."""
        for info, array in zip(self.inputs, arrays, strict=True):
            if info.dtype is not None:
                check_dtype(array, f"input {info.name!r}", info.dtype)
        given = {
            info.name: array.shape
            for info, array in zip(self.inputs, arrays, strict=True)
            if info.dtype is not None and array.shape != (info.size,)  # flat, as run takes it
        }
        return bind_inputs(self.inputs, None, {}, given)

    def _eager_form(
        self, shapes: Mapping[str, tuple[int, ...]], outputs: tuple[str, ...]
    ) -> _Eager:
        key = (tuple(sorted(shapes.items())), outputs)
        if self._eager is None or self._eager.key != key:
            traced = trace(self._source, self._parameters, shapes, outputs, {})
            plan = build_plan(traced.graph, reuse_memory=False)
            self._drop_eager_form()
            executable = self._prepare(plan, capture=False, progress=None)
            label = f"the eager form of {self.name}"
            record = self._record(label, plan, traced)
            self._eager = _Eager(key, executable, record)
            self._records[self._eager] = record
        return self._eager

    def _drop_eager_form(self) -> None:
        if self._eager is not None:
            self._records.pop(self._eager, None)
            self._eager.executable.close()
            self._eager = None

    def _checked_parameter(self, name: str, array: Array) -> Array:
        if name not in self._parameters:
            close = difflib.get_close_matches(name, self._parameters)
            hint = f"close to it are {close}" if close else "its names are in .params"
            raise ParameterError(f"{self.name} has no parameter {name!r}; {hint}.", name=name)
        old = self._parameters[name]
        check_dtype(array, f"parameter {name!r}", old.dtype)
        if array.shape != old.shape:
            raise ParameterError(
                f"parameter {name!r} has shape {old.shape}, got {array.shape}.", name=name
            )
        return np.array(plain_bools(array), order="C")


def _initial_state(graph: Graph, given: object, parameters: Parameters) -> dict[str, Array]:
    """The state before the first run: what is given, a parameter's value, or zeros.

    Args:
        graph: with the state's dtypes and shapes.
        given: state -> array, as ``capture_graph`` takes it; copied.
        parameters: the model's.

    Raises:
        ArgumentError: a name that is no state.
        DtypeError, ShapeError: an array that does not fit.
        TypeError: not a dict.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f"initial_state takes a dict, not {type(given).__name__}.")
    unknown = [name for name in given if name not in graph.state]
    if unknown:
        raise ArgumentError(f"initial_state names {unknown}, but the state is {list(graph.state)}.")
    found: dict[str, Array] = {}
    for name in graph.state:
        value = graph.values[name]
        if name not in given:
            known = name in parameters
            found[name] = parameters[name] if known else np.zeros(value.shape, value.dtype)
            continue
        check_dtype(given[name], f"initial_state[{name!r}]", value.dtype)
        array = np.array(plain_bools(given[name]), order="C")
        if array.shape != value.shape:
            raise ShapeError(
                f"initial_state[{name!r}] has shape {array.shape}, expected {value.shape}."
            )
        found[name] = array
    return found
