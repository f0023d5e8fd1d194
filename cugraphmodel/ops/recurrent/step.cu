// One step of a recurrent layer, over inputs already multiplied with their weights.
//
// A block owns some units of ROWS batch rows of one direction. Macros: those of cell.cuh, and
// PREVIOUS   element type of the state that is read
// PHASE      0 for a whole step, 1 and 2 for the two halves of a GRU's, or 3 for what follows once
//            the weights' products with the state are in `reset`: [batch, kGates, hidden]
#include "device.cuh"
#include "cell.cuh"

// The state between steps is [num_directions, batch, hidden] in memory of the layer's own. At the
// first step `previous_h` and `previous_c` are the initial state, and may be null.
extern "C" __global__ void __launch_bounds__(128, 1)
    recurrent_step(const Accumulator* __restrict__ projected, const Scalar* __restrict__ weights,
                   const Scalar* __restrict__ bias, const Scalar* __restrict__ peepholes,
                   const int* __restrict__ lengths, const PREVIOUS* previous_h,
                   const PREVIOUS* previous_c, Accumulator* next_h, Accumulator* next_c,
                   Accumulator* update, Accumulator* reset, Scalar* __restrict__ y,
                   Scalar* __restrict__ y_h, Scalar* __restrict__ y_c, Geometry shape,
                   Functions functions, long long previous_direction, long long previous_batch,
                   int step, unsigned* error_word, unsigned error_code) {
  const Layer layer = {projected, weights, bias, peepholes, lengths, y, y_h, y_c};
  const Place place(shape, functions, layer, blockIdx.y, blockIdx.z, error_word, error_code);
  const int hidden = place.hidden;
  const int j = blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES;
  const long long block_state = (place.direction * shape.batch + place.row0) * hidden;
  const long long at = block_state + (long long)place.row_here * hidden + j;
  const long long block_before =
      place.direction * previous_direction + place.row0 * previous_batch;
  const long long before_at = block_before + place.row_here * previous_batch + j;

  constexpr int kNow = PHASE == 1 ? 2 : PHASE == 2 ? 1 : kGates;
  Accumulator sum[kNow] = {};
  if constexpr (PHASE == 3) {
    const Accumulator* from = reset + place.row * kGates * hidden + j;
    for (int g = 0; g < kNow && reset && place.owns(j); ++g) sum[g] = from[g * hidden];
  } else if constexpr (PHASE == 2) {
    const Accumulator* state = reset + block_state;
    products(place.weights(2, j), state, hidden, place.num_rows, hidden, sum);
  } else if (previous_h != nullptr) {
    const PREVIOUS* state = previous_h + block_before;
    products(place.weights(0, j), state, previous_batch, place.num_rows, hidden, sum);
  }
  if (!place.owns(j)) return;

  const Unit unit = place.unit(step, j);
  const Accumulator before = previous_h ? Accumulator(previous_h[before_at]) : Accumulator(0);
  if constexpr (PHASE == 1) {
    update[at] = unit.f(unit.gate(0, sum[0]));
    reset[at] = unit.f(unit.gate(1, sum[1])) * before;
    return;
  }
  const Accumulator c_before = previous_c ? Accumulator(previous_c[before_at]) : Accumulator(0);
  Accumulator c = c_before;
  Accumulator h;
  if constexpr (PHASE == 2) {
    h = mixed(update[at], unit.g(unit.gate(2, sum[0])), before);
  } else {
    h = unit.next(sum, before, c, shape.coupled != 0);
  }
  place.write_y(step, j, h);
  if (step >= place.length) {
    h = before;
    c = c_before;
  }
  next_h[at] = h;
  if (kIsLstm) next_c[at] = c;
  if (step + 1 < shape.num_steps) return;
  const long long to = place.state_offset(place.row) + j;
  if (y_h) y_h[to] = cg_cast<Scalar>(h);
  if (y_c) y_c[to] = cg_cast<Scalar>(c);
}
