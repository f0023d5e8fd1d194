"""Decision trees as tables that a kernel walks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.spec import Unsupported

__all__ = ["Forest", "forest_of_ensemble", "forest_of_nodes"]

Array = npt.NDArray[Any]
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
MEMBER = len(MODES)
TRACKS_TRUE = 8
"""Added to the mode of a node that takes its true branch for NaN."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees and the votes of their leaves.

    A reference to a node is its row; one to a leaf is ``-1 - leaf``.

    Attributes:
        nodes: int32 ``[num_nodes, 4]``: feature, mode, where to go if true, and if false.
        splits: float32 or float64 ``[num_nodes]``: what the feature is compared with.
        roots: int32 ``[num_trees]``: references.
        vote_starts: int32 ``[num_leaves + 1]``: where a leaf's votes start.
        vote_targets: int32 ``[num_votes]``: the target or class of a vote.
        vote_weights: ``[num_votes]``, float32 or float64.
        member_starts: int32 ``[num_nodes + 1]``: where a node's set of values starts.
        members: the values of all sets, of the type of ``splits``.
    """

    nodes: Array
    splits: Array
    roots: Array
    vote_starts: Array
    vote_targets: Array
    vote_weights: Array
    member_starts: Array
    members: Array

    def tables(self) -> list[Array]:
        """All arrays, none of them empty."""
        arrays = [
            *(self.nodes, self.splits, self.roots, self.vote_starts, self.vote_targets),
            *(self.vote_weights, self.member_starts, self.members),
        ]
        return [a if a.size else np.zeros((1, *a.shape[1:]), a.dtype) for a in arrays]


def forest_of_nodes(attributes: Mapping[str, Any], votes: str) -> Forest:
    """The forest of a TreeEnsembleRegressor or TreeEnsembleClassifier.

    Args:
        attributes: of the node.
        votes: ``"target"`` or ``"class"``, with which the names of the votes' attributes begin.

    Raises:
        Unsupported: the attributes do not make trees.
    """
    modes = list(attributes["nodes_modes"])
    keys = list(zip(attributes["nodes_treeids"], attributes["nodes_nodeids"], strict=True))
    reference = _references(keys, [mode == "LEAF" for mode in modes])
    inner = [position for position, mode in enumerate(modes) if mode != "LEAF"]
    unknown = {modes[position] for position in inner} - {*MODES}
    if unknown:
        raise Unsupported(f"The modes {sorted(unknown)} are none of {', '.join(MODES)}.")
    tracks = attributes.get("nodes_missing_value_tracks_true") or [0] * len(modes)
    splits = _floats(attributes, "nodes_values")
    nodes = np.zeros((len(inner), 4), np.int32)
    for row, position in enumerate(inner):
        tree = keys[position][0]
        nodes[row] = (
            attributes["nodes_featureids"][position],
            MODES.index(modes[position]) + TRACKS_TRUE * bool(tracks[position]),
            _found(reference, tree, attributes["nodes_truenodeids"][position]),
            _found(reference, tree, attributes["nodes_falsenodeids"][position]),
        )
    leaves = [
        _found(reference, tree, node)
        for tree, node in zip(
            attributes[f"{votes}_treeids"], attributes[f"{votes}_nodeids"], strict=True
        )
    ]
    forest = _with_votes(
        nodes,
        splits[inner],
        _roots(keys, reference, nodes),
        leaves,
        np.array(attributes[f"{votes}_ids"], np.int32),
        _floats(attributes, f"{votes}_weights"),
        len(modes) - len(inner),
    )
    _check_that_walks_end(forest)
    return forest


def _references(keys: Sequence[tuple[int, int]], is_leaf: Sequence[bool]) -> dict[Any, int]:
    """(tree, node) -> reference; leaves and other nodes are counted apart."""
    found: dict[Any, int] = {}
    num_nodes = num_leaves = 0
    for key, leaf in zip(keys, is_leaf, strict=True):
        if key in found:
            raise Unsupported(f"Node {key[1]} of tree {key[0]} stands twice.")
        found[key] = -1 - num_leaves if leaf else num_nodes
        num_leaves, num_nodes = num_leaves + leaf, num_nodes + (not leaf)
    return found


def _found(reference: Mapping[Any, int], tree: int, node: int) -> int:
    if (tree, node) not in reference:
        raise Unsupported(f"Tree {tree} has no node {node}.")
    return reference[tree, node]


def _roots(keys: Sequence[tuple[int, int]], reference: Mapping[Any, int], nodes: Array) -> Array:
    """In each tree the one node that no other leads to."""
    children = {*nodes[:, 2:].ravel().tolist()}
    roots = [(tree, reference[tree, node]) for tree, node in keys]
    roots = [(tree, root) for tree, root in roots if root not in children]
    trees = [tree for tree, _ in roots]
    if sorted(trees) != sorted({tree for tree, _ in keys}):
        raise Unsupported("A tree does not have exactly one root.")
    return np.array([root for _, root in roots], np.int32)


def _floats(attributes: Mapping[str, Any], name: str) -> Array:
    """Numbers in double precision where they come as a tensor, else in single."""
    wide = attributes.get(f"{name}_as_tensor")
    if wide is not None:
        return np.asarray(wide, np.float64 if wide.dtype == np.float64 else np.float32).ravel()
    return np.array(attributes.get(name, ()), np.float32)


def _with_votes(
    nodes: Array,
    splits: Array,
    roots: Array,
    leaves: Sequence[int],
    targets: Array,
    weights: Array,
    num_leaves: int,
) -> Forest:
    """A forest without sets; a vote's leaf is a reference."""
    if not len(leaves) == len(targets) == len(weights):
        raise Unsupported(f"{len(leaves)} votes have {len(targets)} ids, {len(weights)} weights.")
    if any(leaf >= 0 for leaf in leaves):
        raise Unsupported("A vote belongs to a node that is no leaf.")
    numbers = -1 - np.array(leaves, np.int64)
    order = np.argsort(numbers, kind="stable")
    starts = np.searchsorted(numbers[order], np.arange(num_leaves + 1))
    return Forest(
        *(nodes, splits, roots, starts.astype(np.int32), targets[order], weights[order]),
        member_starts=np.zeros(len(nodes) + 1, np.int32),
        members=np.zeros(0, splits.dtype),
    )


def forest_of_ensemble(attributes: Mapping[str, Any]) -> Forest:
    """The forest of a TreeEnsemble (version 5).

    Raises:
        Unsupported: the attributes do not make trees.
    """
    splits, weights = (
        np.asarray(a, np.float64 if a.dtype == np.float64 else np.float32)
        for a in (attributes["nodes_splits"], attributes["leaf_weights"])
    )
    modes = np.asarray(attributes["nodes_modes"], np.int32)
    if modes.size and not 0 <= modes.min() <= modes.max() <= MEMBER:
        raise Unsupported(f"The modes {sorted({*modes.tolist()})} go beyond {MEMBER}.")
    tracks = np.array(attributes.get("nodes_missing_value_tracks_true") or [0] * len(modes)) != 0
    branches = [
        np.where(attributes[f"nodes_{side}leafs"], -1 - ids, ids)
        for side in ("true", "false")
        for ids in (np.array(attributes[f"nodes_{side}nodeids"]),)
    ]
    columns = [np.array(attributes["nodes_featureids"]), modes + TRACKS_TRUE * tracks, *branches]
    nodes = np.stack(columns, axis=1).astype(np.int32)
    member_starts, members = _member_sets(attributes, modes, splits.dtype)
    targets = np.array(attributes["leaf_targetids"], np.int32)
    forest = Forest(
        *(nodes, splits, np.array(attributes["tree_roots"], np.int32)),
        *(np.arange(len(targets) + 1, dtype=np.int32), targets, weights, member_starts, members),
    )
    _check_that_walks_end(forest)
    return forest


def _member_sets(
    attributes: Mapping[str, Any], modes: Array, dtype: np.dtype
) -> tuple[Array, Array]:
    """Where each node's set starts, and all sets; in the file, a NaN ends each."""
    values = np.asarray(attributes.get("membership_values", np.zeros(0)), dtype)
    ends = np.flatnonzero(np.isnan(values))
    if len(ends) != np.count_nonzero(modes == MEMBER):
        raise Unsupported(f"{len(ends)} sets of values do not fit the nodes of mode {MEMBER}.")
    sizes = np.zeros(len(modes), np.int64)
    sizes[modes == MEMBER] = np.diff(ends, prepend=-1) - 1
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return starts, values[~np.isnan(values)]


def _check_that_walks_end(forest: Forest) -> None:
    """No reference leads out of the tables, and none leads back."""
    num_nodes, num_leaves = len(forest.nodes), len(forest.vote_starts) - 1
    references = np.concatenate([forest.nodes[:, 2:].ravel(), forest.roots])
    if len(forest.splits) != num_nodes or not all(
        -1 - num_leaves < reference < num_nodes for reference in references.tolist()
    ):
        raise Unsupported("A branch leads to a node that is not there.")
    front = np.unique(forest.roots[forest.roots >= 0])
    for _ in range(num_nodes):
        following = forest.nodes[front, 2:]
        front = np.unique(following[following >= 0])
    if front.size:
        raise Unsupported("The branches of a tree lead in a circle.")
