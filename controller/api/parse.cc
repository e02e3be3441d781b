#include "controller/api/parse.h"

#include <algorithm>
#include <set>

#include "controller/api/document.h"
#include "controller/api/fields.h"
#include "controller/api/specs.h"

namespace longshore::api {
namespace {

// RFC 1123 label, as Kubernetes wants names.
bool IsName(const std::string& text) {
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= 63 && alphanumeric(text.front()) && alphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return c == '-' || alphanumeric(c); });
}

void ReadName(Fields& metadata, const char* key, std::string& out, Need need) {
  metadata.Text(key, out, need);
  if (!metadata.reader().ok() || !metadata.Has(key) || IsName(out)) return;
  metadata.Refuse(key,
                  fmt::format("\"{}\" is not a name: up to 63 of a-z 0-9 -, beginning and ending with a-z 0-9", out));
}

void ReadMetadata(Fields& metadata, Metadata& out) {
  ReadName(metadata, "name", out.name, Need::kRequired);
  ReadName(metadata, "namespace", out.namespace_, Need::kOptional);
  metadata.TextMap("labels", out.labels);
  metadata.TextMap("annotations", out.annotations);
  for (const char* key : {"uid", "generation", "resourceVersion", "creationTimestamp", "managedFields"}) {
    if (metadata.Has(key)) metadata.Refuse(key, "is given by the store; leave it out");
  }
}

void ReadSpec(Fields& root, ParsedObject& out) {
  root.Object(
      "spec",
      [&](Fields& spec) {
        if (out.kind == kModelKind) out.spec = ReadModelSpec(spec, out.metadata.name);
        if (out.kind == kServingFleetKind) out.spec = ReadServingFleetSpec(spec);
      },
      out.kind == kModelKind ? Need::kRequired : Need::kOptional);
  if (out.kind == kServingFleetKind && !std::holds_alternative<ServingFleetSpec>(out.spec))
    out.spec = ServingFleetSpec{};
}

Result<ParsedObject> ReadDocument(const YamlDocument& document) {
  ParsedObject out;
  out.line = document.line;
  Reader reader(document.origin);
  Fields root(reader, document.root, "");
  std::string version;
  root.Choice<std::string>("apiVersion", version, {{kApiVersion, kApiVersion}}, Need::kRequired);
  root.Choice<std::string>("kind", out.kind, {{kModelKind, kModelKind}, {kServingFleetKind, kServingFleetKind}},
                           Need::kRequired);
  RETURN_IF_ERROR(reader.Finish());
  root.Object(
      "metadata", [&](Fields& metadata) { ReadMetadata(metadata, out.metadata); }, Need::kRequired);
  RETURN_IF_ERROR(reader.Finish());
  ReadSpec(root, out);
  if (root.Has("status")) root.Refuse("status", "is written by the controller; leave it out");
  root.Done();
  RETURN_IF_ERROR(reader.Finish());
  return out;
}

}  // namespace

Key KeyOf(const ParsedObject& object) { return {object.kind, object.metadata.namespace_, object.metadata.name}; }

Result<std::vector<ParsedObject>> ParseManifests(std::string_view file, std::string_view text) {
  if (text.size() > kManifestBytesMax) return ResourceExhausted("{}: larger than {} bytes", file, kManifestBytesMax);
  ASSIGN_OR_RETURN(const std::vector<YamlDocument> documents, LoadYaml(file, text, kManifestDocumentsMax));
  std::vector<ParsedObject> objects;
  std::set<Key> seen;
  for (const YamlDocument& document : documents) {
    ASSIGN_OR_RETURN(ParsedObject object, ReadDocument(document));
    if (!seen.insert(KeyOf(object)).second) {
      return InvalidArgument("{}:{}: {} is in this file twice", file, object.line, ToString(KeyOf(object)));
    }
    objects.push_back(std::move(object));
  }
  return objects;
}

Result<ModelSpec> ModelSpecFromJson(const Json& json, const std::string& name) {
  const Origin origin;
  Reader reader(origin);
  Fields spec(reader, json, "spec");
  ModelSpec out = ReadModelSpec(spec, name);
  RETURN_IF_ERROR(reader.Finish());
  return out;
}

Result<ServingFleetSpec> ServingFleetSpecFromJson(const Json& json) {
  const Origin origin;
  Reader reader(origin);
  Fields spec(reader, json, "spec");
  ServingFleetSpec out = ReadServingFleetSpec(spec);
  RETURN_IF_ERROR(reader.Finish());
  return out;
}

}  // namespace longshore::api
