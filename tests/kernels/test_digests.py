"""A digest changes when the machine code may, and with nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cugraphmodel.kernels.source import Source, device_header
from tests.kernels import digests

KERNEL = 'extern "C" __global__ void set(SCALAR* y, int n) { y[n] = SCALAR(n); }\n'


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    digests.digest.cache_clear()
    yield
    digests.digest.cache_clear()


def digest_of(text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(digests, "load_source", lambda name: Source(name, text))
    digests.digest.cache_clear()
    return digests.digest("a.cu")


@pytest.mark.parametrize(
    "text",
    [
        f'// a "comment"\n\n{KERNEL}',
        f"/* another\n one */{KERNEL}",
        f'#line 7 "b.cuh"\n    {KERNEL}  \n',
    ],
    ids=["line", "block", "layout"],
)
def test_comments_and_layout_do_not_count(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert digest_of(text, monkeypatch) == digest_of(KERNEL, monkeypatch)


def test_code_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        KERNEL,
        KERNEL.replace("[n]", "[n + 1]"),
        f"#if defined(SOMETHING)\nint more;\n#endif\n{KERNEL}",
        f"#if defined(__CUDACC__)\nint more;\n#endif\n{KERNEL}",
    ]
    assert len({digest_of(text, monkeypatch) for text in texts}) == len(texts)


def test_text_that_looks_like_a_comment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ['asm("a // b");', 'asm("a // c");', 'asm("a /* c */");', 'asm("\\" // c");']
    assert len({digest_of(text, monkeypatch) for text in texts}) == len(texts)


def test_the_header_and_the_options_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest_of(KERNEL, monkeypatch)
    header = device_header()
    monkeypatch.setattr(digests, "device_header", lambda: f"{header}\nint more;")
    with_header = digest_of(KERNEL, monkeypatch)
    monkeypatch.setattr(digests, "nvrtc_options", lambda *_: ("--use_fast_math",))
    assert len({before, with_header, digest_of(KERNEL, monkeypatch)}) == 3


@pytest.mark.parametrize(
    ("lines", "seen"),
    [
        (["#if defined(__CUDACC__)", "a", "#else", "b", "#endif", "c"], "ac"),
        (["#if !defined(__CUDACC__)", "a", "#else", "b", "#endif", "c"], "bc"),
        (["#if defined(CUHOST_CHECK)", "a", "#else", "b", "#endif", "c"], "bc"),
        (["#if defined(X)", "a", "#elif defined(Y)", "b", "#else", "c", "#endif"], "abc"),
        (["#ifdef X", "a", "#else", "b", "#endif"], "ab"),
        (["#if defined(__CUDACC__) || defined(X)", "a", "#else", "b", "#endif"], "ab"),
        (["#if defined(__CUDACC__)", "a", "#elif defined(X)", "b", "#else", "c", "#endif"], "a"),
        (["#if !defined(__CUDACC__)", "a", "#elif defined(X)", "b", "#else", "c", "#endif"], "bc"),
        (
            ["#if !defined(__CUDACC__)", "#if defined(X)", "a", "#else", "b", "#endif", "#endif"],
            "",
        ),
        (
            ["#if defined(X)", "#if defined(__CUDACC__)", "a", "#else", "b", "#endif", "#endif"],
            "a",
        ),
    ],
)
def test_what_only_the_host_sees_does_not_count(lines: list[str], seen: str) -> None:
    left = [line for line in digests.for_device(lines) if not line.startswith("#")]
    assert "".join(left) == seen
