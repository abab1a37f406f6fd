#!/usr/bin/env bash
# step.sh TEXT COMMAND ... - runs one step of a build, telling it in one line.
#
# Out: TEXT; when the command fails, the end of what it printed, and its exit status. All of it is kept in build/log.
#      V=1 prints everything as it comes.
set -u
text=$1
shift
if [ "${V:-0}" != 0 ]; then
    printf '%s\n+ %s\n' "$text" "$*"
    exec "$@"
fi
log=$(cd "$(dirname "$0")/.." && pwd)/build/log/$(tr -cs 'A-Za-z0-9\n' - <<<"$text").log
mkdir -p "${log%/*}"
echo "$text"
"$@" >"$log" 2>&1
status=$?
if [ $status -ne 0 ]; then
    tail -n 40 "$log" >&2
    echo "step.sh: '$text' failed with status $status. All of its output: $log" >&2
fi
exit $status
