# _adaptor.py - the adaptor library of this torch, built if need be, loaded once and registered with Kineto.
#
# In:  an imported torch. Out: a handle whose functions are those of src/kineto/adaptor.cc. Once loaded it stays: Kineto
#      cannot forget it, and a second one would double every event.

import ctypes
import os

from flagprof import _build, _core


SHUT, PRIVATEUSE1, CUDA = 0, 1, 2  # of the gate


class Adaptor:
    def __init__(self, path):
        _core.library()  # the adaptor's own dependency: found by its name among what is loaded
        self._library = ctypes.CDLL(str(path))
        self._library.flagprof_adaptor_torch.restype = ctypes.c_char_p
        torch = _build.Torch()
        made_for = self._library.flagprof_adaptor_torch().decode()
        if made_for != f"{torch.version} {torch.commit}":
            raise _build.BuildFailed(f"{path} was made for torch {made_for}, this is {torch.version} {torch.commit}")

    def register(self):
        self._library.flagprof_adaptor_register()

    def gate(self, device):
        """What the profile that torch prepares next is for: SHUT, PRIVATEUSE1 or CUDA."""
        self._library.flagprof_adaptor_gate(device)

    def guard(self):
        """Gives PrivateUse1 a device guard if no backend has: backward() asks for one once the device has a name."""
        self._library.flagprof_adaptor_guard()

    def keep_cpu_only(self):
        """False when Kineto is up already and cannot be told any more."""
        return self._library.flagprof_adaptor_keep_cpu_only() == 0

    def _text(self, function, *arguments):
        length = function(*arguments, None, ctypes.c_size_t(0))
        buffer = ctypes.create_string_buffer(length + 1)
        function(*arguments, buffer, ctypes.c_size_t(len(buffer)))
        return buffer.value.decode()

    def findings(self):
        """The last recording's ledger, window and notes, as members of a JSON object."""
        return self._text(self._library.flagprof_adaptor_findings)

    def safe(self, text):
        return self._text(self._library.flagprof_adaptor_safe, text, ctypes.c_size_t(len(text)))

    def value(self, text):
        return self._text(self._library.flagprof_adaptor_value, text, ctypes.c_size_t(len(text)))


def load():
    """Raises _build.BuildFailed or _core.Missing, with a reason for a person."""
    _core.library()
    # A test build is loaded where the tests name one; no shipped file sets this.
    path = os.environ.get("FLAGOS_TEST_ADAPTOR") or _build.adaptor()
    try:
        return Adaptor(path)
    except OSError as error:
        raise _build.BuildFailed(f"{path} cannot be loaded: {error}. Remove its folder to have it built again") from error
