#include "controller/cli/input/lint.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "controller/api/document.h"
#include "controller/api/parse.h"
#include "controller/cli/input/source_check.h"
#include "controller/cli/input/source_folder.h"

namespace longshore::cli::input {
namespace {

// A port of a fleet that a file describes for a host.
struct HostPort {
  std::string field;  // "spec.ports.grpc".
  int port;
};

std::vector<HostPort> PortsOf(const api::ServingFleetSpec& spec) {
  return {{"spec.ports.grpc", spec.grpc_port}, {"spec.ports.rest", spec.rest_port}};
}

class Linter {
 public:
  Linter(const std::string& of_namespace, Sources sources) : namespace_(of_namespace), sources_(sources) {}

  void CheckFile(const File& file) {
    const auto parsed = api::ParseManifests(file.name, file.text, api::Home::kAny, namespace_);
    if (!parsed) {
      checked_.problems.push_back(parsed.error().message);
      return;
    }
    if (parsed->empty()) checked_.problems.push_back(file.name + ": defines no object");
    const auto documents = api::LoadYaml(file.name, file.text, api::kManifestDocumentsMax).value();  // It was parsed.
    for (size_t i = 0; i < parsed->size(); ++i) {
      CheckName(file, parsed->at(i));
      if (sources_ == Sources::kCheck) CheckOnThisHost(file, parsed->at(i), documents.at(i));
    }
  }

  Checked Take() && {
    if (is_of_cluster_) return std::move(checked_);
    std::ranges::move(shared_ports_, std::back_inserter(is_of_host_ ? checked_.problems : checked_.notes));
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

  void CheckOnThisHost(const File& file, const api::ParsedObject& object, const api::YamlDocument& document) {
    if (const auto* model = std::get_if<api::ModelSpec>(&object.spec)) return CheckSource(*model, document.origin);
    // A field that only fleets in a cluster have.
    if (!api::ServingFleetSpecFromJson(document.root.value("spec", Json::object()), api::Home::kHost))
      is_of_cluster_ = true;
    CheckPorts(file, object, document.origin);
  }

  void CheckSource(const api::ModelSpec& spec, const api::Origin& origin) {
    if (IsElsewhere(spec)) {
      is_of_cluster_ = true;
      checked_.notes.push_back(origin.At("spec.source.uri") + "not checked: " + spec.source_uri +
                               " is not on this host, and neither is its parent folder");
      return;
    }
    is_of_host_ = is_of_host_ || SourceFolder(spec.source_uri);
    for (const FieldProblem& problem : SourceProblems(spec))
      checked_.problems.push_back(origin.At(problem.path) + problem.why);
  }

  void CheckPorts(const File& file, const api::ParsedObject& object, const api::Origin& origin) {
    const std::string fleet = fmt::format("{} at {}", api::ToString(api::KeyOf(object)), PlaceOf(file, object));
    for (const HostPort& one : PortsOf(std::get<api::ServingFleetSpec>(object.spec))) {
      if (one.port == 0) continue;
      const auto [first, is_new] = ports_.emplace(one.port, fleet);
      if (is_new || first->second == fleet) continue;
      shared_ports_.push_back(
          fmt::format("{}port {} is also a port of {}; on one host each fleet needs its own ports "
                      "(--skip-sources: the files are for a cluster)",
                      origin.At(one.field), one.port, first->second));
    }
  }

  const std::string namespace_;
  const Sources sources_;
  Checked checked_;
  std::map<api::Key, std::string> places_;
  std::map<int, std::string> ports_;  // Value: the first fleet that has this port, and where it is.
  std::vector<std::string> shared_ports_;
  // Whether a file is clearly for a cluster, where fleets share no ports, or clearly for this host.
  bool is_of_cluster_ = false;
  bool is_of_host_ = false;
};

}  // namespace

Checked Lint(const std::vector<File>& files, const std::string& namespace_, Sources sources) {
  Linter linter(namespace_, sources);
  for (const File& file : files) linter.CheckFile(file);
  return std::move(linter).Take();
}

}  // namespace longshore::cli::input
