# Makes docs/configuration.md from the schema of the configuration; knows no option by name.
# SPDX-License-Identifier: MIT
import json

from dialect import filled

# Each part of the schema that has options of its own, and its heading.
SECTIONS = {"node": "A node in parts", "tls": "TLS of a node", "defaults": "Defaults of a lock"}

HEAD = """\
<!-- Each option of the configuration; made by `scripts/docs --pages` from config/redlock.schema.json. -->
<!-- SPDX-License-Identifier: MIT -->
# Configuration

Each option of the file that `--config`, `REDLOCK_CONFIG` and `load_options` name: its type, default and bounds.

{description}

Editors check a file while it is typed if it has a member `"$schema"` with the path of
[the schema](../config/redlock.schema.json), from which this page is made. Everything that is wrong in a file is
reported at once, each mistake with its place. What is only doubtful is said by `redlock doctor`.

## Examples

The least that a file says, and one with passwords, TLS and defaults; [example.json](../config/example.json) has
every option:
"""
VARIABLES = """\
## Environment variables

`REDLOCK_CONFIG` names the file. `REDLOCK_NODES` has the nodes themselves, with blanks between; all other options
are then the defaults. [Where programs find the list](nodes.md#where-programs-find-the-list) says in which order
these and the usual places are looked at. `password_env` of a node names a variable of your own. The command
[reads and sets more](command.md#environment).
"""
TAIL = """\
Next: [The nodes](nodes.md), [the command](command.md)
"""
TYPES = {"string": "text", "boolean": "true or false", "integer": "whole number", "array": "list"}


def code(value):
    """As it stands in a file."""
    return f"`{json.dumps(value)}`"


def anchor(heading):
    return "#" + heading.lower().replace(" ", "-").replace("$", "")


def resolved(schema, option):
    """The option with what it refers to; its own words go first."""
    if "$ref" not in option:
        return option
    name = option["$ref"].rpartition("/")[2]
    return {**resolved(schema, schema["$defs"][name]), **option}


def type_of(option):
    name = option.get("$ref", "").rpartition("/")[2]
    if name in SECTIONS:
        return f"[object]({anchor(SECTIONS[name])})"
    if "enum" in option:
        return ", ".join(code(one) for one in option["enum"])
    return TYPES.get(option["type"], option["type"])


def bounds_of(option):
    if "exclusiveMaximum" in option:
        return f"{option['minimum']:,} to below {option['exclusiveMaximum']:,}"
    if "maximum" in option:
        return f"{option['minimum']:,} to {option['maximum']:,}"
    for what, key in (("entries", "Items"), ("characters", "Length")):
        least, most = option.get("min" + key, 0), option.get("max" + key)
        if most is not None:
            return f"{least} to {most:,} {what}" if least else f"up to {most:,} {what}"
        if least:
            return "not empty"
    return ""


def section(schema, title, options, required=()):
    table = ["| option | type | unit | default | bounds |", "|---|---|---|---|---|"]
    entries = []
    for name, option in options.items():
        option = resolved(schema, option)
        unit = "ms" if name.endswith("_ms") else ""
        default = "required" if name in required else code(option["default"]) if "default" in option else ""
        table.append(f"| [{name}]({anchor(name)}) | {type_of(option)} | {unit} | {default} | {bounds_of(option)} |")
        entries.append(f"### {name}\n\n{filled(option['description'])}\n")
    return "\n".join([f"## {title}\n", *table, "", *entries])


def page(project):
    schema = json.loads((project / "config/redlock.schema.json").read_text(encoding="utf-8"))
    parts = [HEAD.format(description=filled(schema["description"]))]
    parts += [f"```json\n{json.dumps(example, indent=2)}\n```\n" for example in schema["examples"]]
    parts += [VARIABLES, section(schema, "Options", schema["properties"], schema["required"])]
    for name, title in SECTIONS.items():
        part = schema["$defs"][name]
        heading, _, rest = section(schema, title, part["properties"]).partition("\n\n")
        parts.append(f"{heading}\n\n{filled(part['description'])}\n\n{rest}")
    uri = schema["$defs"]["node_uri"]["description"]
    parts.append(f"## The URI of a node\n\n{filled('An entry of [nodes](#nodes) in one text: ' + uri)}\n")
    parts.append(TAIL)
    return "\n".join(parts)
