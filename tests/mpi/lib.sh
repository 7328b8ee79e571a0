# What the MPI tests share.  Each test is a bash script that sources this file; it runs in a folder of its own, which is
# removed unless the test fails.  PESWEEP, COMPARE and PESWEEP_OTHER name the programs.
set -u
: "${PESWEEP:?the program under test}" "${COMPARE:?the program compare_results}"
MPIRUN=${MPIRUN:-mpirun}
kind=mpi
. "$(dirname "${BASH_SOURCE[0]}")/../folder.sh"

# on N COMMAND...: with N ranks; 0 is the bare program.  Takes the place of the shell it is called in, so that its
# process number is the launcher's: call it behind &, in ( ), or by expect.
on() {
    local ranks=$1
    shift
    if [ "$ranks" != 0 ]; then set -- "$MPIRUN" -n "$ranks" "$@"; fi
    exec ${patience:-} "$@"
}

# expect CODE [on N] COMMAND...: its output is kept in ./out, shown if the code is another one.  LIMIT seconds at most,
# by default four minutes, of which a machine with nothing else to do needs a few seconds.
expect() {
    local code=$1 got
    shift
    if [ "$1" != on ]; then set -- on 0 "$@"; fi
    (patience="timeout --kill-after=5 ${LIMIT:-240}" && "$@") > out 2>&1
    got=$?
    if [ $got != "$code" ]; then
        fail "'$*' gave $got, not $code:"
        tail -n 30 out
        return 1
    fi
}

# said TEXT: ./out has it.
said() {
    grep -qF -- "$1" out || { fail "nothing was said of '$1':"; tail -n 30 out; }
}

# same A B: equal results; equal files outside /provenance too, where h5diff is at hand.
same() {
    "$COMPARE" "$1" "$2" > compared 2>&1 || { fail "$1 and $2 differ:"; cat compared; return 1; }
    if command -v h5diff > /dev/null; then
        h5diff --exclude-path /provenance "$1" "$2" > compared 2>&1 || { fail "h5diff $1 $2:"; head -n 20 compared; return 1; }
    fi
}

# ranks_of PATTERN: process numbers of this test's ranks whose command line holds PATTERN (never mpirun or a shell, and
# never those of a test that runs beside this one).
ranks_of() {
    local pid
    for pid in $(pgrep -x "$(basename "$PESWEEP")"); do
        [[ $(readlink "/proc/$pid/cwd") = "$folder"* ]] && grep -qsF -- "$1" "/proc/$pid/cmdline" && echo "$pid"
    done
}

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
    local until=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $until ] || return 1
        sleep 0.05
    done
}

# ended FILE COUNT: at least COUNT trials have ended according to the log.
ended() {
    local count
    count=$(grep -cs '"event":"trial_ended"' "$1.log")
    [ "${count:-0}" -ge "$2" ]
}

# sweep FILE STEPS [GRID-LINE...]: a small sweep; by default four trials of different length.  weights=none leaves them
# out of the results, model=... is another model.
sweep() {
    local file=$1 steps=$2
    shift 2
    {
        echo "name: ${file%.yaml}"
        echo "task: {kind: relative_distance, vocab: 32, between: 6, side: 3, samples: 400, test_fraction: 0.3}"
        echo "model: {${model:-layers: 2, d_model: 32, heads: 2, d_ff: 64}}"
        echo "train: {steps: $steps, batch: 32, dropout: 0.1}"
        echo "measure: {checkpoints: 3, evaluate_every: 50}"
        echo "store: {weights: ${weights:-final}}"
        echo "grid:"
        if [ $# = 0 ]; then set -- "pe: [nope, rope]" "seed: 0..1"; fi
        printf '  %s\n' "$@"
    } > "$file"
}
