#!/usr/bin/env bash
# demo.sh PYTHON - builds what a recording takes and records examples/train.py, whose last line is the trace's path.
#
# In:  the venv's Python. FLAGOS_ACCELERATOR picks an accelerator, or the one that is simulated where there is none.
set -eu
python=$1
cd "$(dirname "$0")/.."

# The simulated CUPTI is compiled against NVIDIA's headers. Without them a real accelerator can still be recorded, and
# so can a simulated one of another vendor.
if [ ! -d "${FLAGPROF_CUPTI_DIR:-build/cupti}/13.0.85" ] && [ "${FLAGOS_ACCELERATOR:-cuda}" = cuda ]; then
    scripts/step.sh "Fetching NVIDIA's CUPTI headers, 13 MB, for the simulated accelerator" \
        "$python" scripts/fetch_cupti.py 13.0.85 || true
fi
scripts/step.sh "Configuring" cmake -S . -B build -G Ninja
scripts/step.sh "Building" ninja -C build product
export PYTHONPATH=$PWD/python:$PWD/sim/python${PYTHONPATH:+:$PYTHONPATH}
if [ "${FLAGOS_ACCELERATOR:-}" != ascend ]; then
    exec "$python" examples/train.py
fi
# Ascend's copies and sets are recorded only where the process was started with libmspti.so: the machine's, else the
# simulated one.
if [ -z "$(build/flagprof env)" ]; then
    export FLAGOS_TRACER_LIBRARY=${FLAGOS_TRACER_LIBRARY:-$PWD/build/sim/mspti/libmspti.so}
fi
echo "preload:     build/flagprof env -- $python examples/train.py, which sets $(build/flagprof env)"
exec build/flagprof env -- "$python" examples/train.py
