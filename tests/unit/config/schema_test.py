#!/usr/bin/env python3
# Checks that the JSON Schema agrees with the configurations that are shipped and tested; runs no C++.
# SPDX-License-Identifier: MIT
"""Exit status: 0 all agree, 1 some do not, 77 the package python3-jsonschema is missing."""
import json
import pathlib
import re
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: there is no python3-jsonschema; scripts/install-deps installs it")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
CONFIG = HERE.parents[2] / "config"
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.S)


def read(path):
    """The JSON of a file, its comments left out; strings keep what looks like one."""
    text = path.read_text(encoding="utf-8")
    return json.loads(TOKEN.sub(lambda m: m[0] if m[0][0] == '"' else " ", text))


# Cases of config_test.cpp that look at the fields after they read a text that has all of this.
ARRIVES = ("every option arrives in its field", "passwords come from the environment and from files",
           "the marks of a list that changes arrive at their nodes",
           "a command that gives the password is named by its path, or looked for in PATH",
           "the files of TLS stand beside the configuration, and can be read")


def properties_of(part):
    if isinstance(part, dict):
        yield from part.get("properties", {})
    for one in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from properties_of(one)


def without_test(schema):
    """What the schema has, and no test has seen arrive in its field."""
    text = (HERE / "config_test.cpp").read_text(encoding="utf-8")
    cases = dict(re.findall(r'^TEST_CASE\("([^"]*)"\) \{\n(.*?)^\}', text, re.M | re.S))
    return set(properties_of(schema)) - {name for case in ARRIVES for name in re.findall(r'"(\S+)":', cases[case])}


def main():
    schema = json.loads((CONFIG / "redlock.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    failures = []

    shipped = [p for p in sorted(CONFIG.glob("*.json")) if not p.name.endswith(".schema.json")]
    for path in shipped:
        for error in validator.iter_errors(read(path)):
            failures.append(f"{path.name}: refused at {error.json_path}: {error.message}")

    refused = accepted = 0
    for path in sorted((HERE / "bad").glob("*.json")):
        claim = path.read_text(encoding="utf-8").splitlines()[2]
        if claim == "// schema: refuses it too":
            refused += 1
            if validator.is_valid(read(path)):
                failures.append(f"bad/{path.name}: accepted by the schema")
        elif claim == "// schema: can't say this":
            accepted += 1
        else:
            failures.append(f"bad/{path.name}: its third line says nothing of the schema")

    failures += [f"{name}: no test sees that it arrives" for name in sorted(without_test(schema))]
    if len(shipped) < 2 or refused < 50:
        failures.append("too few samples were found")
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(shipped)} shipped, {refused} refused, {accepted} beyond what a schema can say")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
