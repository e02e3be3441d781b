#include "serving-node/inspect/options.h"

#include <CLI/CLI.hpp>
#include <set>

#include "common/command_line/mistakes.h"
#include "serving-node/graph/passes/passes.h"
#include "serving-node/inspect/help.h"
#include "serving-node/inspect/verbs.h"

namespace longshore::inspect {
namespace {

constexpr int kRepeatMax = 1'000'000;
constexpr int kThreadsMax = 256;
constexpr int kBatchMax = 1'000'000;

CLI::App* AddVerb(CLI::App& app, const char* name, const char* about, Verb verb, Options& options) {
  CLI::App* added = app.add_subcommand(name, about)->callback([&options, verb] { options.verb = verb; });
  added->add_option("dir", options.dir, "Folder of a version, or folder of a model (its newest version is used)")
      ->required();
  added->add_option("--tags", options.tags, "The tags of the graph, for example serve or serve,gpu")
      ->delimiter(',')
      ->allow_extra_args(false);
  return added;
}

void AddShow(CLI::App& app, Options& options) {
  CLI::App* show = AddVerb(app, "show", "Show the model's signatures and sizes", Verb::kShow, options);
  show->add_flag("--json", options.json, "Print JSON");
  show->footer(kShowFooter);
}

void AddCheck(CLI::App& app, Options& options) {
  CLI::App* check = AddVerb(app, "check", "Check whether the model loads, and measure time and memory of a run",
                            Verb::kCheck, options);
  check->add_flag("--ops", options.ops, "List every op with the number of its nodes");
  check->footer(kCheckFooter);
}

void AddRequest(CLI::App& verb, Options& options) {
  verb.add_option("--signature", options.signature, "The signature [serving_default]");
  CLI::Option* each = verb.add_option("--input", options.inputs, "An input as NAME=FILE.npy; may be repeated");
  CLI::Option* all = verb.add_option("--inputs", options.inputs_file,
                                     "A file with all inputs as the JSON of a REST prediction; - reads standard input");
  each->allow_extra_args(false);
  all->excludes(each);
  verb.add_option("--output", options.outputs, "Compute only this output; may be repeated")->allow_extra_args(false);
  verb.add_option("--without", options.passes_off, "Leave out this pass over the graph; may be repeated")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(graph::passes::Names()));
  verb.add_flag("--deterministic", options.deterministic,
                "Run rows one by one, so that the result of a row has the same bits in batches of every size");
}

void AddExplain(CLI::App& app, Options& options) {
  CLI::App* explain =
      AddVerb(app, "explain", "Show how the engine optimises and runs the model's graph", Verb::kExplain, options);
  AddRequest(*explain, options);
  explain->add_option("--batch", options.batch, "Rows of the request if no inputs are given [1]")
      ->check(CLI::Range(1, kBatchMax));
  explain->add_flag("--json", options.json, "Print JSON");
  explain->footer(kExplainFooter);
}

void AddRun(CLI::App& app, Options& options) {
  CLI::App* run = AddVerb(app, "run", "Run a signature", Verb::kRun, options);
  AddRequest(*run, options);
  run->add_option("--out", options.out, "Write each output to DIR/NAME.npy instead of JSON");
  run->add_option("--repeat", options.repeat, "The number of runs; prints timings if there are several [1]")
      ->check(CLI::Range(1, kRepeatMax));
  run->add_option("--threads", options.threads, "Threads of a run [1]; the result does not depend on it")
      ->check(CLI::Range(1, kThreadsMax));
  run->add_flag("--profile", options.profile, "Print the time of each op and of the slowest nodes");
  run->footer(kRunFooter);
}

void AddOps(CLI::App& app, Options& options) {
  CLI::App* ops =
      app.add_subcommand("ops", "List the supported ops, their types, and which have a fast implementation");
  ops->callback([&options] { options.verb = Verb::kOps; });
  ops->add_flag("--markdown", options.markdown, "Print the list as Markdown, as in docs/ops.md");
}

Status CheckInputs(const Options& options) {
  std::set<std::string> names;
  for (const auto& input : options.inputs) {
    const size_t at = input.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == input.size())
      return InvalidArgument("--input {}: must be NAME=FILE.npy", input);
    if (!names.insert(input.substr(0, at)).second)
      return InvalidArgument("--input {} is given twice", input.substr(0, at));
  }
  return {};
}

}  // namespace

Result<std::optional<Options>> ParseOptions(int argc, const char* const* argv) {
  Options options;
  CLI::App app(kAbout, "longshore model");
  app.footer(kFooter);
  app.set_version_flag("--version", "longshore-model " LONGSHORE_VERSION);
  app.require_subcommand(1);
  AddShow(app, options);
  AddCheck(app, options);
  AddExplain(app, options);
  AddRun(app, options);
  AddOps(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);
      return std::nullopt;
    }
    const std::string unknown = argc > 1 ? UnknownVerb(app, "model", argv[1]) : "";
    const auto verbs = app.get_subcommands();
    return InvalidArgument("{} (see longshore model {}--help)",
                           unknown.empty() ? command_line::Explain(error, app) : unknown,
                           verbs.empty() ? "" : verbs.front()->get_name() + " ");
  }
  RETURN_IF_ERROR(CheckInputs(options));
  return options;
}

}  // namespace longshore::inspect
