#!/usr/bin/env bash
# Runs the official OpenAI Python client against the built daemon: run.sh PYTHON TARGETDIR [PYTEST ARGUMENTS].
# The client is installed into a virtual environment in TARGETDIR, which is kept while the requirements and the
# interpreter stay the same.
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: $0 PYTHON TARGETDIR [PYTEST ARGUMENTS]" >&2
    exit 2
fi
python=$1
target=$(cd "$2" && pwd)
shift 2
here=$(cd "$(dirname "$0")" && pwd)
venv=$target/clients-venv
# Written last, so that an installation that broke off is made again.
stamp=$venv/installed
wanted=$("$python" -c 'import sys; print(sys.base_prefix, sys.version)' && cat "$here/requirements.txt")

if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
    "$python" -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    printf '%s\n' "$wanted" >"$stamp"
fi

cd "$here"
# Nothing is written beside the tests.
PYTHONDONTWRITEBYTECODE=1 exec "$venv/bin/python" -m pytest "--built=$target/debug" "$@"
