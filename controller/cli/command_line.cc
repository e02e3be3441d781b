#include "controller/cli/command_line.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "controller/cli/help.h"
#include "controller/cli/input/mistakes.h"

namespace longshore::cli {
namespace {

void AddTargets(CLI::App& verb, Flags& flags, const char* about) {
  verb.add_option("objects", flags.words, about);
  verb.add_option("-l,--selector", flags.selector, "Only objects with these labels, for example app=x,tier!=test");
}

CLI::Option* AddFiles(CLI::App& verb, Flags& flags) {
  verb.add_flag("-R,--recursive", flags.options.recursive, "Read the subfolders of folders too");
  return verb
      .add_option("-f,--filename,--file", flags.options.files,
                  "YAML file, or folder with such files; - for standard input; may be repeated")
      ->allow_extra_args(false);
}

void AddTimeout(CLI::App& verb, Flags& flags, const std::string& about) {
  verb.add_option("--timeout", flags.timeout, about);
}

CLI::Validator VersionNumber() {
  const auto check = [](const std::string& word) -> std::string {
    int64_t version = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), version);
    if (error == std::errc() && end == word.data() + word.size() && version > 0) return "";
    return input::NotAVersion(word);
  };
  return {check, "VERSION"};
}

void AddStatus(CLI::App& app, Flags& flags) {
  CLI::App* status = app.add_subcommand("status", "Show whether models and fleets are as wanted, under way or failed");
  status->callback([&] { flags.options.verb = Verb::kStatus; });
  status->add_option("name", flags.words, "NAME... of models, or KIND/NAME...; default: all models and fleets");
  status->add_option("-l,--selector", flags.selector, "Only objects with these labels, for example app=x,tier!=test");
  status->add_flag("--wait", flags.options.wait, "Wait until no object is under way, or one has failed");
  AddTimeout(*status, flags, "How long --wait waits, for example 90s; default: 10m");
  status->footer(kStatusFooter);
}

void AddGet(CLI::App& app, Flags& flags) {
  CLI::App* get =
      app.add_subcommand("get", "List models and fleets")->callback([&] { flags.options.verb = Verb::kGet; });
  AddTargets(*get, flags, "KIND, KIND NAME... or KIND/NAME...; default: all models and fleets");
  get->add_option("-o,--output", flags.output, "text, wide, name, json, yaml or jsonpath=TEMPLATE");
  get->add_flag("-w,--watch", flags.options.watch,
                "Print changes until interrupted: on a terminal the whole table again, else the changed rows");
  get->add_flag("--no-headers", flags.options.no_headers, "Print tables without their first line");
  get->add_flag("--ignore-not-found", flags.options.ignore_not_found, "A missing object is not an error");
  get->footer(kGetFooter);
}

void AddReading(CLI::App& app, Flags& flags) {
  AddGet(app, flags);
  CLI::App* describe = app.add_subcommand("describe", "Show everything about objects")->callback([&] {
    flags.options.verb = Verb::kDescribe;
  });
  AddTargets(*describe, flags, "KIND, KIND NAME... or KIND/NAME...");
  describe->add_option("-o,--output", flags.output, "text, json or yaml")
      ->check(CLI::IsMember({"text", "json", "yaml"}));
  describe->footer(kDescribeFooter);
  CLI::App* events = app.add_subcommand("events", "List what happened to models, the newest event last");
  events->callback([&] { flags.options.verb = Verb::kEvents; });
  events->add_option("name", flags.options.name, "Name of the model; default: all models");
  events->add_option("-l,--selector", flags.selector, "Only models with these labels, for example app=x,tier!=test");
  events->footer(kEventsFooter);
  CLI::App* explain = app.add_subcommand("explain", "Say why a version serves or a rollout waits, with the numbers");
  explain->callback([&] { flags.options.verb = Verb::kExplain; });
  explain->add_option("name", flags.options.name, "Name of the model")->required();
  explain->footer(kExplainFooter);
  CLI::App* rollout =
      app.add_subcommand("rollout", "Show a rollout: its steps, both versions, the verdict, the events");
  rollout->callback([&] { flags.options.verb = Verb::kRollout; });
  rollout->add_option("name", flags.options.name, "Name of the model")->required();
  rollout->add_flag("-w,--watch", flags.options.watch, "Show it again while it changes, until interrupted");
  rollout->footer(kRolloutFooter);
}

void AddDoctor(CLI::App& app, Flags& flags) {
  CLI::App* doctor = app.add_subcommand("doctor", "Check the installation, and say what to do about each problem");
  doctor->callback([&] { flags.options.verb = Verb::kDoctor; });
  doctor->add_option("-o,--output", flags.output, "text or json")->check(CLI::IsMember({"text", "json"}));
  AddTimeout(*doctor, flags, "How long each check may wait for an answer, for example 20s; default: 5s");
  doctor->footer(kDoctorFooter);
}

void AddSet(CLI::App& app, Flags& flags) {
  CLI::App* set = app.add_subcommand("set", "Change one field of a model");
  set->require_subcommand(1);
  CLI::App* version = set->add_subcommand("version", "Set the version that a model should serve");
  version->callback([&] { flags.options.verb = Verb::kSetVersion; });
  version->add_option("name", flags.options.name, "Name of the model")->required();
  version->add_option("version", flags.options.version, "The version")->required()->check(VersionNumber());
  version->footer(kSetVersionFooter);
}

void AddLint(CLI::App& app, Flags& flags) {
  CLI::App* lint = app.add_subcommand("lint", "Check manifests: their fields, source folders and versions");
  lint->callback([&] { flags.options.verb = Verb::kLint; });
  AddFiles(*lint, flags)->required();
  lint->add_flag("--skip-sources", flags.options.skip_sources, "Do not look for folders and versions on this host");
  lint->footer(kLintFooter);
}

void AddDelete(CLI::App& app, Flags& flags) {
  CLI::App* remove = app.add_subcommand("delete", "Delete models and fleets; no manifest file is touched");
  remove->callback([&] { flags.options.verb = Verb::kDelete; });
  AddTargets(*remove, flags, "KIND NAME..., KIND/NAME..., or KIND with -l or --all");
  AddFiles(*remove, flags);
  remove->add_flag("--all", flags.options.all, "Delete all objects of the kinds in the namespace");
  remove->add_flag("--ignore-not-found", flags.options.ignore_not_found, "A missing object is not an error");
  remove->add_flag("-y,--yes", flags.options.yes, "Do not ask before a fleet is deleted that serves models");
  remove->footer(kDeleteFooter);
}

void AddWriting(CLI::App& app, Flags& flags) {
  CLI::App* apply = app.add_subcommand("apply", "Create or change the objects of manifests");
  apply->callback([&] { flags.options.verb = Verb::kApply; });
  AddFiles(*apply, flags)->required();
  apply->add_flag("--dry-run", flags.options.dry_run,
                  "Write nothing; show what would change, and which rollouts would begin");
  apply->footer(kApplyFooter);
  CLI::App* diff = app.add_subcommand("diff", "Show what an apply would change");
  diff->callback([&] { flags.options.verb = Verb::kDiff; });
  AddFiles(*diff, flags)->required();
  diff->footer(kDiffFooter);
  AddLint(app, flags);
  AddSet(app, flags);
  AddDelete(app, flags);
}

CLI::App* AddCommand(CLI::App& app, const char* name, const char* about, Flags& flags) {
  CLI::App* command = app.add_subcommand(name, about);
  const std::string verb = name;
  command->callback([&flags, verb] {
    flags.options.verb = Verb::kCommand;
    flags.options.command.verb = verb;
  });
  command->add_option("name", flags.options.name, "Name of the model")->required();
  AddTimeout(*command, flags, "How long to wait for the controller, for example 30s; default: 10s");
  command->add_option("--id", flags.options.command.id,
                      "Identifies the command: if you repeat it with the same id, it is not executed twice");
  command->footer(kCommandFooter);
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
      ->check(VersionNumber());
  undo->add_flag("-y,--yes", flags.options.yes, "Do not ask if a newer version has been rolled back already");
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
  AddFiles(*check, flags)->description("Take the rules from the Model in this manifest; - for standard input");
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

void AddConsole(CLI::App& app, Flags& flags) {
  CLI::App* console =
      app.add_subcommand("console", "Show the address of the web console; on a cluster, open a way to it");
  console->callback([&] { flags.options.verb = Verb::kConsole; });
  console
      ->add_option("--port", flags.options.console_port,
                   "On a cluster: the port of this host that leads to the console; default: 8620")
      ->check(CLI::Range(1, 65535));
  console->footer(kConsoleFooter);
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

void AddLogs(CLI::App& app, Flags& flags) {
  LogsOptions& options = flags.options.logs;
  CLI::App* logs = app.add_subcommand("logs", "Print the log of a node, of all nodes of a fleet, or of the controller");
  logs->callback([&] { flags.options.verb = Verb::kLogs; });
  logs->add_option("node", options.of, "NODE, fleet/NAME or controller")->required();
  logs->add_flag("-f,--follow", options.wanted.follow, "Go on with new lines until interrupted");
  logs->add_flag("-p,--previous", options.wanted.previous, "The log of the process before the last restart");
  logs->add_option("--tail", flags.tail,
                   "Number of the last lines; -1 for all; default: all, and 10 of each node of a fleet")
      ->check(CLI::Range(int64_t{-1}, std::numeric_limits<int64_t>::max()));
  logs->add_option("--since", flags.since, "Only lines that are not older, for example 90s, 5m or 2h");
  logs->footer(kLogsFooter);
}

CLI::App* AddImport(CLI::App& imports, const char* name, const char* about, Verb verb, Flags& flags) {
  CLI::App* import = imports.add_subcommand(name, about)->callback([&flags, verb] { flags.options.verb = verb; });
  import->add_option("files", flags.options.files, "Files to convert; - for standard input")->required();
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
  tfserving->footer(kImportTfServingFooter);
  CLI::App* kserve =
      AddImport(*imports, "kserve", "InferenceServices of TensorFlow models, v1beta1", Verb::kImportKserve, flags);
  kserve->add_option(
      "--fleet", flags.options.fleet,
      "One fleet of this name for each namespace; default: one for each InferenceService, with its name");
  kserve->footer(kImportKserveFooter);
}

void AddCompletion(CLI::App& app, Flags& flags) {
  CLI::App* completion = app.add_subcommand("completion", "Print a script for a shell that completes command lines");
  completion->callback([&] { flags.options.verb = Verb::kCompletion; });
  completion->add_option("shell", flags.options.name, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->footer(kCompletionFooter);
}

void AddInstallation(CLI::App& app, Flags& flags) {
  CLI::App* ca = app.add_subcommand("ca", "Manage the certificate authority of an installation in a cluster");
  ca->require_subcommand(1);
  ca->group("");  // Not in the list of commands: only the chart's Job uses it.
  CLI::App* ensure = ca->add_subcommand(
      "ensure", "Create the certificate authority if its Secret is empty; the chart's Job does this");
  ensure->callback([&] { flags.options.verb = Verb::kEnsureCa; });
  ensure->add_option("--secret", flags.options.secret, "Name of the Secret")->required();
  ensure->footer(kEnsureCaFooter);
}

}  // namespace

void AddCommandLine(CLI::App& app, Flags& flags) {
  app.footer(kFooter);
  app.set_version_flag("--version", "longshore " LONGSHORE_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--manifests", flags.options.manifests, "The directory of manifests of a controller on this host")
      ->envname("LONGSHORE_MANIFESTS");
  app.add_option("--kubeconfig", flags.options.kubeconfig, "File with the address of a cluster and credentials for it");
  app.add_option("--context", flags.options.context, "Context of the kubeconfig; default: its current one");
  app.add_option("-n,--namespace", flags.options.namespace_, "Namespace of the objects; default: that of the context");
  app.add_flag("-A,--all-namespaces", flags.options.all_namespaces,
               "All namespaces: for get, describe, status, events, delete");
  // As in kubectl, so that an alias with a namespace may be followed by another one.
  for (const char* flag : {"--manifests", "--kubeconfig", "--context", "--namespace"})
    app.get_option(flag)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  AddStatus(app, flags);
  AddReading(app, flags);
  AddDoctor(app, flags);
  AddWriting(app, flags);
  AddCommands(app, flags);
  AddImports(app, flags);
  AddCompanions(app);
  AddCheckVersion(app, flags);
  AddConsole(app, flags);
  AddProfile(app, flags);
  AddLogs(app, flags);
  AddInstallation(app, flags);
  AddCompletion(app, flags);
}

}  // namespace longshore::cli
