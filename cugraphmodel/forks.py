"""Locks of objects that live on in a forked process, where only the forking thread goes on."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol

__all__ = ["renew_lock_in_child"]


class _Locked(Protocol):
    _lock: threading.RLock


_owners: weakref.WeakSet[_Locked] = weakref.WeakSet()


def renew_lock_in_child(owner: _Locked) -> None:
    """Give ``owner._lock`` a successor in every child process: nobody there frees a held one."""
    _owners.add(owner)


def _renew() -> None:
    for owner in list(_owners):
        owner._lock = threading.RLock()


os.register_at_fork(after_in_child=_renew)
