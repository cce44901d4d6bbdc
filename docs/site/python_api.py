# Makes a page of the docstrings of the Python package; imports nothing of it.
# SPDX-License-Identifier: MIT
import ast
import inspect


def public_names(package):
    for node in ast.parse((package / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    raise ValueError(f"{package} says in no __all__ what is public")


def signature(node):
    kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{kind} {node.name}({ast.unparse(node.args)}){returns}"


def text_of(node):
    return inspect.cleandoc(ast.get_docstring(node) or "")


def member(node):
    is_property = any("property" in ast.unparse(one) for one in node.decorator_list)
    shown = f"{node.name}: {ast.unparse(node.returns)}" if is_property and node.returns else signature(node)
    return f"```python\n{shown}\n```\n\n{text_of(node)}\n"


def members(node, classes):
    """What the class has, and then what it has from those of the package that it is made of."""
    if not isinstance(node, ast.ClassDef):
        return []
    found = [inner for inner in node.body
             if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(inner)]
    own = {inner.name for inner in found}
    for base in node.bases:
        name = ast.unparse(base).partition("[")[0].rpartition(".")[2]
        if name in classes and classes[name] is not node:
            found += [inner for inner in members(classes[name], classes) if inner.name not in own]
    return found


def entry(node, classes):
    is_class = isinstance(node, ast.ClassDef)
    parts = [f"### {node.name}\n"]
    if not is_class:
        parts.append(f"```python\n{signature(node)}\n```\n")
    parts.append(text_of(node) + "\n")
    parts += [member(inner) for inner in members(node, classes)]
    return "\n".join(parts)


def module(path, names, classes):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    defined = [node for node in tree.body
               if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))]
    return [entry(node, classes) for node in defined
            if (node.name in names if names else not node.name.startswith("_")) and ast.get_docstring(node)]


def page(project):
    package = project / "python/redlock_quorum"
    names = set(public_names(package))
    parts = ["# Python API\n", text_of(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) + "\n",
             "## redlock_quorum\n"]
    classes = {}  # of the modules behind both interfaces
    for path in sorted(package.glob("_[a-z]*.py")):
        classes.update({node.name: node for node in ast.parse(path.read_text(encoding="utf-8")).body
                        if isinstance(node, ast.ClassDef)})
    for path in sorted(package.glob("_[a-z]*.py")):
        parts += module(path, names, classes)
    aio = package / "aio.py"
    parts += ["## redlock_quorum.aio\n", text_of(ast.parse(aio.read_text(encoding="utf-8"))) + "\n"]
    parts += [text.replace("### ", "### aio.", 1) for text in module(aio, None, classes)]
    return "\n".join(parts)
