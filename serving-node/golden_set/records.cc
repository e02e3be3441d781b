#include "serving-node/golden_set/records.h"

#include <utility>

#include "common/binary_proto/binary_proto.h"
#include "serving-node/tensor/proto.h"

namespace longshore::golden_set {
namespace {

constexpr const char* kPrefix = "golden set";

Result<engine::TensorMap> FromProtos(const google::protobuf::Map<std::string, tensorflow::TensorProto>& protos) {
  engine::TensorMap tensors;
  for (const auto& [name, proto] : protos) {
    ASSIGN_OR_RETURN(tensors[name], tensor::FromProto(proto));
  }
  return tensors;
}

Result<Record> Parse(const std::string& bytes) {
  tensorflow::serving::PredictionLog log;
  if (!ParseBinaryProto(bytes, &log)) return DataLoss("it is not a PredictionLog");
  return RecordOf(log);
}

}  // namespace

Result<Record> RecordOf(const tensorflow::serving::PredictionLog& log) {
  if (!log.has_predict_log())
    return Unimplemented("it is a PredictionLog of another method: only predict_log is supported");
  const auto& predict = log.predict_log();
  Record record;
  const std::string& signature = predict.request().model_spec().signature_name();
  record.request.signature = signature.empty() ? "serving_default" : signature;
  record.request.outputs.assign(predict.request().output_filter().begin(), predict.request().output_filter().end());
  ASSIGN_OR_RETURN(record.request.inputs, FromProtos(predict.request().inputs()));
  ASSIGN_OR_RETURN(record.expected, FromProtos(predict.response().outputs()));
  return record;
}

tensorflow::serving::PredictionLog LogOf(const Record& record) {
  tensorflow::serving::PredictionLog log;
  auto& request = *log.mutable_predict_log()->mutable_request();
  request.mutable_model_spec()->set_signature_name(record.request.signature);
  for (const auto& [name, values] : record.request.inputs)
    tensor::ToProto(values, &(*request.mutable_inputs())[name], tensor::Encoding::kContent);
  request.mutable_output_filter()->Assign(record.request.outputs.begin(), record.request.outputs.end());
  auto& outputs = *log.mutable_predict_log()->mutable_response()->mutable_outputs();
  for (const auto& [name, values] : record.expected)
    tensor::ToProto(values, &outputs[name], tensor::Encoding::kContent);
  return log;
}

RecordReader::RecordReader(Path file, saved_model::TfRecordReader reader)
    : file_(std::move(file)), reader_(std::move(reader)) {}

Result<RecordReader> RecordReader::Open(const Path& file) {
  auto reader = saved_model::TfRecordReader::Open(file);
  if (!reader) return Prefixed(reader.error(), kPrefix);
  return RecordReader(file, std::move(*reader));
}

Result<std::optional<Record>> RecordReader::Next() {
  index_ = read_;
  offset_ = reader_.offset();
  const auto bytes = reader_.Next();
  if (!bytes) return Prefixed(bytes.error(), kPrefix);
  if (!*bytes && read_ == 0) return DataLoss("{}: {} holds no records", kPrefix, file_.string());
  if (!*bytes) return std::nullopt;
  if (read_ == kRecordsMax)
    return ResourceExhausted("{}: {} has more than {} records", kPrefix, file_.string(), kRecordsMax);
  auto record = Parse(**bytes);
  if (!record)
    return Prefixed(record.error(),
                    fmt::format("{}: {}: record {} at byte {}", kPrefix, file_.string(), index_, offset_));
  ++read_;
  return std::move(*record);
}

}  // namespace longshore::golden_set
