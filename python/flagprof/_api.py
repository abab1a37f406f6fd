# _api.py - what a program may call: use_cuda, prepare, last_ledger, accelerator.

from flagprof import _core


def use_cuda():
    """Lets FlagProf record the CUDA devices of a CUDA build of torch, in profiles of [CPU, PrivateUse1].

    Call it before the process's first profile. It takes something away: torch's own CUDA recording stays off in this
    process, since two users of CUPTI would take each other's buffers; a profile of [CPU, CUDA] is then recorded by FlagProf
    as well. FLAGOS_USE_CUDA=1 does the same without a call.
    """
    from flagprof import _torch

    _torch.ask_for_cuda()


def prepare():
    """Registers with the vendor's library before the first context and arms nothing.

    Only needed where a trace says so: some drivers deliver nothing when that comes later. Call it before the program
    first uses the device. Raises RuntimeError with the reason when no accelerator can be used.
    """
    try:
        _core.Accelerator().prepare()
    except (_core.Missing, _core.Refused) as error:
        raise RuntimeError(str(error)) from error


def accelerator():
    """The accelerator that a profile would record, as a dict: its name, the vendor library bound, the devices.

    Where none is usable, {"accelerator": None, "reason": why}.
    """
    try:
        return _core.Accelerator().describe()
    except (_core.Missing, _core.Refused) as error:
        return {"accelerator": None, "reason": str(error)}


def last_ledger():
    """The ledger of the process's last recording as a dict (docs/torch.md); {} before the first has ended.

    {"not_recorded": why} where the last profile wanted the device and it could not be recorded.
    """
    from flagprof import _torch

    return _torch.ledger()
