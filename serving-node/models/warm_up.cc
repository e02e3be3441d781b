#include "serving-node/models/warm_up.h"

#include <fmt/ranges.h>

#include <chrono>

#include "common/binary_proto/binary_proto.h"
#include "common/os/log.h"
#include "serving-node/models/recorded_request.h"
#include "serving-node/models/synthetic_request.h"
#include "serving-node/saved_model/tfrecord.h"

namespace longshore::models {
namespace {

constexpr const char* kVerify = "Please verify your warmup data is in TFRecord format.";

Result<std::vector<std::string>> ReadRecords(const Path& path) {
  auto records = saved_model::ReadTfRecords(path, kWarmUpRecordsMax);
  if (records) return records;
  if (records.error().code == Code::kResourceExhausted) {
    return InvalidArgument("Number of warmup records exceeds the maximum ({}) at {}", kWarmUpRecordsMax, path.string());
  }
  if (records.error().code == Code::kDataLoss) return DataLoss("{}. {}", records.error().message, kVerify);
  return tl::make_unexpected(std::move(records.error()));
}

Status Replay(engine::LoadedModel& model, const std::string& record, int iterations, int64_t* runs) {
  tensorflow::serving::PredictionLog log;
  if (!ParseBinaryProto(record, &log)) return InvalidArgument("it is not a PredictionLog. {}", kVerify);
  ASSIGN_OR_RETURN(const auto requests, RecordedRequests(log, model.signatures()));
  for (int i = 0; i < iterations; ++i) {
    for (const RecordedRequest& request : requests) {
      ASSIGN_OR_RETURN(const engine::TensorMap outputs, engine::RunAndWait(model, request.run));
      RETURN_IF_ERROR(request.check(outputs));
      ++*runs;
    }
  }
  return {};
}

Result<size_t> ReplayAll(engine::LoadedModel& model, const Path& path, int iterations, int64_t* runs) {
  ASSIGN_OR_RETURN(const auto records, ReadRecords(path));
  for (size_t i = 0; i < records.size(); ++i) {
    if (auto status = Replay(model, records[i], iterations, runs); !status) {
      return Prefixed(status.error(), fmt::format("warm-up record {} of {}", i, path.string()));
    }
  }
  return records.size();
}

// Runs the signature once for each batch size. Returns the number of successful runs. All failures are in one line of
// the log, because a signature that cannot run with generated inputs usually fails with every batch size.
int64_t RunSynthetic(engine::LoadedModel& model, const Path& version_dir, const std::string& name,
                     const tensorflow::SignatureDef& signature, const std::vector<int>& batch_sizes) {
  std::vector<int> failed;
  std::string why;
  for (const int rows : batch_sizes) {
    auto request = SyntheticRequest(name, signature, rows);
    auto outputs =
        request ? engine::RunAndWait(model, std::move(*request)) : tl::make_unexpected(std::move(request.error()));
    if (outputs) continue;
    if (failed.empty()) why = std::move(outputs.error().message);
    failed.push_back(rows);
  }
  if (!failed.empty()) {
    spdlog::info("{}: signature \"{}\" is not warmed up with {} rows: {}", version_dir.string(), name,
                 fmt::join(failed, ", "), why);
  }
  return static_cast<int64_t>(batch_sizes.size() - failed.size());
}

int64_t RunSynthetic(engine::LoadedModel& model, const Path& version_dir, const std::vector<int>& batch_sizes) {
  int64_t runs = 0;
  for (const auto& [name, signature] : model.signatures()) {
    if (!engine::IsInternal(name)) runs += RunSynthetic(model, version_dir, name, signature, batch_sizes);
  }
  return runs;
}

}  // namespace

Result<size_t> WarmUp(engine::LoadedModel& model, const Path& version_dir, const WarmUpOptions& options) {
  const Path path = version_dir / "assets.extra" / "tf_serving_warmup_requests";
  std::error_code ignored;
  const bool recorded = std::filesystem::exists(path, ignored);
  const auto begin = std::chrono::steady_clock::now();
  int64_t runs = 0;
  size_t records = 0;
  if (recorded) {
    ASSIGN_OR_RETURN(records, ReplayAll(model, path, options.iterations, &runs));
  }
  const bool padded = !options.batch_sizes.empty();
  if (padded || !recorded) runs += RunSynthetic(model, version_dir, padded ? options.batch_sizes : std::vector{1});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  spdlog::info("{}: {} warm-up runs in {:.3f} s", version_dir.string(), runs, took.count());
  return records;
}

}  // namespace longshore::models
