#!/usr/bin/env bash
# No room for a row: the run ends with 74 instead of training for nothing, and goes on when there is room.
. "$(dirname "$0")/lib.sh"
sweep full.yaml 400 "pe: [nope, rope, alibi]" "seed: 0..1"
expect 0 on 2 "$PESWEEP" run full.yaml -o whole.h5

for writer in shared rank0; do
    on 2 env LD_PRELOAD="$FULL_DISK" PESWEEP_TEST_FULL="$folder/full" "$PESWEEP" run full.yaml -o $writer.h5 \
        --writer $writer > out 2>&1 &
    run=$!
    wait_for 60 ended $writer.h5 1 || fail "$writer: no trial ended"
    touch "$folder/full"
    wait $run
    code=$?
    rm "$folder/full"
    [ $code = 74 ] || { fail "$writer: $code instead of 74"; tail -n 20 out; }
    said "No space left on device"
    said "the same command goes on from there"
    ended $writer.h5 6 && fail "$writer: it trained on without room"
    expect 0 on 3 "$PESWEEP" run full.yaml -o $writer.h5 --writer $writer && same whole.h5 $writer.h5
done
