#!/usr/bin/env bash
# check_readme.sh PESWEEP [--update] - the README's reference tables are what the program prints, its first commands
# exist, and its sample sweep file is valid.
set -euo pipefail
pesweep=$1
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
inside=no
while IFS= read -r line; do
    [ "$line" = "<!-- end -->" ] && inside=no
    [ $inside = no ] && printf '%s\n' "$line"
    if [[ $line =~ ^\<!--\ begin:\ pesweep\ (.*)\ --\>$ ]]; then
        inside=yes
        read -ra arguments <<<"${BASH_REMATCH[1]}"
        printf '\n%s\n\n' "$("$pesweep" "${arguments[@]}")"
    fi
done <README.md >"$work/README.md"
if [ "${2:-}" = --update ]; then
    cp "$work/README.md" README.md
    exit 0
fi
diff README.md "$work/README.md" || { echo "README.md is behind the program: tests/check_readme.sh PESWEEP --update"; exit 1; }

for script in $(grep -oE '\b(jobs|tests)/[a-z_]+\.sh' README.md | sort -u); do
    [ -x "$script" ] || { echo "README.md names $script, which is not there"; exit 1; }
done
awk '/^```yaml/ {inside = 1; next} /^```/ {inside = 0} inside' README.md >"$work/readme.yaml"
"$pesweep" plan "$work/readme.yaml" >/dev/null
