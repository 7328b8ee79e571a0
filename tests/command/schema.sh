#!/usr/bin/env bash
# The JSON Schema accepts every right sweep file at hand, and refuses those with a wrong name, type or range.
source "$(dirname "$0")/lib.sh"

python=/usr/bin/python3
"$python" -c 'import jsonschema, yaml; jsonschema.Draft202012Validator' 2> /dev/null || skip "python3-jsonschema is not here"
"$PESWEEP" help sweep-file --json > schema.json || fail "help sweep-file --json"
for task in $("$PESWEEP" list tasks | sed -n 's/^  \([a-z_]\+\) .*/\1/p'); do
    options=()
    [ "$task" != text ] || options=("path=$SOURCE/README.md")
    want 0 "$PESWEEP" init "$task" "${options[@]}" -o "init-$task.yaml"
done
awk '/^```yaml/ {inside = 1; next} /^```/ {inside = 0} inside' "$SOURCE/README.md" > readme.yaml
for file in "$SOURCE"/tests/inputs/good/*.yaml readme.yaml; do
    want 0 "$PESWEEP" plan --summary "$file"
done
want 0 "$python" "$SOURCE/tests/python/check_schema.py" schema.json "$SOURCE/tests/inputs/bad" \
    "$SOURCE"/sweeps/*.yaml "$SOURCE"/tests/inputs/good/*.yaml readme.yaml init-*.yaml
said "right files"
