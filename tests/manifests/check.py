"""``make manifests CRDS=folder``: whether the manifests of deploy/kubernetes fit the schemas of the
custom resources in that folder (the YAML files of Kubeflow's Trainer, JobSet and the Training
Operator, which are not part of this repository). Needs PyYAML.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
MANIFESTS = TOP / "deploy" / "kubernetes"
_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}


def problems(schema: dict[str, Any], value: Any, place: str = "") -> Iterator[str]:
    """Where ``value`` does not fit a structural schema of OpenAPI v3. Fields that the schema does
    not have are problems too: the API server drops them.
    """
    if schema.get("x-kubernetes-int-or-string"):
        if not isinstance(value, int | str):
            yield f"{place}: {value!r} is neither a number nor a text"
        return
    wanted = schema.get("type")
    if wanted and (
        not isinstance(value, _TYPES[wanted])
        or (isinstance(value, bool) and wanted in ("integer", "number"))
    ):
        yield f"{place}: {value!r} is not of type {wanted}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: {value!r} is not one of {schema['enum']}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{place}: {value!r} is below {schema['minimum']}"
    if isinstance(value, dict):
        yield from _of_fields(schema, value, place)
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from problems(schema.get("items", {}), item, f"{place}[{i}]")


def _of_fields(schema: dict[str, Any], value: dict[str, Any], place: str) -> Iterator[str]:
    fields = schema.get("properties", {})
    more = schema.get("additionalProperties")
    is_open = (
        schema.get("x-kubernetes-preserve-unknown-fields") or more is True or not (fields or more)
    )
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{place}: {name} is missing"
    for name, item in value.items():
        if name in fields:
            yield from problems(fields[name], item, f"{place}.{name}")
        elif isinstance(more, dict):
            yield from problems(more, item, f"{place}.{name}")
        elif not is_open:
            yield f"{place}: there is no field {name}"


def schemas(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The schemas of the custom resources in ``folder``, by ``apiVersion`` and kind."""
    import yaml

    found = {}
    for path in sorted(folder.glob("**/*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            if (document or {}).get("kind") != "CustomResourceDefinition":
                continue
            spec = document["spec"]
            for version in spec["versions"]:
                name = f"{spec['group']}/{version['name']}"
                found[name, spec["names"]["kind"]] = version["schema"]["openAPIV3Schema"]
    return found


def main(folder: Path) -> int:
    try:
        import yaml
    except ImportError:
        print("manifests: not checked, the package PyYAML is not installed here")
        return 2
    known, failures = schemas(folder), 0
    for path in sorted(MANIFESTS.glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            kind = document["apiVersion"], document["kind"]
            found = (
                list(problems(known[kind], document))
                if kind in known
                else [f"no schema of {kind[1]} {kind[0]} in {folder}"]
            )
            failures += len(found)
            print(f"{path.name}: {kind[1]}: {'fits' if not found else ''}")
            for problem in found:
                print(f"  {problem}")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
