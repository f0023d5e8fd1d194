"""The kernel cache: private, whole or not at all, and never in the way."""

from __future__ import annotations

import errno
import logging
import os
import pwd
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

import cugraphmodel
from cugraphmodel import settings
from cugraphmodel.errors import KernelCompileError, SettingsError
from cugraphmodel.kernels import cache
from tests.api.builders import build


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder that does not exist yet."""
    folder = tmp_path / "outer" / "cache"
    monkeypatch.setenv("CUGRAPHMODEL_CACHE_DIR", str(folder))
    cache._private_folder.cache_clear()
    cache._warn_once.cache_clear()
    yield folder
    cache._private_folder.cache_clear()


class Builder:
    """Writes a fixed text, and counts."""

    def __init__(self, text: str = "built") -> None:
        self.text = text
        self.calls = 0

    def __call__(self, path: Path) -> None:
        self.calls += 1
        path.write_text(self.text)


def test_a_file_is_built_once(place: Path) -> None:
    build = Builder()
    path = cache.cached(["a", b"b"], ".so", build)
    assert path.parent == place
    assert path.suffix == ".so"
    assert path.read_text() == "built"
    assert cache.cached(["a", b"b"], ".so", build) == path
    assert build.calls == 1


def test_every_part_counts(place: Path) -> None:
    keys = [["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], ["c", "ab"]]
    assert len({cache.cached(key, ".so", Builder()) for key in keys}) == len(keys)
    assert place.is_dir()


def test_the_folder_is_private(place: Path) -> None:
    cache.cached(["a"], ".so", Builder())
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_text("bui"),
        lambda path: path.write_text(""),
        lambda path: path.unlink(),
        lambda path: path.with_name(f"{path.name}.sha256").unlink(),
        lambda path: path.with_name(f"{path.name}.sha256").write_bytes(b"\xff\xfe"),
    ],
    ids=["truncated", "empty", "removed", "no checksum", "bad checksum"],
)
def test_what_is_damaged_is_built_again(place: Path, damage: Callable[[Path], None]) -> None:
    path = cache.cached(["a"], ".so", Builder())
    damage(path)
    again = Builder()
    assert cache.cached(["a"], ".so", again) == path
    assert again.calls == 1
    assert path.read_text() == "built"
    assert place == path.parent


def test_a_failed_build_leaves_nothing(place: Path) -> None:
    def fail(path: Path) -> None:
        path.write_text("half of it")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.cached(["a"], ".so", fail)
    assert [entry.suffix for entry in place.iterdir()] == [".lock"]
    assert cache.cached(["a"], ".so", Builder()).read_text() == "built"


def test_leftovers_of_a_killed_process_do_not_matter(place: Path) -> None:
    path = cache.cached(["a"], ".so", Builder())
    (place / "unfinished-xyz").mkdir()
    (place / "unfinished-xyz" / "kernel.so").write_text("half of it")
    path.with_name(f"{path.name}.sha256").unlink()
    assert cache.cached(["a"], ".so", Builder("again")).read_text() == "again"


def test_threads_build_once(place: Path) -> None:
    started = threading.Barrier(8)
    build = Builder()
    found = []

    def work() -> None:
        started.wait()
        found.append(cache.cached(["a"], ".so", build))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert build.calls == 1
    assert len(found) == 8
    assert {path.parent for path in found} == {place}


def test_processes_build_once(place: Path) -> None:
    program = """
import sys, time
from pathlib import Path
from cugraphmodel.kernels.cache import cached
def build(path):
    print("building", flush=True)
    time.sleep(0.3)
    path.write_text("built")
print(cached(["a"], ".so", build).read_text())
"""
    running = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outputs = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert "".join(outputs).count("building") == 1
    assert "".join(outputs).count("built") == 3
    assert len(list(place.glob("*.so"))) == 1


def private_folder_is_used(caplog: pytest.LogCaptureFixture, reason: str) -> Path:
    with caplog.at_level(logging.WARNING, "cugraphmodel"):
        path = cache.cached(["a"], ".so", Builder())
        cache.cached(["b"], ".so", Builder())
    assert path.read_text() == "built"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [reason in record.getMessage() for record in caplog.records] == [True]
    return path.parent


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720])
def test_a_folder_open_to_others_is_refused(
    place: Path, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    place.mkdir(parents=True)
    place.chmod(mode)
    assert private_folder_is_used(caplog, "others may write to it") != place
    assert not list(place.iterdir())


def test_a_folder_of_another_user_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place.mkdir(mode=0o700, parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: place.stat().st_uid + 1)
    assert private_folder_is_used(caplog, "belongs to another user") != place
    assert not list(place.iterdir())


def test_a_folder_that_cannot_be_made_is_replaced(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place.parent.write_text("a file where a folder should be")
    private_folder_is_used(caplog, "cannot be made")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser writes everywhere")
def test_a_read_only_folder_is_replaced(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    place.mkdir(mode=0o500, parents=True)
    private_folder_is_used(caplog, "cannot write")


def test_a_folder_that_takes_no_files_is_replaced(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What a read-only file system does, also for the superuser."""
    real = os.open

    def refuse(path: str | Path, *arguments: int) -> int:
        if Path(path).parent == place:
            raise OSError(30, "Read-only file system")
        return real(path, *arguments)

    monkeypatch.setattr(os, "open", refuse)
    private_folder_is_used(caplog, "cannot write")


def test_the_private_folder_is_removed_at_exit(tmp_path: Path) -> None:
    program = """
from cugraphmodel.kernels.cache import cached
print(cached(["a"], ".so", lambda path: path.write_text("x")).parent)
"""
    (tmp_path / "file").write_text("")
    environment = {**os.environ, "CUGRAPHMODEL_CACHE_DIR": str(tmp_path / "file")}
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    folder = Path(ran.stdout.strip())
    assert folder.name.startswith("cugraphmodel-")
    assert not folder.exists()


def test_a_build_that_writes_nothing_is_a_compile_error(place: Path) -> None:
    with pytest.raises(KernelCompileError, match="wrote nothing"):
        cache.cached(["part"], ".so", lambda _path: None)
    assert not list(place.glob("*.so"))


@pytest.mark.usefixtures("place")
def test_without_any_folder_the_system_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_source: object, _target: object) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        cache.cached(["part"], ".so", Builder())


@pytest.mark.parametrize("folder", ["relative", "", "~no-such-user/cache"])
def test_a_folder_that_means_nothing_is_a_settings_error(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUGRAPHMODEL_CACHE_DIR", folder)
    with pytest.raises(SettingsError, match="CUGRAPHMODEL_CACHE_DIR="):
        settings.cache_dir()


def test_a_user_without_a_home_has_the_root_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(_number: int) -> NoReturn:
        raise KeyError

    for name in ("CUGRAPHMODEL_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert settings.cache_dir() == Path("/.cache/cugraphmodel")


@pytest.mark.parametrize("command", ['"', "'g++", "g++ \\"])
def test_a_compiler_that_is_no_command_line_is_a_settings_error(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", command)
    with pytest.raises(SettingsError, match="CXX="):
        settings.cxx()


def test_the_kernel_cache_may_move_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(1).standard_normal((3, 40)).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    exact /= exact.sum(-1, keepdims=True)
    source = build("(float[3,40] x) => (float[3,40] y)", "y = Softmax(x)")
    for place in ("first", "second"):
        monkeypatch.setenv("CUGRAPHMODEL_CACHE_DIR", str(tmp_path / place))
        with cugraphmodel.load(source, device="cpu").capture_graph() as graph:
            np.testing.assert_allclose(graph.run([x])[0], exact, rtol=1e-5)
