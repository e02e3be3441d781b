#include "controller/cli/check_version.h"

#include <fmt/ranges.h>

#include "controller/api/parse.h"
#include "controller/cli/command/get_or_hint.h"
#include "controller/cli/companion.h"
#include "controller/cli/input/source_folder.h"
#include "controller/cli/manifests.h"
#include "controller/cli/place.h"
#include "controller/cli/select.h"
#include "controller/store/document.h"

namespace longshore::cli {
namespace {

bool Exists(const Path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// The golden set of the spec. The nodes read it next to the version; the version to check may still be elsewhere.
Result<Path> GoldenSetOf(const api::ModelSpec& spec, const Path& dir) {
  std::vector<std::string> places;
  if (const auto source = input::SourceFolder(spec.source_uri))
    places.push_back((*source / spec.validation.golden_set).string());
  const Path version = std::filesystem::absolute(dir).lexically_normal();
  const Path folder = version.has_filename() ? version : version.parent_path();
  for (const Path& base : {folder.parent_path(), folder})
    places.push_back((base / spec.validation.golden_set).string());
  for (const std::string& place : places)
    if (Exists(place)) return Path(place);
  return NotFound(
      "the golden set is on this host neither in the Model's source nor next to the version: use --golden "
      "FILE. It was sought as: {}",
      fmt::join(places, ", "));
}

// Adds the folder of the version that serves, or why it cannot be given.
void AddStable(const CheckVersionOptions& options, const std::optional<api::Model>& model,
               std::vector<std::string>& arguments) {
  const int64_t serves = model ? model->status.stable_version : 0;
  const auto source = model ? input::SourceFolder(model->spec.source_uri) : std::nullopt;
  if (!options.stable.empty()) {
    arguments.insert(arguments.end(), {"--stable", options.stable.string()});
  } else if (serves > 0 && source && Exists(*source)) {
    arguments.insert(arguments.end(), {"--stable", (*source / std::to_string(serves)).string()});
  } else if (serves > 0) {
    arguments.insert(arguments.end(), {"--why-no-stable", fmt::format("version {} serves, but {} is not on this host; "
                                                                      "use --stable DIR to name a copy of its folder",
                                                                      serves, model->spec.source_uri)});
  }
}

void AddRules(const api::Validation& rules, const CheckVersionOptions& options, std::vector<std::string>* arguments) {
  const std::pair<const char*, std::string> flags[] = {
      {"--metric", options.metric.value_or(rules.metric)},
      {"--minimum", fmt::format("{}", options.minimum.value_or(rules.minimum))},
      {"--relative-tolerance", fmt::format("{}", options.relative_tolerance.value_or(rules.relative_tolerance))},
      {"--non-finite-reject", rules.non_finite_reject ? "true" : "false"},
      {"--deterministic", rules.deterministic ? "true" : "false"}};
  for (const auto& [flag, value] : flags) {
    arguments->push_back(flag);
    arguments->push_back(value);
  }
}

// Returns the Model of a manifest: the one that --model names, or the only one.
Result<api::Model> ModelInManifest(const Options& options) {
  const CheckVersionOptions& wanted = options.check_version;
  Options reading = options;
  if (reading.namespace_.empty()) reading.namespace_ = Place().namespace_;
  ASSIGN_OR_RETURN(const auto objects, ReadManifests(reading, api::Home::kAny));
  const std::string files = fmt::format("{}", fmt::join(options.files, ", "));
  std::vector<std::string> names;
  std::optional<api::Model> found;
  for (const api::ParsedObject& object : objects) {
    if (object.kind != api::kModelKind) continue;
    names.push_back(object.metadata.name);
    const bool is_elsewhere = !options.namespace_.empty() && object.metadata.namespace_ != options.namespace_;
    if (is_elsewhere || (!wanted.model.empty() && object.metadata.name != wanted.model)) continue;
    if (found)
      return InvalidArgument("{} has several Models: choose one of {} with --model", files, fmt::join(names, ", "));
    found = api::Model{.metadata = object.metadata, .spec = std::get<api::ModelSpec>(object.spec), .status = {}};
  }
  if (found) return *found;
  return NotFound("{} has no such Model; its Models are: {}", files, fmt::join(names, ", "));
}

Result<std::optional<api::Model>> FindModel(const Options& options) {
  if (!options.files.empty()) return ModelInManifest(options);
  const std::string& name = options.check_version.model;
  if (name.empty()) return std::nullopt;
  const SteadyClock timer;
  ASSIGN_OR_RETURN(const Place place, OpenPlace(options, timer));
  const std::string namespace_ = options.namespace_.empty() ? place.namespace_ : options.namespace_;
  ASSIGN_OR_RETURN(const store::Object object, command::GetOrHint(*place.store, {api::kModelKind, namespace_, name}));
  return store::ToModel(object);
}

Result<std::vector<std::string>> Arguments(const Options& options) {
  ASSIGN_OR_RETURN(const std::optional<api::Model> model, FindModel(options));
  return CheckVersionArguments(options.check_version, model);
}

}  // namespace

Result<std::vector<std::string>> CheckVersionArguments(const CheckVersionOptions& options,
                                                       const std::optional<api::Model>& model) {
  std::vector<std::string> arguments = {"check-version", options.dir.string()};
  const auto add = [&](const char* flag, const std::string& value) {
    arguments.insert(arguments.end(), {flag, value});
  };
  Path golden = options.golden;
  if (golden.empty() && model && !model->spec.validation.golden_set.empty()) {
    ASSIGN_OR_RETURN(golden, GoldenSetOf(model->spec, options.dir));
  }
  if (!golden.empty()) add("--golden", golden.string());
  AddRules(model ? model->spec.validation : api::Validation(), options, &arguments);
  AddStable(options, model, arguments);
  if (model && !model->spec.warm_up) add("--warm-up", "false");
  add("--rules", model ? api::ToString(api::Key{api::kModelKind, model->metadata.namespace_, model->metadata.name})
                       : "the command line");
  add("--rows", std::to_string(options.rows));
  if (options.json) arguments.push_back("--json");
  return arguments;
}

Error CheckVersion(const Options& options) {
  const auto arguments = Arguments(options);
  return arguments ? RunProgram(kModelProgram, *arguments) : arguments.error();
}

}  // namespace longshore::cli
