"""Constants derived from constants: evaluated by ``onnx.reference``, recomputed on demand.

A derived constant is a recipe, not an array, so that ``load_param`` reaches it and nothing is held
twice. Only operators on a list are folded: those whose reference implementation is right for every
opset and element type. A node over constants that is not on the list runs at every replay like
any other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import kind_of
from cugraphmodel.errors import ModelLoadError
from cugraphmodel.front.proto import to_proto
from cugraphmodel.ir import Constant, Node, Parameters, TensorType, constant_of

__all__ = ["FOLDABLE", "digest", "fold_node", "folds_exactly", "literal", "parameter"]

Array = npt.NDArray[Any]

FOLDABLE = frozenset(
    """
    Abs Add And Cast CastLike Ceil Clip Concat ConstantOfShape Cos CumSum DequantizeLinear Div
    Equal Exp Expand EyeLike Flatten Floor Gather GatherElements GatherND Greater GreaterOrEqual
    Identity Less LessOrEqual Log MatMul Max Min Mod Mul Neg NonZero Not Or Pow Range Reciprocal
    ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum Relu Reshape Round ScatterElements
    ScatterND Shape Sign Sin Size Slice Split Sqrt Squeeze Sub Sum Tile Transpose Trilu
    Unsqueeze Where Xor
    """.split()  # noqa: SIM905 - one name a line would fill a screen
)

ROUNDS_EACH_STEP = frozenset(("CumSum", "MatMul", "ReduceMean", "ReduceProd", "ReduceSum", "Sum"))
"""Their reference implementation rounds every partial result to the type of the elements."""

REFERENCE_SINCE = {"DequantizeLinear": 19}
"""The oldest opset that the reference has of an operator, where older ones mean the same."""


def folds_exactly(
    node: Node, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> bool:
    """Whether the reference rounds as the kernels do: a question for narrow types.

    Args:
        node: its operator is in :data:`FOLDABLE`.
        inputs: types, None where an optional input is left out.
        outputs: types.
    """
    if node.op_type == "DequantizeLinear":
        return _dequantizes_exactly(node, inputs)
    if all(kind_of(type_.dtype) != "f" or type_.dtype.itemsize > 2 for type_ in outputs):
        return True
    if node.op_type in ("Cast", "CastLike"):
        # The reference goes by way of float32, and rounds small numbers to scales wrongly.
        source, target = inputs[0], outputs[0].dtype
        is_narrow = source is not None and (source.dtype.itemsize < 4 or source.dtype == np.float32)
        return target == np.float16 or (is_narrow and target.name != "float8_e8m0fnu")
    return node.op_type not in ROUNDS_EACH_STEP


def _dequantizes_exactly(node: Node, inputs: Sequence[TensorType | None]) -> bool:
    """Integers by ordinary scales: the reference leaves out the zero points of narrow floats.

    It looks for the axis of a tensor of rank 1 where the default says, which is outside.
    """
    x, scale = inputs[0], inputs[1]
    if x is None or scale is None:
        return False
    if len(x.shape) == 1 and scale.size > 1 and node.attributes.get("axis", 1) == 1:
        return False
    return kind_of(x.dtype) in "iu" and scale.dtype.name != "float8_e8m0fnu"


def digest(*parts: object) -> str:
    """A short, stable name for some values: arrays by content, the rest by ``repr``."""
    state = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            state.update(f"{part.dtype}{part.shape}".encode())
            state.update(np.ascontiguousarray(part).tobytes())
        else:
            state.update(repr(part).encode())
        state.update(b"\0")
    return state.hexdigest()[:24]


def literal(array: Array) -> Constant:
    """A constant that depends on no parameter."""
    return constant_of(array, f"literal {digest(array)}")


def parameter(name: str, array: Array) -> Constant:
    """The constant that is a parameter itself."""
    return Constant(
        f"parameter {name}",
        TensorType(array.dtype, array.shape),
        frozenset([name]),
        lambda parameters: parameters[name],
    )


def fold_node(
    node: Node,
    inputs: Sequence[Constant | None],
    output: int,
    type_: TensorType | None,
    parameters: Parameters,
) -> Constant:
    """One output of a node all of whose inputs are constants.

    Args:
        node: its operator is in :data:`FOLDABLE`.
        inputs: None where an optional input is left out.
        output: which output.
        type_: the output's type if a shape rule gave it; without, the constant is computed at
            once to see.
        parameters: the model's parameters.
    """
    attributes = [
        (name, value if not isinstance(value, np.ndarray) else digest(value))
        for name, value in sorted(node.attributes.items())
    ]
    keys = [constant.key if constant else None for constant in inputs]
    key = f"{node.op_type} {digest(node.domain, node.version, attributes, keys, output)}"
    names = frozenset[str]().union(*(constant.params for constant in inputs if constant))
    recipe = _Recipe(key, node, tuple(inputs), output)
    if type_ is None:
        array = recipe(parameters)
        type_ = TensorType(array.dtype, array.shape)
    return Constant(key, type_, names, recipe)


@dataclass(frozen=True, eq=False)
class _Recipe:
    """How a constant comes from others: the ``compute`` of a folded node's output."""

    key: str
    node: Node
    inputs: tuple[Constant | None, ...]
    output: int

    def __call__(self, parameters: Parameters) -> Array:
        arrays: dict[str, Array] = {}
        order = self._order(parameters, arrays)
        last_reader = {
            constant.key: position
            for position, recipe in enumerate(order)
            for constant in filter(None, recipe.inputs)
        }
        for position, recipe in enumerate(order):
            inputs = [
                None if constant is None else arrays.get(constant.key) for constant in recipe.inputs
            ]
            arrays[recipe.key] = _evaluate(recipe.node, inputs)[recipe.output]
            parameters.remember(recipe.key, arrays[recipe.key])
            for constant in filter(None, recipe.inputs):
                if last_reader[constant.key] == position:
                    arrays.pop(constant.key, None)
        return arrays[self.key]

    def _order(self, parameters: Parameters, arrays: dict[str, Array]) -> list[_Recipe]:
        """The recipes to evaluate, each once, after those it needs; what is known goes to arrays.

        A loop with a stack of its own: recipes may hang on one another by the thousand.
        """
        order: list[_Recipe] = []
        seen: set[str] = set()
        stack: list[tuple[_Recipe, bool]] = [(self, False)]
        while stack:
            recipe, is_ready = stack.pop()
            if is_ready:
                order.append(recipe)
                continue
            if recipe.key in seen:
                continue
            seen.add(recipe.key)
            known = parameters.recall(recipe.key)
            if known is not None:
                arrays[recipe.key] = known
                continue
            stack.append((recipe, True))
            for constant in filter(None, recipe.inputs):
                if isinstance(constant.compute, _Recipe):
                    stack.append((constant.compute, False))
                else:
                    arrays[constant.key] = constant.compute(parameters)
        return order


def _gather_elements(node: Node, inputs: Sequence[Array | None]) -> list[Array]:
    """GatherElements, whose reference implementation takes at most 32 rows.

    Indices may be fewer than the data along the other axes.
    """
    data, indices = inputs[0], inputs[1]
    assert data is not None  # the tracer has its type
    assert indices is not None
    axis = int(node.attributes.get("axis", 0)) % data.ndim
    size = data.shape[axis]
    if indices.size and not (-size <= indices.min() and indices.max() < size):
        raise ModelLoadError(f"{node.label} cannot be evaluated: an index is outside axis {axis}.")
    ends = [None if d == axis else end for d, end in enumerate(indices.shape)]
    part = data[tuple(slice(end) for end in ends)]
    return [np.take_along_axis(part, indices.astype(np.int64) % max(size, 1), axis)]


def _evaluate(node: Node, inputs: Sequence[Array | None]) -> list[Array]:
    """The outputs of one node, by the ONNX reference implementation where it is right."""
    if node.op_type == "GatherElements":
        return _gather_elements(node, inputs)
    return _evaluate_by_reference(node, inputs)


def _evaluate_by_reference(node: Node, inputs: Sequence[Array | None]) -> list[Array]:
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    names = [f"i{position}" if array is not None else "" for position, array in enumerate(inputs)]
    proto = to_proto(node, names)
    proto.output[:] = [f"o{position}" for position in range(len(node.outputs))]
    graph = helper.make_graph(
        [proto],
        "fold",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in zip(names, inputs, strict=True)
            if array is not None
        ],
        [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in proto.output],
    )
    version = max(node.version, REFERENCE_SINCE.get(node.op_type, 0))
    opset = helper.make_opsetid(node.domain, version)
    model = helper.make_model(graph, opset_imports=[opset])
    feeds = {name: array for name, array in zip(names, inputs, strict=True) if name}
    try:
        with np.errstate(all="ignore"):
            results = ReferenceEvaluator(model).run(None, feeds)
    except Exception as error:  # whatever NumPy makes of inputs that do not fit
        raise ModelLoadError(f"{node.label} cannot be evaluated: {error}") from error
    return [np.ascontiguousarray(result).reshape(np.shape(result)) for result in results]
