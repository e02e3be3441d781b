"""Which changes of messages and custom resources the previous release, or its stored data, does not survive.

Values in, sentences out: an empty list if the change is compatible.
"""

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet, ServiceDescriptorProto

# What a value of a schema is. Server-side apply merges lists and maps by the last three.
TYPE_KEYS = ("type", "format", "x-kubernetes-int-or-string", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")
MAXIMA = ("maximum", "maxLength", "maxItems", "maxProperties")
MINIMA = ("minimum", "minLength", "minItems", "minProperties")
# Whether one expression accepts every value that another one accepts cannot be computed: any change is reported.
EXPRESSIONS = ("pattern", "not", "allOf", "anyOf", "oneOf")
UNKNOWN_FIELDS = "x-kubernetes-preserve-unknown-fields"


def broken_messages(old: FileDescriptorSet, new: FileDescriptorSet) -> list[str]:
    """A sentence for each change that breaks messages in wire format or in text format, stored or on a stream."""
    before, after = types_of(old), types_of(new)
    used = {field.type_name for it in before.values() if isinstance(it, DescriptorProto) for field in it.field}
    found = []
    for name, was in before.items():
        now = after.get(name)
        if now is None:
            # A type of removed fields may be removed with them: the rules for fields check those.
            found += [] if f".{name}" in used else [f"{name} was removed"]
        elif isinstance(was, DescriptorProto):
            found += broken_numbers(name, {it.number: it for it in was.field}, {it.number: it for it in now.field}, reserved(was, 0), reserved(now, 0))
            found += [f"{name}.{it.name} has another type, label or oneof: add a field with a new number"
                      for it in was.field for other in now.field
                      if it.number == other.number and meaning_of(it, was) != meaning_of(other, now)]
        elif isinstance(was, EnumDescriptorProto):
            found += broken_numbers(name, {it.number: it for it in was.value}, {it.number: it for it in now.value}, reserved(was, 1), reserved(now, 1))
        else:
            calls = {it.name: it for it in now.method}
            found += [f"{name}.{it.name} was removed or has other messages" for it in was.method if calls.get(it.name) != it]
    return found


def types_of(files: FileDescriptorSet) -> dict[str, DescriptorProto | EnumDescriptorProto | ServiceDescriptorProto]:
    """Full name -> each message, enum and service, nested ones too."""
    found = {}

    def add(prefix: str, messages, enums) -> None:
        found.update({f"{prefix}.{it.name}": it for it in enums})
        for message in messages:
            found[f"{prefix}.{message.name}"] = message
            add(f"{prefix}.{message.name}", message.nested_type, message.enum_type)

    for file in files.file:
        add(file.package, file.message_type, file.enum_type)
        found.update({f"{file.package}.{it.name}": it for it in file.service})
    return found


def reserved(it: DescriptorProto | EnumDescriptorProto, end_offset: int) -> set[int | str]:
    """The reserved numbers and names. The range of an enum includes its end (`end_offset` 1), that of a message does not."""
    return {number for area in it.reserved_range for number in range(area.start, area.end + end_offset)} | set(it.reserved_name)


def broken_numbers(name: str, was: dict, now: dict, reserved_before: set, reserved_after: set) -> list[str]:
    """The rules that fields and values of an enum share. `was` and `now`: number -> field or value."""
    found = [f"{name} no longer reserves {it}" for it in sorted(reserved_before - reserved_after, key=str)]
    for number, it in was.items():
        if number in now and now[number].name != it.name:
            found.append(f"{name}.{it.name} = {number} is now {now[number].name}: a number keeps its name and meaning")
        elif number not in now and not {number, it.name} <= reserved_after:
            found.append(f'{name}.{it.name} = {number} was removed: add "reserved {number};" and "reserved \\"{it.name}\\";"')
    return found


def meaning_of(field: FieldDescriptorProto, message: DescriptorProto) -> tuple:
    in_oneof = field.HasField("oneof_index") and not field.proto3_optional
    return field.type, field.type_name, field.label, message.oneof_decl[field.oneof_index].name if in_oneof else ""


def broken_kind(old: dict, new: dict) -> list[str]:
    """A sentence for each change of a CustomResourceDefinition that makes an existing object invalid or loses a part of it."""
    kind = old["spec"]["names"]["kind"]
    found = [f"{kind}: {key} has changed" for key in ("group", "scope", "names") if old["spec"][key] != new["spec"][key]]
    versions = {it["name"]: it for it in new["spec"]["versions"]}
    for was in old["spec"]["versions"]:
        now = versions.get(was["name"])
        if now is None or was["served"] and not now["served"]:
            found.append(f"{kind} {was['name']} is no longer served")
        else:
            found += broken_schema(f"{kind} {was['name']}", was["schema"]["openAPIV3Schema"], now["schema"]["openAPIV3Schema"])
    return found


def broken_schema(path: str, was: dict, now: dict) -> list[str]:
    """The same for one value of the schema and everything in it; `path` names it in messages."""
    found = [f"{path}: {key} was {was.get(key)}, is {now.get(key)}" for key in TYPE_KEYS if was.get(key) != now.get(key)]
    found += [f"{path}: {name} is now required" for name in now.get("required", []) if name not in was.get("required", [])]
    if "enum" in now:
        lost = [it for it in was["enum"] if it not in now["enum"]] if "enum" in was else ["any value"]
        found += [f"{path}: the enum no longer has {it}" for it in lost]
    found += [f"{path}: {key} fell from {was.get(key)} to {now[key]}" for key in MAXIMA if key in now and now[key] < was.get(key, float("inf"))]
    found += [f"{path}: {key} rose from {was.get(key)} to {now[key]}" for key in MINIMA if key in now and now[key] > was.get(key, float("-inf"))]
    found += broken_rules(path, was, now)
    for name, value in was.get("properties", {}).items():
        if name in now.get("properties", {}):
            found += broken_schema(f"{path}.{name}", value, now["properties"][name])
        else:
            found.append(f"{path}.{name} was removed")
    for key in ("items", "additionalProperties"):
        if isinstance(was.get(key), dict) and isinstance(now.get(key), dict):
            found += broken_schema(f"{path}.{key}", was[key], now[key])
        elif was.get(key) and now.get(key) is not True:
            found.append(f"{path}: {key} {'accepts fewer values' if now.get(key) else 'was removed'}")
    return found + ([f"{path}: unknown fields are no longer kept"] if was.get(UNKNOWN_FIELDS) and not now.get(UNKNOWN_FIELDS) else [])


def broken_rules(path: str, was: dict, now: dict) -> list[str]:
    """The same for the rules of one value that are not limits."""
    found = [f"{path}: {key} was {was.get(key)}, is {now[key]}" for key in EXPRESSIONS if key in now and now[key] != was.get(key)]
    known = [it["rule"] for it in was.get("x-kubernetes-validations", [])]
    found += [f"{path}: has the new rule {it['rule']}" for it in now.get("x-kubernetes-validations", []) if it["rule"] not in known]
    found += [f"{path}: {key} itself is no longer accepted" for key, exclusive in (("maximum", "exclusiveMaximum"), ("minimum", "exclusiveMinimum"))
              if now.get(exclusive) and not was.get(exclusive) and was.get(key) == now.get(key)]
    if "multipleOf" in now and ("multipleOf" not in was or was["multipleOf"] % now["multipleOf"] != 0):
        found.append(f"{path}: multipleOf was {was.get('multipleOf')}, is {now['multipleOf']}")
    found += [f"{path}: null is no longer accepted"] if was.get("nullable") and not now.get("nullable") else []
    found += [f"{path}: equal items are no longer accepted"] if now.get("uniqueItems") and not was.get("uniqueItems") else []
    # A stored object without the value gets another meaning.
    found += [f"{path}: default was {was['default']}, is {now.get('default')}"] if "default" in was and was["default"] != now.get("default") else []
    return found


def unreviewed(found: list[str], reviewed: dict[str, str]) -> list[str]:
    """The sentences without those that `reviewed` accepts (sentence -> reason), and a sentence for each row of it that is of no use."""
    return ([it for it in found if it not in reviewed]
            + [f'the list of reviewed changes has a row for "{it}", which was not found: remove the row' for it in reviewed if it not in found]
            + [f'the list of reviewed changes has no reason for "{it}"' for it, reason in reviewed.items() if not reason])
