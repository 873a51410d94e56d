#!/usr/bin/env bash
# Installs what the grader needs, into a folder beside this file. Gradescope runs it once, when it builds the image.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
export DEBIAN_FRONTEND=noninteractive

find_python() {
    local fits='import sys, ensurepip, venv; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))'
    for each in python3.13 python3.12 python3.11 python3.10 python3; do
        if "$each" -c "$fits" 2>/dev/null; then
            echo "$each"
            return
        fi
    done
    return 1
}

if ! python="$(find_python)"; then
    apt-get update
    apt-get install -y python3 python3-venv
    if ! python="$(find_python)"; then
        echo "setup.sh: Python 3.10 to 3.13 is needed, and this image has none. Choose another base image." >&2
        exit 1
    fi
fi

rm -rf "$here/environment"
"$python" -m venv "$here/environment"
from=()
if [ -d "$here/wheels" ]; then
    from=(--no-index --find-links "$here/wheels")
fi
"$here/environment/bin/python" -m pip install --disable-pip-version-check --no-cache-dir --only-binary :all: \
    "${from[@]}" -r "$here/requirements.txt"
export AUTOGRADER_LABS="$here/labs"
cd "$here"
environment/bin/python -m autograder.gradescope --try "$here" # compiles what each student would wait for
