#include "controller/cli/imports/kserve.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>

#include "common/json/json.h"
#include "controller/api/parse.h"
#include "controller/api/text_format.h"
#include "controller/cli/imports/kserve_predictor.h"

namespace longshore::cli::imports {
namespace {

using api::Fields;
using api::Need;

constexpr const char* kKserveVersion = "serving.kserve.io/v1beta1";
constexpr size_t kDocumentsMax = 10000;

// Fields of the metadata that the API server or tools write.
constexpr std::array kBookkeeping = {"uid",
                                     "resourceVersion",
                                     "generation",
                                     "creationTimestamp",
                                     "managedFields",
                                     "selfLink",
                                     "ownerReferences",
                                     "finalizers",
                                     "deletionTimestamp",
                                     "generateName",
                                     "deletionGracePeriodSeconds"};
constexpr const char* kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

struct Service {
  std::string name;
  std::string namespace_;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  Predictor predictor;
};

bool IsKserves(const std::string& name) {
  return name.find("kserve.io/") != std::string::npos || name.find("knative.dev/") != std::string::npos;
}

// Copies the user's labels or annotations to `out`. Those of KServe configure KServe, so they become notes.
void ReadNames(Fields& metadata, const char* key, const Notes& notes, std::map<std::string, std::string>& out,
               std::vector<std::string>& added) {
  std::map<std::string, std::string> names;
  metadata.TextMap(key, names);
  for (const auto& [name, text] : names) {
    if (IsKserves(name)) {
      notes.Add(metadata.PathOf(key), name + ": is not imported", added);
    } else if (name != kLastApplied) {
      out[name] = text;
    }
  }
}

void ReadMetadata(Fields& metadata, const Notes& notes, Service& out) {
  metadata.Text("name", out.name, api::kNamespace, Need::kRequired);
  metadata.Text("namespace", out.namespace_, api::kNamespace);
  ReadNames(metadata, "labels", notes, out.labels, out.predictor.model_notes);
  ReadNames(metadata, "annotations", notes, out.annotations, out.predictor.model_notes);
  for (const char* key : kBookkeeping) metadata.Take(key);
}

void ReadSpec(Fields& spec, const Notes& notes, Service& out) {
  std::vector<std::string> model_notes = std::move(out.predictor.model_notes);
  spec.Object(
      "predictor", [&](Fields& predictor) { out.predictor = ReadPredictor(predictor, out.name, notes); },
      Need::kRequired);
  for (const char* key : {"transformer", "explainer"}) {
    if (spec.Take(key) != nullptr)
      notes.Add(spec.PathOf(key), "is not imported: clients call the model directly", model_notes);
  }
  model_notes.insert(model_notes.end(), out.predictor.model_notes.begin(), out.predictor.model_notes.end());
  out.predictor.model_notes = std::move(model_notes);
}

Result<Service> ReadService(const Json& json, const api::Origin& origin, const std::string& path) {
  Service out;
  const Notes notes(origin);
  api::Reader reader(origin);
  Fields root(reader, json, path);
  std::string text;
  root.Choice<std::string>("kind", text, {{"InferenceService", "InferenceService"}}, Need::kRequired);
  root.Choice<std::string>("apiVersion", text, {{kKserveVersion, kKserveVersion}}, Need::kRequired);
  RETURN_IF_ERROR(reader.Finish());
  root.Object(
      "metadata", [&](Fields& metadata) { ReadMetadata(metadata, notes, out); }, Need::kRequired);
  RETURN_IF_ERROR(reader.Finish());
  root.Object(
      "spec", [&](Fields& spec) { ReadSpec(spec, notes, out); }, Need::kRequired);
  root.Take("status");
  root.Done();
  RETURN_IF_ERROR(reader.Finish());
  return out;
}

// Collects the documents of the result, with one fleet per name and namespace.
class Assembly {
 public:
  explicit Assembly(const ImportTarget& target) : target_(target) {}

  Status Add(const Service& service, const std::string& where) {
    const std::string& namespace_ = service.namespace_.empty() ? target_.namespace_ : service.namespace_;
    const std::string& fleet = target_.fleet.empty() ? service.name : target_.fleet;
    if (fleet.size() > kFleetNameMax) {
      return InvalidArgument("{}: \"{}\" is too long for the name of a fleet (at most {} characters): use --fleet",
                             where, fleet, kFleetNameMax);
    }
    if (!names_.insert({namespace_, service.name}).second) return InvalidArgument("{}: it is defined twice", where);
    if (const Status added = AddFleet(service, namespace_, fleet); !added) return Prefixed(added.error(), where);
    Json spec = {{"fleet", fleet}};
    spec.update(service.predictor.model);
    ImportedDocument model = NewDocument(api::kModelKind, service.name, namespace_, std::move(spec));
    if (!service.labels.empty()) model.json["metadata"]["labels"] = service.labels;
    if (!service.annotations.empty()) model.json["metadata"]["annotations"] = service.annotations;
    model.notes = service.predictor.model_notes;
    if (const Status taken = CheckImported(model); !taken) return Prefixed(taken.error(), where);
    models_.push_back(std::move(model));
    return {};
  }

  Imported Take() {
    Imported all = std::move(fleets_);
    std::move(models_.begin(), models_.end(), std::back_inserter(all));
    return all;
  }

 private:
  Status AddFleet(const Service& service, const std::string& namespace_, const std::string& name) {
    const auto [found, is_new] = index_.try_emplace({namespace_, name}, fleets_.size());
    if (is_new) fleets_.push_back(NewDocument(api::kServingFleetKind, name, namespace_, Json::object()));
    ImportedDocument& fleet = fleets_[found->second];
    fleet.notes.insert(fleet.notes.end(), service.predictor.fleet_notes.begin(), service.predictor.fleet_notes.end());
    for (const auto& [key, value] : service.predictor.fleet.items()) Merge(fleet, service.name, key, value);
    return CheckImported(fleet);
  }

  // Adds a field of a service to the fleet, which several services may share: combines volumes; for any other field,
  // keeps the value of the first service.
  void Merge(ImportedDocument& fleet, const std::string& service, const std::string& key, const Json& value) {
    Json& spec = fleet.json["spec"];
    if (!spec.contains(key)) {
      spec[key] = value;
    } else if (key == "modelVolumes") {
      for (const Json& volume : value) {
        if (std::ranges::find(spec[key], volume) == spec[key].end()) spec[key].push_back(volume);
      }
    } else if (spec[key] != value) {
      fleet.notes.push_back(fmt::format("{} of InferenceService {} is ignored: fleet {} already has {}", key, service,
                                        fleet.json["metadata"]["name"].get<std::string>(), DumpJson(spec[key])));
    }
  }

  const ImportTarget& target_;
  std::map<std::pair<std::string, std::string>, size_t> index_;
  std::set<std::pair<std::string, std::string>> names_;
  Imported fleets_;
  Imported models_;
};

Status AddOne(const Json& json, const api::Origin& origin, const std::string& path, Assembly& assembly) {
  ASSIGN_OR_RETURN(const Service service, ReadService(json, origin, path));
  const std::string metadata = path.empty() ? "metadata" : path + ".metadata";
  const std::string where = origin.At(metadata);  // For example "isvc.yaml:3: metadata: ".
  return assembly.Add(service,
                      where.substr(0, where.size() - metadata.size() - 2) + "InferenceService " + service.name);
}

Status AddDocument(const api::YamlDocument& document, Assembly& assembly) {
  const bool is_list = document.root.is_object() && document.root.contains("items") &&
                       document.root.value("kind", Json()).is_string() &&
                       document.root.at("kind").get<std::string>().ends_with("List");
  if (!is_list) return AddOne(document.root, document.origin, "", assembly);
  const Json& items = document.root.at("items");
  for (size_t i = 0; i < items.size(); ++i) {
    RETURN_IF_ERROR(AddOne(items[i], document.origin, fmt::format("items[{}]", i), assembly));
  }
  return {};
}

}  // namespace

Result<Imported> ImportKserve(const std::vector<ImportFile>& files, const ImportTarget& target) {
  Assembly assembly(target);
  for (const ImportFile& file : files) {
    ASSIGN_OR_RETURN(const std::vector<api::YamlDocument> documents,
                     api::LoadYaml(file.name, file.text, kDocumentsMax));
    if (documents.empty()) return InvalidArgument("{}: it contains no InferenceService", file.name);
    for (const api::YamlDocument& document : documents) RETURN_IF_ERROR(AddDocument(document, assembly));
  }
  return assembly.Take();
}

}  // namespace longshore::cli::imports
