#!/bin/bash
# quickstart.sh - from a fresh clone to a verified patch.
#
# Usage: contrib/quickstart.sh [BUILD-DIRECTORY]      (default: build)
# Installs the packages of contrib/packages.txt that are missing (Debian; root or sudo) and builds.
# A second call installs nothing and builds only what has changed.
# Tests: tests/cli/t0900-packages.sh.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 1
. "$top/contrib/lib/packages.sh"
. "$top/contrib/lib/build.sh"

prepare() {
    packages_install "$top/contrib/packages.txt" build run && build_tree "$build"
}

build=${1:-$top/build}
prepare || exit 1
