// All steps of a recurrent layer in one launch, over inputs already multiplied with their weights.
//
// A block owns ROWS batch rows of one direction and holds their state in shared memory; it reads the
// weights at every step. Macros: see cell.cuh.
#include "device.cuh"
#include "cell.cuh"

// Of a block at most; sums in double take twice the registers.
constexpr int kMaxThreads = sizeof(Accumulator) == 8 ? 256 : 512;

extern "C" __global__ void __launch_bounds__(kMaxThreads, 1)
    recurrent_sequence(const Accumulator* __restrict__ projected,
                       const Scalar* __restrict__ weights, const Scalar* __restrict__ bias,
                       const Scalar* __restrict__ peepholes, const int* __restrict__ lengths,
                       const Scalar* __restrict__ initial_h, const Scalar* __restrict__ initial_c,
                       Scalar* __restrict__ y, Scalar* __restrict__ y_h, Scalar* __restrict__ y_c,
                       Geometry shape, Functions functions, unsigned* error_word,
                       unsigned error_code) {
  CG_DYN_SHARED(Accumulator, shared);
  const Layer layer = {projected, weights, bias, peepholes, lengths, y, y_h, y_c};
  const Place place(shape, functions, layer, blockIdx.x, blockIdx.y, error_word, error_code);
  const int hidden = place.hidden;
  const int group = threadIdx.x / LANES;
  const int num_groups = blockDim.x / LANES;

  // h: the state. other: the next state, or a GRU's state after the reset. extra: the LSTM's cell,
  // or a GRU's update gates.
  Accumulator* h = shared;
  Accumulator* other = h + ROWS * hidden;
  Accumulator* extra = other + ROWS * hidden;
  for (int i = threadIdx.x; i < place.num_rows * hidden; i += blockDim.x) {
    const long long from = place.state_offset(place.row0 + i / hidden) + i % hidden;
    h[i] = initial_h ? Accumulator(initial_h[from]) : Accumulator(0);
    if constexpr (kIsLstm) extra[i] = initial_c ? Accumulator(initial_c[from]) : Accumulator(0);
  }
  __syncthreads();

  for (int step = 0; step < shape.num_steps; ++step) {
    const bool running = step < place.length;
    for (int j0 = 0; j0 < hidden; j0 += num_groups) {
      const int j = j0 + group;
      const int at = place.row_here * hidden + j;
      constexpr int kNow = kIsGru ? 2 : kGates;
      Accumulator sum[kNow];
      products(place.weights(0, j), h, hidden, place.num_rows, hidden, sum);
      if (!place.owns(j)) continue;
      const Unit unit = place.unit(step, j);
      if constexpr (kIsGru) {
        extra[at] = unit.f(unit.gate(0, sum[0]));
        other[at] = unit.f(unit.gate(1, sum[1])) * h[at];
      } else {
        Accumulator c = kIsLstm ? extra[at] : Accumulator(0);
        const Accumulator next = unit.next(sum, h[at], c, shape.coupled != 0);
        other[at] = running ? next : h[at];
        if (kIsLstm && running) extra[at] = c;
        place.write_y(step, j, next);
      }
    }
    __syncthreads();
    if constexpr (kIsGru) {
      for (int j0 = 0; j0 < hidden; j0 += num_groups) {
        const int j = j0 + group;
        const int at = place.row_here * hidden + j;
        Accumulator sum[1];
        products(place.weights(2, j), other, hidden, place.num_rows, hidden, sum);
        if (!place.owns(j)) continue;
        const Unit unit = place.unit(step, j);
        const Accumulator next = mixed(extra[at], unit.g(unit.gate(2, sum[0])), h[at]);
        if (running) h[at] = next;
        place.write_y(step, j, next);
      }
      __syncthreads();
    } else {
      Accumulator* swapped = h;
      h = other;
      other = swapped;
    }
  }

  for (int i = threadIdx.x; i < place.num_rows * hidden; i += blockDim.x) {
    const long long to = place.state_offset(place.row0 + i / hidden) + i % hidden;
    if (y_h) y_h[to] = cg_cast<Scalar>(h[i]);
    if (y_c) y_c[to] = cg_cast<Scalar>(extra[i]);
  }
}
