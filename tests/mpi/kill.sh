#!/usr/bin/env bash
# Killed without warning at random moments - one rank, all ranks, or mpirun - a run leaves a valid file and goes on to
# the same results.
. "$(dirname "$0")/lib.sh"
RANDOM=${SEED:-$$}
echo "seed ${SEED:-$$}"
sweep killed.yaml 1500 "pe: [nope, rope, alibi]" "seed: 0..1"
before=$(date +%s%N)
expect 0 on 2 "$PESWEEP" run killed.yaml -o whole.h5
whole=$((($(date +%s%N) - before) / 1000000)) # milliseconds, here and now
alive() { [ -n "$(ranks_of part.h5)" ]; }
dead() { ! alive; }

finished=0
for round in 1 2 3 4 5 6 7 8 9; do
    mode=$((round % 3))
    ranks=$((2 + RANDOM % 2))
    writer=$([ $((RANDOM % 2)) = 0 ] && echo shared || echo rank0)
    timeout --kill-after=5 120 "$MPIRUN" -n $ranks "$PESWEEP" run killed.yaml -o part.h5 --checkpoint-every 0.2 \
        --writer $writer > out 2>&1 &
    wrapper=$!
    wait_for 20 alive
    pause=$((RANDOM % (1 + whole / 4)))
    sleep "$((pause / 1000)).$(printf %03d $((pause % 1000)))"
    pids=($(ranks_of part.h5))
    if [ ${#pids[@]} -gt 0 ]; then
        case $mode in
        0) kill -9 "${pids[$((RANDOM % ${#pids[@]}))]}" ;;
        1) kill -9 "${pids[@]}" ;;
        2) kill -9 "$(awk '{print $4}' "/proc/${pids[0]}/stat")" ;;
        esac 2> /dev/null
    fi
    wait $wrapper
    code=$?
    [ $code = 0 ] && finished=$((finished + 1))
    # Ranks whose mpirun was killed end by themselves.
    wait_for 15 dead || fail "round $round: ranks live on: $(ranks_of part.h5)"
    if [ -e part.h5 ]; then
        "$COMPARE" part.h5 part.h5 > compared 2>&1 || { fail "round $round: the file isn't valid"; cat compared; }
    fi
    [ $failed = 0 ] || break
    echo "round $round: killed after $pause of $whole ms, code $code"
done
[ $finished -lt 6 ] || fail "$finished of 9 runs ended before they were killed"
expect 0 on 2 "$PESWEEP" run killed.yaml -o part.h5 && same whole.h5 part.h5
[ ! -e part.h5.ckpt ] || fail "checkpoints were left behind: $(ls part.h5.ckpt)"
