#pragma once
// One step of one unit of a recurrent layer: the products of its weights with the state, its gates.
//
// SCALAR          element type of the tensors; the state between steps is in the accumulator's type
// CELL            Rnn, Gru, GruLinear (linear_before_reset) or Lstm
// ROWS            batch rows that a block handles together, so that weights are loaded once for all
// LANES           neighbouring threads that share the products of one unit, a power of two up to 32
// VECTOR          4 if the hidden size is a multiple of 4, else 1
// ACTIVATION_F, ACTIVATION_G, ACTIVATION_H   functions of activations.cuh or of below
#include "device.cuh"
#include "activations.cuh"

typedef SCALAR Scalar;
typedef Acc<Scalar>::type Accumulator;

// Gates in the order in which the weights hold them.
struct Rnn {
  static constexpr int kGates = 1;
};
struct Gru {
  static constexpr int kGates = 3;  // update, reset, hidden
};
struct GruLinear {
  static constexpr int kGates = 3;
};
struct Lstm {
  static constexpr int kGates = 4;  // input, output, forget, cell
};
constexpr int kGates = CELL::kGates;
constexpr bool kIsLstm = CgSame<CELL, Lstm>::value;
constexpr bool kIsGru = CgSame<CELL, Gru>::value;  // its hidden gate waits for all reset gates

// ---- Activations that only recurrent layers have, or define otherwise than the operators do

// a, b: slope and offset.
template <typename T> CG_DEV T cg_act_affine(T x, float a, float b) { return T(a) * x + T(b); }

// a, b: scales of the result and of the argument.
template <typename T> CG_DEV T cg_act_scaled_tanh(T x, float a, float b) {
  return T(a) * cg_tanh(T(b) * x);
}

// a: threshold; unlike the operator ThresholdedRelu, the threshold itself passes.
template <typename T> CG_DEV T cg_act_threshold(T x, float a, float) {
  return x >= T(a) ? x : x != x ? x : T(0);
}

// ---- What the host passes by value; cugraphmodel.ops.recurrent.recurrent

// Extents and strides in elements. A row of the projected input holds [num_directions, kGates,
// hidden]; the rows of batch row b at time t start at t * row_time + b * row_batch.
struct Geometry {
  long long num_steps, batch, hidden, num_directions;
  long long first_direction;     // of this launch
  long long reversed_direction;  // the one that runs backwards in time, or -1
  long long coupled;             // LSTM: the forget gate is one minus the input gate
  long long row_time, row_batch;
  long long y_time, y_direction, y_batch;
  long long state_direction, state_batch;  // of the initial and final state
};

// Parameters of the activations f, g and h in each direction, and the bound of their arguments.
struct Functions {
  float a[2][3];
  float b[2][3];
  float clip;
};

// ---- Weights times state

// Loads of so many turns of the loop over the state are under way at once.
constexpr int kUnroll = ROWS == 1 ? (VECTOR == 4 ? 2 : 4) : 1;

// Of so many neighbouring lanes each the first one finishes a row.
constexpr int kLanesPerRow = LANES / ROWS;

template <class T>
CG_DEV void load_vector(const T* from, Accumulator (&to)[VECTOR]) {
#if VECTOR == 4
  const Pack4<T> pack = cg_load4(from);
#pragma unroll
  for (int i = 0; i < 4; ++i) to[i] = Accumulator(pack.v[i]);
#else
  to[0] = Accumulator(*from);
#endif
}

// Adds up over the lanes of a unit. Of the sums of all rows each lane ends with that of the row
// lane / kLanesPerRow: at every exchange, it gives half of its rows away for the other half's sums.
CG_DEV Accumulator sum_of_my_row(Accumulator (&sums)[ROWS]) {
  if constexpr (ROWS == 1 && LANES == 32) return cg_warp_sum(sums[0]);
#pragma unroll
  for (int rows = ROWS / 2, offset = LANES / 2; rows > 0; rows /= 2, offset /= 2) {
    const bool upper = (threadIdx.x & offset) != 0;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const Accumulator given = upper ? sums[r] : sums[r + rows];
      const Accumulator kept = upper ? sums[r + rows] : sums[r];
      sums[r] = kept + __shfl_xor_sync(0xffffffffu, given, offset);
    }
  }
#pragma unroll
  for (int offset = kLanesPerRow / 2; offset > 0; offset /= 2) {
    sums[0] += __shfl_xor_sync(0xffffffffu, sums[0], offset);
  }
  return sums[0];
}

// sums[g] = weights of gate g times the state of this lane's row, for one unit.
//   weights   [N, hidden, hidden], from the unit's row on
//   state     rows of the state, state_stride apart, of which only num_rows are there
template <int N, class State>
CG_DEV void products(const Scalar* weights, const State* state, long long state_stride,
                     int num_rows, int hidden, Accumulator (&sums)[N]) {
  Accumulator all[N][ROWS] = {};
  const long long gate_stride = (long long)hidden * hidden;
#pragma unroll kUnroll
  for (int k = threadIdx.x % LANES * VECTOR; k < hidden; k += LANES * VECTOR) {
    Accumulator weight[N][VECTOR];
#pragma unroll
    for (int g = 0; g < N; ++g) load_vector(weights + g * gate_stride + k, weight[g]);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      Accumulator element[VECTOR];
      load_vector(state + (r < num_rows ? r : 0) * state_stride + k, element);
#pragma unroll
      for (int g = 0; g < N; ++g) {
#pragma unroll
        for (int i = 0; i < VECTOR; ++i) {
          all[g][r] = cg_fma(weight[g][i], element[i], all[g][r]);
        }
      }
    }
  }
#pragma unroll
  for (int g = 0; g < N; ++g) sums[g] = sum_of_my_row(all[g]);
}

// ---- Gates

// A GRU's next state.
CG_DEV Accumulator mixed(Accumulator update, Accumulator fresh, Accumulator before) {
  return (Accumulator(1) - update) * fresh + update * before;
}

// What a lane needs for its row of its unit.
struct Unit {
  const Accumulator* projected;  // W x of its first gate; the others are `hidden` apart
  const Scalar* bias;            // of its first gate: W's, and R's kGates * hidden further; or null
  const Scalar* peepholes;       // input, output, forget; or null
  int hidden;
  int direction;
  const Functions& functions;

  CG_DEV Accumulator clipped(Accumulator x) const {
    return cg_min(cg_max(x, Accumulator(-functions.clip)), Accumulator(functions.clip));
  }
  CG_DEV float a(int i) const { return direction ? functions.a[1][i] : functions.a[0][i]; }
  CG_DEV float b(int i) const { return direction ? functions.b[1][i] : functions.b[0][i]; }
  CG_DEV Accumulator f(Accumulator x) const { return ACTIVATION_F(clipped(x), a(0), b(0)); }
  CG_DEV Accumulator g(Accumulator x) const { return ACTIVATION_G(clipped(x), a(1), b(1)); }
  CG_DEV Accumulator h(Accumulator x) const { return ACTIVATION_H(clipped(x), a(2), b(2)); }

  CG_DEV Accumulator input_bias(int gate) const {
    return bias ? Accumulator(bias[gate * hidden]) : Accumulator(0);
  }
  CG_DEV Accumulator state_bias(int gate) const {
    return bias ? Accumulator(bias[(kGates + gate) * hidden]) : Accumulator(0);
  }
  CG_DEV Accumulator input(int gate) const { return projected[gate * hidden] + input_bias(gate); }
  CG_DEV Accumulator gate(int gate, Accumulator sum) const {
    return input(gate) + (sum + state_bias(gate));
  }
  CG_DEV Accumulator peep(int gate, Accumulator c) const {
    return peepholes ? Accumulator(peepholes[gate * hidden]) * c : Accumulator(0);
  }

  // The new state of a cell without a second phase, from the sums of all gates. `c` is the LSTM's
  // cell, replaced by the new one.
  CG_DEV Accumulator next(const Accumulator* sum, Accumulator h_before, Accumulator& c,
                          bool coupled) const {
    if constexpr (kIsLstm) {
      const Accumulator in = f(gate(0, sum[0]) + peep(0, c));
      const Accumulator forget =
          coupled ? Accumulator(1) - in : f(gate(2, sum[2]) + peep(2, c));
      c = forget * c + in * g(gate(3, sum[3]));
      return f(gate(1, sum[1]) + peep(1, c)) * h(c);
    } else if constexpr (kGates == 3) {
      const Accumulator update = f(gate(0, sum[0]));
      const Accumulator reset = f(gate(1, sum[1]));
      const Accumulator fresh = g(input(2) + reset * (sum[2] + state_bias(2)));
      return mixed(update, fresh, h_before);
    } else {
      return f(gate(0, sum[0]));
    }
  }
};

// The length of a batch row's sequence; one that is none is reported.
CG_DEV int row_length(const int* lengths, long long row, int num_steps, unsigned* error_word,
                      unsigned error_code) {
  if (lengths == nullptr) return num_steps;
  const int length = lengths[row];
  if (length >= 0 && length <= num_steps) return length;
  cg_report_index_error(error_word, error_code);
  return length < 0 ? 0 : num_steps;
}

// Where in time a row is at a step. Backwards starts at the end of the row's own sequence.
CG_DEV int time_of(int step, int length, bool reversed) {
  return reversed && step < length ? length - 1 - step : step;
}

// ---- Who works on what

// The tensors of a layer; what is left out is null.
//   projected  W x, see Geometry
//   weights    [num_directions, kGates, hidden, hidden]
//   bias       [num_directions, 2, kGates, hidden]
//   peepholes  [num_directions, 3, hidden]
//   lengths    [batch]
struct Layer {
  const Accumulator* projected;
  const Scalar* weights;
  const Scalar* bias;
  const Scalar* peepholes;
  const int* lengths;
  Scalar* y;
  Scalar* y_h;
  Scalar* y_c;
};

// What a thread works on: one row of its block's, and for it one unit after another.
struct Place {
  const Geometry& shape;
  const Functions& functions;
  const Layer& layer;
  int hidden;
  int direction;
  long long row0;  // of the block
  int num_rows;    // of the block
  int row_here;    // within the block; one that is not there stands for the first
  long long row;
  int length;

  CG_DEV Place(const Geometry& shape, const Functions& functions, const Layer& layer, int slice,
               int direction_of_launch, unsigned* error_word, unsigned error_code)
      : shape(shape),
        functions(functions),
        layer(layer),
        hidden(int(shape.hidden)),
        direction(int(shape.first_direction) + direction_of_launch),
        row0((long long)slice * ROWS),
        num_rows(int(shape.batch - row0 < ROWS ? shape.batch - row0 : ROWS)),
        row_here(threadIdx.x % LANES / kLanesPerRow),
        row(row0 + (row_here < num_rows ? row_here : 0)),
        length(row_length(layer.lengths, row, int(shape.num_steps), error_word, error_code)) {}

  CG_DEV bool reversed() const { return direction == shape.reversed_direction; }
  CG_DEV bool owns(int j) const {
    return threadIdx.x % kLanesPerRow == 0 && row_here < num_rows && j < hidden;
  }

  // Row j of a gate's weights; of the last unit for a j beyond it.
  CG_DEV const Scalar* weights(int gate, int j) const {
    const long long first = (direction * kGates + gate) * shape.hidden;
    return layer.weights + (first + (j < hidden ? j : hidden - 1)) * hidden;
  }
  CG_DEV Unit unit(int step, int j) const {
    const long long line =
        time_of(step, length, reversed()) * shape.row_time + row * shape.row_batch;
    const long long gates = kGates * shape.hidden;
    return {layer.projected + (line * shape.num_directions + direction) * gates + j,
            layer.bias ? layer.bias + direction * 2 * gates + j : nullptr,
            layer.peepholes ? layer.peepholes + direction * 3 * shape.hidden + j : nullptr,
            hidden,
            direction,
            functions};
  }
  // Y is zero behind the end of a row's sequence.
  CG_DEV void write_y(int step, int j, Accumulator h) const {
    if (layer.y == nullptr) return;
    const int time = time_of(step, length, reversed());
    layer.y[time * shape.y_time + direction * shape.y_direction + row * shape.y_batch + j] =
        cg_cast<Scalar>(step < length ? h : Accumulator(0));
  }
  CG_DEV long long state_offset(long long of_row) const {
    return direction * shape.state_direction + of_row * shape.state_batch;
  }
};
