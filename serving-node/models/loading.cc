#include "serving-node/models/loading.h"

#include "common/os/log.h"
#include "common/version_files/digest.h"
#include "common/version_files/folder.h"
#include "serving-node/models/files.h"
#include "serving-node/models/warm_up.h"

namespace longshore::models {
namespace {

using std::chrono::steady_clock;

std::chrono::microseconds Since(steady_clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - begin);
}

Result<std::shared_ptr<engine::LoadedModel>> LoadFiles(engine::Engine& engine, const LoadGate& gate,
                                                       const LoadWork& work, const Path& dir) {
  if (gate) RETURN_IF_ERROR(gate(work.model, work.version, dir));
  const auto begin = steady_clock::now();
  auto loaded = engine.Load(dir, {.tags = work.tags, .deterministic = work.deterministic});
  if (work.meter != nullptr) {
    work.meter->Loaded(dir, loaded ? Status() : tl::make_unexpected(loaded.error()), Since(begin));
  }
  return loaded;
}

Status WarmUpMetered(engine::LoadedModel& model, const LoadWork& work, const Path& dir, const WarmUpOptions& options) {
  const auto begin = steady_clock::now();
  const auto records = WarmUp(model, dir, options);
  const Status status = records ? Status() : tl::make_unexpected(records.error());
  const bool did_something = !records || *records > 0;
  if (work.meter != nullptr && did_something) work.meter->WarmedUp(dir, status, Since(begin), records.value_or(0));
  return status;
}

Result<Loaded> LoadAndWarm(engine::Engine& engine, const LoadGate& gate, const LoadWork& work, const Path& dir,
                           const FileState& before, const std::function<void()>& warming) {
  auto model = LoadFiles(engine, gate, work, dir);
  auto digest = version_files::VersionDigest(dir);
  ASSIGN_OR_RETURN(const FileState after, InspectFiles(dir));
  if (before.files != after.files)
    return Unavailable("{} is still being copied: its files changed while they were loaded", dir.string());
  Loaded loaded;
  ASSIGN_OR_RETURN(loaded.model, std::move(model));
  ASSIGN_OR_RETURN(loaded.digest, std::move(digest));
  if (work.batching_of) {
    ASSIGN_OR_RETURN(loaded.batching, work.batching_of(dir));
  }
  warming();
  if (!work.warm_up) return loaded;
  const auto& batching = loaded.batching ? *loaded.batching : work.batching;
  const WarmUpOptions options{.iterations = work.warm_up_iterations, .batch_sizes = batching.allowed_batch_sizes};
  RETURN_IF_ERROR(WarmUpMetered(*loaded.model, work, dir, options));
  return loaded;
}

}  // namespace

Result<Loaded> LoadVersion(engine::Engine& engine, const LoadGate& gate, const LoadWork& work, const LoadSteps& steps) {
  ASSIGN_OR_RETURN(const Path dir, version_files::FindVersionDir(work.base_path, work.version));
  ASSIGN_OR_RETURN(const FileState files, InspectSettledFiles(dir));
  RETURN_IF_ERROR(steps.reserve(EstimateMemory(files.bytes)));
  auto loaded = LoadAndWarm(engine, gate, work, dir, files, steps.warming);
  if (work.flush_caches) FlushFromCache(dir);
  return loaded;
}

int64_t EstimateMemory(int64_t file_bytes) { return file_bytes + file_bytes / 5; }

}  // namespace longshore::models
