# counted_profile.py - the script that begins a profile whose adaptor's memory is counted; what follows it stops the profile.
#
# In:  torch on the echo accelerator, under the preloaded library that counts allocations (tests/echo).
# Out: `prof`, begun, with a hundred operators in it; `counter.counted_bytes()`, what the adaptor holds.

COUNTED_PROFILE = """
import ctypes
import flagprof, torch
from torch.profiler import ProfilerActivity as A, profile
counter = ctypes.CDLL(None)
counter.counted_bytes.restype = ctypes.c_int64
counter.count_library.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
prof = profile(activities=[A.CPU, A.PrivateUse1])
for line in open("/proc/self/maps"):
    if "adaptor.so" in line:
        counter.count_library(*(int(part, 16) for part in line.split()[0].split("-")))
prof.start()
for turn in range(100):
    torch.ones(3)
"""
