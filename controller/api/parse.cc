#include "controller/api/parse.h"

#include <set>

#include "controller/api/document.h"
#include "controller/api/fields.h"
#include "controller/api/specs.h"

namespace longshore::api {
namespace {

void ReadMetadata(Fields& metadata, Metadata& out) {
  metadata.Text("name", out.name, kNamespace, Need::kRequired);
  metadata.Text("namespace", out.namespace_, kNamespace);
  metadata.TextMap("labels", out.labels);
  metadata.TextMap("annotations", out.annotations);
  for (const char* key : {"uid", "generation", "resourceVersion", "creationTimestamp", "managedFields"}) {
    if (metadata.Has(key)) metadata.Refuse(key, "is set when the object is stored; leave it out");
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

// Returns the error of a document whose first fields were read, if there is one.
Status CheckHead(const Reader& reader, Fields& root) {
  if (reader.ok()) return {};
  for (const char* key : {"metadata", "spec", "status"}) root.Take(key);
  root.Done();
  return reader.Finish();
}

Result<ParsedObject> ReadDocument(const YamlDocument& document, Home home, const std::string& namespace_) {
  ParsedObject out;
  out.metadata.namespace_ = namespace_;
  out.line = document.line;
  Reader reader(document.origin, home, Writer::kPerson);
  Fields root(reader, document.root, "");
  std::string version;
  root.Choice<std::string>("apiVersion", version, {{kApiVersion, kApiVersion}}, Need::kRequired);
  root.Choice<std::string>("kind", out.kind, {{kModelKind, kModelKind}, {kServingFleetKind, kServingFleetKind}},
                           Need::kRequired);
  RETURN_IF_ERROR(CheckHead(reader, root));
  root.Object(
      "metadata", [&](Fields& metadata) { ReadMetadata(metadata, out.metadata); }, Need::kRequired);
  ReadSpec(root, out);
  if (root.Has("status")) root.Refuse("status", "is written by the controller; leave it out");
  root.Done();
  RETURN_IF_ERROR(reader.Finish());
  return out;
}

}  // namespace

Key KeyOf(const ParsedObject& object) { return {object.kind, object.metadata.namespace_, object.metadata.name}; }

Result<std::vector<ParsedObject>> ParseManifests(std::string_view file, std::string_view text, Home home,
                                                 const std::string& namespace_) {
  if (text.size() > kManifestBytesMax) return ResourceExhausted("{}: larger than {} bytes", file, kManifestBytesMax);
  ASSIGN_OR_RETURN(const std::vector<YamlDocument> documents, LoadYaml(file, text, kManifestDocumentsMax));
  std::vector<ParsedObject> objects;
  std::set<Key> seen;
  std::string mistakes;
  for (const YamlDocument& document : documents) {
    auto object = ReadDocument(document, home, namespace_);
    if (object && !seen.insert(KeyOf(*object)).second)
      object = InvalidArgument("{}:{}: {} is in this file twice", file, object->line, ToString(KeyOf(*object)));
    if (!object) {
      mistakes += (mistakes.empty() ? "" : "\n") + object.error().message;
      continue;
    }
    object->file = file;
    objects.push_back(*std::move(object));
  }
  if (!mistakes.empty()) return InvalidArgument("{}", mistakes);
  return objects;
}

Result<ModelSpec> ModelSpecFromJson(const Json& json, const std::string& name, Home home) {
  const Origin origin;
  Reader reader(origin, home);
  Fields spec(reader, json, "spec");
  ModelSpec out = ReadModelSpec(spec, name);
  RETURN_IF_ERROR(reader.Finish());
  return out;
}

Result<ServingFleetSpec> ServingFleetSpecFromJson(const Json& json, Home home) {
  const Origin origin;
  Reader reader(origin, home);
  Fields spec(reader, json, "spec");
  ServingFleetSpec out = ReadServingFleetSpec(spec);
  RETURN_IF_ERROR(reader.Finish());
  return out;
}

}  // namespace longshore::api
