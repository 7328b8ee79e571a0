#!/usr/bin/env bash
# What goes to a terminal and what to a pipe: colour and the moving line on terminals alone, never with NO_COLOR or a
# dumb one; in a pipe whole lines.
source "$(dirname "$0")/lib.sh"
escape=$'\x1b'

# on_terminal COLUMNS COMMAND...: its output on a terminal so wide stands in ./out.
command -v script > /dev/null || skip "script (bsdutils) is not here"
script -qec true /dev/null < /dev/null > /dev/null 2>&1 || skip "there are no pseudo-terminals here"
on_terminal() {
    local columns=$1
    shift
    TERM=${TERM_WANTED:-xterm} script -qec "stty cols $columns rows 24; $(printf '%q ' "$@")" /dev/null < /dev/null > out 2>&1
}

want 2 "$PESWEEP" plan no-such-file.yaml
unsaid "$escape"
on_terminal 80 "$PESWEEP" plan no-such-file.yaml
said "$escape[1;31m"
said "can't be opened"
NO_COLOR=1 on_terminal 80 "$PESWEEP" plan no-such-file.yaml
unsaid "$escape"
TERM_WANTED=dumb on_terminal 80 "$PESWEEP" plan no-such-file.yaml
unsaid "$escape"

want 0 "$PESWEEP" init count steps=100 pe=nope seed=0 words=12 count=8 checkpoints=3 nulls=0 -o one.yaml
on_terminal 40 "$PESWEEP" run one.yaml -o terminal.h5
# The line is clipped to the terminal: what stands between two returns is at most 40 wide, so that it never wraps.
tr '\r' '\n' < out | sed -e "s/$escape\[[0-9;]*[A-Za-z]//g" | grep -E "^[0-9]+/[0-9]+ trials" > moving
[ -s moving ] || { fail "no moving line on a terminal:"; cat -v out | head; }
[ "$(awk '{ if (length($0) > w) w = length($0) } END { print w + 0 }' moving)" -le 40 ] || { fail "it is too wide:"; cat moving; }
rm -f one.h5*
want 0 "$PESWEEP" run one.yaml -o pipe.h5
unsaid "$escape"
unsaid $'\r'
