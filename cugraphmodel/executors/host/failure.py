"""What the runtime reports of a run that failed, and the exception it becomes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cugraphmodel.errors import KernelCheckError, KernelError
from cugraphmodel.executors.host.lines import locate

__all__ = ["Failure"]

_FINDINGS = ("memcheck", "racecheck", "initcheck", "synccheck", "ubcheck")
# Where wrappers are: a line in a kernel's own file says more.
_SHARED_HEADERS = (
    "device.cuh",
    "async_copy.cuh",
    "tensor_core.cuh",
    "cuda_host.h",
    "entry points",
)


@dataclass(frozen=True)
class Failure:
    """Why a launch ended early.

    Attributes:
        launch: its index among the launches of the run.
        kind: ``"system"``, ``"trap"``, ``"limit"`` or one of the kinds of
            :class:`cugraphmodel.errors.KernelCheckError`.
        block, thread: indices of the thread, as in CUDA.
        text: what happened.
        memory: the argument or shared array it is about, or empty.
        place: file and line as the compiler itself told them, or None.
        frames: check mode: calls that led there, innermost first, as offsets into the library.
    """

    launch: int
    kind: str
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    text: str
    memory: str
    place: tuple[str, int] | None
    frames: tuple[int, ...]

    def __str__(self) -> str:
        if self.kind == "system":
            return self.text
        block, thread = (",".join(map(str, index)) for index in (self.block, self.thread))
        return f"block ({block}) thread ({thread}): {self.text}"

    def error(self, kernel: str, library: Path, *, checked: bool, where: str) -> KernelError:
        """The exception to raise.

        Args:
            kernel: entry point.
            library: the kernel's compiled library.
            checked: whether it was compiled for the check mode.
            where: begins the message.
        """
        if not checked or self.kind not in _FINDINGS:
            return KernelError(f"{where}: {self}")
        place = self._place(library)
        at = f", at {place[0]}:{place[1]}" if place else " (at an unknown line)"
        return KernelCheckError(
            f"{where}: {self.kind}: {self}{at}",
            kind=self.kind,
            kernel=kernel,
            block=self.block,
            thread=self.thread,
            memory=self.memory or None,
            file=place[0] if place else None,
            line=place[1] if place else None,
        )

    def _place(self, library: Path) -> tuple[str, int] | None:
        """The innermost line that is in a file of the kernel's own, else the innermost one."""
        known = [self.place] if self.place else []
        known += [place for frame in self.frames if (place := locate(library, frame))]
        own = [place for place in known if PurePosixPath(place[0]).name not in _SHARED_HEADERS]
        return next(iter(own or known), None)
