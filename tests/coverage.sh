#!/usr/bin/env bash
# coverage.sh [LABELS] - builds with gcc's coverage, runs the tests with these labels (default unit|golden|system|mpi), and
# tells lines and branches per module, then every function that no test entered.  By hand: it builds anew.  Ranks that a
# test kills leave no counts; beside counters the compiler takes some variables for unset.
set -euo pipefail
cd "$(dirname "$0")/.."
labels=${1:-unit|golden|system|mpi}
cmake -G Ninja -B build/coverage -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_FLAGS="--coverage -fprofile-update=prefer-atomic -Wno-maybe-uninitialized" \
    > /dev/null
cmake --build build/coverage > /dev/null
find build/coverage -name '*.gcda' -delete
ctest --test-dir build/coverage -L "$labels" > build/coverage/tests.log || tail -n 20 build/coverage/tests.log

folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
find "$PWD/build/coverage/CMakeFiles" -name '*.gcno' > "$folder/data"
root=$PWD
(cd "$folder" && xargs gcov --json-format --branch-probabilities --preserve-paths < data > /dev/null 2>&1)
python3 - "$root" "$folder" <<'END'
import collections, glob, gzip, json, os, sys

root, folder = sys.argv[1:]
lines = collections.defaultdict(dict)
branches = collections.defaultdict(dict)
entered = {}
for path in glob.glob(os.path.join(folder, "*.gcov.json.gz")):
    with gzip.open(path) as file:
        data = json.load(file)
    for source in data["files"]:
        name = os.path.relpath(os.path.join(data["current_working_directory"], source["file"]), root)
        if not name.startswith(("src/", "analysis/")):
            continue
        for function in source["functions"]:
            key = (name, function["name"])
            entered[key] = entered.get(key, 0) + function["execution_count"]
        for line in source["lines"]:
            number = line["line_number"]
            lines[name][number] = lines[name].get(number, 0) + line["count"]
            for i, branch in enumerate(line["branches"]):
                branches[name][number, i] = branches[name].get((number, i), 0) + branch["count"]


def share(counts):
    return f"{100 * sum(1 for c in counts if c) / len(counts):6.1f} %" if counts else "     -  "


modules = collections.defaultdict(lambda: ([], []))
for name in lines:
    parts = name.split("/")
    for module in ("/".join(parts[:2]) if parts[0] == "src" and len(parts) > 2 else parts[0], "all"):
        modules[module][0].extend(lines[name].values())
        modules[module][1].extend(branches[name].values())
print(f"{'module':<16}{'lines':>9}{'branches':>11}")
for module in sorted(modules, key=lambda m: (m == "all", m)):
    print(f"{module:<16}{share(modules[module][0]):>9}{share(modules[module][1]):>11}")
uncovered = sorted(key for key, count in entered.items() if not count)
print(f"\n{len(uncovered)} of {len(entered)} functions that no test entered:")
for name, function in uncovered:
    print(f"  {name}: {function}")
END
