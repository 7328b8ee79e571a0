#!/usr/bin/env bash
# A run on two ranks under valgrind: no byte beyond its block or never set is used, no memory of ours is lost.
if ! command -v valgrind > /dev/null; then
    echo "SKIPPED: no valgrind here; jobs/setup.sh tests brings it"
    exit 77
fi
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
lists=("--suppressions=$here/valgrind.supp")
own=$(find /usr/share /usr/local/share /etc/openmpi -name openmpi-valgrind.supp 2> /dev/null | head -n 1)
[ -z "$own" ] || lists+=("--suppressions=$own")
export LIMIT=1500 PESWEEP_ISA=portable # valgrind knows no AVX-512
model="layers: 1, d_model: 16, heads: 2, d_ff: 16" sweep checked.yaml 12 "pe: [nope, rope]"
expect 0 on 2 valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
    --show-leak-kinds=definite --log-file=found.%p "${lists[@]}" "$PESWEEP" run checked.yaml -o checked.h5 \
    --checkpoint-every 0.1
[ ! -s "$(ls -S found.* | head -n 1)" ] || { fail "valgrind found:"; head -n 60 found.*; }
expect 0 "$PESWEEP" verify checked.h5
