#include "attention.cuh"

// y: attention over all keys, from the sums over parts of them. One block a line.

extern "C" __global__ void __launch_bounds__(128, 4)
    join_parts(Scalar* __restrict__ y, A* __restrict__ parts, int num_parts, int num_rows, int width,
               Dims lead_shape, Dims y_strides) {
  const int line = blockIdx.x;
  const Parts all = {parts, int(gridDim.x), width};
  A highest = CgLimits<A>::lowest();
  for (int part = 0; part < num_parts; ++part) {
    highest = cg_max(highest, all.about(part, line)->highest);
  }
  const A base = base_of(highest);
  A total = A(0);
  bool open = false, wild = false;
  for (int part = 0; part < num_parts; ++part) {
    const About about = *all.about(part, line);
    total = cg_fma(about.total, cg_exp(about.highest - base), total);
    open |= about.open != A(0);
    wild |= about.wild != A(0);
  }
  Scalar* const out =
      of_lead(y, line / num_rows, lead_shape, y_strides) + line % num_rows * y_strides.v[4];
  for (int column = threadIdx.x; column < width; column += 128) {
    A sum = A(0);
    for (int part = 0; part < num_parts; ++part) {
      const A factor = cg_exp(all.about(part, line)->highest - base);
      sum = cg_fma(all.sums(part, line)[column], factor, sum);
    }
    out[column * y_strides.v[5]] = Scalar(finished(sum, total, open, wild));
  }
}
