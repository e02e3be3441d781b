// The part of the rehearsal that runs in the child process.
#include "common/node_contract/rehearsal.h"
#include "common/os/log.h"
#include "serving-node/golden_set/records.h"
#include "serving-node/golden_set/score.h"
#include "serving-node/models/warm_up.h"
#include "serving-node/rehearsal/rehearsal.h"
#include "serving-node/rehearsal/signatures.h"
#include "serving-node/saved_model/saved_model.h"

namespace longshore::rehearsal {
namespace {

// Runs all records and returns the result; that of a missing file has no records. An error names the record that could
// not be read or whose run failed.
Result<control::GoldenResult> RunGoldenSet(const Path& file, engine::LoadedModel& model,
                                           const control::Validation& validation, const golden_set::Observer& observe) {
  auto reader = golden_set::RecordReader::Open(file);
  // Not an error with the code NotFound: the rollout would wait for files of the version, and they are all there.
  if (!reader && reader.error().code == Code::kNotFound) {
    control::GoldenResult missing;
    missing.set_message(reader.error().message);
    return missing;
  }
  RETURN_IF_ERROR(reader);
  golden_set::Score score(validation, observe);
  for (size_t i = 0;; ++i) {
    ASSIGN_OR_RETURN(const auto record, reader->Next());
    if (!record) return score.Finished();
    const Status judged =
        score.Judge(*record, [&](engine::RunRequest request) { return engine::RunAndWait(model, std::move(request)); });
    if (!judged) return Prefixed(judged.error(), fmt::format("golden record {}", i));
  }
}

// Returns which incompatible change the signatures have against the stable version; "" if there is none or the stable
// version cannot be read any more.
std::string SignatureChangeSince(const Path& stable_dir, const engine::LoadedModel& model) {
  if (stable_dir.empty()) return "";
  const auto stable = saved_model::ReadMetaGraph(stable_dir, engine::LoadOptions{}.tags);
  if (!stable) {
    spdlog::warn("cannot compare the signatures with those of the stable version: {}", ToString(stable.error()));
    return "";
  }
  return SignatureChange(stable->signature_def(), model.signatures());
}

}  // namespace

Result<control::GoldenResult> Judge(engine::Engine& engine, const RehearsalOptions& options,
                                    const golden_set::Observer& observe) {
  ASSIGN_OR_RETURN(const auto model,
                   engine.Load(options.version_dir, {.deterministic = options.validation.deterministic()}));
  if (options.warm_up) {
    RETURN_IF_ERROR(models::WarmUp(*model, options.version_dir, {}));
  }
  control::GoldenResult without_set;
  if (const std::string change = SignatureChangeSince(options.stable_dir, *model); !change.empty()) {
    without_set.set_message(fmt::format("{}: {}", node_contract::kSignatureChanged, change));
    return without_set;
  }
  without_set.set_ok(true);
  if (options.validation.golden_set().empty()) return without_set;
  const Path file = options.version_dir.parent_path() / options.validation.golden_set();
  return RunGoldenSet(file, *model, options.validation, observe);
}

}  // namespace longshore::rehearsal
