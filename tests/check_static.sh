#!/usr/bin/env bash
# check_static.sh [BUILD] - cppcheck and clang-tidy over all sources; every finding is mended or has its reason here or in
# .clang-tidy.  Minutes: by hand, not part of the suites.  BUILD is a configured build folder (default build/release).
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
build=${1:-build/release}
bad=0

# Not reported by cppcheck, since what it says is wrong here or is a matter of taste:
suppressed=(
    missingIncludeSystem        # system headers are not read
    unusedStructMember          # members are read by other files
    variableScope               # declared at the top of a function where that reads better
    knownConditionTrueFalse     # loop conditions that calls change through pointers; chains written out for the reader
    duplicateExpression         # sizeof(real) == sizeof(double) differs between builds
    duplicateExpressionTernary  # PES_COMMIT is empty in a build without git
    duplicateConditionalAssign  # turns -0 into 0
    duplicateCondition          # two columns of one table that stand together
    shadowFunction              # a local named like a static function of the same file
    zerodivcond                 # the range of a random number is checked two lines before
    uninitvar                   # an array that a call has filled
)
if command -v cppcheck > /dev/null; then
    cppcheck --enable=warning,style,performance,portability --std=c11 --library=tests/cppcheck.cfg -I include --quiet \
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
