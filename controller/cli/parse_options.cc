#include "controller/cli/parse_options.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>

#include "common/base/nearest_word.h"
#include "common/command_line/mistakes.h"
#include "controller/api/parse.h"
#include "controller/api/text_format.h"
#include "controller/cli/command_line.h"
#include "controller/cli/help.h"
#include "controller/cli/input/habits.h"
#include "controller/cli/input/mistakes.h"
#include "controller/cli/text/json_path.h"

namespace longshore::cli {
namespace {

constexpr auto kDoctorTimeout = std::chrono::seconds(5);
constexpr auto kCommandTimeout = std::chrono::seconds(10);
constexpr auto kStatusTimeout = std::chrono::minutes(10);
constexpr auto kValidateTimeout = std::chrono::minutes(10);
// kubectl prints so many lines of each pod if a selector names the pods.
constexpr int64_t kFleetTail = 10;
constexpr std::string_view kJsonPathPrefix = "jsonpath=";
constexpr std::array kOutputs = {std::pair{"text", Output::kText}, std::pair{"wide", Output::kWide},
                                 std::pair{"name", Output::kName}, std::pair{"json", Output::kJson},
                                 std::pair{"yaml", Output::kYaml}};

// Returns the first word such as "-n="; "" without one.
std::string FlagWithoutValue(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.size() == 3 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])) && word[2] == '=')
      return word;
  }
  return "";
}

// kubectl accepts "-o=json" as "-ojson"; CLI11 does not.
std::vector<std::string> WithoutEqualSigns(int argc, const char* const* argv) {
  std::vector<std::string> words(argv, argv + argc);
  for (std::string& word : words) {
    if (word.size() > 2 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])) && word[2] == '=')
      word.erase(2, 1);
  }
  return words;
}

bool TakesAValue(const CLI::App& app, const std::string& flag) {
  const CLI::Option* option = app.get_option_no_throw(flag);
  return option != nullptr && option->get_items_expected_min() > 0;
}

// Returns the words that are neither flags nor values of global flags.
std::vector<std::string> PlainWords(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> plain;
  for (size_t i = 1; i < words.size(); ++i) {
    if (!words[i].starts_with("-") && !TakesAValue(app, words[i - 1])) plain.push_back(words[i]);
  }
  return plain;
}

// Returns a message for a command or a flag of kubectl that this program does not have; "" if it knows none.
std::string HabitMessage(const CLI::App& app, const std::vector<std::string>& words) {
  const std::vector<std::string> plain = PlainWords(app, words);
  if (const std::string advice = input::AdviceForCommand(plain); !advice.empty())
    return fmt::format("\"{}\" is not a command of longshore: {}", fmt::join(plain, " "), advice);
  for (const std::string& word : words) {
    const std::string flag = word.substr(0, word.find('='));
    if (const std::string_view advice = input::AdviceForFlag(flag); !advice.empty())
      return fmt::format("{} is not a flag of this command: {}", flag, advice);
  }
  return "";
}

// Returns a message about the first word that is not a command, with the nearest command or a list of them; "" if the
// word is a command or missing.
std::string UnknownCommand(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  const std::vector<std::string> plain = PlainWords(app, words);
  if (plain.empty() || std::ranges::find(names, plain[0]) != names.end()) return "";
  if (const auto nearest = NearestWord(plain[0], names))
    return fmt::format("\"{}\" is not a command; did you mean {}?", plain[0], *nearest);
  return fmt::format("\"{}\" is not a command; use one of: {}", plain[0], fmt::join(names, ", "));
}

// Of the words "edit model digits", only "model" is a command; its help does not help.
std::string HelpFor(const CLI::App& app, const std::vector<std::string>& words) {
  return UnknownCommand(app, words).empty() ? input::HelpFor(app) : app.get_name() + " --help";
}

// Returns a message about the first flag that the parsed command does not have; "" if it has all of them.
std::string UnknownFlag(const CLI::App& app, const std::vector<std::string>& words) {
  const std::vector<std::string> known = command_line::FlagsOf(app);
  for (const std::string& word : words) {
    const std::string flag = word.substr(0, word.find('='));
    if (!flag.starts_with("--") || flag.size() == 2 || std::ranges::find(known, flag) != known.end()) continue;
    const auto nearest = NearestWord(flag, known);
    return fmt::format("{} is not a flag of this command{}", flag, nearest ? "; did you mean " + *nearest + "?" : "");
  }
  return "";
}

Result<std::chrono::milliseconds> TimeoutOf(const Flags& flags) {
  if (flags.timeout.empty()) {
    switch (flags.options.verb) {
      case Verb::kStatus: return kStatusTimeout;
      case Verb::kValidate: return kValidateTimeout;
      case Verb::kDoctor: return kDoctorTimeout;
      default: return kCommandTimeout;
    }
  }
  if (flags.options.verb == Verb::kStatus && !flags.options.wait)
    return InvalidArgument("--timeout has no effect without --wait");
  auto timeout = api::ParseDuration(flags.timeout);
  if (!timeout) return Prefixed(timeout.error(), "--timeout");
  return std::chrono::ceil<std::chrono::milliseconds>(*timeout);
}

Status ReadOutput(const std::string& text, Options& options) {
  if (text.starts_with(kJsonPathPrefix)) {
    options.output = Output::kJsonPath;
    options.json_path = text.substr(kJsonPathPrefix.size());
    return text::CheckJsonPath(options.json_path);
  }
  const auto* const found = std::ranges::find(kOutputs, text, [](const auto& output) { return output.first; });
  if (const std::string_view advice = input::AdviceForOutput(text); !advice.empty())
    return InvalidArgument("--output: \"{}\" is not supported: {}", text.substr(0, text.find('=')), advice);
  if (found == kOutputs.end())
    return InvalidArgument("--output: \"{}\" is not one of text, wide, name, json, yaml and jsonpath=TEMPLATE", text);
  options.output = found->second;
  return {};
}

bool HasNames(const Options& options) {
  return !options.name.empty() ||
         std::ranges::any_of(options.targets, [](const input::Target& target) { return !target.name.empty(); });
}

// `kubectl explain models.spec` is about fields.
bool IsField(const std::string& name) {
  const size_t dot = name.find('.');
  return dot != std::string::npos && input::ParseTargets({name.substr(0, dot)});
}

// Commands for one model accept "model/digits" as well as "digits".
Result<std::string> ModelName(const std::string& word) {
  if (word.find('/') == std::string::npos) return word;
  ASSIGN_OR_RETURN(const std::vector<input::Target> targets, input::ParseTargets({word}));
  if (targets[0].kind != api::kModelKind) return InvalidArgument("\"{}\" is not a model", word);
  return targets[0].name;
}

// `status` takes names of models without a kind, and else the forms of get. One model is in `name`.
Status ReadStatusTargets(std::vector<std::string> words, Options& options) {
  const bool begins_with_kind = words.size() > 1 && input::ParseTargets({words[0]});
  if (!begins_with_kind || words[0].find('/') != std::string::npos) {
    for (std::string& word : words) word = word.find('/') == std::string::npos ? "model/" + word : word;
  }
  ASSIGN_OR_RETURN(options.targets, input::ParseTargets(words));
  if (options.targets.size() != 1 || options.targets[0].kind != api::kModelKind) return {};
  options.name = options.targets[0].name;
  options.targets.clear();
  return {};
}

Status CheckDelete(const Options& options) {
  const bool selects = options.all || !options.selector.empty();
  if (!options.files.empty()) {
    if (!options.targets.empty() || selects)
      return InvalidArgument("delete -f deletes the objects of the files: name no others");
    return {};
  }
  if (options.targets.empty()) return InvalidArgument("delete what? Name objects, for example model/digits, or use -f");
  if (!HasNames(options) && !selects)
    return InvalidArgument("delete which {}? Name them, or use -l or --all", options.targets.front().kind);
  return {};
}

Status CheckTargets(const Options& options) {
  const bool takes_all_namespaces = options.verb == Verb::kGet || options.verb == Verb::kDescribe ||
                                    options.verb == Verb::kStatus || options.verb == Verb::kDelete ||
                                    options.verb == Verb::kEvents;
  if (options.all_namespaces && !takes_all_namespaces)
    return InvalidArgument("-A has no meaning for this command: name a namespace with -n");
  if (options.all_namespaces && (HasNames(options) || !options.files.empty()))
    return InvalidArgument("an object with a name is in one namespace: use -n instead of -A");
  if (HasNames(options) && (!options.selector.empty() || options.all))
    return InvalidArgument("name objects, or select them with -l or --all, but not both");
  if (options.verb == Verb::kDescribe && options.targets.empty())
    return InvalidArgument("describe what? Name objects or a kind, for example model/digits");
  return options.verb == Verb::kDelete ? CheckDelete(options) : Status();
}

Status ReadPlace(bool has_manifests_flag, Options& options) {
  const bool names_a_cluster = !options.kubeconfig.empty() || !options.context.empty();
  if (has_manifests_flag && names_a_cluster) {
    return InvalidArgument(
        "--manifests names a directory on this host, --kubeconfig and --context name a cluster: use only one of them");
  }
  if (options.verb == Verb::kEnsureCa && has_manifests_flag)
    return InvalidArgument("ca ensure works on a cluster only: omit --manifests");
  if (names_a_cluster || options.verb == Verb::kEnsureCa) options.manifests.clear();
  return {};
}

Status CheckHasRules(const Options& options) {
  const CheckVersionOptions& check = options.check_version;
  if (options.verb != Verb::kCheckVersion || !check.model.empty() || !options.files.empty() || !check.golden.empty())
    return {};
  return InvalidArgument("check-version needs rules: use --model NAME, -f FILE or --golden FILE");
}

Status ReadLogs(const Flags& flags, logs::Wanted& wanted) {
  if (!flags.since.empty()) {
    const auto since = api::ParseDuration(flags.since);
    if (!since) return Prefixed(since.error(), "--since");
    wanted.since = *since;
  }
  const bool is_fleet = flags.options.logs.of.find('/') != std::string::npos;
  if (flags.tail) {
    if (*flags.tail >= 0) wanted.tail = flags.tail;
  } else if (is_fleet && flags.since.empty()) {
    wanted.tail = kFleetTail;
  }
  if (wanted.follow && wanted.previous)
    return InvalidArgument("the log of the process before the last restart does not grow: omit --follow");
  return {};
}

Result<Options> Resolve(Flags flags, bool has_manifests_flag) {
  Options& options = flags.options;
  if (options.verb == Verb::kStatus) {
    RETURN_IF_ERROR(ReadStatusTargets(flags.words, options));
  } else {
    ASSIGN_OR_RETURN(options.targets, input::ParseTargets(flags.words));
  }
  if (auto selector = input::ParseSelector(flags.selector); selector) {
    options.selector = *std::move(selector);
  } else {
    return Prefixed(selector.error(), "--selector");
  }
  ASSIGN_OR_RETURN(options.name, ModelName(options.name));
  if (options.verb == Verb::kExplain && IsField(options.name))
    return InvalidArgument(
        "explain says why a version of a model serves; docs/reference describes the fields, and so does kubectl "
        "explain "
        "models.longshore.dev.spec");
  if (!options.command.id.empty() && !api::Matches(options.command.id, api::kCommandId))
    return InvalidArgument("--id: \"{}\" is not {}", options.command.id, api::kCommandId.what);
  RETURN_IF_ERROR(CheckTargets(options));
  RETURN_IF_ERROR(CheckHasRules(options));
  RETURN_IF_ERROR(ReadPlace(has_manifests_flag, options));
  RETURN_IF_ERROR(ReadOutput(flags.output, options));
  RETURN_IF_ERROR(ReadLogs(flags, options.logs.wanted));
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
  AddCommandLine(app, flags);
  if (const std::string flag = FlagWithoutValue(argc, argv); !flag.empty())
    return InvalidArgument("{} has no value (see longshore --help)", flag);
  const std::vector<std::string> words = WithoutEqualSigns(argc, argv);
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  try {
    app.parse(argc, pointers.data());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);
      return std::nullopt;
    }
    std::string why = HabitMessage(app, words);
    if (why.empty()) why = UnknownCommand(app, words);
    if (why.empty()) why = input::UnknownSubcommand(app, words);
    if (why.empty()) why = input::NegativeVersion(app, words);
    if (why.empty()) why = UnknownFlag(app, words);
    if (why.empty()) why = input::UnknownLetter(app, words);
    return InvalidArgument("{} (see {})", why.empty() ? error.what() : why, HelpFor(app, words));
  }
  const bool has_manifests_flag = std::ranges::any_of(
      words, [](const std::string& word) { return word == "--manifests" || word.starts_with("--manifests="); });
  return Resolve(std::move(flags), has_manifests_flag);
}

}  // namespace longshore::cli
