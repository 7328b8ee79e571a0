#!/usr/bin/env python3
"""Check the JSON Schema of the sweep file: check_schema.py SCHEMA.json BAD_FOLDER GOOD.yaml ...

Every good file must be accepted, since an editor that marks a right file as wrong is worse than none.  Of the bad ones
those must be refused whose fault is a name, a type or a range; the others' faults are seen by the program alone."""
import json
import os
import pathlib
import re
import sys

import jsonschema
import yaml


class Loader(yaml.SafeLoader):
    """YAML 1.2's core schema, as editors and the program read it: 1e-3 is a number, yes is text."""


Loader.yaml_implicit_resolvers = {}
for tag, pattern, first in [
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
]:
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), list(first))

# Faults of name, type, range or place, by the names of the files.
MUST_REFUSE = re.compile(
    r"axis-(block-key-unknown|block-unknown|is-map|measure|null-element|quoted-number|store)|block-is-list|bool-.*|"
    r"claim-(alpha|bad-metric|both|bound-better|bound-text|name-space|no-comparison|no-metric|ratio-three|ratio-better|test|unknown-key)|"
    r"claims-map|name-(empty|slash)|zip-single|.*unknown.*|.*out-of-range"
)


def main():
    schema_path, bad, *good = sys.argv[1:]
    schema = json.loads(pathlib.Path(schema_path).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    failed = 0
    for path in good:
        for error in validator.iter_errors(yaml.load(pathlib.Path(path).read_text(), Loader)):
            print(f"{path}: refused: {error.json_path}: {error.message[:200]}")
            failed += 1
    refused = read = 0
    for path in sorted(pathlib.Path(bad).glob("*.yaml")):
        try:
            value = yaml.load(path.read_bytes(), Loader)
        except (yaml.YAMLError, UnicodeDecodeError, ValueError):
            continue
        read += 1
        if next(validator.iter_errors(value), None):
            refused += 1
        elif MUST_REFUSE.fullmatch(path.stem):
            print(f"{path}: accepted")
            failed += 1
        elif "VERBOSE" in os.environ:
            print("accepted, as its fault is not one of form:", path.stem)
    print(f"{len(good)} right files; {refused} of {read} wrong files that are YAML are refused")
    if len(good) < 3 or refused < 100:
        print("too few files, or too few refusals")
        failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
