// The part of the rehearsal that runs in the child process.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/os/log.h"
#include "serving-node/evidence/drift.h"
#include "serving-node/models/warm_up.h"
#include "serving-node/rehearsal/rehearsal.h"
#include "serving-node/rehearsal/signatures.h"
#include "serving-node/saved_model/saved_model.h"
#include "serving-node/saved_model/tfrecord.h"
#include "serving-node/tensor/proto.h"
#include "tensorflow_serving/prediction_log.pb.h"

namespace longshore::rehearsal {
namespace {

using engine::TensorMap;
using tensor::DType;
using tensor::Tensor;

constexpr size_t kGoldenRecordsMax = 100'000;

struct Record {
  engine::RunRequest request;
  TensorMap expected;
};

Result<TensorMap> FromProtos(const google::protobuf::Map<std::string, tensorflow::TensorProto>& protos) {
  TensorMap tensors;
  for (const auto& [name, proto] : protos) {
    ASSIGN_OR_RETURN(tensors[name], tensor::FromProto(proto));
  }
  return tensors;
}

Result<Record> ParseRecord(const std::string& bytes) {
  tensorflow::serving::PredictionLog log;
  if (!log.ParseFromString(bytes)) return DataLoss("it is not a PredictionLog");
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

Result<std::vector<Record>> ReadRecords(const Path& file, size_t records_max) {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, saved_model::ReadTfRecords(file, records_max));
  std::vector<Record> records;
  for (size_t i = 0; i < all.size(); ++i) {
    auto record = ParseRecord(all[i]);
    if (!record) return Prefixed(record.error(), fmt::format("record {} of {}", i, file.string()));
    records.push_back(std::move(*record));
  }
  return records;
}

// Returns the output whose argmax is compared: the first float output with more than one column. nullptr if there is
// none.
const Tensor* Scores(const TensorMap& outputs) {
  for (const auto& [name, values] : outputs) {
    if (values.type() == DType::kFloat && values.rank() > 0 && values.dim(values.rank() - 1) > 1) return &values;
  }
  return nullptr;
}

bool SameTop1(const TensorMap& outputs, const TensorMap& expected) {
  const Tensor* ours = Scores(outputs);
  const Tensor* theirs = Scores(expected);
  if (ours == nullptr || theirs == nullptr || ours->shape() != theirs->shape()) return false;
  return !evidence::Compare({{"scores", *ours}}, {{"scores", *theirs}}).top1_changed;
}

bool BitEqual(const TensorMap& a, const TensorMap& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    const Tensor& left = x.second;
    const Tensor& right = y.second;
    if (x.first != y.first || left.type() != right.type() || left.shape() != right.shape()) return false;
    if (left.type() == DType::kString)
      return std::ranges::equal(left.values<std::string>(), right.values<std::string>());
    return left.bytes() == 0 || std::memcmp(left.data(), right.data(), left.bytes()) == 0;
  });
}

// Returns true if an expected output that is neither float nor double is missing or differs.
bool ExactOutputsDiffer(const TensorMap& outputs, const TensorMap& expected) {
  for (const auto& [name, want] : expected) {
    if (want.type() == DType::kFloat || want.type() == DType::kDouble) continue;
    const auto found = outputs.find(name);
    if (found == outputs.end() || !BitEqual({{name, found->second}}, {{name, want}})) return true;
  }
  return false;
}

class GoldenSet {
 public:
  GoldenSet(engine::LoadedModel& model, const control::Validation& validation)
      : model_(model), validation_(validation) {}

  // Runs all records and returns the result. An error names the record whose run failed.
  Result<control::GoldenResult> Judge(std::vector<Record> records) {
    for (size_t i = 0; i < records.size(); ++i) {
      auto judged = JudgeOne(std::move(records[i]), i);
      if (!judged) return Prefixed(judged.error(), fmt::format("golden record {}", i));
    }
    return Finished();
  }

 private:
  Status JudgeOne(Record record, size_t i) {
    const engine::RunRequest again = record.request;
    ASSIGN_OR_RETURN(const TensorMap outputs, engine::RunAndWait(model_, std::move(record.request)));
    result_.set_records(result_.records() + 1);
    const double difference = evidence::Compare(outputs, record.expected).relative;
    result_.set_worst_relative_difference(std::max(result_.worst_relative_difference(), difference));
    if (validation_.non_finite_reject() && evidence::HasNonFinite(outputs))
      Refuse("an output of golden record {} is NaN or Inf", i);
    if (validation_.deterministic()) {
      ASSIGN_OR_RETURN(const TensorMap repeated, engine::RunAndWait(model_, again));
      if (!BitEqual(outputs, repeated)) Refuse("the input of golden record {} gave two different answers", i);
    }
    const bool passed = validation_.metric() == "tolerance" ? difference <= validation_.relative_tolerance() &&
                                                                  !ExactOutputsDiffer(outputs, record.expected)
                                                            : SameTop1(outputs, record.expected);
    if (passed) result_.set_passed(result_.passed() + 1);
    return {};
  }

  // Records why the version fails; only the first reason is kept.
  void Refuse(fmt::format_string<size_t&> reason, size_t i) {
    if (result_.message().empty()) result_.set_message(fmt::format(reason, i));
  }

  control::GoldenResult Finished() {
    const auto records = static_cast<double>(result_.records());
    result_.set_score(records == 0 ? 0 : static_cast<double>(result_.passed()) / records);
    if (result_.message().empty() && result_.score() < validation_.minimum()) {
      result_.set_message(fmt::format(
          "the golden set {} scored {:.4f}, below the minimum of {:.4f} ({} of {} records passed; metric {})",
          validation_.golden_set(), result_.score(), validation_.minimum(), result_.passed(), result_.records(),
          validation_.metric()));
    }
    result_.set_ok(result_.message().empty());
    return result_;
  }

  engine::LoadedModel& model_;
  const control::Validation& validation_;
  control::GoldenResult result_;
};

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

Result<control::GoldenResult> Judge(engine::Engine& engine, const RehearsalOptions& options) {
  ASSIGN_OR_RETURN(const auto model,
                   engine.Load(options.version_dir, {.deterministic = options.validation.deterministic()}));
  if (options.warm_up) {
    RETURN_IF_ERROR(models::WarmUp(*model, options.version_dir, {}));
  }
  control::GoldenResult without_set;
  if (const std::string change = SignatureChangeSince(options.stable_dir, *model); !change.empty()) {
    without_set.set_message("SignatureChanged: " + change);
    return without_set;
  }
  without_set.set_ok(true);
  if (options.validation.golden_set().empty()) return without_set;
  const Path file = options.version_dir.parent_path() / options.validation.golden_set();
  auto records = ReadRecords(file, kGoldenRecordsMax);
  if (!records) return Prefixed(records.error(), "golden set");
  if (records->empty()) return DataLoss("golden set: {} holds no records", file.string());
  return GoldenSet(*model, options.validation).Judge(std::move(*records));
}

}  // namespace longshore::rehearsal
