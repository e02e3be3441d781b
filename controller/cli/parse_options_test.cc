#include "controller/cli/parse_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "controller/api/types.h"
#include "controller/cli/place.h"

namespace longshore::cli {
namespace {

using input::Target;
using testing::ElementsAre;
using testing::HasSubstr;

Result<std::optional<Options>> Parse(const std::vector<const char*>& words) {
  std::vector<const char*> argv = {"longshore"};
  argv.insert(argv.end(), words.begin(), words.end());
  return ParseOptions(static_cast<int>(argv.size()), argv.data());
}
Options Parsed(const std::vector<const char*>& words) {
  const auto options = Parse(words);
  EXPECT_TRUE(options) << options.error().message;
  return options && *options ? **options : Options();
}
std::string Refused(const std::vector<const char*>& words) {
  const auto options = Parse(words);
  if (options) return "accepted";
  EXPECT_EQ(ExitCodeOf(options.error()), kExitUsage);
  return options.error().message;
}

TEST(Options, AMistakenCommandNamesTheHelpOfTheProgram) {
  EXPECT_THAT(Refused({"edit", "model", "digits"}), testing::EndsWith("(see longshore --help)"));
  EXPECT_THAT(Refused({"statsu", "get"}), testing::EndsWith("(see longshore --help)"));
  EXPECT_THAT(Refused({"set", "versoin", "digits"}), testing::EndsWith("(see longshore set --help)"));
}

TEST(Options, HabitsOfKubectlAndArgoRolloutsGetAnAnswerThatSaysWhatToUse) {
  const std::pair<std::vector<const char*>, const char*> rows[] = {
      {{"get", "pods"}, "longshore describe fleet NAME lists the nodes"},
      {{"get", "rollout", "digits", "-w"}, "longshore rollout NAME"},
      {{"argo", "rollouts", "get", "rollout", "digits", "-w"}, "longshore rollout NAME --watch"},
      {{"list", "rollouts"}, "longshore get models"},
      {{"describe"}, "describe what? Name objects or a kind, for example model/digits"},
      {{"describe", "digits"}, "write model/digits"},
      {{"explain", "model", "digits"}, "leave out the kind: longshore explain digits"},
      {{"explain", "models.spec.rollout"}, "docs/reference describes the fields"},
      {{"get", "models", "-o", "custom-columns=NAME:.metadata.name"}, "use -o jsonpath='{range .items[*]}"},
      {{"get", "models", "-o", "go-template={{.items}}"}, "use -o jsonpath=TEMPLATE"},
      {{"get", "models", "--sort-by", ".spec.version"}, "objects are sorted by namespace and name"},
      {{"get", "models", "--show-labels"}, "use -o wide"},
      {{"set", "image", "digits", "main=x"}, "longshore set version NAME N"},
      {{"-n", "vision", "restart", "digits"}, "longshore retry NAME"},
      {{"rollout", "restart", "digits"}, "longshore retry NAME"},
      {{"rollout", "status", "digits"}, "longshore status NAME --wait"},
      {{"edit", "model", "digits"}, "on a cluster kubectl edit works"},
      {{"label", "model", "digits", "app=x"}, "on a cluster kubectl label works"},
      {{"scale", "fleet", "main", "--replicas", "3"}, "change spec.replicas of the fleet's manifest"},
      {{"create", "-f", "digits.yaml"}, "longshore apply -f FILE"},
      {{"wait", "--for=condition=Ready", "model/digits"}, "longshore status NAME --wait"},
      {{"undo", "digits", "--to-revision", "3"}, "use --to VERSION"},
      {{"promote", "digits", "--full"}, "promote goes to the next step"},
      {{"apply", "-k", "manifests"}, "kubectl kustomize DIR | longshore apply -f -"},
      {{"version"}, "longshore --version"}};
  for (const auto& [words, answer] : rows) EXPECT_THAT(Refused(words), HasSubstr(answer));
}

TEST(Options, TargetsHaveTheFormsOfKubectl) {
  EXPECT_THAT(Parsed({"get"}).targets, ElementsAre());
  EXPECT_THAT(Parsed({"get", "Fleets", "-o", "yaml"}).targets, ElementsAre(Target{api::kServingFleetKind, ""}));
  EXPECT_THAT(Parsed({"delete", "model", "a", "b"}).targets,
              ElementsAre(Target{api::kModelKind, "a"}, Target{api::kModelKind, "b"}));
  EXPECT_THAT(Parsed({"get", "model/a", "fleet/b"}).targets,
              ElementsAre(Target{api::kModelKind, "a"}, Target{api::kServingFleetKind, "b"}));
  EXPECT_EQ(Parsed({"explain", "model/a"}).name, "a");
  EXPECT_EQ(Refused({"-n=", "get", "models"}), "-n= has no value (see longshore --help)");
  EXPECT_THAT(Refused({"get", "digits"}), HasSubstr("the kinds are models and fleets. If it is the name of a model, "
                                                    "write model/digits"));
  EXPECT_THAT(Refused({"promote", "fleet/a"}), HasSubstr("\"fleet/a\" is not a model"));
}

TEST(Options, GlobalFlagsMayPrecedeOrFollowTheCommand) {
  const auto expect_all = [](const Options& options) {
    EXPECT_EQ(options.manifests, "/m");
    EXPECT_EQ(options.namespace_, "vision");
  };
  expect_all(Parsed({"--manifests=/m", "-n", "vision", "status"}));
  expect_all(Parsed({"-nvision", "status", "--manifests", "/m"}));
  expect_all(Parsed({"status", "digits", "--manifests", "/m", "--namespace", "vision"}));
  expect_all(Parsed({"promote", "-n=vision", "digits", "--manifests=/m"}));
  EXPECT_TRUE(Parsed({"-A", "get", "models"}).all_namespaces);
  EXPECT_TRUE(Parsed({"status", "--all-namespaces"}).all_namespaces);
  const Options cluster = Parsed({"get", "--kubeconfig=k", "--context", "c"});
  EXPECT_EQ(cluster.kubeconfig, "k");
  EXPECT_EQ(cluster.context, "c");
}

TEST(Options, AllNamespacesCannotBeCombinedWithAName) {
  EXPECT_THAT(Refused({"get", "model", "a", "-A"}), HasSubstr("use -n instead of -A"));
  EXPECT_THAT(Refused({"promote", "a", "-A"}), HasSubstr("-A has no meaning for this command"));
}

TEST(Options, OutputHasTheFormsOfKubectl) {
  EXPECT_EQ(Parsed({"get", "models", "-o", "wide"}).output, Output::kWide);
  EXPECT_EQ(Parsed({"get", "models", "-ojson"}).output, Output::kJson);
  EXPECT_EQ(Parsed({"get", "models", "-o=name"}).output, Output::kName);
  const Options path = Parsed({"get", "models", "-o=jsonpath={.items[*].metadata.name}"});
  EXPECT_EQ(path.output, Output::kJsonPath);
  EXPECT_EQ(path.json_path, "{.items[*].metadata.name}");
  EXPECT_THAT(Refused({"get", "models", "-o", "jsonpath={.items"}), HasSubstr("no closing brace"));
  EXPECT_THAT(Refused({"get", "models", "-o", "table"}), HasSubstr("\"table\" is not one of text, wide, name, json"));
}

TEST(Options, DoctorHasAnOutputAndATimeLimit) {
  EXPECT_EQ(Parsed({"doctor"}).timeout, std::chrono::seconds(5));
  const Options options = Parsed({"doctor", "-o", "json", "--timeout", "20s", "-n", "vision"});
  EXPECT_EQ(options.verb, Verb::kDoctor);
  EXPECT_EQ(options.output, Output::kJson);
  EXPECT_EQ(options.timeout, std::chrono::seconds(20));
  EXPECT_EQ(options.namespace_, "vision");
  EXPECT_THAT(Refused({"doctor", "-o", "wide"}), HasSubstr("wide"));
}

TEST(Options, FilesMayBeRepeated) {
  const Options apply = Parsed({"apply", "-f", "a", "-f=b", "--filename", "c", "--file=d", "-R"});
  EXPECT_THAT(apply.files, ElementsAre("a", "b", "c", "d"));
  EXPECT_TRUE(apply.recursive);
}

TEST(Options, DeleteNeedsNamesASelectorOrFiles) {
  EXPECT_EQ(Parsed({"delete", "-f", "a"}).files.size(), 1u);
  EXPECT_EQ(Parsed({"delete", "models", "-l", "app=x"}).selector.size(), 1u);
  EXPECT_TRUE(Parsed({"delete", "models", "--all"}).all);
  EXPECT_THAT(Refused({"delete"}), HasSubstr("delete what?"));
  EXPECT_THAT(Refused({"delete", "models"}), HasSubstr("use -l or --all"));
  EXPECT_THAT(Refused({"delete", "model", "a", "-l", "app=x"}), HasSubstr("but not both"));
  EXPECT_THAT(Refused({"delete", "model", "a", "-f", "x"}), HasSubstr("name no others"));
  EXPECT_THAT(Refused({"get", "models", "-l", "a b"}), HasSubstr("--selector: \"a b\" is not"));
}

// Returns the flags of a help text that none of its examples shows. A line of an example begins with spaces and has the
// name of the program.
std::vector<std::string> FlagsWithoutExample(const std::string& help) {
  static const std::regex kFlag(R"(^  (?:(-\w),)?(--[\w-]+)(?:,(--[\w-]+))?)");
  std::string examples;
  std::vector<std::smatch> flags;
  std::istringstream lines(help);
  std::vector<std::string> kept;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ") && line.find("longshore ") != std::string::npos) examples += line + " \n";
    kept.push_back(line);
  }
  std::vector<std::string> missing;
  for (const std::string& line : kept) {
    std::smatch flag;
    if (!std::regex_search(line, flag, kFlag) || flag[2] == "--help" || flag[2] == "--version") continue;
    bool is_shown = false;
    for (size_t i = 1; i < flag.size(); ++i) {
      const std::regex shown(" " + flag[i].str() + "[ =]");
      is_shown = is_shown || (flag[i].matched && std::regex_search(examples, shown));
    }
    if (!is_shown) missing.push_back(flag[2]);
  }
  return missing;
}

TEST(Options, TheHelpOfEachCommandHasAnExampleOfEachFlag) {
  const std::vector<std::vector<const char*>> commands = {{},
                                                          {"status"},
                                                          {"get"},
                                                          {"describe"},
                                                          {"explain"},
                                                          {"events"},
                                                          {"rollout"},
                                                          {"doctor"},
                                                          {"check-version"},
                                                          {"apply"},
                                                          {"diff"},
                                                          {"lint"},
                                                          {"set", "version"},
                                                          {"delete"},
                                                          {"promote"},
                                                          {"abort"},
                                                          {"pause"},
                                                          {"resume"},
                                                          {"retry"},
                                                          {"undo"},
                                                          {"validate"},
                                                          {"import", "tfserving"},
                                                          {"import", "kserve"},
                                                          {"profile"},
                                                          {"ca", "ensure"},
                                                          {"completion"}};
  for (const std::vector<const char*>& command : commands) {
    std::vector<const char*> argv = {"longshore"};
    argv.insert(argv.end(), command.begin(), command.end());
    argv.push_back("--help");
    testing::internal::CaptureStdout();
    ASSERT_EQ(ParseOptions(static_cast<int>(argv.size()), argv.data()).value(), std::nullopt);
    const std::string help = testing::internal::GetCapturedStdout();
    EXPECT_THAT(help, HasSubstr("longshore"));
    EXPECT_THAT(FlagsWithoutExample(help), ElementsAre()) << help;
  }
}

TEST(Options, AMisspeltCommandOrFlagIsAnErrorWithASuggestion) {
  EXPECT_THAT(Refused({"--manifests", "m", "prommote", "digits"}),
              HasSubstr("\"prommote\" is not a command; did you mean promote?"));
  EXPECT_THAT(Refused({"-n", "x", "deploy"}),
              HasSubstr("\"deploy\" is not a command; use one of: status, get, describe, "));
  EXPECT_THAT(Refused({"promote", "digits", "--wat"}), HasSubstr("--wat is not a flag of this command"));
  EXPECT_THAT(Refused({"get", "models", "--namspace=x"}), HasSubstr("did you mean --namespace?"));
  EXPECT_THAT(Refused({"undo", "digits", "--timeuot", "3s"}), HasSubstr("did you mean --timeout?"));
}

TEST(Options, AnErrorNamesTheHelpOfItsCommand) {
  EXPECT_EQ(Refused({"explain"}), "name is required (see longshore explain --help)");
  EXPECT_EQ(Refused({"set", "version", "digits"}), "version is required (see longshore set version --help)");
  EXPECT_THAT(Refused({"prommote"}), HasSubstr("(see longshore --help)"));
}

TEST(Options, AMisspeltSubcommandIsAnErrorWithASuggestion) {
  EXPECT_EQ(Refused({"set", "versoin", "digits", "3"}),
            "\"set versoin\" is not a command; did you mean set version? (see longshore set --help)");
  EXPECT_THAT(Refused({"import", "nagios"}), HasSubstr("is not a command; use one of: tfserving, kserve"));
  EXPECT_THAT(Refused({"import"}), HasSubstr("import needs one of: tfserving, kserve"));
}

TEST(Options, AFlagOfOneLetterThatTheCommandDoesNotHaveIsAnErrorWithASuggestion) {
  EXPECT_THAT(Refused({"status", "-w"}), HasSubstr("-w is not a flag of this command; did you mean --wait?"));
  EXPECT_THAT(Refused({"status", "-x"}), HasSubstr("-x is not a flag of this command (see longshore status --help)"));
}

TEST(Options, ANegativeNumberIsNotAVersion) {
  for (const char* word : {"-1", "-44"}) {
    const std::string why = fmt::format("\"{}\" is not a version: a version is a whole number from 1", word);
    EXPECT_EQ(Refused({"set", "version", "digits", word}), why + " (see longshore set version --help)");
    EXPECT_EQ(Refused({"undo", "digits", "--to", word}), why + " (see longshore undo --help)");
  }
}

TEST(Options, TheLastOfARepeatedGlobalFlagCounts) {
  EXPECT_EQ(Parsed({"-n", "a", "get", "-n", "b"}).namespace_, "b");
  EXPECT_EQ(Parsed({"--manifests=/a", "get", "--manifests=/b"}).manifests, "/b");
  EXPECT_EQ(Parsed({"--context=a", "--kubeconfig=/a", "get", "--context=b", "--kubeconfig=/b"}).context, "b");
}

TEST(Options, AVersionIsAWholeNumber) {
  for (const char* word : {"two", "0", "-1", "1.5", "99999999999999999999"}) {
    const std::string wrong = fmt::format("\"{}\" is not a version: a version is a whole number from 1", word);
    EXPECT_THAT(Refused({"set", "version", "digits", "--", word}), HasSubstr(wrong));
    EXPECT_THAT(Refused({"undo", "digits", fmt::format("--to={}", word).c_str()}), HasSubstr(wrong));
  }
  EXPECT_EQ(Parsed({"set", "version", "digits", "12"}).version, 12);
}

TEST(Options, StatusTakesNamesOfModelsAndTheFormsOfGet) {
  EXPECT_EQ(Parsed({"status", "digits"}).name, "digits");
  EXPECT_EQ(Parsed({"status", "model/digits"}).name, "digits");
  EXPECT_THAT(Parsed({"status", "a", "fleet/b"}).targets,
              ElementsAre(Target{api::kModelKind, "a"}, Target{api::kServingFleetKind, "b"}));
  EXPECT_THAT(Parsed({"status", "fleet/b"}).targets, ElementsAre(Target{api::kServingFleetKind, "b"}));
  EXPECT_THAT(Parsed({"status", "fleet", "b"}).targets, ElementsAre(Target{api::kServingFleetKind, "b"}));
  EXPECT_THAT(Refused({"status", "a", "b", "-A"}), HasSubstr("use -n instead of -A"));
}

TEST(Options, WithoutADirectoryOrAClusterTheErrorNamesTheFlagsForThem) {
  for (const char* name : {"LONGSHORE_MANIFESTS", "KUBECONFIG", "HOME", "KUBERNETES_SERVICE_HOST"}) ::unsetenv(name);
  const char* get[] = {"longshore", "get", "models"};
  const auto options = ParseOptions(3, get);
  ASSERT_TRUE(options) << options.error().message;
  const auto place = OpenPlace(**options, SteadyClock());
  ASSERT_FALSE(place);
  EXPECT_NE(place.error().message.find("--manifests=DIR"), std::string::npos);
  EXPECT_NE(place.error().message.find("--kubeconfig=FILE"), std::string::npos);
}

TEST(Options, ADirectoryAndAClusterConflictUnlessTheDirectoryComesFromTheEnvironment) {
  const char* both[] = {"longshore", "--manifests=/m", "--context=c", "get", "models"};
  EXPECT_EQ(ExitCodeOf(ParseOptions(5, both).error()), kExitUsage);
  ::setenv("LONGSHORE_MANIFESTS", "/m", 1);
  const char* cluster[] = {"longshore", "--kubeconfig", "k", "get", "models"};
  EXPECT_EQ((*ParseOptions(5, cluster))->manifests, "");
  const char* host[] = {"longshore", "get", "models"};
  EXPECT_EQ((*ParseOptions(3, host))->manifests, "/m");
  ::unsetenv("LONGSHORE_MANIFESTS");
}

TEST(Options, CommandsCarryTheirVerb) {
  const char* promote[] = {"longshore", "promote", "digits", "-n", "vision", "--manifests=/m", "--timeout=3s"};
  const auto options = ParseOptions(7, promote);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ((*options)->command.verb, "promote");
  EXPECT_EQ((*options)->namespace_, "vision");
  EXPECT_EQ((*options)->timeout, std::chrono::seconds(3));
}

TEST(Options, UndoMayNameAVersionAndEachCommandAnId) {
  const char* undo[] = {"longshore", "undo", "digits", "--to=4", "--id", "deploy-42"};
  const auto options = ParseOptions(6, undo);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ((*options)->command.verb, "undo");
  EXPECT_EQ((*options)->command.to, 4);
  EXPECT_EQ((*options)->command.id, "deploy-42");
  const char* zero[] = {"longshore", "undo", "digits", "--to=0"};
  EXPECT_EQ(ExitCodeOf(ParseOptions(4, zero).error()), kExitUsage);
  const char* abort[] = {"longshore", "abort", "digits", "--to=4"};
  EXPECT_EQ(ExitCodeOf(ParseOptions(4, abort).error()), kExitUsage);
  const char* bad_id[] = {"longshore", "abort", "digits", "--id=ci/42"};
  EXPECT_NE(ParseOptions(4, bad_id).error().message.find("--id: \"ci/42\""), std::string::npos);
}

TEST(Options, ValidateWaitsLongerThanOtherCommands) {
  const char* validate[] = {"longshore", "validate", "digits", "--id=v"};
  const auto options = ParseOptions(4, validate);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ((*options)->verb, Verb::kValidate);
  EXPECT_EQ((*options)->command.verb, "validate");
  EXPECT_EQ((*options)->command.id, "v");
  EXPECT_EQ((*options)->timeout, std::chrono::minutes(10));
}

TEST(Options, ATimeoutMustBeADurationAndHaveAnEffect) {
  const char* bare[] = {"longshore", "promote", "digits", "--timeout=3"};
  EXPECT_NE(ParseOptions(4, bare).error().message.find("--timeout: "), std::string::npos);
  const char* status[] = {"longshore", "status", "--timeout=3s"};
  EXPECT_NE(ParseOptions(3, status).error().message.find("--wait"), std::string::npos);
  const char* waiting[] = {"longshore", "status", "--wait"};
  EXPECT_EQ((*ParseOptions(3, waiting))->timeout, std::chrono::minutes(10));
}

}  // namespace
}  // namespace longshore::cli
