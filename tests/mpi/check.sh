#!/usr/bin/env bash
# A fault of the program on one rank ends the others, that wait for it, with its exit code.  Open MPI may lose its own words
# about an abort ("Data unpack had inadequate space"), so only ours and the code are asked for.
source "$(dirname "$0")/lib.sh"

start=$SECONDS
expect 70 on 3 "${MESSAGES:?the program test_mpi_messages}" check
said "fault of the program at "
said "messages.c:"
[ $((SECONDS - start)) -le 10 ] || fail "the other ranks waited $((SECONDS - start)) s"
