#!/usr/bin/env bash
# check_static.sh [BUILD] - cppcheck and clang-tidy over all sources; every finding is mended or has its reason here or in
# .clang-tidy.  About ten minutes of processor time, on all cores; part of tests/run.sh --full.  BUILD is a configured build folder (default build/release).
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
build=${1:-build/release}
bad=0

# Not reported by cppcheck, since what it says is wrong here or is a matter of taste:
suppressed=(
    missingIncludeSystem        # system headers are not read
    unusedStructMember          # members are read by other files
    variableScope               # declared at the top of a function where that reads better
    shadowFunction shadowVariable           # -Wshadow has the last word, and is on for both compilers
    constParameter              # functions of a table have the table's signature
    knownConditionTrueFalse     # loop conditions that calls change through pointers; chains written out for the reader
    duplicateExpression         # sizeof(real) == sizeof(double) differs between builds
    duplicateExpressionTernary  # PES_COMMIT is empty in a build without git
    duplicateConditionalAssign  # turns -0 into 0
    duplicateCondition          # two columns of one table that stand together
    nullPointerArithmeticRedundantCheck     # a second array behind a first one, both left alone if there is no memory
    moduloofone                 # a vector of one build holds one number
    zerodivcond                 # the range of a random number is checked two lines before
    uninitvar ctuuninitvar ctuArrayIndex    # what a call is to fill is taken for something that it reads
    "ctunullpointer:src/base/value_text.c"                 # `x && y ? equal(x, y) : ...` is not understood
    "invalidFunctionArg:src/pretrained/behaviour.c"        # log of a sum that has exp(0) in it
    "AssignmentAddressToInteger:src/schedule/simulate.c"   # pop() gives back a struct, not a pointer
)
if command -v cppcheck > /dev/null; then
    cppcheck -j "$(nproc)" --enable=warning,style,performance,portability --std=c11 --library=tests/cppcheck.cfg -I include --quiet \
        --error-exitcode=1 "${suppressed[@]/#/--suppress=}" src analysis || bad=1
else
    echo "check_static.sh: cppcheck is not here (Debian: cppcheck)"
fi
if command -v clang-tidy > /dev/null && [ -f "$build/compile_commands.json" ]; then
    find src analysis -name '*.c' -print0 | xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet --warnings-as-errors='*,-clang-analyzer-*' -p "$build" \
        2> /dev/null || bad=1
else
    echo "check_static.sh: clang-tidy (Debian: clang-tidy) or $build/compile_commands.json is not here"
fi
exit $bad
