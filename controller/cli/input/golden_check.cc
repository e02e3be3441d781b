#include "controller/cli/input/golden_check.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>

#include "common/binary_proto/binary_proto.h"
#include "tensorflow_serving/prediction_log.pb.h"

namespace longshore::cli::input {
namespace {

using tensorflow::serving::PredictionLog;

// A record of a TFRecord file is its length in 8 bytes, their checksum, the bytes, and their checksum. The nodes verify
// the checksums.
std::optional<PredictionLog> FirstRecord(const Path& file) {
  constexpr uint64_t kLengthMax = uint64_t{64} << 20;
  constexpr size_t kHeaderBytes = 12;
  std::ifstream stream(file, std::ios::binary);
  char header[kHeaderBytes];
  uint64_t length = 0;
  if (!stream.read(header, kHeaderBytes)) return std::nullopt;
  std::memcpy(&length, header, sizeof(length));
  std::error_code error;
  if (length > std::min<uint64_t>(kLengthMax, std::filesystem::file_size(file, error))) return std::nullopt;
  std::string bytes(length, '\0');
  PredictionLog log;
  if (!stream.read(bytes.data(), static_cast<std::streamsize>(length)) || !ParseBinaryProto(bytes, &log))
    return std::nullopt;
  return log;
}

// As the nodes choose the output that top1 compares.
bool HasScores(const tensorflow::TensorProto& output) {
  const auto& shape = output.tensor_shape();
  return output.dtype() == tensorflow::DT_FLOAT && shape.dim_size() > 0 && shape.dim(shape.dim_size() - 1).size() > 1;
}

}  // namespace

std::string WhyTop1ScoresZero(const Path& golden_set) {
  const auto record = FirstRecord(golden_set);
  if (!record || !record->has_predict_log()) return "";
  const auto& outputs = record->predict_log().response().outputs();
  if (std::ranges::any_of(outputs, [](const auto& output) { return HasScores(output.second); })) return "";
  return "top1 compares a float output with more than one column, which the first known answer of " +
         golden_set.string() + " does not have, so no version could score with it: use `metric: tolerance`";
}

}  // namespace longshore::cli::input
