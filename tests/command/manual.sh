#!/usr/bin/env bash
# The manual page is clean roff, and what is printed of it says what the help says.
source "$(dirname "$0")/lib.sh"

"$PESWEEP" help --man > pesweep.1 || fail "help --man"
command -v groff > /dev/null || skip "groff is not here"
groff -man -Tutf8 -ww -rLL=100n pesweep.1 > page 2> warnings || fail "groff"
[ ! -s warnings ] || { fail "groff warns:"; head warnings; }
sed -e 's/\x1b\[[0-9;]*m//g' -e 's/.\x08//g' page > text
for word in SYNOPSIS 'EXIT CODES' 'SWEEP FILE' '--checkpoint-every TIME' 'wrong use or wrong input' \
    'symmetry_score (curves, spectra, spectra_folded)' 'rope_base (default 10000)'; do
    grep -qF -- "$word" text || fail "the page has no '$word'"
done
