#include "controller/cli/options.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "controller/api/parse.h"
#include "controller/api/text_format.h"
#include "controller/cli/help.h"

namespace longshore::cli {
namespace {

constexpr auto kCommandTimeout = std::chrono::seconds(10);
constexpr auto kStatusTimeout = std::chrono::minutes(10);
constexpr auto kValidateTimeout = std::chrono::minutes(10);

const std::map<std::string, std::string>& Kinds() {
  static const std::map<std::string, std::string> kinds = {{"model", api::kModelKind},
                                                           {"models", api::kModelKind},
                                                           {"fleet", api::kServingFleetKind},
                                                           {"fleets", api::kServingFleetKind},
                                                           {"servingfleet", api::kServingFleetKind},
                                                           {"servingfleets", api::kServingFleetKind}};
  return kinds;
}

struct Flags {
  Options options;
  bool has_manifests_flag = false;  // Whether it is on the command line, not only in the environment.
  std::string kind;
  std::string output = "text";
  std::string timeout;  // "": the default of the verb.
};

void AddNamespace(CLI::App& verb, Flags& flags) {
  verb.add_option("-n,--namespace", flags.options.namespace_, "Namespace of the object; default: that of the context");
}

void AddKind(CLI::App& verb, Flags& flags) {
  verb.add_option("kind", flags.kind, "models or fleets")->required();
  AddNamespace(verb, flags);
}

void AddFile(CLI::App& verb, Flags& flags) {
  verb.add_option("-f,--file", flags.options.file, "YAML file; - for standard input")->required();
  AddNamespace(verb, flags);
}

void AddTimeout(CLI::App& verb, Flags& flags, const std::string& about) {
  verb.add_option("--timeout", flags.timeout, about);
}

void AddOutput(CLI::App& verb, Flags& flags) {
  verb.add_option("-o,--output", flags.output, "text, json or yaml")->check(CLI::IsMember({"text", "json", "yaml"}));
}

void AddStatus(CLI::App& app, Flags& flags) {
  CLI::App* status = app.add_subcommand("status", "Show whether models and fleets are as wanted, under way or failed");
  status->callback([&] { flags.options.verb = Verb::kStatus; });
  status->add_option("name", flags.options.name, "Name of the model; default: all models and fleets");
  AddNamespace(*status, flags);
  status->add_flag("-A,--all-namespaces", flags.options.all_namespaces, "Show all namespaces");
  status->add_flag("--wait", flags.options.wait, "Wait until no object is under way, or one has failed");
  AddTimeout(*status, flags, "How long --wait waits, for example 90s; default: 10m");
  status->footer(kStatusFooter);
}

void AddReading(CLI::App& app, Flags& flags) {
  CLI::App* get =
      app.add_subcommand("get", "List models or fleets")->callback([&] { flags.options.verb = Verb::kGet; });
  AddKind(*get, flags);
  get->add_option("name", flags.options.name, "Name of one object; default: all of them");
  get->add_flag("-A,--all-namespaces", flags.options.all_namespaces, "Show all namespaces");
  get->add_flag("-w,--watch", flags.options.watch, "Print again after each change, until interrupted");
  AddOutput(*get, flags);
  CLI::App* describe = app.add_subcommand("describe", "Show everything about one object")->callback([&] {
    flags.options.verb = Verb::kDescribe;
  });
  AddKind(*describe, flags);
  describe->add_option("name", flags.options.name, "Name of the object")->required();
  AddOutput(*describe, flags);
  CLI::App* explain = app.add_subcommand("explain", "Say why a version serves or a rollout waits, with the numbers");
  explain->callback([&] { flags.options.verb = Verb::kExplain; });
  explain->add_option("name", flags.options.name, "Name of the model")->required();
  AddNamespace(*explain, flags);
}

void AddWriting(CLI::App& app, Flags& flags) {
  CLI::App* apply = app.add_subcommand("apply", "Create or change the objects of a manifest");
  apply->callback([&] { flags.options.verb = Verb::kApply; });
  AddFile(*apply, flags);
  apply->add_flag("--dry-run", flags.options.dry_run,
                  "Write nothing; show what would change, and which rollouts would begin");
  apply->footer(kApplyFooter);
  CLI::App* diff = app.add_subcommand("diff", "Show what an apply would change");
  diff->callback([&] { flags.options.verb = Verb::kDiff; });
  AddFile(*diff, flags);
  diff->footer(kDiffFooter);
  CLI::App* remove = app.add_subcommand("delete", "Delete a model or a fleet; its manifest file is not touched");
  remove->callback([&] { flags.options.verb = Verb::kDelete; });
  AddKind(*remove, flags);
  remove->add_option("name", flags.options.name, "Name of the object")->required();
}

CLI::App* AddCommand(CLI::App& app, const char* name, const char* about, Flags& flags) {
  CLI::App* command = app.add_subcommand(name, about);
  const std::string verb = name;
  command->callback([&flags, verb] {
    flags.options.verb = Verb::kCommand;
    flags.options.command.verb = verb;
  });
  command->add_option("name", flags.options.name, "Name of the model")->required();
  AddNamespace(*command, flags);
  AddTimeout(*command, flags, "How long to wait for the controller, for example 30s; default: 10s");
  command->add_option("--id", flags.options.command.id,
                      "Identifies the command: if you repeat it with the same id, it is not executed twice");
  return command;
}

void AddCommands(CLI::App& app, Flags& flags) {
  const std::pair<const char*, const char*> commands[] = {
      {"promote", "Go to the next step of the rollout now"},
      {"abort", "End the rollout and send all traffic back to the stable version"},
      {"pause", "Keep the current weight until resume"},
      {"resume", "Continue after a pause"},
      {"retry", "Try a failed version again"}};
  for (const auto& [name, about] : commands) {
    AddCommand(app, name, about, flags);
  }
  CLI::App* undo = AddCommand(
      app, "undo", "Send all traffic back to the version that served before; at once while it is kept loaded", flags);
  undo->add_option("--to", flags.options.command.to, "Version to return to; default: the one that served before")
      ->check(CLI::PositiveNumber);
  undo->footer(kUndoFooter);
  CLI::App* validate = AddCommand(
      app, "validate", "Run the golden set of the version that serves on its nodes now, and show the results", flags);
  validate->get_option("--timeout")->description("How long to wait for the nodes, for example 2h; default: 10m");
  validate->callback([&flags] {
    flags.options.verb = Verb::kValidate;
    flags.options.command.verb = "validate";
  });
  validate->footer(kValidateFooter);
}

// A separate program implements these verbs: RunCompanion starts it before this parser gets the command line. The verbs
// are added here only for the help text, and to report an option in front of the verb.
void AddCompanions(CLI::App& app) {
  struct Companion {
    std::string name;
    const char* about;
    const char* example;
  };
  const Companion verbs[] = {
      {"model", "Show a SavedModel, check whether it runs on Longshore, and run it", "model show DIR"},
      {"golden", "Make, show and check golden sets: requests with known answers", "golden show FILE"}};
  for (const Companion& verb : verbs) {
    app.add_subcommand(verb.name, verb.about)->preparse_callback([verb](size_t) {
      throw CLI::ValidationError(fmt::format(
          "{} must be the first argument, for example longshore {}: it uses neither a cluster nor a controller",
          verb.name, verb.example));
    });
  }
}

void AddCheckVersion(CLI::App& app, Flags& flags) {
  CheckVersionOptions& options = flags.options.check_version;
  CLI::App* check = app.add_subcommand("check-version", "Say whether a version would pass its rehearsal, offline");
  check->callback([&] { flags.options.verb = Verb::kCheckVersion; });
  check->add_option("dir", options.dir, "Folder of the version, or folder of a model (its newest version is used)")
      ->required();
  check->add_option("--model", options.model, "Take the rules from this Model");
  check->add_option("-f,--file", flags.options.file,
                    "Take the rules from the Model in this manifest; - for standard input");
  AddNamespace(*check, flags);
  check->add_option("--golden", options.golden, "The golden set; default: that of the Model");
  check->add_option("--stable", options.stable,
                    "Folder of the version whose requests must be accepted; default: the Model's version that serves");
  check->add_option("--metric", options.metric, "top1 or tolerance; default: that of the Model, or top1")
      ->check(CLI::IsMember({"top1", "tolerance"}));
  check->add_option("--minimum", options.minimum, "The share of records that must pass; default: the Model's, or 0.95")
      ->check(CLI::Range(0.0, 1.0));
  check
      ->add_option("--relative-tolerance", options.relative_tolerance,
                   "How much an answer may differ by the metric tolerance; default: the Model's, or 0.001")
      ->check(CLI::Range(0.0, 1.0));
  check->add_option("--rows", options.rows, "How many failing records to print; default: 5")
      ->check(CLI::Range(0, 100000));
  check->add_flag("--json", options.json, "Print JSON");
  check->footer(kCheckVersionFooter);
}

void AddProfile(CLI::App& app, Flags& flags) {
  ProfileOptions& options = flags.options.profile;
  CLI::App* profile =
      app.add_subcommand("profile", "Record how long each op takes in the next runs of a node, for a trace viewer");
  profile->callback([&] { flags.options.verb = Verb::kProfile; });
  profile->add_option("address", options.address, "host:port of the node's administration listener")->required();
  profile->add_option("--model", options.model, "Record only this model; default: all models");
  profile->add_option("--runs", options.runs, "How many runs to record; default: 20")->check(CLI::Range(1, 1000));
  profile->add_option("--seconds", options.seconds, "How long to wait for these runs; default: 30")
      ->check(CLI::Range(1, 300));
  profile->add_option("--out", options.out, "File for the trace; - for standard output; default: trace.json");
  profile->add_option("--token-file", options.token_file,
                      "File with the bearer token, for a node with --auth_tokens_file");
  profile->footer(kProfileFooter);
}

CLI::App* AddImport(CLI::App& imports, const char* name, const char* about, Verb verb, Flags& flags) {
  CLI::App* import = imports.add_subcommand(name, about)->callback([&flags, verb] { flags.options.verb = verb; });
  import->add_option("files", flags.options.files, "Files to convert; - for standard input")->required();
  import->add_option("-n,--namespace", flags.options.namespace_, "Namespace for objects without one; default: none");
  return import;
}

void AddImports(CLI::App& app, Flags& flags) {
  CLI::App* imports =
      app.add_subcommand("import", "Convert configurations of other systems to manifests on standard output");
  imports->require_subcommand(1);
  imports->footer(kImportFooter);
  CLI::App* tfserving =
      AddImport(*imports, "tfserving", "TensorFlow Serving's model config files", Verb::kImportTfServing, flags);
  tfserving->add_option("--fleet", flags.options.fleet, "Name of the fleet; default: main");
  tfserving->add_option("--batching_parameters_file", flags.options.batching_file,
                        "The file that tensorflow_model_server gets with this flag");
  tfserving->add_option("--monitoring_config_file", flags.options.monitoring_file,
                        "The file that tensorflow_model_server gets with this flag");
  CLI::App* kserve =
      AddImport(*imports, "kserve", "InferenceServices of TensorFlow models, v1beta1", Verb::kImportKserve, flags);
  kserve->add_option(
      "--fleet", flags.options.fleet,
      "One fleet of this name for each namespace; default: one for each InferenceService, with its name");
}

void AddInstallation(CLI::App& app, Flags& flags) {
  CLI::App* ca = app.add_subcommand("ca", "Manage the certificate authority of an installation in a cluster");
  ca->require_subcommand(1);
  CLI::App* ensure = ca->add_subcommand(
      "ensure", "Create the certificate authority if its Secret is empty; the chart's Job does this");
  ensure->callback([&] { flags.options.verb = Verb::kEnsureCa; });
  ensure->add_option("--secret", flags.options.secret, "Name of the Secret")->required();
  AddNamespace(*ensure, flags);
}

// Returns a message about the first word that is not a command, with a list of the commands; "" if all are commands.
std::string UnknownCommand(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string_view before = argv[i - 1];
    if (word.starts_with("-") || before == "--manifests" || before == "--kubeconfig" || before == "--context") continue;
    if (std::find(names.begin(), names.end(), word) != names.end()) return "";
    return fmt::format("\"{}\" is not a command; use one of: {}", word, fmt::join(names, ", "));
  }
  return "";
}

Result<std::chrono::milliseconds> TimeoutOf(const Flags& flags) {
  if (flags.timeout.empty()) {
    switch (flags.options.verb) {
      case Verb::kStatus: return kStatusTimeout;
      case Verb::kValidate: return kValidateTimeout;
      default: return kCommandTimeout;
    }
  }
  if (flags.options.verb == Verb::kStatus && !flags.options.wait)
    return InvalidArgument("--timeout has no effect without --wait");
  auto timeout = api::ParseDuration(flags.timeout);
  if (!timeout) return Prefixed(timeout.error(), "--timeout");
  return std::chrono::ceil<std::chrono::milliseconds>(*timeout);
}

Result<Options> Resolve(Flags flags) {
  Options& options = flags.options;
  options.kind = api::kModelKind;
  if (!flags.kind.empty()) {
    const auto kind = Kinds().find(CLI::detail::to_lower(flags.kind));
    if (kind == Kinds().end()) return InvalidArgument("\"{}\" is not a kind; use models or fleets", flags.kind);
    options.kind = kind->second;
  }
  const std::string& id = options.command.id;
  if (!id.empty() && !api::Matches(id, api::kCommandId))
    return InvalidArgument("--id: \"{}\" is not {}", id, api::kCommandId.what);
  const bool names_a_cluster = !options.kubeconfig.empty() || !options.context.empty();
  if (flags.has_manifests_flag && names_a_cluster) {
    return InvalidArgument(
        "--manifests names a directory on this host, --kubeconfig and --context name a cluster: use only one of them");
  }
  if (options.verb == Verb::kEnsureCa && flags.has_manifests_flag)
    return InvalidArgument("ca ensure works on a cluster only: omit --manifests");
  const CheckVersionOptions& check = options.check_version;
  if (options.verb == Verb::kCheckVersion && check.model.empty() && options.file.empty() && check.golden.empty())
    return InvalidArgument("check-version needs rules: use --model NAME, -f FILE or --golden FILE");
  if (names_a_cluster || options.verb == Verb::kEnsureCa) options.manifests.clear();
  options.output = flags.output == "json" ? Output::kJson : flags.output == "yaml" ? Output::kYaml : Output::kText;
  if (options.watch && options.output != Output::kText)
    return InvalidArgument("--watch prints text, not {}", flags.output);
  ASSIGN_OR_RETURN(options.timeout, TimeoutOf(flags));
  return options;
}

}  // namespace

int ExitCodeOf(const Error& error, Verb verb) {
  switch (error.code) {
    case Code::kOk: return kExitOk;
    case Code::kInvalidArgument: return kExitUsage;
    case Code::kNotFound: return kExitNotFound;
    case Code::kDeadlineExceeded: return kExitTimeout;
    default: return verb == Verb::kDiff ? kExitNoDiff : kExitFailed;
  }
}

Result<std::optional<Options>> ParseOptions(int argc, const char* const* argv) {
  Flags flags;
  CLI::App app(kAbout, "longshore");
  app.footer(kFooter);
  app.set_version_flag("--version", "longshore " LONGSHORE_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--manifests", flags.options.manifests, "The directory of manifests of a controller on this host")
      ->envname("LONGSHORE_MANIFESTS");
  app.add_option("--kubeconfig", flags.options.kubeconfig, "File with the address of a cluster and credentials for it");
  app.add_option("--context", flags.options.context, "Context of the kubeconfig; default: its current one");
  AddStatus(app, flags);
  AddReading(app, flags);
  AddWriting(app, flags);
  AddCommands(app, flags);
  AddImports(app, flags);
  AddCompanions(app);
  AddCheckVersion(app, flags);
  AddProfile(app, flags);
  AddInstallation(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const std::string unknown = UnknownCommand(app, argc, argv);
    if (error.get_exit_code() != 0) {
      return InvalidArgument("{} (see longshore --help)", unknown.empty() ? error.what() : unknown);
    }
    app.exit(error);
    return std::nullopt;
  }
  flags.has_manifests_flag = std::any_of(argv, argv + argc, [](std::string_view word) {
    return word == "--manifests" || word.starts_with("--manifests=");
  });
  return Resolve(std::move(flags));
}

}  // namespace longshore::cli
