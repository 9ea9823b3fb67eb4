"""Advisory locks on open files, told from any other program's; and folders whose names outlast a power cut."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    _FAR = 0x7FFF0000  # a lock there keeps nobody from reading, which one on the contents would

    def try_lock(handle: int) -> bool:
        """Hold the file alone until the handle is closed; False where another handle holds it."""
        at = os.lseek(handle, 0, os.SEEK_CUR)
        os.lseek(handle, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(handle, at, os.SEEK_SET)
        return True

    def is_locked(path: Path) -> bool:
        """Whether some handle holds the file. Raises OSError where it cannot be opened."""
        handle = os.open(path, os.O_RDONLY)
        try:
            return not try_lock(handle)
        finally:
            os.close(handle)

    def sync_folder(folder: Path) -> None:
        """Windows keeps a rename by itself, and cannot open a folder."""

else:
    import fcntl

    _NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL})

    def try_lock(handle: int) -> bool:
        """Hold the file alone until the handle is closed; False where another handle holds it.

        On a file system without locks nobody is ever held off.
        """
        return _lock(handle, fcntl.LOCK_EX)

    def is_locked(path: Path) -> bool:
        """Whether some handle holds the file. Raises OSError where it cannot be opened."""
        handle = os.open(path, os.O_RDONLY)
        try:
            return not _lock(handle, fcntl.LOCK_SH)  # shared: who only asks does not look like a holder to another
        finally:
            os.close(handle)

    def _lock(handle: int, how: int) -> bool:
        try:
            fcntl.flock(handle, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        return True

    def sync_folder(folder: Path) -> None:
        """Keep the names in it over a power cut."""
        with contextlib.suppress(OSError):  # some network file systems cannot
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
