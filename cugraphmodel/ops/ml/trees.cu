// Decision trees over x[num_rows, num_features]. Forest, in forest.py, says what the tables hold.
//
// Macros
//   SCALAR, SPLIT, COMPARED   element types of x and of splits; the one they are compared in
//   WEIGHT, OUT               element types of weights and of scores
//   AGGREGATE                 CgSum, CgMin or CgMax
#include "device.cuh"
#include "reduction.cuh"

struct alignas(16) TreeNode {
  int feature, mode, on_true, on_false;
};

CG_DEV bool branch_holds(int mode, COMPARED value, COMPARED split, const SPLIT* members,
                         int num_members) {
  switch (mode) {
    case 0: return value <= split;
    case 1: return value < split;
    case 2: return value >= split;
    case 3: return value > split;
    case 4: return value == split;
    case 5: return value != split;
    default:
      for (int m = 0; m < num_members; ++m) {
        if (value == COMPARED(members[m])) return true;
      }
      return false;
  }
}

// leaves[row, tree] = the leaf at which the row arrives. One thread a row and tree.
extern "C" __global__ void __launch_bounds__(128)
    find_leaves(const SCALAR* __restrict__ x, const TreeNode* __restrict__ nodes,
                const SPLIT* __restrict__ splits, const int* __restrict__ roots,
                const int* __restrict__ member_starts, const SPLIT* __restrict__ members,
                int* __restrict__ leaves, long long count, long long num_trees,
                long long num_features) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  const long long row = position / num_trees;
  int at = roots[position - row * num_trees];
  while (at >= 0) {
    const TreeNode node = nodes[at];
    const COMPARED value = cg_cast<COMPARED>(x[row * num_features + node.feature]);
    const int first = member_starts[at];
    const bool holds = branch_holds(node.mode & 7, value, COMPARED(splits[at]), members + first,
                                    member_starts[at + 1] - first);
    const bool is_missing = node.mode >= 8 && value != value;
    at = holds || is_missing ? node.on_true : node.on_false;
  }
  leaves[position] = -1 - at;
}

// scores[row, target] = what the votes of the row's leaves for the target come to, divided by
// `divisor`, or 0 without votes; plus base[target]. One warp a score, which shares out the trees.
extern "C" __global__ void __launch_bounds__(128)
    count_votes(const int* __restrict__ leaves, const int* __restrict__ starts,
                const int* __restrict__ targets, const WEIGHT* __restrict__ weights,
                const WEIGHT* __restrict__ base, OUT* __restrict__ scores, long long count,
                long long num_targets, long long num_trees, WEIGHT divisor) {
  const int lane = threadIdx.x % 32;
  const long long position = (long long)blockIdx.x * 4 + threadIdx.x / 32;
  const long long row = position / num_targets;
  const int target = int(position - row * num_targets);
  RunningSum<WEIGHT> sum;
  WEIGHT extreme = AGGREGATE::identity<WEIGHT>();
  int num_votes = 0;
  for (long long tree = lane; position < count && tree < num_trees; tree += 32) {
    const int leaf = leaves[row * num_trees + tree];
    for (int vote = starts[leaf]; vote < starts[leaf + 1]; ++vote) {
      if (targets[vote] != target) continue;
      sum.add(weights[vote]);
      extreme = AGGREGATE::combine(extreme, weights[vote]);
      ++num_votes;
    }
  }
  constexpr bool is_sum = CgSame<AGGREGATE, CgSum>::value;
  const WEIGHT total = cg_warp_reduce<AGGREGATE>(is_sum ? sum.total() : extreme);
  num_votes = cg_warp_sum(num_votes);
  if (lane == 0 && position < count) {
    scores[position] = cg_cast<OUT>((num_votes > 0 ? total / divisor : WEIGHT(0)) + base[target]);
  }
}
