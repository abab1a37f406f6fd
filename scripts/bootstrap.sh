#!/usr/bin/env bash
# bootstrap.sh GROUP ... - brings the Debian packages of scripts/packages.txt that are missing. Default group: build.
#
# In:  the groups; PYTHON, the Python in use (default python3).
# Out: nothing when all is there. As root with apt-get: what is missing is installed, nothing else is touched. Otherwise
#      the missing packages are named, each with its reason, and the exit status is 1.
# Packages are looked for by what they bring (a command, a header), so that one that came another way counts.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=${here%/scripts}
python=${PYTHON:-python3}
groups=" ${*:-build} "
log=$root/build/log/apt.log

# One start of Python answers everything that is asked of it: its version, Python.h, venv.
ask_python() {
    python_says=$("$python" -c '
import sys, sysconfig, os, importlib.util
print("new" if sys.version_info >= (3, 11) else "%d.%d" % sys.version_info[:2],
      "headers" if os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")) else "-",
      "venv" if importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip") else "-")' 2>/dev/null)
    case $python_says in
        new*) return ;;
        "") echo "bootstrap.sh: there is no $python." >&2 ;;
        *) echo "bootstrap.sh: $python is version ${python_says%% *}." >&2 ;;
    esac
    echo "FlagProf needs Python 3.11 or newer; PYTHON=... names another." >&2
    exit 1
}

is_there() {
    case $1 in
        cmd:*) command -v "${1#cmd:}" >/dev/null ;;
        header:*) compgen -G "/usr/include/${1#header:}" >/dev/null || compgen -G "/usr/include/*/${1#header:}" >/dev/null \
            || [ -e "/usr/local/include/${1#header:}" ] ;;
        file:*) compgen -G "${1#file:}" >/dev/null ;;
        python:*) [[ " $python_says " == *" ${1#python:} "* ]] ;;
    esac
}

look() { # sets missing (packages) and told (a line each with the reason)
    missing=() told=""
    while read -r group package probe reason; do
        case $group in "" | "#"*) continue ;; esac
        if [[ $groups == *" $group "* ]] && ! is_there "$probe"; then
            missing+=("$package")
            told+=$(printf '\n  %-16s %s' "$package" "$reason")
        fi
    done <"$here/packages.txt"
}

stop() {
    echo "bootstrap.sh: $1$told" >&2
    exit 1
}

ask_python
look
[ ${#missing[@]} -eq 0 ] && exit 0
command -v apt-get >/dev/null || stop "this system has no apt-get. Install what brings these (Debian's names), then try again:"
[ "$(id -u)" -eq 0 ] || stop "these packages are missing. As root: apt-get install --no-install-recommends ${missing[*]}"

mkdir -p "${log%/*}"
apt() { DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1; }
echo "Installing Debian packages: ${missing[*]}"
: >"$log"
# A bare system has no package lists, or old ones that name files which are gone.
apt install --no-install-recommends --no-upgrade "${missing[@]}" \
    || { apt update && apt install --no-install-recommends --no-upgrade "${missing[@]}"; } \
    || { tail -n 15 "$log" >&2; stop "apt-get could not install these (all it said: $log):"; }
ask_python
look
[ ${#missing[@]} -eq 0 ] || stop "installed, and still not found. Is $python Debian's own Python? These it lacks:"
