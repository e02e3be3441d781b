// longshore-bench: the parts of ./dev bench serving and routes that must be fast; tests/bench/serving.py and routes.py
// run them and print the result.
#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>

#include "common/json/json.h"
#include "common/os/allocator.h"
#include "tests/bench/accepts.h"
#include "tests/bench/bytes_client.h"
#include "tests/bench/echo.h"
#include "tests/bench/hop.h"
#include "tests/bench/json_speed.h"
#include "tests/bench/pace.h"
#include "tests/bench/rule_speed.h"
#include "tests/bench/throughput.h"
#include "tests/load/grpc_client.h"
#include "tests/load/rest_client.h"

namespace longshore::bench {
namespace {

// Prints {"port": P} and serves until SIGTERM.
Status RunEcho(const std::string& kind, const GrpcEchoOptions& options) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::unique_ptr<Echo> echo;
  if (kind == "rest") {
    ASSIGN_OR_RETURN(echo, StartRestEcho());
  } else {
    const auto start = kind == "grpc-queue"   ? StartQueueEcho
                       : kind == "grpc-bytes" ? StartBytesEcho
                                              : StartCallbackEcho;
    echo = start(options);
  }
  std::cout << Json{{"port", echo->port()}}.dump() << std::endl;
  int received = 0;
  sigwait(&signals, &received);
  return {};
}

// Prints the error to standard error. Returns the exit code, 2.
int Fail(const Error& error) {
  std::cerr << "longshore-bench: " << error.message << "\n";
  return 2;
}

struct ThroughputFlags {
  std::string grpc;
  std::string rest;
  std::string infer;
  bool bytes = false;
  size_t answer_bytes_min = 0;
  int connections = 4;
  int seconds = 2;
  Pressure pressure;
  load::SampleOptions samples;
};

Result<std::unique_ptr<load::Client>> MakeClient(const ThroughputFlags& flags, const load::Samples& samples,
                                                 const Calls& calls) {
  if (!calls.requests.empty()) {
    const std::string& target = flags.infer.empty() ? flags.grpc : flags.infer;
    return MakeBytesClient(
        {.target = target, .connections = flags.connections, .answer_bytes_min = flags.answer_bytes_min}, calls);
  }
  if (!flags.grpc.empty())
    return load::MakeGrpcClient({.target = flags.grpc, .connections = flags.connections}, samples);
  ASSIGN_OR_RETURN(load::RestOptions options, load::ParseRestTarget(flags.rest));
  options.connections_max = static_cast<size_t>(flags.pressure.outstanding);
  options.requests_per_connection_max = 1 << 30;
  return load::MakeRestClient(options, samples);
}

Result<Throughput> RunThroughput(ThroughputFlags flags) {
  flags.pressure.measured = std::chrono::seconds(flags.seconds);
  ASSIGN_OR_RETURN(const load::Samples samples, load::MakeSamples(flags.samples));
  const Calls calls = !flags.infer.empty() ? InferCalls() : flags.bytes ? PredictCalls(samples) : Calls();
  ASSIGN_OR_RETURN(const auto client, MakeClient(flags, samples, calls));
  return Measure(*client, calls.requests.empty() ? samples.size() : calls.requests.size(), flags.pressure);
}

int PrintThroughput(const ThroughputFlags& flags) {
  const auto measured = RunThroughput(flags);
  if (!measured) return Fail(measured.error());
  std::cout << Json{{"answered", measured->answered},
                    {"failed", measured->failed},
                    {"first_failure", measured->first_failure},
                    {"seconds", measured->seconds},
                    {"server_cpu_seconds", measured->server_cpu_seconds},
                    {"per_second", static_cast<double>(measured->answered) / measured->seconds}}
                   .dump()
            << std::endl;
  return measured->failed == 0 ? 0 : 1;
}

void AddThroughput(CLI::App& app, ThroughputFlags& flags) {
  auto* throughput = app.add_subcommand("throughput", "answers per second, as JSON");
  throughput->add_option("--grpc", flags.grpc, "host:port");
  throughput->add_option("--rest", flags.rest, "host:port");
  throughput->add_option("--infer", flags.infer,
                         "host:port of a server of the Open Inference Protocol with the model identity");
  throughput->add_flag("--bytes", flags.bytes, "with --grpc: send requests made before, and do not parse the answers");
  throughput->add_option("--answer_bytes_min", flags.answer_bytes_min,
                         "with --bytes or --infer: a shorter answer fails");
  throughput->add_option("--connections", flags.connections, "of gRPC")->capture_default_str();
  throughput->add_option("--outstanding", flags.pressure.outstanding, "number of requests in flight")
      ->capture_default_str();
  throughput->add_option("--seconds", flags.seconds, "duration of the measurement, which begins after half a second")
      ->capture_default_str();
  throughput->add_option("--server_pid", flags.pressure.server, "measure the processor time of this process, too");
  throughput->add_option("--model", flags.samples.model)->capture_default_str();
  throughput->add_option("--input", flags.samples.input)->capture_default_str();
  throughput->add_option("--shape", flags.samples.shape, "shape of one request, batch dimension first")->delimiter(',');
}

int RunHop(int floats) {
  const auto cost = MeasureHop(floats);
  if (!cost) return Fail(cost.error());
  std::cout << Json{{"plain_us", cost->plain_us},
                    {"tls_us", cost->tls_us},
                    {"plain_cpu_us", cost->plain_cpu_us},
                    {"tls_cpu_us", cost->tls_cpu_us},
                    {"plain_connect_ms", cost->plain_connect_ms},
                    {"tls_connect_ms", cost->tls_connect_ms}}
                   .dump()
            << std::endl;
  return 0;
}

int RunPace(const Pace& pace) {
  const auto samples = load::MakeSamples({});
  if (!samples) return Fail(samples.error());
  const Latencies seen = MeasurePace(pace, *samples);
  std::cout << Json{{"answered", seen.answered},
                    {"failed", seen.failed},
                    {"p50_ms", seen.p50_ms},
                    {"p99_ms", seen.p99_ms},
                    {"late_p99_ms", seen.late_p99_ms}}
                   .dump()
            << std::endl;
  return seen.failed == 0 ? 0 : 1;
}

int RunAccepts(const Accepts& accepts) {
  const auto per_second = MeasureAccepts(accepts);
  if (!per_second) return Fail(per_second.error());
  std::cout << Json{{"per_second", *per_second}}.dump() << std::endl;
  return 0;
}

int RunJson(JsonApi api) {
  Json speeds;
  for (const auto& [name, digits] : {std::pair{"4", 4}, {"8", 8}, {"Python's", kPythons}}) {
    speeds[name] = MeasureJson(api, digits).millions_per_second;
  }
  std::cout << Json{{"millions_per_second", speeds}}.dump() << std::endl;
  return 0;
}

int RunJsonPeak() {
  std::cout << Json{{"peak_over_body", MeasureJsonPeak(8)}}.dump() << std::endl;
  return 0;
}

int RunRules() {
  const RuleSpeed speed = MeasureRules();
  std::cout
      << Json{{"rules_us", speed.rules_us}, {"regex_us", speed.regex_us}, {"std_regex_us", speed.std_regex_us}}.dump()
      << std::endl;
  return 0;
}

int RunBombs() {
  Json bombs = Json::array();
  for (const Bomb& bomb : MeasureBombs())
    bombs.push_back({{"expression", bomb.expression}, {"refusal", bomb.refusal}, {"us", bomb.us}});
  std::cout << bombs.dump() << std::endl;
  return 0;
}

// The subcommands without options.
struct Measurement {
  const char* name;
  const char* about;
  int (*run)();
};
constexpr Measurement kMeasurements[] = {
    {"json", "parse JSON bodies; prints millions of floats per second", [] { return RunJson(JsonApi::kPredict); }},
    {"json-infer", "the same for bodies of the Open Inference Protocol", [] { return RunJson(JsonApi::kInfer); }},
    {"json-memory", "parse a JSON body; prints the peak memory divided by the body's bytes", RunJsonPeak},
    {"rules", "compare a request with match rules; prints the times as JSON", RunRules},
    {"bombs", "match hostile regular expressions; prints the times as JSON", RunBombs}};

int Main(int argc, char** argv) {
  CLI::App app("Echo servers, clients and small measurements, for ./dev bench serving and routes");
  app.require_subcommand(1);
  std::string kind = "grpc-callback";
  auto* echo = app.add_subcommand("echo", "serve until SIGTERM; prints its port as JSON");
  echo->add_option("--kind", kind)->check(CLI::IsMember({"grpc-callback", "grpc-queue", "grpc-bytes", "rest"}));
  GrpcEchoOptions echo_options;
  echo->add_option("--answer_floats", echo_options.answer_floats,
                   "floats of each gRPC answer; 0: the inputs are the outputs");
  ThroughputFlags flags;
  AddThroughput(app, flags);
  Pace pace;
  auto* paced = app.add_subcommand("pace", "latencies at a rate of gRPC requests, as JSON");
  paced->add_option("--grpc", pace.target, "host:port")->required();
  paced->add_option("--rate", pace.per_second, "requests per second")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  paced->add_option("--models", pace.models, "requests name m0, m1 and so on in turn; 0: the model \"default\"");
  Accepts accepts;
  auto* accepting = app.add_subcommand("accepts", "new connections per second, as JSON");
  accepting->add_option("--port", accepts.port, "on 127.0.0.1")->required();
  std::string protocol = "grpc";
  accepting->add_option("--protocol", protocol)->check(CLI::IsMember({"grpc", "rest"}));
  for (const Measurement& each : kMeasurements) app.add_subcommand(each.name, each.about);
  int floats = 1;
  auto* hop = app.add_subcommand("hop", "call one node's forwarder with and without TLS; prints the times as JSON");
  hop->add_option("--floats", floats, "number of floats of a request, and of its answer")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (*echo) {
    const auto served = RunEcho(kind, echo_options);
    return served ? 0 : Fail(served.error());
  }
  if (*hop) return RunHop(floats);
  if (*paced) return RunPace(pace);
  accepts.opening = protocol == "grpc" ? kGrpcOpening : kRestOpening;
  if (*accepting) return RunAccepts(accepts);
  for (const Measurement& each : kMeasurements) {
    if (app.got_subcommand(each.name)) return each.run();
  }
  return PrintThroughput(flags);
}

}  // namespace
}  // namespace longshore::bench

int main(int argc, char** argv) { return longshore::bench::Main(argc, argv); }
