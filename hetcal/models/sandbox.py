"""A process shuts itself in, through the kernel of Linux, before it opens a stranger's file.

Landlock leaves it the libraries to read and one directory to write, seccomp takes away what
reaches other processes and the network. Neither can be undone, needs root or a package. What is
not there on an older kernel or another system is left out, and `reduced_isolation` says so.
"""

import ctypes
import errno
import math
import os
import platform
import signal
import stat
import struct
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

GIB = 2**30

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2
_READ_FILE, _READ_DIR, _WRITE_FILE, _TRUNCATE = 1 << 2, 1 << 3, 1 << 1, 1 << 14
_REMOVE, _MAKE_DIR, _MAKE_FILE, _MOVE = 1 << 4 | 1 << 5, 1 << 7, 1 << 8, 1 << 13
_READ = _READ_FILE | _READ_DIR
_OWN = _READ | _WRITE_FILE | _TRUNCATE | _REMOVE | _MAKE_DIR | _MAKE_FILE | _MOVE
_ON_FILES = _READ_FILE | _WRITE_FILE | _TRUNCATE
# Rights that each version of Landlock knows; those that nobody is granted are denied.
_KNOWN = (0, (1 << 13) - 1, (1 << 14) - 1, (1 << 15) - 1, (1 << 15) - 1, (1 << 16) - 1)
_TCP, _OTHERS = 0b11, 0b11  # bind and connect; abstract sockets and signals to others
_WHOLE = 3  # before this version files outside could be emptied

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store")
_FACTS = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu")
_SELF = "/proc/self/cmdline"
_FILES = (_SELF, "/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/dev/urandom")

# Numbers of system calls: x86_64, aarch64 (None where there is no such call).
_DENIED: dict[str, tuple[int | None, int | None]] = {
    **{"fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281)},
    **{"socket": (41, 198), "setsid": (112, 157), "setpgid": (109, 154)},
    **{"unshare": (272, 97), "setns": (308, 268), "bpf": (321, 280)},
    **{"ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271)},
    **{"pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438)},
    **{"tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240)},
    **{"io_uring_setup": (425, 425), "perf_event_open": (298, 241), "userfaultfd": (323, 282)},
    **{"add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219)},
    **{"shmget": (29, 194), "shmat": (30, 196), "semget": (64, 190), "msgget": (68, 186)},
    **{"mq_open": (240, 180), "setpriority": (141, 140), "ioprio_set": (251, 30)},
    # Landlock does not know these: they change files without opening them.
    **{"chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452)},
    **{"chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54)},
    **{"setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7)},
    **{"removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16)},
    **{"utime": (132, None), "utimes": (235, None), "futimesat": (261, None)},
    **{"utimensat": (280, 88)},
}
_CLONE, _CLONE3, _PRLIMIT = (56, 220), 435, (302, 261)
_KILL, _TGKILL = (62, 129), (234, 131)
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # where they are in what a filter sees
_ALLOW, _ERROR, _OTHER_TABLE, _THREAD = 0x7FFF0000, 0x00050000, 0x40000000, 0x00010000
_DENY = _ERROR | errno.EPERM


@dataclass(frozen=True)
class Limits:
    """What a child may use."""

    seconds: int = 300  # wall-clock and processor time: a child has one busy thread
    memory: int = 4 * GIB  # address space; TensorFlow alone takes about 2.5 GiB
    file_bytes: int = 64 * 2**20  # the largest file it may write
    files: int = 256  # open at a time


def reduced_isolation() -> str | None:
    """Say what is missing here of the isolation of models; None where all of it is there."""
    missing = []
    if _landlock() < _WHOLE:
        missing.append("keep it from the files of this user (Landlock of Linux 6.2 or later)")
    if not _can_filter():
        missing.append("keep it from starting processes and from the network (seccomp of Linux)")
    if not missing:
        return None
    return (
        f"Reduced isolation: beyond the checks of its file, a model has limits on time and memory, "
        f"but this system cannot {' nor '.join(missing)}."
    )


def shut_in(directories: Iterable[str], packages: Iterable[str]) -> None:
    """Leave this process its libraries to read, `directories` to write, and no way to others.

    Call it before threads are started: they keep what they had. `packages` are folders of
    Python code beside those of the interpreter.
    """
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
    _drop_capabilities(libc)
    if _landlock():
        _restrict_files(libc, directories, packages)
    if _can_filter():
        _restrict_calls(libc)


def confine(limits: Limits) -> None:
    """Set the limits of a request for good; Windows has none, so the parent ends the child.

    The time that it took to load Keras is not the request's.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind, value in (
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_CPU, math.ceil(time.process_time()) + limits.seconds),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.files),
        (resource.RLIMIT_CORE, 0),
    ):
        # Whoever is out of time is told so by a signal, and killed if that does not end it.
        _lower(resource, kind, value, 1 if kind == resource.RLIMIT_CPU else 0)
    signal.alarm(limits.seconds)


def _lower(resource: ModuleType, kind: int, value: int, grace: int) -> None:
    """Lower one limit so that it cannot be raised; a stricter one that is already set stays."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard - grace)
    try:
        resource.setrlimit(kind, (value, value + grace))
    except (OSError, ValueError):
        # macOS knows RLIMIT_AS but refuses to set it; the other limits still hold.
        sys.stderr.write(f"limit {kind} is not available here\n")


def _landlock() -> int:
    """Return the version of Landlock that the kernel has; 0 where there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1))


def _can_filter() -> bool:
    known = platform.machine() in _ARCHITECTURES and sys.maxsize > 2**32
    return known and Path("/proc/sys/kernel/seccomp/actions_avail").exists()


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Even root then has the rights of an ordinary user: no limit can be raised."""
    header, nothing = struct.pack("=II", 0x20080522, 0), bytes(24)
    _check(libc.capset(header, nothing))


def _restrict_files(libc: ctypes.CDLL, directories: Iterable[str], packages: Iterable[str]) -> None:
    version = _landlock()
    known = _KNOWN[min(version, len(_KNOWN) - 1)]
    rights = struct.pack("=QQQ", known, _TCP * (version >= 4), _OTHERS * (version >= 6))
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _check(libc.syscall(_CREATE_RULESET, rights, ctypes.c_size_t(size), 0))
    # TensorFlow ends itself if it cannot read this file, which is the one granted while it is open.
    os.open(_SELF, os.O_PATH | os.O_CLOEXEC)
    granted = [(each, _READ) for each in (*_places(), *packages)]
    granted.append(("/dev/null", _READ_FILE | _WRITE_FILE))
    granted += [(each, _OWN) for each in directories]
    for path, access in granted:
        _grant(libc, ruleset, path, access & known)
    _check(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _places() -> Iterator[str]:
    yield from (*_LIBRARIES, *_FACTS, *_FILES)
    yield from (f"{prefix}/lib" for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix})
    yield from sys.path
    yield from os.environ.get("LD_LIBRARY_PATH", "").split(":")


def _grant(libc: ctypes.CDLL, ruleset: int, path: str, access: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # not on this system
        return
    if not stat.S_ISDIR(os.fstat(place).st_mode):
        access &= _ON_FILES
    _check(libc.syscall(_ADD_RULE, ruleset, 1, struct.pack("=Qi", access, place), 0))
    os.close(place)


def _restrict_calls(libc: ctypes.CDLL) -> None:
    program = b"".join(struct.pack("=HBBI", *each) for each in _program())
    kept = ctypes.create_string_buffer(program, len(program))
    whole = struct.pack("@HP", len(program) // 8, ctypes.addressof(kept))
    _check(libc.prctl(_SET_SECCOMP, _FILTER, whole, 0, 0))


def _program() -> Iterator[tuple[int, int, int, int]]:
    """Instructions: code, steps to skip if true, steps to skip if not, value."""
    column, architecture = _ARCHITECTURES[platform.machine()]
    yield _LOAD, 0, 0, _ARCHITECTURE
    yield _EQUAL, 1, 0, architecture
    yield _RETURN, 0, 0, _DENY
    yield _LOAD, 0, 0, _NUMBER
    yield _AT_LEAST, 0, 1, _OTHER_TABLE
    yield _RETURN, 0, 0, _DENY
    for numbers in _DENIED.values():
        number = numbers[column]
        if number is not None:
            yield _EQUAL, 0, 1, number
            yield _RETURN, 0, 0, _DENY
    # The C library takes this answer for an older kernel and starts its threads with clone.
    yield _EQUAL, 0, 1, _CLONE3
    yield _RETURN, 0, 0, _ERROR | errno.ENOSYS
    for numbers, test, value in (
        (_CLONE, _ANY_BIT, _THREAD),  # threads are allowed, processes are not
        (_PRLIMIT, _EQUAL, 0),  # its own limits only
        (_KILL, _EQUAL, os.getpid()),
        (_TGKILL, _EQUAL, os.getpid()),
    ):
        yield _EQUAL, 0, 4, numbers[column]
        yield _LOAD, 0, 0, _FIRST_ARGUMENT
        yield test, 0, 1, value
        yield _RETURN, 0, 0, _ALLOW
        yield _RETURN, 0, 0, _DENY
    yield _RETURN, 0, 0, _ALLOW


def _check(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"the process could not be shut in: {os.strerror(code)}")
    return result
