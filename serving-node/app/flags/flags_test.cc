#include "serving-node/app/flags/flags.h"

#include <gmock/gmock.h>

#include <CLI/CLI.hpp>

namespace longshore::app::flags {
namespace {

using testing::HasSubstr;

Flags Parse(const std::vector<std::string>& arguments) {
  const auto parsed = ParseFlags(arguments);
  CHECK(parsed);
  return parsed->flags;
}

TEST(Flags, NeedOnlyTheDirectoryOfAModel) {
  const Flags flags = Parse({"--model_base_path=/m"});
  EXPECT_EQ(flags.model_name, "default");
  EXPECT_EQ(flags.port, 8500);
  EXPECT_EQ(flags.rest_api_port, 8501);
  EXPECT_FALSE(flags.admin_port);
  EXPECT_FALSE(flags.managed());
  EXPECT_FALSE(flags.node.empty());
}

TEST(Flags, IncludeThoseOfTensorFlowServing) {
  const Flags flags = Parse({"--port=9000", "--model_name=digits", "--model_base_path=/m", "--enable_batching=true",
                             "--enable_model_warmup=false", "--file_system_poll_wait_seconds=0"});
  EXPECT_EQ(flags.port, 9000);
  EXPECT_EQ(flags.rest_api_port, kPortOff);
  EXPECT_TRUE(flags.batching.enable_batching);
  EXPECT_FALSE(flags.warm_up.enable_model_warmup);
}

TEST(Flags, DisableAPortThatIsZeroUnlessThereIsAPortFile) {
  EXPECT_EQ(Parse({"--model_base_path=/m", "--port=0", "--rest_api_port=80"}).port, kPortOff);
  const Flags flags = Parse({"--model_base_path=/m", "--port=0", "--rest_api_port=0", "--port_file=/p"});
  EXPECT_EQ(flags.port, 0);
  EXPECT_EQ(flags.rest_api_port, 0);
}

TEST(Flags, IncludeThoseOfAManagedNode) {
  const Flags flags =
      Parse({"--controller=unix:/c", "--fleet=ns/f", "--node=n1", "--state_dir=/s", "--grpc_listen_fd=3",
             "--rest_listen_fd=4", "--connection_age_max_ms=500", "--peer_address=unix:/p"});
  EXPECT_TRUE(flags.managed());
  EXPECT_EQ(flags.grpc_listen_fd, 3);
  EXPECT_EQ(flags.connection_age_max_ms, 500);
}

TEST(Flags, PutTheArchiveCacheIntoTheStateDirectoryByDefault) {
  const std::vector<std::string> managed = {"--controller=unix:/c", "--fleet=ns/f", "--state_dir=/s"};
  const Flags plain = Parse(managed);
  const auto options = plain.sources.Options(plain.state_dir);
  EXPECT_EQ(options.cache_dir, "/s/cache");
  EXPECT_EQ(options.cache_bytes_max, int64_t{16} << 30);
  EXPECT_EQ(options.request.ca_file, "");
  std::vector<std::string> all = managed;
  for (const char* flag : {"--cache_dir=/c", "--cache_bytes_max=5", "--source_ca_file=/ca"}) all.emplace_back(flag);
  const Flags said = Parse(all);
  EXPECT_EQ(said.sources.Options(said.state_dir).cache_dir, "/c");
  EXPECT_EQ(said.sources.Options(said.state_dir).cache_bytes_max, 5);
  EXPECT_EQ(said.sources.Options(said.state_dir).request.ca_file, "/ca");
}

TEST(Flags, TakeTheTimeToDrainFromTheEnvironment) {
  const auto parse = [](const std::string& text) {
    Environment environment{.model_name = "", .model_base_path = ""};
    environment.drain_max_ms = text;
    return ParseFlags({"--controller=unix:/c", "--fleet=ns/f", "--state_dir=/s"}, environment);
  };
  EXPECT_EQ(parse("")->flags.drain_max_ms, 0);
  EXPECT_EQ(parse("55000")->flags.drain_max_ms, 55000);
  for (const char* wrong : {"0", "-1", "1s", "x", "86400001", "99999999999999999999"}) {
    const auto parsed = parse(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_THAT(parsed.error().message, HasSubstr(fmt::format("LONGSHORE_DRAIN_MAX_MS: \"{}\"", wrong)));
  }
}

TEST(Flags, AcceptUnsupportedFlagsWithValuesThatChangeNothing) {
  EXPECT_EQ(Parse({"--model_base_path=/m", "--use_alts_credentials=false", "--skip_initialize_tpu",
                   "--remove_unused_fields_from_bundle_metagraph=true"})
                .model_base_path,
            "/m");
}

TEST(Flags, UseTensorFlowsParallelismFlagsForTheEngine) {
  const Flags both = Parse({"--model_base_path=/m", "--tensorflow_session_parallelism=3"});
  EXPECT_EQ(both.threads, 3);
  EXPECT_EQ(both.max_concurrent_runs, 3);
  const Flags each = Parse({"--model_base_path=/m", "--tensorflow_session_parallelism=3",
                            "--tensorflow_intra_op_parallelism=2", "--max_concurrent_runs=5"});
  EXPECT_EQ(each.threads, 2);
  EXPECT_EQ(each.max_concurrent_runs, 5);
}

TEST(Flags, DivideTheThreadsOfTheEngineEvenlyAmongConcurrentRuns) {
  struct Case {
    int threads;
    int runs;
    int processors;
    Parallelism is;
  };
  for (const auto& [threads, runs, processors, is] :
       std::vector<Case>{{0, 0, 8, {.runs = 8, .threads_per_run = 1}},  // One thread per run, one run per processor.
                         {0, 1, 8, {.runs = 1, .threads_per_run = 8}},
                         {0, 2, 8, {.runs = 2, .threads_per_run = 4}},
                         {0, 3, 8, {.runs = 3, .threads_per_run = 2}},
                         {0, 100, 8, {.runs = 8, .threads_per_run = 1}},
                         {4, 0, 8, {.runs = 4, .threads_per_run = 1}},
                         {4, 1, 8, {.runs = 1, .threads_per_run = 4}},
                         {1, 5, 8, {.runs = 1, .threads_per_run = 1}},
                         {0, 0, 0, {.runs = 1, .threads_per_run = 1}}}) {  // The number of processors is unknown.
    Flags flags;
    flags.threads = threads;
    flags.max_concurrent_runs = runs;
    EXPECT_EQ(ParallelismOf(flags, processors), is) << threads << " threads, " << runs << " runs";
  }
}

TEST(Flags, TakeTheModelFromTheEnvironmentUnlessAFlagNamesIt) {
  const Environment image{.model_name = "digits", .model_base_path = "/models"};
  EXPECT_EQ(ParseFlags({}, image)->flags.model_name, "digits");
  EXPECT_EQ(ParseFlags({}, image)->flags.model_base_path, "/models/digits");
  EXPECT_EQ(ParseFlags({"--model_base_path=/m"}, image)->flags.model_base_path, "/m");
  EXPECT_EQ(ParseFlags({"--model_name=other"}, image)->flags.model_base_path, "/models/other");
}

TEST(Flags, TakeTheLogLevelFromTheVariablesOfTensorFlowUnlessAFlagNamesIt) {
  struct Case {
    const char* min;
    const char* vlog;
    const char* is;
  };
  for (const auto& [min, vlog, is] : std::vector<Case>{{"", "", "info"},
                                                       {"0", "", "info"},
                                                       {"1", "", "warning"},
                                                       {"2", "", "error"},
                                                       {"3", "", "off"},
                                                       {"4", "", "off"},
                                                       {"-1", "", "info"},
                                                       {"x", "x", "info"},
                                                       {"", "1", "debug"},
                                                       {"0", "3", "debug"},
                                                       {"1", "3", "warning"}}) {
    Environment environment{.model_name = "", .model_base_path = "/models"};
    environment.tf_cpp_min_log_level = min;
    environment.tf_cpp_max_vlog_level = vlog;
    EXPECT_EQ(ParseFlags({}, environment)->flags.observe.log_level, is) << min << " " << vlog;
    EXPECT_EQ(ParseFlags({"--log_level=info"}, environment)->flags.observe.log_level, "info");
  }
}

TEST(Flags, AcceptAShareOfTheMemoryOfAGpu) {
  EXPECT_EQ(
      ParseFlags({"--model_base_path=/m", "--per_process_gpu_memory_fraction=0.5"})->flags.limits.gpu_memory_fraction,
      0.5);
}

struct Wrong {
  std::vector<std::string> arguments;
  std::string message;
};

class WrongFlags : public testing::TestWithParam<Wrong> {};

TEST_P(WrongFlags, AreNamedInTheError) {
  const auto parsed = ParseFlags(GetParam().arguments);
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongFlags,
    testing::Values(
        Wrong{{}, "--model_base_path is missing"},
        Wrong{{"--model_base_path=/m", "--prot=1"}, "unknown argument: --prot=1; did you mean --port? See --help"},
        Wrong{{"--model_base_path=/m", "--colour=red"}, "unknown argument: --colour=red. See --help"},
        Wrong{{"--model_base_path=/m", "--tls_cert_file=/x"},
              "--tls_cert_file and --tls_key_file must be given together"},
        Wrong{{"--model_base_path=/m", "--peer_tokens_file=/x"}, "--peer_tokens_file needs --peer_address"},
        Wrong{{"--model_base_path=/m", "--jwt_jwks_file=/x", "--jwt_issuer=i"}, "need each other"},
        Wrong{{"--model_base_path=/m", "--jwt_audience=a"}, "need each other"},
        Wrong{{"--model_base_path=/m", "--max_requests_in_flight=0"}, "--max_requests_in_flight"},
        Wrong{{"--model_base_path=/m", "--max_held_answer_bytes=0"}, "--max_held_answer_bytes"},
        Wrong{{"--model_base_path=/m", "--grpc_min_bytes_per_second=0"}, "--grpc_min_bytes_per_second"},
        Wrong{{"--model_base_path=/m", "--grpc_drain_timeout_ms=0"}, "--grpc_drain_timeout_ms"},
        Wrong{{"--model_base_path=/m", "--prefer_tflite_model"}, "--prefer_tflite_model=true is not supported"},
        Wrong{{"--model_base_path=/m", "--use_tflite_model"},
              "--use_tflite_model=true is not supported: TensorFlow Lite models cannot be served: export a SavedModel"},
        Wrong{{"--model_base_path=/m", "--use_saved_model=false"}, "--use_saved_model=false is not supported"},
        Wrong{{"--model_base_path=/m", "--model_version_policy=ALL_VERSIONS"},
              "--model_version_policy=ALL_VERSIONS is not supported"},
        Wrong{{"--model_base_path=/m", "--mixed_precision=bfloat16"}, "bfloat16 computation is not supported"},
        Wrong{{"--model_base_path=/m", "--port=x"}, "--port"},
        Wrong{{"--model_base_path=/m", "--batching_parameters_file=/b"},
              "server_options.batching_parameters_file is set without setting "
              "server_options.enable_batching to true."},
        Wrong{{"--model_base_path=/m", "--enable_per_model_batching_parameters"},
              "--enable_per_model_batching_parameters needs --enable_batching"},
        Wrong{{"--controller=unix:/c", "--fleet=a/b", "--state_dir=/s", "--enable_batching"},
              "each Model configures its batching"},
        Wrong{{"--model_base_path=/m", "--port=0"}, "leave nothing to serve on"},
        Wrong{{"--model_base_path=/m", "--port=8510", "--rest_api_port=8510"},
              "--port and --rest_api_port are both 8510: choose two ports"},
        Wrong{{"--model_base_path=/m", "--fleet=a/b"}, "--fleet needs --controller"},
        Wrong{{"--model_base_path=/m", "--cache_dir=/c"}, "--cache_dir needs --controller"},
        Wrong{{"--controller=unix:/c", "--fleet=a/b", "--state_dir=/s", "--cache_bytes_max=0"}, "--cache_bytes_max"},
        Wrong{{"--controller=unix:/c"}, "--controller needs --fleet"},
        Wrong{{"--controller=h:1", "--fleet=a/b", "--state_dir=/s", "--controller_token_file=/t"},
              "--controller_token_file needs --controller_ca_file"},
        Wrong{{"--controller=unix:/c", "--fleet=a/b"}, "--controller needs --state_dir"},
        Wrong{{"--controller=unix:/c", "--fleet=a/b", "--state_dir=/s", "--model_base_path=/m"},
              "--model_base_path and --controller exclude each other: the controller decides which models"},
        Wrong{{"--controller=unix:/c", "--fleet=a/b", "--state_dir=/s", "--model_config_file=/m"},
              "--model_config_file and --controller exclude each other"},
        Wrong{{"--controller=unix:/c", "--fleet=a/b", "--state_dir=/s", "--max_num_load_retries=1"},
              "the controller decides when a version is loaded again"},
        Wrong{{"--controller=unix:/c", "--fleet=a/b", "--state_dir=/s", "--version_transition=resource"},
              "the controller decides when a version is unloaded"},
        Wrong{{"--controller=unix:/c", "--fleet=a/b", "--state_dir=/s", "--grpc_channel_arguments=x"},
              "is not name=value"}));

// The number in brackets at the end of a help text; "" if it does not end with brackets.
std::string DefaultInHelp(const std::string& text) {
  const size_t begin = text.rfind('[');
  return begin == text.npos || text.back() != ']' ? "" : text.substr(begin + 1, text.size() - begin - 2);
}

bool IsNumber(const std::string& text) { return text.find_first_not_of("0123456789.") == text.npos; }

TEST(Flags, TheHelpNamesTheDefaultValues) {
  CLI::App app;
  app.option_defaults()->always_capture_default();
  Flags flags;
  flags.AddTo(app);
  int compared = 0;
  for (const CLI::Option* option : app.get_options()) {
    const std::string written = DefaultInHelp(option->get_description());
    const std::string value = option->get_default_str();
    if (!written.empty() && IsNumber(written)) {
      EXPECT_EQ(value, written) << option->get_name();
      ++compared;
    } else if (!value.empty() && IsNumber(value) && value != "0") {
      EXPECT_FALSE(written.empty()) << option->get_name() << " is " << value
                                    << " by default, and its help does not say so";
    }
  }
  EXPECT_GT(compared, 25);
}

TEST(Flags, PrintHelpAndVersion) {
  EXPECT_THAT(ParseFlags({"--help"})->print, HasSubstr("curl -d"));
  EXPECT_THAT(ParseFlags({"--version"})->print, HasSubstr("TensorFlow ModelServer: longshore-node "));
}

}  // namespace
}  // namespace longshore::app::flags
