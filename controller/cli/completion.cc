#include "controller/cli/completion.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "controller/cli/command_line.h"
#include "controller/cli/completion_scripts.h"
#include "controller/cli/logs/logs.h"
#include "controller/store/document.h"

namespace longshore::cli {
namespace {

struct Candidates {
  std::map<std::string, std::string> about;  // From each candidate to its description, which may be "".
  bool files = false;
};

bool TakesAValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// What the words before the last one say.
struct Context {
  const CLI::App* app = nullptr;       // The whole program.
  const CLI::App* command = nullptr;   // The innermost command that the words name.
  std::vector<std::string> arguments;  // The words after it that are not flags.
  const CLI::Option* flag = nullptr;   // The flag that takes the last word as its value; nullptr if no flag does.
  Options options;                     // With the place and the namespace that the flags name.
};

const CLI::Option* FlagNamed(const Context& context, const std::string& name) {
  const CLI::Option* option = context.command->get_option_no_throw(name);
  return option != nullptr ? option : context.app->get_option_no_throw(name);
}

const CLI::App* CommandNamed(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

void SetValue(const CLI::Option& flag, const std::string& value, Options& options) {
  const std::string name = flag.get_lnames().empty() ? "" : flag.get_lnames()[0];
  if (name == "manifests") options.manifests = value;
  if (name == "kubeconfig") options.kubeconfig = value;
  if (name == "context") options.context = value;
  if (name == "namespace") options.namespace_ = value;
}

void TakeFlag(const std::string& word, Context& context) {
  const size_t equal = word.find('=');
  const CLI::Option* flag = FlagNamed(context, word.substr(0, equal));
  if (flag == nullptr || !TakesAValue(*flag)) return;
  if (equal == std::string::npos) {
    context.flag = flag;
  } else {
    SetValue(*flag, word.substr(equal + 1), context.options);
  }
}

void TakeWord(const std::string& word, Context& context) {
  if (context.flag != nullptr) {
    SetValue(*context.flag, word, context.options);
    context.flag = nullptr;
  } else if (word.size() > 1 && word[0] == '-') {
    TakeFlag(word, context);
  } else if (const CLI::App* command = CommandNamed(*context.command, word); command != nullptr) {
    context.command = command;
  } else {
    context.arguments.push_back(word);
  }
}

std::vector<store::Object> ObjectsOf(const Context& context, const std::string& kind, const PlaceOpener& open) {
  Result<Place> place = open(context.options);
  if (!place) return {};
  const Result<store::Listing> listing = place->store->List(kind);
  if (!listing) return {};
  std::vector<store::Object> objects;
  const std::string& wanted = context.options.namespace_.empty() ? place->namespace_ : context.options.namespace_;
  std::ranges::copy_if(listing->objects, std::back_inserter(objects),
                       [&](const store::Object& object) { return object.metadata.namespace_ == wanted; });
  return objects;
}

void AddNames(const Context& context, const std::string& kind, const std::string& prefix, const PlaceOpener& open,
              Candidates& candidates) {
  for (const store::Object& object : ObjectsOf(context, kind, open)) {
    const std::string name = prefix + object.metadata.name;
    if (std::ranges::find(context.arguments, name) == context.arguments.end()) candidates.about[name] = "";
  }
}

void AddLogs(const Context& context, const PlaceOpener& open, Candidates& candidates) {
  const Result<Place> place = open(context.options);
  if (!place) return;
  const std::string& wanted = context.options.namespace_.empty() ? place->namespace_ : context.options.namespace_;
  for (const std::string& known : logs::Known(*place->store, wanted).value_or(std::vector<std::string>()))
    candidates.about[known] = "";
}

void AddNamespaces(Context context, const PlaceOpener& open, Candidates& candidates) {
  context.options.all_namespaces = true;
  const Result<Place> place = open(context.options);
  if (!place) return;
  for (const char* kind : {api::kModelKind, api::kServingFleetKind}) {
    const auto keys = place->store->Keys(kind);
    if (!keys) continue;
    for (const api::Key& key : *keys) candidates.about[key.namespace_] = "";
  }
}

// Completes the value of a flag; `prefix` is "--flag=" if the value is in the same word.
void AddValues(const Context& context, const CLI::Option& flag, const std::string& prefix, const PlaceOpener& open,
               Candidates& candidates) {
  static const std::set<std::string> kFileFlags = {"file",
                                                   "filename",
                                                   "manifests",
                                                   "kubeconfig",
                                                   "out",
                                                   "token-file",
                                                   "golden",
                                                   "stable",
                                                   "batching_parameters_file",
                                                   "monitoring_config_file"};
  const std::string name = flag.get_lnames().empty() ? "" : flag.get_lnames()[0];
  Candidates values;
  if (name == "output") {
    for (const char* output : {"wide", "name", "json", "yaml", "text", "jsonpath="}) values.about[output] = "";
  }
  if (name == "metric") values.about = {{"top1", ""}, {"tolerance", ""}};
  if (name == "namespace") AddNamespaces(context, open, values);
  if (name == "model") AddNames(context, api::kModelKind, "", open, values);
  if (name == "fleet") AddNames(context, api::kServingFleetKind, "", open, values);
  candidates.files = kFileFlags.contains(name);
  for (const auto& [value, about] : values.about) candidates.about[prefix + value] = about;
}

void AddFlags(const Context& context, Candidates& candidates) {
  for (const CLI::App* app : {context.app, context.command}) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) candidates.about["--" + name] = option->get_description();
    }
  }
}

// Completes the arguments of get, describe and delete.
void AddTargets(const Context& context, const std::string& last, const PlaceOpener& open, Candidates& candidates) {
  const size_t slash = last.find('/');
  const bool has_kind = !context.arguments.empty() && context.arguments[0].find('/') == std::string::npos;
  if (has_kind) {
    const auto targets = input::ParseTargets({context.arguments[0]});
    for (const input::Target& target : targets.value_or(std::vector<input::Target>()))
      AddNames(context, target.kind, "", open, candidates);
  } else if (slash != std::string::npos) {
    const auto targets = input::ParseTargets({last.substr(0, slash)});
    if (targets) AddNames(context, targets->front().kind, last.substr(0, slash + 1), open, candidates);
  } else if (context.arguments.empty()) {
    candidates.about = {{"models", ""}, {"fleets", ""}, {"model", ""}, {"fleet", ""}, {"model/", ""}, {"fleet/", ""}};
  } else {
    candidates.about = {{"model/", ""}, {"fleet/", ""}};
  }
}

// The commands of the companion program, which has a parser of its own.
void AddOfCompanion(const Context& context, const std::string& name, Candidates& candidates) {
  static const std::map<std::string, std::vector<const char*>> kSubcommands = {
      {"model", {"show", "check", "explain", "ops", "run"}},
      {"golden", {"from-csv", "from-log", "from-model", "show", "check"}}};
  candidates.files = true;
  if (!context.arguments.empty()) return;
  for (const char* subcommand : kSubcommands.at(name)) candidates.about[subcommand] = "";
}

void AddArguments(const Context& context, const std::string& last, const PlaceOpener& open, Candidates& candidates) {
  static const std::set<std::string> kOfTargets = {"get", "describe", "delete"};
  static const std::set<std::string> kOfFiles = {"tfserving", "kserve", "check-version"};
  const std::string name = context.command->get_name();
  const auto has_argument = [&](const char* argument) {
    return context.command->get_option_no_throw(argument) != nullptr && context.arguments.empty();
  };
  if (kOfTargets.contains(name)) return AddTargets(context, last, open, candidates);
  if (name == "model" || name == "golden") return AddOfCompanion(context, name, candidates);
  if (kOfFiles.contains(name)) candidates.files = true;
  if (name == "completion" && has_argument("shell")) candidates.about = {{"bash", ""}, {"fish", ""}, {"zsh", ""}};
  if (has_argument("node")) AddLogs(context, open, candidates);
  if (has_argument("name")) AddNames(context, api::kModelKind, "", open, candidates);
}

Candidates CandidatesFor(const Context& context, const std::string& last, const PlaceOpener& open) {
  Candidates candidates;
  const size_t equal = last.find('=');
  if (context.flag != nullptr) {
    AddValues(context, *context.flag, "", open, candidates);
  } else if (last.starts_with("-") && equal != std::string::npos) {
    const CLI::Option* flag = FlagNamed(context, last.substr(0, equal));
    if (flag != nullptr) AddValues(context, *flag, last.substr(0, equal + 1), open, candidates);
  } else if (last.starts_with("-")) {
    AddFlags(context, candidates);
  } else {
    for (const CLI::App* command : context.command->get_subcommands([](const CLI::App*) { return true; }))
      candidates.about[command->get_name()] = command->get_description();
    if (candidates.about.empty()) AddArguments(context, last, open, candidates);
  }
  std::erase_if(candidates.about, [&](const auto& candidate) { return !candidate.first.starts_with(last); });
  return candidates;
}

}  // namespace

std::string Complete(const std::vector<std::string>& words, const PlaceOpener& open) {
  Flags flags;
  CLI::App app("", "longshore");
  AddCommandLine(app, flags);
  Context context;
  context.app = context.command = &app;
  if (const char* manifests = std::getenv("LONGSHORE_MANIFESTS")) context.options.manifests = manifests;
  const std::string last = words.empty() ? "" : words.back();
  for (size_t i = 0; i + 1 < words.size(); ++i) TakeWord(words[i], context);
  if (!context.options.kubeconfig.empty() || !context.options.context.empty()) context.options.manifests.clear();
  const Candidates candidates = CandidatesFor(context, last, open);
  std::string text;
  for (const auto& [candidate, about] : candidates.about)
    text += candidate + (about.empty() ? "" : "\t" + about) + "\n";
  return text + (candidates.files && candidates.about.empty() ? ":0\n" : ":4\n");
}

std::string CompletionScript(const std::string& shell) {
  if (shell == "bash") return kBashScript;
  return shell == "zsh" ? kZshScript : kFishScript;
}

}  // namespace longshore::cli
