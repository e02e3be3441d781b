#include "serving-node/golden_files/options.h"

#include <CLI/CLI.hpp>

#include "common/command_line/mistakes.h"
#include "serving-node/golden_files/help.h"
#include "serving-node/golden_set/records.h"
#include "serving-node/inspect/verbs.h"

namespace longshore::golden_files {
namespace {

constexpr int64_t kBatchMax = 1'000'000;
constexpr size_t kRowsShownMax = 100'000;

struct Flags {
  Options options;
  std::string separator = ",";
  std::string golden, metric = "top1";
  double minimum = 0.95, tolerance = 1e-3;
  bool non_finite_reject = true, deterministic = false;
};

CLI::App* AddVerb(CLI::App& app, const char* name, const char* about, Verb verb, Flags& flags) {
  return app.add_subcommand(name, about)->callback([&flags, verb] { flags.options.verb = verb; });
}

void AddOut(CLI::App& verb, Flags& flags) {
  verb.add_option("--out", flags.options.out, "The golden set to write")->required();
}

void AddModel(CLI::App& verb, Flags& flags) {
  verb.add_option("--model", flags.options.dir,
                  "Folder of a version, or folder of a model (its newest version is used)")
      ->required();
}

void AddOutputs(CLI::App& verb, Flags& flags) {
  verb.add_option("--output", flags.options.outputs, "Record only this output; may be repeated")
      ->allow_extra_args(false);
}

void AddFromLog(CLI::App& app, Flags& flags) {
  LogOptions& log = flags.options.log;
  CLI::App* verb = AddVerb(app, "from-log", "Draw requests and their answers from request logs", Verb::kFromLog, flags);
  verb->add_option("files", log.files, "Request logs")->required();
  AddOut(*verb, flags);
  verb->add_option("--sample", log.sample, "Draw this many records at random; default: all")
      ->check(CLI::Range(size_t{1}, golden_set::kRecordsMax));
  verb->add_option("--seed", log.seed, "Another seed draws other records; default: 0");
  verb->add_flag("--deduplicate", log.deduplicate, "Take each request once");
  verb->add_option("--served-name", log.served_name, "Take only the requests to this model");
  verb->add_option("--signature", flags.options.signature, "Take only the requests to this signature");
  verb->footer(kFromLogFooter);
}

void AddFromCsv(CLI::App& app, Flags& flags) {
  CsvOptions& csv = flags.options.csv;
  CLI::App* verb = AddVerb(app, "from-csv", "Make a record of each row of a table", Verb::kFromCsv, flags);
  verb->add_option("file", csv.file, "A CSV file in UTF-8")->required();
  AddModel(*verb, flags);
  AddOut(*verb, flags);
  verb->add_option("--signature", flags.options.signature, "The signature [serving_default]");
  verb->add_option("--column", csv.columns, "The columns of an input, as INPUT=COLUMN,COLUMN,...; may be repeated")
      ->allow_extra_args(false);
  CLI::Option* label = verb->add_option(
      "--label", csv.labels, "The column with the known answer, as COLUMN or OUTPUT=COLUMN,...; may be repeated");
  label->allow_extra_args(false);
  verb->add_option(
          "--classes", csv.classes,
          "The names of the classes in the order of the scores, as NAME,NAME,..., or a file with one name per line")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->needs(label);
  verb->add_option("--separator", flags.separator, "The character between fields, or tab [,]");
  AddOutputs(*verb, flags);
  verb->get_option("--output")->excludes(label);
  verb->footer(kFromCsvFooter);
}

void AddFromModel(CLI::App& app, Flags& flags) {
  ModelInputs& inputs = flags.options.inputs;
  CLI::App* verb =
      AddVerb(app, "from-model", "Record the answers of a version to given inputs", Verb::kFromModel, flags);
  verb->add_option("dir", flags.options.dir, "Folder of a version, or folder of a model (its newest version is used)")
      ->required();
  AddOut(*verb, flags);
  CLI::Option* file =
      verb->add_option("--inputs", inputs.file,
                       "A .npz, .npy or .json file, or a TFRecord file of requests; - reads JSON from standard input");
  verb->add_option("--input", inputs.files, "An input as NAME=FILE.npy; may be repeated")
      ->allow_extra_args(false)
      ->excludes(file);
  verb->add_option("--signature", flags.options.signature, "The signature [serving_default]");
  verb->add_option("--batch", inputs.batch, "Rows per record [1]")->check(CLI::Range(int64_t{1}, kBatchMax));
  AddOutputs(*verb, flags);
  verb->footer(kFromModelFooter);
}

void AddShowAndCheck(CLI::App& app, Flags& flags) {
  CLI::App* show = AddVerb(app, "show", "Show what a golden set contains", Verb::kShow, flags);
  show->add_option("file", flags.options.file, "A golden set")->required();
  show->add_option("--records", flags.options.records, "How many records to print [3]")
      ->check(CLI::Range(size_t{0}, kRowsShownMax));
  show->add_flag("--json", flags.options.json, "Print JSON, without records");
  show->footer(kShowFooter);
  CLI::App* check = AddVerb(app, "check", "Check that each record can be read and fits a model", Verb::kCheck, flags);
  check->add_option("file", flags.options.file, "A golden set")->required();
  AddModel(*check, flags);
  check->footer(kCheckFooter);
}

void AddGolden(CLI::App& app, Flags& flags) {
  CLI::App* golden = app.add_subcommand("golden", kAbout);
  golden->require_subcommand(1);
  golden->footer(kFooter);
  AddFromLog(*golden, flags);
  AddFromCsv(*golden, flags);
  AddFromModel(*golden, flags);
  AddShowAndCheck(*golden, flags);
}

// longshore reads the rules of a Model, and passes them on as these flags.
void AddCheckVersion(CLI::App& app, Flags& flags) {
  VersionOptions& version = flags.options.version;
  CLI::App* verb = AddVerb(app, "check-version", kCheckVersionAbout, Verb::kCheckVersion, flags);
  verb->add_option("dir", flags.options.dir, "Folder of a version, or folder of a model (its newest version is used)")
      ->required();
  verb->add_option("--golden", flags.golden, "The golden set");
  verb->add_option("--metric", flags.metric, "top1 or tolerance [top1]")->check(CLI::IsMember({"top1", "tolerance"}));
  verb->add_option("--minimum", flags.minimum, "The share of records that must pass [0.95]")
      ->check(CLI::Range(0.0, 1.0));
  verb->add_option("--relative-tolerance", flags.tolerance, "For the metric tolerance [0.001]")
      ->check(CLI::Range(0.0, 1.0));
  verb->add_option("--non-finite-reject", flags.non_finite_reject, "Whether NaN and Inf are refused [true]");
  verb->add_option("--deterministic", flags.deterministic, "Whether the same input must give the same bits [false]");
  verb->add_option("--warm-up", version.warm_up, "Whether the version is warmed up [true]");
  verb->add_option("--stable", version.stable, "The folder of the version that serves");
  verb->add_option("--why-no-stable", version.why_no_stable, "Why --stable is not given, for people");
  verb->add_option("--rules", version.rules, "Where the rules come from, for people");
  verb->add_option("--rows", version.rows, "How many failing records to print [5]")
      ->check(CLI::Range(size_t{0}, kRowsShownMax));
  verb->add_flag("--json", flags.options.json, "Print JSON");
}

Status CheckAssignments(const std::string& flag, const std::vector<std::string>& texts, const std::string& form) {
  for (const std::string& text : texts) {
    const size_t at = text.find('=');
    if (at == 0 || at == text.npos || at + 1 == text.size())
      return InvalidArgument("{} {}: must be {}", flag, text, form);
  }
  return {};
}

// Fails if flags contradict each other, in ways that the parser cannot express.
Result<Options> Resolve(Flags flags) {
  Options& options = flags.options;
  if (flags.separator == "tab") flags.separator = "\t";
  if (flags.separator.size() != 1 || std::string_view("\"\r\n").find(flags.separator) != std::string_view::npos)
    return InvalidArgument("--separator {}: must be one character, or tab", flags.separator);
  options.csv.separator = flags.separator.front();
  if (options.verb == Verb::kFromCsv && options.signature.empty()) options.signature = "serving_default";
  if (options.verb == Verb::kFromModel && options.inputs.file.empty() && options.inputs.files.empty())
    return InvalidArgument("--inputs FILE or --input NAME=FILE.npy is required");
  RETURN_IF_ERROR(CheckAssignments("--column", options.csv.columns, "INPUT=COLUMN,..."));
  RETURN_IF_ERROR(CheckAssignments("--input", options.inputs.files, "NAME=FILE.npy"));
  control::Validation& validation = options.version.validation;
  validation.set_golden_set(flags.golden.empty() ? "" : std::filesystem::absolute(flags.golden).string());
  validation.set_metric(flags.metric);
  validation.set_minimum(flags.minimum);
  validation.set_relative_tolerance(flags.tolerance);
  validation.set_non_finite_reject(flags.non_finite_reject);
  validation.set_deterministic(flags.deterministic);
  return std::move(options);
}

}  // namespace

Result<std::optional<Options>> ParseOptions(int argc, const char* const* argv) {
  Flags flags;
  CLI::App app("", "longshore");
  app.require_subcommand(1);
  AddGolden(app, flags);
  AddCheckVersion(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);
      return std::nullopt;
    }
    const CLI::App& command = *app.get_subcommand(argv[1]);
    const std::string unknown = argc > 2 ? inspect::UnknownVerb(command, argv[1], argv[2]) : "";
    const auto verbs = command.get_subcommands();
    return InvalidArgument("{} (see longshore {} {}--help)",
                           unknown.empty() ? command_line::Explain(error, app) : unknown, argv[1],
                           verbs.empty() ? "" : verbs.front()->get_name() + " ");
  }
  return Resolve(std::move(flags));
}

}  // namespace longshore::golden_files
