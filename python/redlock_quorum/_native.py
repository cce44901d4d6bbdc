# The library behind this package: found, loaded, and its functions with their types; knows no lock.
# SPDX-License-Identifier: MIT
import ctypes
import os
import pathlib
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint16, c_uint64, c_void_p
from typing import Any

__all__ = ["Options", "Single", "byref", "c_char_p", "c_int64", "c_void_p", "library", "text_of"]

NAME = "libredlock_c.so.0"


class Options(ctypes.Structure):
    """redlock_options of redlock/c.h."""

    _fields_ = [
        ("size", c_size_t),
        ("ttl_ms", c_int64),
        ("wait_ms", c_int64),
        ("max_hold_ms", c_int64),
        ("min_hold_ms", c_int64),
        ("loss_margin_ms", c_int64),
        ("shared", c_int),
        ("no_renew", c_int),
        ("slots", c_uint16),
        ("note", c_char_p),
        ("watchdog_ms", c_int64),
        ("cancel", c_void_p),
        ("permits", c_uint16),
    ]


_OUT = POINTER(c_void_p)
_TEXTS = POINTER(c_char_p)
_OPTIONS = POINTER(Options)

# What each function returns, and takes.
_FUNCTIONS = {
    "client_from_json": (c_int, c_char_p, _OUT),
    "client_from_file": (c_int, c_char_p, _OUT),
    "client_from_environment": (c_int, _OUT),
    "client_close": (c_int, c_void_p),
    "client_free": (None, c_void_p),
    "acquire": (c_int, c_void_p, c_char_p, _OPTIONS, _OUT),
    "acquire_all": (c_int, c_void_p, _TEXTS, c_size_t, _OPTIONS, _OUT),
    "adopt": (c_int, c_void_p, c_char_p, _OPTIONS, _OUT),
    "begin_acquire": (c_int, c_void_p, c_char_p, _OPTIONS, _OUT),
    "begin_acquire_all": (c_int, c_void_p, _TEXTS, c_size_t, _OPTIONS, _OUT),
    "pending_fd": (c_int, c_void_p),
    "pending_take": (c_int, c_void_p, _OUT),
    "pending_cancel": (None, c_void_p),
    "queue_new": (c_void_p,),
    "queue_fd": (c_int, c_void_p),
    "queue_add": (c_int, c_void_p, c_void_p),
    "queue_next": (c_void_p, c_void_p),
    "queue_free": (None, c_void_p),
    "cancel_new": (c_void_p,),
    "cancel_request": (None, c_void_p),
    "cancel_free": (None, c_void_p),
    "lease_fence": (c_uint64, c_void_p),
    "lease_slot": (c_uint16, c_void_p),
    "lease_remaining": (c_int64, c_void_p),
    "lease_valid": (c_int, c_void_p),
    "lease_token": (c_char_p, c_void_p),
    "lease_lost_fd": (c_int, c_void_p),
    "lease_touch": (None, c_void_p),
    "extend": (c_int, c_void_p, c_int64),
    "release": (c_int, c_void_p),
    "lease_free": (None, c_void_p),
    "lease_detach": (None, c_void_p),
    "limiter_new": (c_int, c_void_p, c_char_p, c_uint16, c_int64, _OUT),
    "limiter_use": (c_int, c_void_p, c_uint16, c_int64, c_void_p, POINTER(c_int64)),
    "limiter_set": (c_int, c_void_p, c_uint16),
    "limiter_free": (None, c_void_p),
    "inspect": (c_int, c_void_p, c_char_p, _OUT),
    "list": (c_int, c_void_p, c_char_p, _OUT),
    "probe": (c_int, c_void_p, _OUT),
    "stats": (c_int, c_void_p, _OUT),
    "open_metrics": (c_int, c_void_p, _OUT),
    "text_free": (None, c_void_p),
    "last_error": (c_char_p,),
    "last_error_json": (c_char_p,),
    "version": (c_char_p,),
}


# Those that wait for nothing keep Python's lock: to give it up and to get it back costs more than they do.
# A pending call is taken when it is over.
_QUICK = {"begin_acquire", "begin_acquire_all", "pending_fd", "pending_take", "pending_cancel",
          "queue_new", "queue_fd", "queue_add", "queue_next", "queue_free", "cancel_new",
          "cancel_free", "lease_fence", "lease_slot", "lease_remaining", "lease_valid", "lease_touch",
          "lease_lost_fd", "lease_token", "text_free", "last_error", "last_error_json", "version"}


class _Library:
    """Each function of redlock/c.h, without the prefix of its name."""

    def __init__(self) -> None:
        self.path, self.loaded = _load()
        quick = ctypes.PyDLL(self.path)
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(quick if name in _QUICK else self.loaded, f"redlock_{name}")
            function.restype = result
            function.argtypes = arguments
            setattr(self, name, function)


def _load() -> "tuple[str, ctypes.CDLL]":
    """The one that REDLOCK_LIBRARY names, else the one in this folder, else the system's."""
    named = os.environ.get("REDLOCK_LIBRARY")
    if named:
        return named, ctypes.CDLL(named)
    beside = pathlib.Path(__file__).resolve().parent / NAME
    if beside.exists():
        return str(beside), ctypes.CDLL(str(beside))
    try:
        return NAME, ctypes.CDLL(NAME)
    except OSError as error:
        raise ImportError(
            f"redlock: no {NAME}: it is neither in {beside.parent} nor where the system's loader "
            f"looks ({error}); install it, or name its file by REDLOCK_LIBRARY") from error


library: Any = _Library()


def text_of(pointer: c_void_p) -> str:
    """A text that the library handed out, which is freed."""
    try:
        return ctypes.string_at(pointer.value).decode() if pointer.value else ""
    finally:
        library.text_free(pointer)


class Single:
    """What stands for one object of the library, and so has no copy."""

    __slots__ = ()

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} is one of its kind: it can't be copied, nor sent to "
                        "another process; a lease goes there by its token")
