# What the tests of the command line share.  Each is a bash script that sources this file; it runs in a folder of its own,
# which is removed unless the test fails.  PESWEEP names the program, SOURCE the folder of the project.
set -u
: "${PESWEEP:?the program under test}" "${SOURCE:?the folder of the project}"
kind=command
. "$(dirname "${BASH_SOURCE[0]}")/../folder.sh"

# skip REASON: ends the test as skipped.
skip() {
    echo "skipped: $*"
    trap - EXIT
    rm -rf "$folder"
    exit 77
}

# want CODE COMMAND...: its output stands in ./out and is shown if the exit code is another one.
want() {
    local code=$1 got
    shift
    "$@" > out 2>&1
    got=$?
    [ $got = "$code" ] || { fail "'$*' gave $got, not $code:"; tail -n 30 out; return 1; }
}

# said TEXT / unsaid TEXT: ./out has it, or hasn't.
said() { grep -qF -- "$1" out || { fail "nothing was said of '$1':"; tail -n 30 out; }; }
unsaid() { ! grep -qF -- "$1" out || { fail "'$1' was said:"; tail -n 30 out; }; }
