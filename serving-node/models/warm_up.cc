#include "serving-node/models/warm_up.h"

#include "serving-node/saved_model/tfrecord.h"
#include "serving-node/tensor/proto.h"
#include "tensorflow_serving/prediction_log.pb.h"

namespace longshore::models {
namespace {

namespace tfs = tensorflow::serving;

Result<engine::RunRequest> ToRunRequest(const tfs::PredictRequest& request) {
  const std::string& signature = request.model_spec().signature_name();
  engine::RunRequest run{signature.empty() ? "serving_default" : signature, {}, {}};
  for (const auto& [name, proto] : request.inputs()) {
    ASSIGN_OR_RETURN(run.inputs[name], tensor::FromProto(proto));
  }
  run.outputs.assign(request.output_filter().begin(), request.output_filter().end());
  return run;
}

Status Replay(engine::LoadedModel& model, const std::string& record, int iterations) {
  tfs::PredictionLog log;
  if (!log.ParseFromString(record)) return InvalidArgument("it is not a PredictionLog");
  if (!log.has_predict_log()) {
    return Unimplemented("only predict logs can be replayed, and this is log type {}",
                         static_cast<int>(log.log_type_case()));
  }
  ASSIGN_OR_RETURN(const engine::RunRequest request, ToRunRequest(log.predict_log().request()));
  for (int i = 0; i < iterations; ++i) RETURN_IF_ERROR(engine::RunAndWait(model, request));
  return {};
}

}  // namespace

Result<size_t> WarmUp(engine::LoadedModel& model, const Path& version_dir, int iterations) {
  const Path path = version_dir / "assets.extra" / "tf_serving_warmup_requests";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return 0;
  const auto records = saved_model::ReadTfRecords(path, kWarmUpRecordsMax);
  if (!records && records.error().code == Code::kResourceExhausted) {
    return InvalidArgument("Number of warmup records exceeds the maximum ({}) at {}", kWarmUpRecordsMax, path.string());
  }
  if (!records && records.error().code == Code::kDataLoss) {
    return DataLoss("{}. Please verify your warmup data is in TFRecord format.", records.error().message);
  }
  if (!records) return tl::make_unexpected(records.error());
  for (size_t i = 0; i < records->size(); ++i) {
    if (auto status = Replay(model, (*records)[i], iterations); !status) {
      return Prefixed(status.error(), fmt::format("warm-up record {} of {}", i, path.string()));
    }
  }
  return records->size();
}

}  // namespace longshore::models
