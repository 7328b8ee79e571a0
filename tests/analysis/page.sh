#!/usr/bin/env bash
# The whole report of an unfinished sweep, looked at in a browser: page.sh.  PESWEEP and SYNTHETIC name the programs.
# Exit code 77 if there is no Chromium; everything else has been checked then.
set -u
: "${PESWEEP:?the program under test}" "${SYNTHETIC:?the program synthetic_results}"
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../environment.sh"
folder=$(mktemp -d "${TMPDIR:-/tmp}/pesweep-page-XXXXXX")
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "FAILED: $*"
    exit 1
}
cd "$folder" || exit 1
"$SYNTHETIC" "$here/small.yaml" small.h5 3 || fail "no results file"

# Names that a shell, gnuplot, TeX or a browser would stumble over, in the folder as well.
odd="re'port <b> \`touch pwned\` \$(touch pwned) ;x"
"$PESWEEP" analyze small.h5 -o "$odd" --json > facts.json || fail "analyze"
[ ! -e pwned ] && [ ! -e "$odd/figures/pwned" ] || fail "a name was run by a shell"
python3 - "$odd" << 'END' || fail "facts or claims.json"
import json, sys
facts, claims = json.load(open("facts.json")), json.load(open(sys.argv[1] + "/claims.json"))
assert facts["missing"] == 3 and facts["done"] == 37, facts
assert facts["claims"] == claims["claims"] and len(claims["claims"]) == 2, claims
assert claims["claims"][1]["claim"] == "slow_nope.1-x"
assert all(c["verdict"] in ("supported", "not supported", "refuted", "too few seeds to tell") for c in claims["claims"])
END
"$PESWEEP" analyze small.h5 -o plain --no-figures > said || fail "analyze --no-figures"
grep -q "37 done, 0 diverged, 0 failed, 3 missing: everything below is provisional" said || fail "missing trials unsaid"

# LaTeX, where it is installed.
if command -v pdflatex > /dev/null && kpsewhich booktabs.sty > /dev/null; then
    for table in summary claims; do
        printf '%s\n' '\documentclass{article}\usepackage{booktabs}\usepackage[landscape,margin=5mm]{geometry}\begin{document}\tiny' \
            "\\input{plain/tables/$table.tex}" '\end{document}' > paper.tex
        pdflatex -interaction=nonstopmode -halt-on-error paper.tex > tex.out 2>&1 || { tail -n 20 tex.out; fail "$table.tex"; }
    done
fi

command -v gnuplot > /dev/null || { echo "skipped: there is no gnuplot"; exit 77; }

# Heads of checkpoints, one of them at several steps.
fixtures=$here/../fixtures
for step in 0 1000; do
    mkdir -p "steps/tiny/step$step" && cp "$fixtures"/pythia/*.* "steps/tiny/step$step" || fail "no copy of a fixture"
done
"$PESWEEP" inspect -q "$fixtures/gpt2-lm" "$fixtures/bloom" "$fixtures/llama" steps/tiny/step0 steps/tiny/step1000 \
    -o heads.h5 --behaviour --composition --nulls 2 --segment 5 || fail "inspect"
"$PESWEEP" analyze heads.h5 -o heads > said || fail "analyze of heads"
grep -q "heads.h5: 4 models, 5 checkpoints" said || fail "models or steps unsaid"
grep -qE "^ +1 +2/2 " said || fail "the statistic over models is missing"
grep -q "^3,tiny,1000,rope,gpt_neox,2,2,2,32,16," heads/tables/models.csv || fail "the last step is missing"
figures=$(ls heads/figures/*.svg | wc -l)
[ "$figures" -ge 6 ] || fail "$figures figures of heads"
python3 "$here/../python/check_page.py" heads/index.html "$figures" 4 --models
state=$?
[ $state -eq 0 ] || exit $state
python3 "$here/../python/check_page.py" "$odd/index.html" "$(ls "$odd"/figures/*.svg | wc -l)" 37
