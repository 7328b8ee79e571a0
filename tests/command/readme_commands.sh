#!/usr/bin/env bash
# Every command of the README is run, in its order, in one folder laid out like the project's; what can't be run here says
# so in the README itself and is listed.  Every message of its troubleshooting is one that something says.
source "$(dirname "$0")/lib.sh"

mkdir blocks project
awk -v to=blocks -f "$SOURCE/tests/command/blocks.awk" "$SOURCE/README.md"
for entry in "$SOURCE"/*; do
    case $(basename "$entry") in build*) ;; *) ln -s "$entry" project/ ;; esac
done
mkdir -p project/build/release
ln -s "$PESWEEP" project/build/release/pesweep

{
    echo 'set -euo pipefail'
    for marker in blocks/*.marker; do
        number=${marker%.marker}
        what=$(< "$marker")
        block=$(ls "$number".* | grep -v '\.marker$')
        language=${block##*.}
        place="block $(basename "$number") ($language)"
        case $what in
        'file: '*)
            case $language in yaml) echo "cp '$PWD/$block' '${what#file: }'" ;; esac
            continue
            ;;
        'not run: '* | 'run by: '*)
            echo "$place is $what" >> listed
            # The R block runs where R can.
            if [ "$language" = r ] && Rscript -e 'library(hdf5r)' > /dev/null 2>&1; then
                echo "echo '== $place'; Rscript '$PWD/$block'"
            fi
            continue
            ;;
        esac
        echo "echo '== $place'"
        case $language in
        sh) cat "$block" ;;
        python)
            if /usr/bin/python3 -c 'import xarray, h5netcdf' 2> /dev/null; then
                echo "/usr/bin/python3 '$PWD/$block'"
            else
                echo "$place is not run: xarray is not here" >> listed
            fi
            ;;
        *) echo "echo 'nothing says how to run $place'; exit 1" ;;
        esac
    done
} > commands
cat listed
(cd project && bash "$folder/commands" > "$folder/said" 2>&1) || { fail "a command of the README:"; tail -n 30 said; }

grep -q '^pesweep: 6 done' said || { fail "more seeds later didn't train the new trials alone:"; grep '^pesweep: ' said; }
grep -q "DataArray 'test_accuracy' (pe: 4" said || grep -q 'xarray is not here' listed || fail "Python didn't print a mean per scheme"
[ -s project/first-report/index.html ] || fail "no report"
[ "$(wc -l < project/trials.csv)" -eq 19 ] || { fail "trials.csv:"; wc -l project/trials.csv; }

# A test that runs a block for this one is there.
sed -n 's/.* is run by: \(test_[a-z_]*\).*/\1/p' listed | sort -u | while read -r test; do
    grep -qrE "${test#test_}" "$SOURCE/tests/CMakeLists.txt" || echo "$test"
done > missing
[ ! -s missing ] || { fail "tests that the README names and nobody has:"; cat missing; }

# Troubleshooting: the pieces of each message between the signs for what differs.
sed -n '/^## Troubleshooting/,/^## Reference/p' "$SOURCE/README.md" | sed -n 's/^| `\([^`]*\)`.*/\1/p' > messages
[ "$(wc -l < messages)" -ge 10 ] || fail "few messages in the troubleshooting"
while read -r message; do
    case $message in *'attempt to run as root'* | *'enough slots'*) continue ;; esac # Open MPI's own words
    while read -r piece; do
        grep -qaF -- "$piece" "$PESWEEP" "$SOURCE/CMakeLists.txt" "$SOURCE"/jobs/*.sh || fail "nobody says '$piece'"
    done < <(tr '\n' ' ' <<< "$message" | sed 's/ *… */\n/g; s/ *$//' | grep .)
done < messages
