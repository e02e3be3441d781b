#include "tests/load/flags.h"

#include <CLI/CLI.hpp>

#include "common/command_line/mistakes.h"

namespace longshore::load {
namespace {

constexpr const char* kAbout =
    R"(Sends predict requests to a TensorFlow Serving endpoint and keeps a ledger of the answers.

Open loop: requests arrive as a Poisson process at the given rate, whether or not earlier ones were answered. So a slow
server does not get fewer requests, and the latencies are those that users would have seen.

  longshore-load --grpc=127.0.0.1:8500 --model=half_plus_two --rate=100 --duration_s=10
      100 requests per second for 10 s, each with one number as the input "x"
  longshore-load --grpc=127.0.0.1:8500 --model=digits --input=image --shape=1,8,8,1 --rate=500
      until Ctrl-C; --shape is that of one request, batch dimension first
  longshore-load --grpc=127.0.0.1:8500 --rest=127.0.0.1:8501 --rest_share=0.5 --rate=100 --duration_s=10
      half of the requests over REST
  longshore-load --grpc=127.0.0.1:8500 --model=mood --input=text --texts=reviews.txt --rate=100 --duration_s=10
      each request has one line of the file as a text, in turn; with --shape=8 it has eight lines
  longshore-load --grpc=127.0.0.1:8500 --model=digits --keyed_share=1 --keys=1000 --rate=100 --duration_s=60
      each request is that of one of 1000 users, named in x-user-id
  longshore-load --grpc=127.0.0.1:8500 --rate=100 --duration_s=30 --json > before.json
  longshore-load --compare before.json after.json
      two runs side by side, and which differences are larger than their uncertainty

While it runs, a terminal shows a line with the elapsed time, the answers per second, errors and latencies of the last
second. At the end it prints the achieved rate, a histogram of latencies, errors by code, and the versions and nodes
that answered. It exits with 0 if every request got exactly one good answer, otherwise with 1.

It takes commands, one per line on standard input:
  rate 500      from now on 500 requests per second
  mark NAME     end the segment under way and begin another; the summary has a line for each segment
  stop          send no more, wait for the answers, print the summary

With --json it prints lines of JSON for programs: "progress" each second, "segment" for each segment whose requests are
all answered, "final".)";

void AddTarget(CLI::App& app, Flags& flags) {
  app.add_option("--grpc", flags.grpc_target, "gRPC address: host:port or unix:/path; required");
  app.add_option("--rest", flags.rest_target, "REST address: host:port; needed for --rest_share");
  app.add_option("--connections", flags.connections, "gRPC connections")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--fresh_connections", flags.fresh_connections, "Open a new connection for every request");
  app.add_option("--deadline_ms", flags.deadline_ms, "Deadline of each request")
      ->check(CLI::Range(1, 3'600'000))
      ->capture_default_str();
  app.add_option(
         "--retries", flags.generator.retries,
         "How often a request is sent again, 50 ms later, if its connection died; the output counts these retries")
      ->check(CLI::Range(0, 10))
      ->capture_default_str();
}

void AddInputs(CLI::App& app, Flags& flags) {
  app.add_option("--model", flags.samples.model, "Name of the model")->capture_default_str();
  app.add_option("--signature", flags.samples.signature,
                 "Name of the signature; default: the model's default signature");
  app.add_option("--model_version", flags.samples.version, "Name this version in every request");
  app.add_option("--input", flags.samples.input, "Name of the input")->capture_default_str();
  app.add_option("--shape", flags.samples.shape, "Shape of one request's input, batch dimension first: 1,8,8,1")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--data", flags.samples.data, "File of inputs, raw little-endian float32; default: small numbers")
      ->check(CLI::ExistingFile);
  app.add_option("--texts", flags.samples.texts, "File of inputs for a model of texts: one text per line")
      ->check(CLI::ExistingFile);
}

void AddTraffic(CLI::App& app, Flags& flags) {
  GeneratorOptions& generator = flags.generator;
  app.add_option("--rate", generator.rate_per_second, "Requests per second at the start")
      ->check(CLI::Range(0.0, kRateMax))
      ->capture_default_str();
  app.add_option("--rest_share", generator.rest_share, "Share of the requests over REST")->check(CLI::Range(0.0, 1.0));
  app.add_option("--keyed_share", generator.keys.share, "Share of the requests with a user key in x-user-id")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--keys", generator.keys.distinct, "Distinct user keys")
      ->check(CLI::Range(uint64_t{1}, kKeysMax))
      ->capture_default_str();
  app.add_flag("--keys_once", generator.keys.once, "Send each key once, in turn, instead of drawing keys at random");
  app.add_option("--in_flight_max", generator.in_flight_max,
                 "Maximum number of requests in flight; above it, requests are not sent and count as failed")
      ->capture_default_str();
  app.add_option("--requests", generator.requests_max, "Stop after this number of requests; 0: never");
  app.add_option("--duration_s", flags.duration_s, "Stop after this time in seconds; 0: never");
  app.add_option("--seed", generator.seed, "Seed of the random arrivals and keys")->capture_default_str();
  app.add_option("--moves_file", flags.moves_file,
                 "Write each change of a key's version here: sent_unix_ms,key,from,to");
}

void AddOutput(CLI::App& app, Flags& flags) {
  app.add_flag("--json", flags.json, "Print lines of JSON instead of text");
  app.add_option("--compare", flags.compare, "Compare two runs that were saved with --json; sends nothing")
      ->expected(2)
      ->type_name("A.json B.json");
}

Status CheckTogether(const Flags& flags) {
  if (!flags.compare.empty()) return {};
  if (flags.grpc_target.empty()) return InvalidArgument("--grpc=HOST:PORT is missing (see longshore-load --help)");
  if (flags.generator.rest_share > 0 && flags.rest_target.empty())
    return InvalidArgument("--rest_share needs --rest=HOST:PORT");
  return {};
}

}  // namespace

Result<std::optional<Flags>> ParseFlags(int argc, char** argv) {
  Flags flags;
  CLI::App app(kAbout, "longshore-load");
  AddTarget(app, flags);
  AddInputs(app, flags);
  AddTraffic(app, flags);
  AddOutput(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0)
      return InvalidArgument("{} (see longshore-load --help)", command_line::Explain(error, app));
    app.exit(error);
    return std::nullopt;
  }
  RETURN_IF_ERROR(CheckTogether(flags));
  return flags;
}

}  // namespace longshore::load
