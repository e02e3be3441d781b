#include "serving-node/golden_files/from_model.h"

#include <algorithm>
#include <ostream>

#include "common/binary_proto/binary_proto.h"
#include "common/os/file.h"
#include "serving-node/golden_files/draft.h"
#include "serving-node/golden_files/npz.h"
#include "serving-node/golden_files/progress.h"
#include "serving-node/golden_files/trusted_version.h"
#include "serving-node/inspect/inputs.h"
#include "serving-node/models/recorded_request.h"
#include "serving-node/saved_model/tfrecord.h"
#include "serving-node/tensor/info.h"

namespace longshore::golden_files {
namespace {

using engine::RunRequest;
using engine::TensorMap;
using tensorflow::SignatureDef;

// Adds the answers of a version to a draft.
class Recorder {
 public:
  Recorder(const Options& options, TrustedVersion& version, Draft& draft, std::ostream& notes)
      : options_(options), version_(version), draft_(draft), progress_("ran", notes) {}

  Status Add(RunRequest request) {
    ASSIGN_OR_RETURN(TensorMap expected, version_.Answer(request));
    RETURN_IF_ERROR(draft_.Add({.request = std::move(request), .expected = std::move(expected)}));
    progress_.Done(draft_.records());
    return {};
  }

  // Adds the rows of the inputs, as many at a time as the options say.
  Status AddRows(const inspect::Inputs& inputs, const SignatureDef& signature);
  Status AddLog(const Path& file);

 private:
  Status AddLogged(const std::string& bytes);

  const Options& options_;
  TrustedVersion& version_;
  Draft& draft_;
  Progress progress_;
};

// How many rows each input has. nullopt if the inputs are one record: the signature states that an input has no rows of
// any number. InvalidArgument if two inputs have different numbers.
Result<std::optional<int64_t>> RowsOf(const TensorMap& inputs, const SignatureDef& signature) {
  std::optional<int64_t> rows;
  for (const auto& [name, values] : inputs) {
    const auto& info = signature.inputs().at(name);
    const bool any_rank = !tensor::PatternOf(info);
    if (values.rank() == 0 || (!any_rank && !tensor::HasOpenRows(info))) return std::nullopt;
    if (rows && *rows != values.dim(0))
      return InvalidArgument("input \"{}\" has {} rows, but input \"{}\" has {}", name, values.dim(0),
                             inputs.begin()->first, *rows);
    rows = values.dim(0);
  }
  return rows;
}

Status Recorder::AddRows(const inspect::Inputs& inputs, const SignatureDef& signature) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> rows, RowsOf(inputs.tensors, signature));
  if (!rows) return Add({.signature = inputs.signature, .inputs = inputs.tensors, .outputs = options_.outputs});
  for (int64_t begin = 0; begin < *rows; begin += options_.inputs.batch) {
    const int64_t end = std::min(begin + options_.inputs.batch, *rows);
    RunRequest request{.signature = inputs.signature, .inputs = {}, .outputs = options_.outputs};
    for (const auto& [name, values] : inputs.tensors) request.inputs[name] = values.Rows(begin, end);
    auto added = Add(std::move(request));
    if (added) continue;
    added.error().message += inspect::OtherShapes(inputs.tensors, signature);
    return Prefixed(added.error(), fmt::format("row {}", begin));
  }
  return {};
}

Status Recorder::AddLogged(const std::string& bytes) {
  tensorflow::serving::PredictionLog log;
  if (!ParseBinaryProto(bytes, &log)) return DataLoss("it is not a PredictionLog");
  ASSIGN_OR_RETURN(engine::LoadedModel* const model, version_.Load());
  ASSIGN_OR_RETURN(auto requests, models::RecordedRequests(log, model->signatures()));
  for (models::RecordedRequest& request : requests) {
    if (!options_.outputs.empty()) request.run.outputs = options_.outputs;
    RETURN_IF_ERROR(Add(std::move(request.run)));
  }
  return {};
}

Status Recorder::AddLog(const Path& file) {
  ASSIGN_OR_RETURN(auto reader, saved_model::TfRecordReader::Open(file));
  for (size_t index = 0;; ++index) {
    const uint64_t offset = reader.offset();
    ASSIGN_OR_RETURN(const auto bytes, reader.Next());
    if (!bytes) return {};
    if (const Status added = AddLogged(*bytes); !added)
      return Prefixed(added.error(), fmt::format("{}: record {} at byte {}", file.string(), index, offset));
  }
}

// The arrays of an archive are the inputs of the same names.
Result<inspect::Inputs> ReadArchive(const std::string& file, const std::string& signature, const SignatureDef& def) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file));
  const auto arrays = ParseNpz(bytes);
  if (!arrays) return Prefixed(arrays.error(), file);
  inspect::Inputs inputs{.signature = signature, .tensors = {}};
  for (const auto& [name, npy] : *arrays) {
    ASSIGN_OR_RETURN(inputs.tensors[name], inspect::ParseInput(npy, file, name, def));
  }
  return inputs;
}

// Reads arrays or JSON.
Result<inspect::Inputs> ReadInputs(const Options& options, const engine::LoadedModel& model) {
  const std::string& file = options.inputs.file;
  inspect::Options request;
  request.signature = options.signature;
  request.inputs = options.inputs.files;
  request.inputs_file = file;
  if (!file.ends_with(".npz") && !file.ends_with(".npy")) return inspect::ReadInputs(request, model);
  const std::string name = inspect::SignatureOf(request);
  ASSIGN_OR_RETURN(const SignatureDef* signature, inspect::FindSignature(model.signatures(), name));
  if (file.ends_with(".npz")) return ReadArchive(file, name, *signature);
  if (signature->inputs().size() != 1)
    return InvalidArgument("{}: the signature \"{}\" has {} inputs: use --input NAME=FILE.npy, or a .npz file", file,
                           name, signature->inputs().size());
  request.inputs = {signature->inputs().begin()->first + "=" + file};
  request.inputs_file.clear();
  return inspect::ReadInputs(request, model);
}

bool IsLog(const std::string& file) {
  return !file.empty() && file != "-" && !file.ends_with(".npz") && !file.ends_with(".npy") && !file.ends_with(".json");
}

Status RecordAll(const Options& options, TrustedVersion& version, Recorder& recorder) {
  if (IsLog(options.inputs.file)) return recorder.AddLog(options.inputs.file);
  ASSIGN_OR_RETURN(engine::LoadedModel* const model, version.Load());
  ASSIGN_OR_RETURN(const inspect::Inputs inputs, ReadInputs(options, *model));
  ASSIGN_OR_RETURN(const SignatureDef* signature, inspect::FindSignature(model->signatures(), inputs.signature));
  return recorder.AddRows(inputs, *signature);
}

}  // namespace

Status FromModel(const Options& options, const Path& version_dir, std::ostream& out, std::ostream& notes) {
  ASSIGN_OR_RETURN(Draft draft, Draft::Open(options.out));
  TrustedVersion version(version_dir);
  Recorder recorder(options, version, draft, notes);
  RETURN_IF_ERROR(RecordAll(options, version, recorder));
  RETURN_IF_ERROR(draft.Write());
  out << fmt::format("{}: {} records; the known answers are those of {}\n", draft.file().string(), draft.records(),
                     version.dir().string());
  return {};
}

}  // namespace longshore::golden_files
