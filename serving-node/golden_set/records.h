// The records of a golden set: requests with known answers, in a TFRecord file of tensorflow.serving.PredictionLog.
#pragma once

#include <optional>

#include "common/base/error.h"
#include "common/base/path.h"
#include "serving-node/engine/engine.h"
#include "serving-node/saved_model/tfrecord.h"
#include "tensorflow_serving/prediction_log.pb.h"

namespace longshore::golden_set {

inline constexpr size_t kRecordsMax = 100'000;

struct Record {
  engine::RunRequest request;
  engine::TensorMap expected;
};

// Returns the record of a PredictionLog; Unimplemented for a log of another method than Predict.
Result<Record> RecordOf(const tensorflow::serving::PredictionLog& log);
// Returns a log from which RecordOf makes the same record.
tensorflow::serving::PredictionLog LogOf(const Record& record);

// Reads a golden set record by record. The messages of all errors begin with "golden set: ", and name the file, the
// record, whose numbers begin at 0, and its offset. Not thread-safe.
class RecordReader {
 public:
  // NotFound if the file does not exist.
  static Result<RecordReader> Open(const Path& file);

  // Returns nullopt at the end of the file. DataLoss for a damaged record, and for a file without records;
  // Unimplemented for a record of another method than Predict; ResourceExhausted for more than kRecordsMax records.
  Result<std::optional<Record>> Next();

  // The number and the offset of the record that Next returned last, or could not read.
  size_t index() const { return index_; }
  uint64_t offset() const { return offset_; }

 private:
  RecordReader(Path file, saved_model::TfRecordReader reader);

  Path file_;
  saved_model::TfRecordReader reader_;
  size_t read_ = 0;
  size_t index_ = 0;
  uint64_t offset_ = 0;
};

}  // namespace longshore::golden_set
