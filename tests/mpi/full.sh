#!/usr/bin/env bash
# A row that can't be written ends the run with 74 instead of training for nothing, file and cause named; nothing that
# was done is lost, and the same command goes on.  No room, a failing disk, a quota, a folder that is taken away, a
# read-only and a small file system.
. "$(dirname "$0")/lib.sh"
sweep full.yaml 400 "pe: [nope, rope, alibi]" "seed: 0..1"
expect 0 on 2 "$PESWEEP" run full.yaml -o whole.h5

# goes_on FILE [OPTION...]: what was done before is done still, and the rest is trained to the same bits.
goes_on() {
    local file=$1 before
    before=$(grep -c '"event":"trial_ended".*"outcome":"done"' "$file.log")
    expect 0 "$PESWEEP" verify "$file"
    expect 0 "$PESWEEP" status "$file" --json
    [ "$(sed -n 's/.*"done": *\([0-9]*\).*/\1/p' out | head -n 1)" = "$before" ] || fail "$file: not $before trials are done"
    expect 0 on 3 "$PESWEEP" run full.yaml -o "$@" && same whole.h5 "$file"
}

writer=shared
while read -r cause message; do
    name=$cause.h5
    on 2 env LD_PRELOAD="$FAILING_WRITES" PESWEEP_TEST_FULL="$folder/full" "$PESWEEP" run full.yaml -o $name \
        --writer $writer --checkpoint-every 0.2 > out 2>&1 &
    run=$!
    wait_for 120 ended $name 1 || fail "$cause: no trial ended"
    echo "$cause" > full.new && mv full.new full
    wait $run
    code=$?
    rm full
    [ $code = 74 ] || { fail "$cause: $code instead of 74"; tail -n 20 out; }
    said "$message"
    said "$name: "
    said "the same command goes on from there"
    ended $name 6 && fail "$cause: it trained on without room"
    goes_on $name --writer $writer
    writer=$([ $writer = shared ] && echo rank0 || echo shared)
done <<- END
	ENOSPC No space left on device
	EIO Input/output error
	EDQUOT Disk quota exceeded
	EROFS Read-only file system
END

# The folder is taken away: what was in it is lost, but nothing more is trained for nothing.
mkdir away
on 2 "$PESWEEP" run full.yaml -o away/gone.h5 > out 2>&1 &
run=$!
wait_for 120 ended away/gone.h5 1 || fail "no trial ended"
rm -r away
wait $run
code=$?
[ $code = 74 ] || { fail "a folder that was removed: $code instead of 74"; tail -n 20 out; }
said "gone.h5: the file has been removed"

# Real file systems, where mounting is allowed.
mkdir small
if ! mount -t tmpfs -o size=64m tmpfs small 2> /dev/null; then
    echo "no file system of its own: mounting isn't allowed here"
    exit
fi
trap 'umount small; finish' EXIT
RANDOM=${SEED:-$$}
echo "seed ${SEED:-$$}"
for round in 1 2 3; do
    name=small/$round.h5
    on 2 "$PESWEEP" run full.yaml -o $name --checkpoint-every 0.2 > out 2>&1 &
    run=$!
    wait_for 120 ended $name 1 || fail "no trial ended"
    sleep 0.$((RANDOM % 10))
    dd if=/dev/zero of=small/filler bs=64k 2> /dev/null # until there is no room left
    wait $run
    code=$?
    rm small/filler
    # A row's pages may be there already, and then its trial can end.
    [ $code = 74 ] || [ $code = 0 ] || { fail "a file system that fills up: $code"; tail -n 20 out; }
    [ $code = 0 ] || said "No space left on device"
    [ $code = 0 ] || said "$name: "
    echo "round $round: code $code"
    goes_on $name
done
mount -o remount,ro small
expect 74 on 2 "$PESWEEP" run full.yaml -o small/new.h5
said "small/new.h5"
said "Read-only file system"
