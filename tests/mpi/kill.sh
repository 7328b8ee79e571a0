#!/usr/bin/env bash
# kill.sh [KILLS] - a sweep of 60 short trials whose ranks are killed without warning, time and again (default: 20).
#
# Half of the kills hit a rank inside a row's write: half of its variables written, all but the checksum, all but the
# status, or all but the removal of the checkpoint.  The others come at random moments, from the start of the processes
# on, and hit one rank, all of them, or mpirun.  After each the file must be valid, with no finished trial fewer than
# before; in the end every trial is there once, with the bits of a run that nobody disturbed.
#
# By hand: PESWEEP=build/release/pesweep COMPARE=build/release/tests/mpi/compare_results tests/mpi/kill.sh 200
# SEED=n repeats the same choices.
kills=${1:-20}
[[ $kills =~ ^[1-9][0-9]*$ ]] || { echo "kill.sh: '$kills' isn't a number of kills" >&2; exit 2; }
PESWEEP=$(realpath -- "${PESWEEP:?the program under test}") COMPARE=$(realpath -- "${COMPARE:?the program compare_results}")
. "$(dirname "$0")/lib.sh"
RANDOM=${SEED:=$$}
echo "seed $SEED"
LIMIT=1800 # seconds for one run, on a machine with other work to do
export OMPI_MCA_odls_base_sigkill_timeout=0 # survivors are killed at once too, instead of after 2 s of grace
sweep killed.yaml $((8 * kills)) "pe: [nope, rope, alibi]" "seed: 0..19"
before=$(date +%s%N)
expect 0 on 2 "$PESWEEP" run killed.yaml -o whole.h5 || exit
whole=$((($(date +%s%N) - before) / 1000000)) # milliseconds, here and now

# The switch for this test: a rank that comes to the named point of a write says so here, and waits to be killed.
export PESWEEP_TEST_LINGER=$folder/linger
mkdir linger
points=(half row checksum status)

alive() { [ -n "$(ranks_of part.h5)" ]; }
dead() { ! alive; }
events() { cat part.h5.log 2> /dev/null | grep -c "\"event\":\"$1\""; }
begun() { [ "$(events trial_started)" -gt "$1" ] || dead; }
lingers() { [ -n "$(ls linger | grep -F .)" ] || dead; }
pause() { sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"; }
# Trials that are finished according to the file itself.
count_done() {
    [ -e part.h5 ] || { echo 0; return; }
    "$PESWEEP" status part.h5 --json 2> /dev/null | sed -n 's/.*"done": *\([0-9]*\).*/\1/p' | head -n 1
}

# strike_writing: the first rank that comes to the point.  strike_anyone WAIT: after so many milliseconds.
strike_writing() {
    wait_for 120 lingers
    local found
    found=$(ls linger | grep -F . | head -n 1)
    [ -n "$found" ] && kill -9 "${found##*.}" 2> /dev/null
}
strike_anyone() {
    pause "$1"
    local pids
    pids=($(ranks_of part.h5))
    [ ${#pids[@]} -gt 0 ] || return 1
    case $((RANDOM % 5)) in
    0) kill -9 "${pids[@]}" ;;
    1) kill -9 "$(awk '{print $4}' "/proc/${pids[0]}/stat")" ;;
    *) kill -9 "${pids[RANDOM % ${#pids[@]}]}" ;;
    esac 2> /dev/null
}

struck=0 inside=0 early=0 number=0 finished=0 sweeps=1
while [ $struck -lt "$kills" ] && [ $failed = 0 ]; do
    number=$((number + 1))
    [ $number -le $((2 * kills + 20)) ] || { fail "only $struck kills in $number starts"; break; }
    rm -f linger/*
    writer=$([ $((RANDOM % 2)) = 0 ] && echo shared || echo rank0)
    point=
    # More is finished than one sweep can spare: now no kill may let a trial come to its end.
    ahead=$((finished * kills > 50 * struck))
    # As many inside a write as at random moments; so long a life that the trials last for all kills.
    if [ $((2 * inside)) -lt "$kills" ] && [ $((struck - inside)) -ge "$inside" ]; then
        point=${points[RANDOM % (4 - ahead)]} # at the last of them a trial counts as finished
        touch linger/$point
    fi
    life=$((whole * (60 - finished) / 60 / (kills - struck)))
    started=$(events trial_started)
    timeout --kill-after=5 $LIMIT "$MPIRUN" -n $((2 + RANDOM % 2)) "$PESWEEP" run killed.yaml -o part.h5 \
        --checkpoint-every 0.05 --writer $writer > out 2>&1 &
    wrapper=$!
    wait_for 120 alive
    if [ -n "$point" ]; then
        strike_writing && inside=$((inside + 1)) && struck=$((struck + 1))
    else
        # Every third from the first moment on, the others once trials run.
        if [ $ahead = 1 ]; then
            life=300
        elif [ $((number % 3)) = 0 ]; then
            life=1000
        else
            wait_for 120 begun "$started"
        fi
        strike_anyone $((RANDOM % (1 + life))) && struck=$((struck + 1))
    fi
    { wait $wrapper; } 2> /dev/null
    code=$?
    [ $code = 0 ] && early=$((early + 1))
    # Ranks whose mpirun was killed end by themselves.
    wait_for 120 dead || fail "start $number: ranks live on: $(ranks_of part.h5)"
    if [ -e part.h5 ]; then
        "$COMPARE" part.h5 part.h5 > compared 2>&1 || { fail "start $number: the file isn't valid"; cat compared; }
    fi
    now=$(count_done)
    [ "${now:-0}" -ge "$finished" ] || fail "start $number: $now trials are done, $finished were"
    finished=${now:-0}
    [ "$finished" -lt 60 ] || [ $struck -ge "$kills" ] || {
        echo "the sweep ended after $struck kills: once more from the start"
        same whole.h5 part.h5
        rm -rf part.h5 part.h5.*
        finished=0
        sweeps=$((sweeps + 1))
    }
done
echo "$struck kills, $inside of them inside a row's write, in $number starts of $sweeps sweep" \
    "($early starts came to their end)"
[ $((2 * inside)) -ge "$kills" ] || fail "only $inside of $struck kills came inside a row's write"
rm -rf linger
expect 0 on 2 "$PESWEEP" run killed.yaml -o part.h5 && same whole.h5 part.h5
expect 0 "$PESWEEP" verify part.h5
[ "$("$PESWEEP" export part.h5 --trials | cut -d, -f2 | sort -u | wc -l)" = 61 ] || fail "not every key is there once"
[ ! -e part.h5.ckpt ] || fail "checkpoints were left behind: $(ls part.h5.ckpt)"
