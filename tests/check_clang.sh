#!/usr/bin/env bash
# check_clang.sh [BUILD] - clang's warnings on everything that gcc compiled, as errors and without making objects: half a
# minute instead of a second build. BUILD is a configured build folder (default build/release).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
if ! command -v clang >/dev/null; then
    echo "check_clang.sh: clang is not here (Debian: clang)"
    exit 1
fi
python3 -c '
import json, shlex, sys
for entry in json.load(open(sys.argv[1])):
    words = shlex.split(entry["command"])[1:]
    out = words.index("-o")
    kept = [w for w in words[:out] + words[out + 2:] if not w.startswith("-M") and not w.endswith(".d") and not w.endswith(".o")]
    print(shlex.join(["clang", "-fsyntax-only", *kept]))
' "$build/compile_commands.json" | tr '\n' '\0' | (cd "$build" && xargs -0 -n 1 -P "$(nproc)" sh -c)
