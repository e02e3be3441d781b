#include "serving-node/observe/replay/replay.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <future>
#include <ostream>

#include "common/node_contract/output_rules.h"
#include "common/version_files/digest.h"
#include "serving-node/evidence/agreement.h"
#include "serving-node/evidence/elements.h"
#include "serving-node/inference/inputs.h"
#include "serving-node/observe/replay/bundle.h"
#include "serving-node/tensor/finite.h"
#include "serving-node/tensor/proto.h"

namespace longshore::replay {
namespace {

using std::chrono::steady_clock;

constexpr const char* kAbout =
    R"(Replays a request that failed and that a node captured (--capture_dir), as the only request, in this process.
If a candidate answered it differently from stable in a pair of runs, replays it on both versions and compares them again.

  longshore-node replay /var/lib/longshore/captures/20261121T120000Z-001-digits-4-NON_FINITE.bundle

It loads the version from the directory that the bundle names, or from --model_path, runs the request once without
batching, and prints the answer. A bundle is text: you can change the request in it and replay it again.

Exit status: 0 the request did not fail again, 1 it did (perhaps with another error, or other outputs differ), 2 the
bundle or a model cannot be read.
)";

constexpr int64_t kShownElementsMax = 20;

struct Arguments {
  Path bundle;
  Path model_path;
};

void Print(const engine::TensorMap& outputs, std::ostream& out) {
  for (const auto& [name, values] : outputs) {
    tensorflow::TensorProto proto;
    out << fmt::format("output \"{}\": {}{}{}", name, tensor::DTypeName(values.type()),
                       tensor::ToString(values.shape()), tensor::HasNonFinite(values) ? " holds NaN or Inf" : "");
    if (values.elements() <= kShownElementsMax) {
      tensor::ToProto(values, &proto);
      proto.clear_dtype();
      proto.clear_tensor_shape();
      out << " " << proto.ShortDebugString();
    }
    out << "\n";
  }
}

bool HasNonFinite(const engine::TensorMap& outputs) {
  return std::any_of(outputs.begin(), outputs.end(),
                     [](const auto& output) { return tensor::HasNonFinite(output.second); });
}

void PrintOrigin(engine::LoadedModel& model, engine::RunRequest run, std::ostream& out) {
  std::promise<Result<std::optional<engine::NonFinite>>> promise;
  model.FindNonFinite(std::move(run), [&promise](auto found) { promise.set_value(std::move(found)); });
  const auto found = promise.get_future().get();
  if (!found) out << "the op that produced NaN or Inf cannot be found: " << found.error().message << "\n";
  if (found && *found) out << "NaN or Inf in " << ToString(**found) << "\n";
}

void PrintBundle(const capture::Bundle& bundle, std::ostream& out) {
  out << fmt::format("captured {} on node {}: model \"{}\" version {}\n", bundle.captured_at(), bundle.node(),
                     bundle.model(), bundle.version());
  const std::string origin = bundle.non_finite().empty() ? "" : " in " + bundle.non_finite();
  if (!bundle.difference().empty()) {
    out << fmt::format("captured result: an answer that differs from that of version {}: {}\n", bundle.stable_version(),
                       bundle.difference());
    return;
  }
  out << (bundle.code() == "OK" ? fmt::format("captured result: an answer with NaN or Inf{}\n", origin)
                                : fmt::format("captured result: {}: {}\n", bundle.code(), bundle.error()));
}

void WarnOfOtherFiles(const capture::Bundle& bundle, const Path& dir, std::ostream& out) {
  const auto digest = version_files::VersionDigest(dir);
  if (bundle.digest().empty() || !digest || *digest == bundle.digest()) return;
  out << fmt::format("the files in {} are not those that ran the captured request: their digest is {}, not {}\n",
                     dir.string(), *digest, bundle.digest());
}

// Runs the request and prints the result.
Result<engine::TensorMap> Answer(engine::LoadedModel& model, const Result<engine::RunRequest>& run, std::ostream& out) {
  const auto begin = steady_clock::now();
  auto outputs = run ? engine::RunAndWait(model, *run) : tl::make_unexpected(run.error());
  const double ms = std::chrono::duration<double, std::milli>(steady_clock::now() - begin).count();
  if (outputs) {
    out << fmt::format("replayed result: an answer in {:.1f} ms\n", ms);
    Print(*outputs, out);
  } else {
    out << fmt::format("replayed result: {}\n", ToString(outputs.error()));
  }
  return outputs;
}

Result<engine::RunRequest> RunOf(const capture::Bundle& bundle, const engine::LoadedModel& model) {
  ASSIGN_OR_RETURN(const auto request, inference::Request::Parse(bundle.request()));
  return inference::ToRunRequest(request, model.signatures());
}

// Runs the request and returns true if the failure occurs again.
bool Run(engine::LoadedModel& model, const capture::Bundle& bundle, std::ostream& out) {
  auto run = RunOf(bundle, model);
  const auto outputs = Answer(model, run, out);
  if (!outputs) return true;
  if (!HasNonFinite(*outputs)) return false;
  PrintOrigin(model, std::move(*run), out);
  return true;
}

// Prints how many rows of each output differ by the rules of the bundle, and returns true if any do.
bool PrintDifferences(const capture::Bundle& bundle, const engine::TensorMap& candidate,
                      const engine::TensorMap& stable, std::ostream& out) {
  const std::string mismatch = evidence::Mismatch(candidate, stable, {});
  if (!mismatch.empty()) out << mismatch << "\n";
  bool differ = !mismatch.empty();
  for (const control::OutputRule& rule : bundle.output_rules()) {
    const auto ours = candidate.find(rule.output()), theirs = stable.find(rule.output());
    if (ours == candidate.end() || theirs == stable.end() || !evidence::AppliesTo(rule, theirs->second)) continue;
    const int64_t rows = evidence::RowsOf(theirs->second);
    int64_t rows_differ = 0;
    for (int64_t row = 0; row < rows; ++row)
      rows_differ += evidence::RowAgrees(rule, ours->second, theirs->second, row) ? 0 : 1;
    out << fmt::format("{} of {} rows differ by the rule \"{}\"\n", rows_differ, rows, node_contract::TextOf(rule));
    differ = differ || rows_differ > 0;
  }
  return differ;
}

// Runs the request on both versions and returns true if the candidate fails, or if its outputs differ again.
Result<bool> RunBoth(engine::LoadedModel& candidate, engine::LoadedModel& stable, const capture::Bundle& bundle,
                     std::ostream& out) {
  const auto ours = Answer(candidate, RunOf(bundle, candidate), out);
  out << fmt::format("version {}, the stable one, from {}:\n", bundle.stable_version(), bundle.stable_version_dir());
  const auto theirs = Answer(stable, RunOf(bundle, stable), out);
  if (!theirs) return tl::make_unexpected(theirs.error());
  return !ours || PrintDifferences(bundle, *ours, *theirs, out);
}

Result<int> Replay(const Arguments& arguments, engine::Engine& engine, std::ostream& out) {
  ASSIGN_OR_RETURN(const capture::Bundle bundle, ReadBundle(arguments.bundle));
  const Path dir = arguments.model_path.empty() ? Path(bundle.version_dir()) : arguments.model_path;
  if (dir.empty()) return InvalidArgument("the bundle does not name the directory of the version: use --model_path");
  PrintBundle(bundle, out);
  WarnOfOtherFiles(bundle, dir, out);
  engine::LoadOptions options;
  if (bundle.saved_model_tags_size() > 0)
    options.tags.assign(bundle.saved_model_tags().begin(), bundle.saved_model_tags().end());
  ASSIGN_OR_RETURN(const auto model, engine.Load(dir, options));
  if (!bundle.difference().empty()) {
    ASSIGN_OR_RETURN(const auto stable, engine.Load(bundle.stable_version_dir(), options));
    ASSIGN_OR_RETURN(const bool differ, RunBoth(*model, *stable, bundle, out));
    out << (differ ? "the outputs differ again\n" : "the outputs do not differ again\n");
    return differ ? kReproduced : kNotReproduced;
  }
  const bool seen = Run(*model, bundle, out);
  out << (seen ? "the request failed again\n" : "the request did not fail again\n");
  return seen ? kReproduced : kNotReproduced;
}

}  // namespace

int Main(const std::vector<std::string>& arguments, engine::Engine& engine, std::ostream& out) {
  CLI::App app(kAbout, "longshore-node replay");
  Arguments parsed;
  app.add_option("BUNDLE", parsed.bundle, "the file of the captured request")->required();
  app.add_option("--model_path", parsed.model_path,
                 "use the version in this directory (PATH/saved_model.pb), not the one that the bundle names");
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    out << app.help();
    return kNotReproduced;
  } catch (const CLI::ParseError& error) {
    out << "longshore-node replay: " << error.what() << "\n";
    return kCannotRun;
  }
  const auto status = Replay(parsed, engine, out);
  if (status) return *status;
  out << "longshore-node replay: " << status.error().message << "\n";
  return kCannotRun;
}

}  // namespace longshore::replay
