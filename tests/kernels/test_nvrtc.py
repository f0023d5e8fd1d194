"""Every kernel that the library can choose compiles for every architecture, and fits there.

Needs no GPU, only CuPy and NVRTC's wheel. One architecture is compiled in full, of the others a
sample that changes with the source; ``resources.json`` answers for the rest, for it is valid only
for the very sources that were compiled for all architectures when it was written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import cugraphmodel
from cugraphmodel.executors.cuda.compiler import compile_cubin, nvrtc_options
from cugraphmodel.kernels.source import Source
from tests.kernels import gate
from tests.kernels.allowances import ALLOWANCES, allowance_for, excess
from tests.kernels.digests import digest
from tests.kernels.gate import ARCHITECTURES, COMMAND, Table
from tests.kernels.instances import Use, common_uses, model_uses
from tests.kernels.resources import Compiled, Instance, Job, Usage
from tests.models.references import CASES as MODELS

pytest.importorskip("cupy", reason="NVRTC is called through CuPy")

FULL_ARCHITECTURE = "sm_90"
SAMPLE_SIZE = 3
"""Instances of a source that are compiled for each of the other architectures."""
PACKAGE = Path(cugraphmodel.__file__).parent
FILES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.cu"))
REGISTERS_PER_BLOCK = 64 * 1024
REGISTER_GRANULE = 8
"""A warp's registers are given out in multiples of 256, 8 for each thread."""
SHARED_BYTES_PER_BLOCK = 48 * 1024
"""What a launch may take without asking for more by a function attribute."""

WHOLE_HEADER = """
#include "device.cuh"
template <class T>
CG_DEV double of_any(T x) {
  return double(cg_max(x, cg_min(x, T(3)))) + double(cg_fma(x, x, x)) + double(cg_abs(x)) +
         double(cg_load4(&x).v[0]) + cg_cast<bool>(x) + cg_cast<double>(cg_cast<half>(x)) +
         cg_cast<signed char>(x) + cg_cast<unsigned long long>(x) + cg_cast<int>(x);
}
template <class T>
CG_DEV double of_word(T x) {
  return double(cg_warp_sum(x) + cg_warp_max(x) + cg_warp_min(x) + cg_block_sum(x)) +
         double(cg_block_max(x) + cg_block_min(x)) + double(CgLimits<T>::lowest());
}
template <class T>
CG_DEV double of_float(T x) {
  return cg_exp(x) + cg_expm1(x) + cg_log(x) + cg_log1p(x) + cg_sqrt(x) + cg_rsqrt(x) + cg_sin(x) +
         cg_cos(x) + cg_tan(x) + cg_asin(x) + cg_acos(x) + cg_atan(x) + cg_sinh(x) + cg_cosh(x) +
         cg_tanh(x) + cg_asinh(x) + cg_acosh(x) + cg_atanh(x) + cg_erf(x) + cg_floor(x) +
         cg_ceil(x) + cg_trunc(x) + cg_round(x) + cg_pow(x, x) + cg_fmod(x, x) + cg_isnan(x) +
         cg_isinf(x) + CG_INF + CG_NAN;
}
extern "C" __global__ void __launch_bounds__(256)
    test(double* y, half* halves, Dims dims, unsigned* word, long long n) {
  CG_DYN_SHARED(double, dynamic);
  __shared__ float tile[4][32];
  tile[0][threadIdx.x % 32] = float(halves[threadIdx.x]);
  __syncthreads();
  y[0] = of_any(1.5f) + of_any(n) + of_any(int(n)) + of_any(double(n)) + of_any((unsigned char)n);
  y[1] = of_word(1.5f) + of_word(n) + of_word(int(n)) + of_word(double(n)) + of_word(unsigned(n));
  y[2] = of_float(float(n)) + of_float(double(n)) + tile[0][3];
  cg_store4(halves + 4, cg_load4(halves));
  halves[2] = cg_cast<half>(double(n));
  halves[3] = cg_cast<half>(cg_cast<bfloat16>(n));
  dynamic[threadIdx.x] = cg_cast<double>(halves[1]) + dims.v[3];
  if (n > 5) cg_report_index_error(word, 7u);
}
"""


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_everything_in_the_header_compiles(architecture: str) -> None:
    cubin = compile_cubin(Source("header.cu", WHOLE_HEADER), nvrtc_options(architecture, ()))
    assert cubin.startswith(b"\x7fELF")


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with gate.worker_pool() as executor:
        yield executor


@pytest.fixture(scope="module")
def table() -> Table:
    return gate.read_table()


def all_or_first(problems: list[str], limit: int = 6) -> str:
    more = f"\n... and {len(problems) - limit} more" if len(problems) > limit else ""
    return "\n".join(problems[:limit]) + more


def jobs_for(source: str, table: Table) -> list[Job]:
    """All instances for one architecture, a sample of them for each other."""
    used = {use.instance for use in common_uses() if use.instance.source == source}
    assert used, "nothing launches this file"
    known = {one for one in table.rows if one.source == source and table.is_current(one)}
    instances = sorted(used | known)
    jobs = [(one, FULL_ARCHITECTURE) for one in instances]
    for architecture in ARCHITECTURES:
        if architecture != FULL_ARCHITECTURE:
            jobs += [(one, architecture) for one in sample(instances, architecture)]
    return jobs


def sample(instances: list[Instance], architecture: str) -> list[Instance]:
    """A few, as good as drawn by chance: others for each state of the source."""

    def draw(instance: Instance) -> bytes:
        text = f"{digest(instance.source)} {architecture} {instance}"
        return hashlib.sha256(text.encode()).digest()

    return sorted(instances, key=draw)[:SAMPLE_SIZE]


@pytest.mark.parametrize("source", FILES)
def test_every_instance_compiles(source: str, pool: ProcessPoolExecutor, table: Table) -> None:
    """And takes what the table says."""
    problems = []
    for (instance, architecture), result in gate.compile_all(pool, jobs_for(source, table)):
        if isinstance(result, str):
            problems.append(result)
            continue
        problems += excess(instance, architecture, result)
        comparable = table.nvrtc == gate.nvrtc_version() and table.is_current(instance)
        if comparable and table.rows[instance][architecture] != result:
            problems.append(
                f"{instance} for {architecture} takes {result}, the table says "
                f"{table.rows[instance][architecture]}; run '{COMMAND} --all'"
            )
    assert not problems, all_or_first(problems)


def test_the_table_is_current(table: Table) -> None:
    version = gate.nvrtc_version()
    if version.split(".")[0] != table.nvrtc.split(".")[0]:
        pytest.skip(f"the table is of NVRTC {table.nvrtc}, this is {version}")
    instances = {use.instance for use in common_uses()}
    changed = {one.source for one in instances & table.rows.keys() if not table.is_current(one)}
    problems = [f"{source} or a header changed" for source in sorted(changed)]
    problems += [f"not in the table: {one}" for one in sorted(instances - table.rows.keys())]
    if version != table.nvrtc:
        problems.append(f"the table is of NVRTC {table.nvrtc}, this is {version}")
    assert not problems, f"run '{COMMAND}':\n{all_or_first(problems)}"


def test_the_summary_is_of_this_table(table: Table) -> None:
    assert gate.SUMMARY.read_text(encoding="utf-8") == gate.summary_text(table)


def test_no_kernel_spills(table: Table) -> None:
    """On any architecture, but for what is listed with a reason."""
    problems = [
        problem
        for instance, by_architecture in table.rows.items()
        for architecture, compiled in by_architecture.items()
        for problem in excess(instance, architecture, compiled)
    ]
    assert not problems, all_or_first(problems)


def test_every_allowance_is_needed(table: Table) -> None:
    needed = {
        allowance_for(instance, kernel)
        for instance, by_architecture in table.rows.items()
        for compiled in by_architecture.values()
        for kernel, usage in compiled.kernels.items()
        if usage.spill_bytes or usage.local_bytes
    }
    assert set(ALLOWANCES) <= needed


def misfits(use: Use, table: Table) -> list[str]:
    """Why a launch would fail on a GPU, by architecture."""
    if not table.is_current(use.instance):
        return [f"{use.instance} is new or changed; run '{COMMAND}'"]
    problems = []
    for architecture, compiled in table.rows[use.instance].items():
        reason = misfit(use, compiled)
        if reason:
            problems.append(f"{use.entry} of {use.instance} for {architecture}: {reason}")
    return problems


def misfit(use: Use, compiled: Compiled) -> str | None:
    """Why a GPU would refuse a launch, or None."""
    usage = compiled.kernels[use.entry]
    threads = -(-use.num_threads // 32) * 32
    registers = threads * -(-usage.registers // REGISTER_GRANULE) * REGISTER_GRANULE
    shared_bytes = usage.shared_bytes + use.dynamic_shared_bytes
    if use.num_threads > usage.max_threads:
        return f"{use.num_threads} threads, __launch_bounds__ allows {usage.max_threads}"
    if registers > REGISTERS_PER_BLOCK:
        return f"{use.num_threads} threads of {usage.registers} registers are too many for a block"
    if shared_bytes > SHARED_BYTES_PER_BLOCK:
        return f"{shared_bytes} bytes of shared memory are too many for a block"
    return None


def test_every_launch_fits(table: Table) -> None:
    problems = [problem for use in sorted(common_uses()) for problem in misfits(use, table)]
    assert not problems, all_or_first(problems)


@pytest.mark.parametrize("model", MODELS)
def test_every_launch_of_a_model_fits(model: str, table: Table) -> None:
    problems = [problem for use in sorted(model_uses(model)) for problem in misfits(use, table)]
    assert not problems, all_or_first(problems)


@pytest.mark.parametrize(
    ("num_threads", "dynamic_shared_bytes", "registers", "reason"),
    [
        (256, 1024, 255, None),
        (257, 0, 255, "257 threads of 255 registers are too many for a block"),
        (385, 0, 32, "385 threads, __launch_bounds__ allows 384"),
        (256, 1025, 32, "49153 bytes of shared memory are too many for a block"),
    ],
)
def test_what_a_gpu_refuses(
    num_threads: int, dynamic_shared_bytes: int, registers: int, reason: str | None
) -> None:
    use = Use(Instance("a.cu", ()), "kernel", num_threads, dynamic_shared_bytes)
    compiled = Compiled(0, {"kernel": Usage(registers, 0, 0, 47 * 1024, max_threads=384)})
    assert misfit(use, compiled) == reason
