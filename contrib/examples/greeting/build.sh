#!/bin/sh
# build.sh - builds build/greet from greet.c; warnings are errors.
set -e
cd "$(dirname "$0")"
mkdir -p build
${CC:-cc} -std=c99 -Wall -Wextra -Werror -O1 -o build/greet greet.c
echo "build: build/greet"
