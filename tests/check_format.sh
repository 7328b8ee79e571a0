#!/usr/bin/env bash
# check_format.sh - every C file is as clang-format leaves it.
set -euo pipefail
cd "$(dirname "$0")/.."
find src include analysis tests -name '*.[ch]' -print0 | xargs -0 clang-format --dry-run --Werror
