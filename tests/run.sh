#!/usr/bin/env bash
# run.sh - installs what is missing, builds, and runs the tests.
#
#   tests/run.sh          the normal suite (minutes)
#   tests/run.sh --full   and the long ones: static checks, sanitizers, debug and clang builds, many kills, slow suites
#
# Ends with a line "N passed, N failed".  The exit code is 0 only if nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.."

full=no
case "${1:-}" in
"") ;;
--full) full=yes ;;
*)
    echo "run.sh: unknown argument '$1'; allowed: --full" >&2
    exit 2
    ;;
esac

packages=(tests)
[ $full = yes ] && packages+=(slurm mpich static)
jobs/setup.sh "${packages[@]}" || exit 1
passed=0 failed=0 failures=()

# step NAME COMMAND...: runs a step quietly, shows the end of its output if it fails.
step() {
    local name=$1 log start=$SECONDS
    shift
    log=$(mktemp)
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        printf 'ok    %-58s %4d s\n' "$name" $((SECONDS - start))
    else
        failed=$((failed + 1))
        failures+=("$name")
        printf 'FAIL  %-58s %4d s\n' "$name" $((SECONDS - start))
        tail -n 60 "$log"
    fi
    rm -f "$log"
}

# suite PRESET LABELS: every test of a build counts by itself.
suite() {
    local preset=$1 labels=$2 log total bad
    log=$(mktemp)
    ctest --test-dir "build/$preset" -j "$(nproc)" --output-on-failure -L "$labels" >"$log" 2>&1
    total=$(sed -n 's/.*tests failed out of \([0-9]*\).*/\1/p' "$log" | tail -n 1)
    bad=$(sed -n 's/.*, \([0-9]*\) tests failed out of.*/\1/p' "$log" | tail -n 1)
    if [ -z "$total" ] || [ "$total" -eq 0 ]; then
        failed=$((failed + 1))
        failures+=("$preset: no tests ran")
        cat "$log"
    else
        passed=$((passed + total - bad))
        failed=$((failed + bad))
        [ "$bad" -eq 0 ] || failures+=("$preset: $bad tests")
        grep -E '^ *[0-9]+/[0-9]+ Test|[Ff]ailed|^The following' "$log"
        [ "$bad" -eq 0 ] || tail -n 150 "$log"
    fi
    rm -f "$log"
}

build() {
    step "configure $1" cmake --preset "$1" -DPES_TESTS=ON
    step "build $1" cmake --build "build/$1"
}

step "format" tests/check_format.sh
step "module order" tests/check_modules.sh
build release
step "warnings of clang" tests/check_clang.sh
suite release "unit|golden|mpi|system"
build double
suite double "unit|golden"
if [ "$full" = yes ]; then
    step "cppcheck and clang-tidy" tests/check_static.sh
    build clang
    suite clang "unit|golden"
    build asan
    suite asan "unit|golden|system"
    build debug
    suite debug "unit"
    build mpich
    suite mpich "mpi"
    suite release "slow"
fi

echo
for failure in "${failures[@]}"; do
    echo "failed: $failure"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
