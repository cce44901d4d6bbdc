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


# Where each option of a configuration is seen to arrive: a table, and which part of the schema has to be in
# it. Python's reads the schema itself.
TABLES = (("tests/unit/config/config_test.cpp", r'constexpr property properties\[\] = \{\n(.*?)^\};', ""),
          ("tests/c/servers.c", r'defaults\[\] = \{\n(.*?)^\};', "defaults."))
IN_NO_FIELD = {"$schema"}  # for editors alone


def paths_of(schema, part, path=""):
    """The path of each property that is no object of others, as nodes[].tls.ca_file."""
    part = {**part, **schema["$defs"].get(part.get("$ref", "").rpartition("/")[2], {})}
    inner = [paths_of(schema, one, path) for one in part.get("oneOf", ())]
    if "items" in part and part["items"].keys() & {"$ref", "oneOf"}:
        inner.append(paths_of(schema, part["items"], f"{path}[]"))
    inner += [paths_of(schema, one, f"{path}.{name}".lstrip(".")) for name, one in part.get("properties", {}).items()]
    return set().union(*inner) if inner else {path}


def arrivals(schema):
    """What is wrong with a table: a property that it lacks, or one that the schema lacks."""
    known = paths_of(schema, schema) - IN_NO_FIELD
    for file, table, under in TABLES:
        text = re.search(table, (HERE.parents[2] / file).read_text(encoding="utf-8"), re.M | re.S)[1]
        seen = {under + name for name in re.findall(r'^    \{"([^"]+)",', text, re.M)}
        wanted = {path for path in known if path.startswith(under)}
        yield from (f"{path}: {file} does not look whether it arrives" for path in sorted(wanted - seen))
        yield from (f"{path}: is in {file}, and not in the schema" for path in sorted(seen - wanted))


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

    failures += arrivals(schema)
    if len(shipped) < 2 or refused < 50:
        failures.append("too few samples were found")
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(shipped)} shipped, {refused} refused, {accepted} beyond what a schema can say")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
