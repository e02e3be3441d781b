#include "serving-node/inspect/options.h"

#include <CLI/CLI.hpp>
#include <set>

#include "serving-node/graph/passes/passes.h"
#include "serving-node/inspect/help.h"

namespace longshore::inspect {
namespace {

constexpr int kRepeatMax = 1'000'000;
constexpr int kThreadsMax = 256;
constexpr int kBatchMax = 1'000'000;

CLI::App* AddVerb(CLI::App& app, const char* name, const char* about, Verb verb, Options& options) {
  CLI::App* added = app.add_subcommand(name, about)->callback([&options, verb] { options.verb = verb; });
  added->add_option("dir", options.dir, "A version, or a model of which the newest version is taken")->required();
  added->add_option("--tags", options.tags, "Of the graph, as in serve or serve,gpu")
      ->delimiter(',')
      ->allow_extra_args(false);
  return added;
}

void AddShow(CLI::App& app, Options& options) {
  CLI::App* show = AddVerb(app, "show", "Its signatures, and how much there is of everything", Verb::kShow, options);
  show->add_flag("--json", options.json, "As JSON");
  show->footer(kShowFooter);
}

void AddCheck(CLI::App& app, Options& options) {
  CLI::App* check = AddVerb(app, "check", "Whether it loads here, and what a run would take", Verb::kCheck, options);
  check->add_flag("--ops", options.ops, "List every op with the number of its nodes");
  check->footer(kCheckFooter);
}

void AddRequest(CLI::App& verb, Options& options) {
  verb.add_option("--signature", options.signature, "Which one; default: serving_default");
  CLI::Option* each = verb.add_option("--input", options.inputs, "An input, as NAME=FILE.npy; once for each");
  CLI::Option* all = verb.add_option("--inputs", options.inputs_file,
                                     "All inputs as the JSON of a REST prediction; - reads standard input");
  each->allow_extra_args(false);
  all->excludes(each);
  verb.add_option("--output", options.outputs, "Only this output; may be said again")->allow_extra_args(false);
  verb.add_option("--without", options.passes_off, "Leave out a pass over the graph; may be said again")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(graph::passes::Names()));
  verb.add_flag("--deterministic", options.deterministic,
                "The same bits of a row in a batch of any size, as where a Model asks for it: rows are run one by one");
}

void AddExplain(CLI::App& app, Options& options) {
  CLI::App* explain =
      AddVerb(app, "explain", "What becomes of its graph, and what runs where", Verb::kExplain, options);
  AddRequest(*explain, options);
  explain->add_option("--batch", options.batch, "Rows, where no inputs are given [1]")->check(CLI::Range(1, kBatchMax));
  explain->add_flag("--json", options.json, "As JSON");
  explain->footer(kExplainFooter);
}

void AddRun(CLI::App& app, Options& options) {
  CLI::App* run = AddVerb(app, "run", "Run a signature", Verb::kRun, options);
  AddRequest(*run, options);
  run->add_option("--out", options.out, "Write each output to DIR/NAME.npy instead");
  run->add_option("--repeat", options.repeat, "Run so often, and say how long it took")
      ->check(CLI::Range(1, kRepeatMax));
  run->add_option("--threads", options.threads, "Threads of the run [1]; its answer is the same with any number")
      ->check(CLI::Range(1, kThreadsMax));
  run->add_flag("--profile", options.profile, "Say where the time goes: ops and nodes");
  run->footer(kRunFooter);
}

void AddOps(CLI::App& app, Options& options) {
  CLI::App* ops = app.add_subcommand("ops", "Which ops a model may have, of which types, and which are fast");
  ops->callback([&options] { options.verb = Verb::kOps; });
  ops->add_flag("--markdown", options.markdown, "As a page of the documentation");
}

Status CheckInputs(const Options& options) {
  std::set<std::string> names;
  for (const auto& input : options.inputs) {
    const size_t at = input.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == input.size())
      return InvalidArgument("--input {}: say NAME=FILE.npy", input);
    if (!names.insert(input.substr(0, at)).second)
      return InvalidArgument("--input {} is said twice", input.substr(0, at));
  }
  return {};
}

}  // namespace

Result<std::optional<Options>> ParseOptions(int argc, const char* const* argv) {
  Options options;
  CLI::App app(kAbout, "longshore model");
  app.footer(kFooter);
  app.set_version_flag("--version", "longshore-model 0.1.0");
  app.require_subcommand(1);
  AddShow(app, options);
  AddCheck(app, options);
  AddExplain(app, options);
  AddRun(app, options);
  AddOps(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return InvalidArgument("{} (see longshore model --help)", error.what());
    app.exit(error);
    return std::nullopt;
  }
  RETURN_IF_ERROR(CheckInputs(options));
  return options;
}

}  // namespace longshore::inspect
