"""From a kernel source to a shared library, by whatever C++ compiler there is."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cugraphmodel import settings
from cugraphmodel.errors import CompilerNotFoundError, DeviceUnavailableError, KernelCompileError
from cugraphmodel.kernels import cache
from cugraphmodel.kernels.source import Source, device_header

__all__ = ["Compiler", "compile_source", "find_compiler", "runtime_library"]

_HERE = Path(__file__).parent
_KERNELS = _HERE.parents[1] / "kernels"
_RUNTIME_HEADERS = ("runtime.h", "records.h", "checker.h", "async_copies.h")

_FLAGS = (
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-fno-exceptions",
    "-fno-rtti",
    "-fvisibility=hidden",
    # The arithmetic of the GPU: no contraction but cg_fma, integers that wrap.
    "-ffp-contract=off",
    "-fwrapv",
    # Nothing reads errno or the floating-point flags; without these, sqrt and selects stay scalar.
    "-fno-math-errno",
    "-fno-trapping-math",
)
# The check mode. Without -fwrapv, so that an overflow is an error. Each frame has its pointer, by
# which the runtime finds the calls that led to an access; debug information, in the version that
# lines.py reads, tells their lines.
_CHECK_FLAGS = (
    *(flag for flag in _FLAGS if flag not in ("-O3", "-fwrapv")),
    "-O1",
    "-g1",
    "-gdwarf-4",
    "-gz=none",
    "-fno-inline",
    "-fno-optimize-sibling-calls",
    "-fno-omit-frame-pointer",
    "-DCUHOST_CHECK",
)
_SANITIZERS = (
    "-fsanitize=thread",
    "-fsanitize=alignment,bounds,float-cast-overflow,integer-divide-by-zero,shift,"
    "signed-integer-overflow",
)
# Else clang takes the read of `y[i] += x` for covered by the write.
_CLANG_SANITIZERS = ("-mllvm", "-tsan-instrument-read-before-write=1")
_MAX_FRAME_BYTES = 32768  # the stack of a thread has 64 KiB

# What each level of the x86-64 psABI adds, as /proc/cpuinfo spells it.
_LEVELS = (
    ("x86-64-v2", ("cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3")),
    ("x86-64-v3", ("abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave")),
)


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler.

    Attributes:
        command: how to call it, up to the options.
        identity: path and version; what it makes depends on nothing else but options and input.
        title: for people: name and version.
        is_clang: whether it takes clang's pragmas and options.
        is_zig: whether it is the compiler of the ``ziglang`` wheel.
    """

    command: tuple[str, ...]
    identity: str
    title: str
    is_clang: bool
    is_zig: bool = False


def find_compiler() -> Compiler:
    """The compiler that ``CXX`` names, else the first of c++, g++, clang++ and ``ziglang``.

    Raises:
        CompilerNotFoundError: there is none.
        DeviceUnavailableError: this is not Linux on x86-64.
    """
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise DeviceUnavailableError(
            'device="cpu" needs Linux on x86-64, this is '
            f"{platform.system()} on {platform.machine()}."
        )
    return _find_compiler(settings.cxx(), os.environ.get("PATH"))


@functools.cache
def _find_compiler(chosen: str | None, path: str | None) -> Compiler:
    if chosen is not None:
        command = tuple(shlex.split(chosen))
        if not command or shutil.which(command[0], path=path) is None:
            raise CompilerNotFoundError(
                f"CXX={chosen!r} names a C++ compiler that is not there. Unset CXX or correct it."
            )
        return _described(command)
    for name in ("c++", "g++", "clang++"):
        if shutil.which(name, path=path) is not None:
            return _described((name,))
    spec = importlib.util.find_spec("ziglang")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        zig = Path(folder) / "zig"
        if zig.is_file():
            return _zig(zig)
    raise CompilerNotFoundError(
        'device="cpu" compiles the kernels and found no C++ compiler. Install g++ or clang++, or '
        "run: pip install ziglang"
    )


def _described(command: tuple[str, ...]) -> Compiler:
    shown = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    if shown.returncode != 0:
        raise CompilerNotFoundError(
            f"{shlex.join(command)} --version failed, so it is no usable C++ compiler: "
            f"{shown.stderr.strip()}"
        )
    where = shutil.which(command[-1]) or command[-1]
    identity = f"{shlex.join(command)} {os.path.realpath(where)} {shown.stdout}"
    title = shown.stdout.partition("\n")[0]
    return Compiler(command, identity, title, is_clang="clang" in shown.stdout)


def _zig(zig: Path) -> Compiler:
    # `zig cc -x c++ -nostdlib++`, not `zig c++`: the latter first builds its C++ library, 90 s.
    # -fno-sanitize=undefined: its default is to trap on what this compiler takes for undefined.
    version = importlib.metadata.version("ziglang")
    return Compiler(
        (str(zig), "cc", "-x", "c++", "-nostdlib++", "-fno-sanitize=undefined"),
        f"{zig} {version}",
        f"zig {version}",
        is_clang=True,
        is_zig=True,
    )


@functools.cache
def _march() -> str:
    """Newest level of the x86-64 psABI that this processor has in full."""
    match = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    have = set(match[1].split()) if match else set()
    level = "x86-64"
    for name, needs in _LEVELS:
        if not have.issuperset(needs):
            break
        level = name
    return level


def _frame_limit(compiler: Compiler) -> tuple[str, ...]:
    if compiler.is_clang:
        return (f"-Wframe-larger-than={_MAX_FRAME_BYTES}", "-Werror=frame-larger-than")
    return (f"-Werror=frame-larger-than={_MAX_FRAME_BYTES}",)


def _options(compiler: Compiler, checked: bool) -> tuple[str, ...]:
    flags = _CHECK_FLAGS if checked else _FLAGS
    if compiler.is_clang:
        # zig spells the names of processors with underscores.
        march = f"-mcpu={_march().replace('-', '_')}" if compiler.is_zig else f"-march={_march()}"
        return (*flags, march)
    # With PRE, g++ 12 keeps the accumulators of a register tile on the stack: half the speed.
    return (*flags, f"-march={_march()}", "-fno-tree-pre")


def _run(
    compiler: Compiler, arguments: Sequence[str], source: Source, options: Sequence[str]
) -> None:
    environment = dict(os.environ)
    if compiler.is_zig:  # it keeps a cache of its own, by default in the user's home
        place = str(cache.folder() / "zig")
        environment |= {"ZIG_GLOBAL_CACHE_DIR": place, "ZIG_LOCAL_CACHE_DIR": place}
    ran = subprocess.run(
        [*compiler.command, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if ran.returncode != 0:
        raise KernelCompileError(
            f"{source.name} does not compile for the CPU with {shlex.join(compiler.command)} "
            f"{shlex.join(options)}:\n{ran.stderr.strip()}",
            source=source.text,
            options=tuple(options),
            log=ran.stderr,
        )


def runtime_library(compiler: Compiler, checked: bool = False) -> Path:
    """The compiled runtime, plain or of the check mode; kernels are linked to it."""
    return _runtime_library(compiler, checked, cache.folder())


@functools.cache
def _runtime_library(compiler: Compiler, checked: bool, _folder: Path) -> Path:
    files = ("runtime.cpp", "checker.cpp") if checked else ("runtime.cpp",)
    text = "".join((_HERE / name).read_text(encoding="utf-8") for name in files)
    headers = [(_HERE / name).read_text(encoding="utf-8") for name in _RUNTIME_HEADERS]
    options = _options(compiler, checked)
    parts = (compiler.identity, *options, text, *headers)
    # The soname is what kernels ask the dynamic loader for, wherever the cache lies by then.
    soname = f"cugraphmodel-{cache.key_of(parts)}.so"

    def build(path: Path) -> None:
        arguments = [*options, "-shared", f"-Wl,-soname,{soname}", "-o", str(path)]
        arguments += [*(str(_HERE / name) for name in files), "-pthread"]
        _run(compiler, arguments, Source("runtime.cpp", text), options)

    return cache.cached(parts, ".so", build)


def compile_source(
    source: Source,
    macros: Sequence[tuple[str, str]] = (),
    compiler: Compiler | None = None,
    *,
    checked: bool = False,
) -> Path:
    """Compile a kernel source.

    Args:
        source: from :func:`cugraphmodel.kernels.source.load_source`, or text of your own.
        macros: preprocessor definitions.
        compiler: default: :func:`find_compiler`.
        checked: for the check mode.

    Returns:
        A shared library that exports one ``cuhost_kernel_NAME`` an entry point.

    Raises:
        KernelCompileError: it does not compile.
    """
    compiler = compiler or find_compiler()
    runtime = runtime_library(compiler, checked)
    definitions = [f"-D{name}={value}" for name, value in macros]
    options = (*_options(compiler, checked), *_frame_limit(compiler), *definitions)
    if checked:
        options += (*_SANITIZERS, *(_CLANG_SANITIZERS if compiler.is_clang else ()))
    elif is_flat(source.text):
        options += ("-DCUHOST_FLAT",)
    translated = translate(source, compiler.is_clang)
    headers = [(_HERE / name).read_text(encoding="utf-8") for name in ("cuda_host.h", "runtime.h")]
    parts = (compiler.identity, *options, translated, device_header(), *headers, runtime.name)

    def build(path: Path) -> None:
        unit = path.with_suffix(".cpp")
        unit.write_text(translated, encoding="utf-8")
        includes = (f"-I{_KERNELS}", f"-I{_HERE}")
        # -x none ends the reach of zig's -x c++, which the libraries' paths must not fall under.
        linked = ["-shared", "-o", str(path), "-x", "none", str(runtime), "-lm"]
        if not checked:
            _run(compiler, [*options, *includes, str(unit), *linked], source, options)
            return
        # Linked on its own, without the options that would bring the sanitizers' own libraries.
        compiled = path.with_suffix(".o")
        _run(compiler, [*options, *includes, "-c", "-o", str(compiled), str(unit)], source, options)
        _run(compiler, ["-g1", "-x", "none", str(compiled), *linked], source, options)

    return cache.cached(parts, ".so", build)


# ---- Translating what C++ lacks

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WAITING = re.compile(
    r"__sync(?:threads|warp)|__shfl_|__(?:ballot|any|all)_sync|cg_(?:warp|block)_"
    r"|__shared__|CG_DYN_SHARED|cg_cp_async|cg_ldmatrix|cg_mma_"
)
_SHARED = re.compile(
    r"__shared__\s+((?:__align__\s*\([^()]*\)\s*)?)([A-Za-z_][\w:<>, ]*?)\s+(\w+)"
    r"\s*((?:\[[^\]]+\]\s*)*);"
)
_ENTRY = re.compile(
    r'extern\s+"C"\s+__global__\s+void\s+'
    r"(?:__launch_bounds__\s*\(((?:[^()]|\([^()]*\))*)\)\s*)?(\w+)\s*\("
)


def is_flat(text: str) -> bool:
    """Whether no thread of these kernels ever waits for another or shares memory with it."""
    return _WAITING.search(_COMMENT.sub(" ", text)) is None


def entry_points(text: str) -> dict[str, str]:
    """Name of each kernel -> arguments of its ``__launch_bounds__``, possibly empty."""
    return {match[2]: match[1] or "" for match in _ENTRY.finditer(_COMMENT.sub(" ", text))}


def translate(source: Source, is_clang: bool) -> str:
    """The source as a C++ compiler takes it; line numbers stay."""

    def declaration(match: re.Match[str]) -> str:
        alignment, element, name, extents = match.groups()
        newlines = "\n" * match[0].count("\n")
        one_line = [" ".join(part.split()) for part in (f"{alignment} {element}", name, extents)]
        return f"CUHOST_SHARED({', '.join(one_line)});{newlines}"

    def blank(match: re.Match[str]) -> str:
        return " " + "\n" * match[0].count("\n")

    text = _SHARED.sub(declaration, _COMMENT.sub(blank, source.text))
    if "__shared__" in text:
        line = text[: text.index("__shared__")].count("\n") + 1
        raise KernelCompileError(
            f"{source.name}, line {line}: write one `__shared__ T name[A][B];` a statement, with T "
            "a plain type name; dynamic shared memory is CG_DYN_SHARED(T, name).",
            source=source.text,
            options=(),
            log="",
        )
    if not is_clang:  # g++ knows the pragma under another name, and wants a number
        text = re.sub(
            r"#pragma\s+unroll[ \t]*$", "#pragma GCC unroll 128", text, flags=re.MULTILINE
        )
        text = re.sub(r"#pragma\s+unroll\b", "#pragma GCC unroll", text)
    exports = "".join(
        f"CUHOST_EXPORT({', '.join(filter(None, (name, bounds)))})\n"
        for name, bounds in entry_points(source.text).items()
    )
    return f'#line 1 "{source.name}"\n{text}\n#line 1 "entry points"\n{exports}'
