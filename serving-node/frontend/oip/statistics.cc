#include "serving-node/frontend/oip/statistics.h"

#include "common/base/text.h"

namespace longshore::frontend::oip {
namespace {

using ::inference::StatisticDuration;

void Fill(const routing::TotalTime& from, StatisticDuration* to) {
  to->set_count(from.count);
  to->set_ns(static_cast<uint64_t>(from.time.count()));
}

// For a step that is counted, but whose time is not measured.
void FillCount(uint64_t count, StatisticDuration* to) {
  to->set_count(count);
  to->set_ns(0);
}

}  // namespace

::inference::ModelStatistics ToProto(const std::string& model, int64_t version,
                                     const routing::VersionStatistics& statistics) {
  ::inference::ModelStatistics proto;
  proto.set_name(ValidUtf8(model));
  proto.set_version(std::to_string(version));
  proto.set_last_inference(statistics.last_success_ms);
  proto.set_inference_count(statistics.rows);
  proto.set_execution_count(statistics.runs);
  auto& infer = *proto.mutable_inference_stats();
  Fill(statistics.success, infer.mutable_success());
  Fill(statistics.fail, infer.mutable_fail());
  Fill(statistics.queue, infer.mutable_queue());
  FillCount(statistics.run.count, infer.mutable_compute_input());
  Fill(statistics.run, infer.mutable_compute_infer());
  FillCount(statistics.run.count, infer.mutable_compute_output());
  infer.mutable_cache_hit();
  infer.mutable_cache_miss();
  for (const auto& [rows, runs] : statistics.by_rows) {
    auto& batch = *proto.add_batch_stats();
    batch.set_batch_size(static_cast<uint64_t>(rows));
    FillCount(runs.count, batch.mutable_compute_input());
    Fill(runs, batch.mutable_compute_infer());
    FillCount(runs.count, batch.mutable_compute_output());
  }
  return proto;
}

}  // namespace longshore::frontend::oip
