#include "controller/cli/input/lint.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "controller/api/document.h"
#include "controller/api/parse.h"
#include "controller/api/sentences.h"
#include "controller/cli/input/ports.h"
#include "controller/cli/input/source_check.h"
#include "controller/cli/input/source_folder.h"

namespace longshore::cli::input {
namespace {

class Linter {
 public:
  explicit Linter(const LintOptions& options) : options_(options), is_of_host_(options.host.has_value()) {}

  void CheckFile(const File& file) {
    const auto parsed = api::ParseManifests(file.name, file.text, api::Home::kAny, options_.namespace_);
    if (!parsed) {
      checked_.problems.push_back(parsed.error().message);
      return;
    }
    if (parsed->empty()) checked_.problems.push_back(file.name + ": defines no object");
    const auto documents = api::LoadYaml(file.name, file.text, api::kManifestDocumentsMax).value();  // It was parsed.
    for (size_t i = 0; i < parsed->size(); ++i) {
      CheckName(file, parsed->at(i));
      KeepModel(file, parsed->at(i), documents.at(i).origin);
      if (options_.sources == Sources::kCheck) CheckOnThisHost(file, parsed->at(i), documents.at(i));
    }
  }

  Checked Take() && {
    CheckServedNames();
    CheckFleets();
    if (is_of_cluster_) return std::move(checked_);
    std::ranges::move(SharedPorts(), std::back_inserter(is_of_host_ ? checked_.problems : checked_.notes));
    return std::move(checked_);
  }

 private:
  static std::string PlaceOf(const File& file, const api::ParsedObject& object) {
    return fmt::format("{}:{}", file.name, object.line);
  }

  void CheckName(const File& file, const api::ParsedObject& object) {
    const std::string place = PlaceOf(file, object);
    const auto [first, is_new] = places_.emplace(api::KeyOf(object), place);
    checked_.objects.push_back(api::ToString(first->first));
    if (is_new) return;
    checked_.problems.push_back(fmt::format("{}: {} is at {} too", place, api::ToString(first->first), first->second));
  }

  void KeepModel(const File& file, const api::ParsedObject& object, const api::Origin& origin) {
    const auto* spec = std::get_if<api::ModelSpec>(&object.spec);
    if (spec == nullptr) return;
    models_.push_back({.key = api::KeyOf(object),
                       .spec = *spec,
                       .place = " at " + PlaceOf(file, object),
                       .at_name = origin.At("spec.servedName"),
                       .at_fleet = origin.At("spec.fleet")});
  }

  // The host with which to compare the files; nullptr if none is known, or if the files are for a cluster.
  const HostObjects* Host() const {
    const bool is_compared = options_.host && options_.sources == Sources::kCheck && !is_of_cluster_;
    return is_compared ? &*options_.host : nullptr;
  }

  // A file may define a Model of the host anew.
  void CheckServedNames() {
    ServedNames names;
    for (const auto& [key, spec] : Host() != nullptr ? Host()->models : Models{}) {
      if (!places_.contains(key)) names.Add(key, spec, ", which is applied");
    }
    for (const ModelAt& model : models_) {
      const std::string taken = names.Add(model.key, model.spec, model.place);
      if (!taken.empty()) checked_.problems.push_back(model.at_name + taken);
    }
  }

  void CheckFleets() {
    std::set<api::Key> known = Host() != nullptr ? Host()->defined : std::set<api::Key>{};
    for (const auto& [key, _] : Host() != nullptr ? Host()->fleets : Fleets{}) known.insert(key);
    for (const auto& [key, _] : places_) known.insert(key);
    std::erase_if(known, [](const api::Key& key) { return key.kind != api::kServingFleetKind; });
    for (const ModelAt& model : models_) {
      const api::Key fleet = FleetOfModel(model.key, model.spec);
      if (known.contains(fleet)) continue;
      const std::string missing = api::NoFleetSentence(fleet, std::vector<api::Key>(known.begin(), known.end()));
      if (Host() != nullptr) {
        checked_.problems.push_back(model.at_fleet + missing);
      } else if (!known.empty()) {
        checked_.notes.push_back(model.at_fleet + "in these files " + missing);
      }
    }
  }

  void CheckOnThisHost(const File& file, const api::ParsedObject& object, const api::YamlDocument& document) {
    if (const auto* model = std::get_if<api::ModelSpec>(&object.spec)) return CheckSource(*model, document.origin);
    // A field that only fleets in a cluster have.
    if (!api::ServingFleetSpecFromJson(document.root.value("spec", Json::object()), api::Home::kHost))
      is_of_cluster_ = true;
    KeepPorts(file, object, document.origin);
  }

  void CheckSource(const api::ModelSpec& spec, const api::Origin& origin) {
    if (IsElsewhere(spec)) {
      is_of_cluster_ = true;
      checked_.notes.push_back(origin.At("spec.source.uri") + "not checked: " + spec.source_uri +
                               " is not on this host, and neither is its parent folder");
      return;
    }
    is_of_host_ = is_of_host_ || SourceFolder(spec.source_uri);
    for (const auto& problems : {SourceProblems(spec), MetricProblems(spec), LabelProblems(spec)}) {
      for (const FieldProblem& problem : problems) checked_.problems.push_back(origin.At(problem.path) + problem.why);
    }
  }

  void KeepPorts(const File& file, const api::ParsedObject& object, const api::Origin& origin) {
    const std::string fleet = fmt::format("{} at {}", api::ToString(api::KeyOf(object)), PlaceOf(file, object));
    for (const HostPort& one : PortsOf(std::get<api::ServingFleetSpec>(object.spec)))
      ports_.push_back({origin.At(one.field), one.number, fleet});
  }

  // A file may define a fleet of the host anew: then only the ports of the file count.
  std::vector<std::string> SharedPorts() const {
    std::map<int, std::string> first;  // The first fleet that has the port.
    for (const auto& [key, spec] : options_.host ? options_.host->fleets : Fleets{}) {
      if (places_.contains(key)) continue;
      for (const HostPort& one : PortsOf(spec)) first.emplace(one.number, api::ToString(key) + ", which is applied");
    }
    std::vector<std::string> shared;
    for (const Port& port : ports_) {
      const auto [other, is_new] = first.emplace(port.number, port.fleet);
      if (is_new || other->second == port.fleet) continue;
      shared.push_back(
          fmt::format("{}port {} is also a port of {}; on one host each fleet needs its own ports "
                      "(--skip-sources: the files are for a cluster)",
                      port.at, port.number, other->second));
    }
    return shared;
  }

  // A Model that a file describes.
  struct ModelAt {
    api::Key key;
    api::ModelSpec spec;
    std::string place;     // " at m.yaml:1".
    std::string at_name;   // "m.yaml:7: spec.servedName: ".
    std::string at_fleet;  // "m.yaml:5: spec.fleet: ".
  };

  // A port of a fleet that a file describes.
  struct Port {
    std::string at;  // "fleet.yaml:6: spec.ports.grpc: ".
    int number;
    std::string fleet;  // "ServingFleet default/main at fleet.yaml:1".
  };

  const LintOptions& options_;
  Checked checked_;
  std::map<api::Key, std::string> places_;
  std::vector<ModelAt> models_;
  std::vector<Port> ports_;
  // Whether a file is clearly for a cluster, where fleets share no ports, or clearly for this host.
  bool is_of_cluster_ = false;
  bool is_of_host_;
};

}  // namespace

Checked Lint(const std::vector<File>& files, const LintOptions& options) {
  Linter linter(options);
  for (const File& file : files) linter.CheckFile(file);
  return std::move(linter).Take();
}

}  // namespace longshore::cli::input
