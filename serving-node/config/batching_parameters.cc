#include "serving-node/config/batching_parameters.h"

#include <algorithm>
#include <limits>

#include "common/os/file.h"
#include "common/text_proto/text_proto.h"
#include "tensorflow_serving/config.pb.h"

namespace longshore::config {
namespace {

using tensorflow::serving::BatchingParameters;

constexpr int64_t kBatchSizeDefault = 1000;
constexpr int64_t kBatchesDefault = 10;
constexpr int64_t kNumberMax = 1 << 20;  // Limit for numbers of rows and of batches.
constexpr auto kDelayMax = std::chrono::hours(24);

// Checks values of fields; errors name the field and its position in the text.
class Fields {
 public:
  Fields(const BatchingParameters& values, const std::string& what, const Locations& locations)
      : values_(values), what_(what), locations_(locations) {}

  template <typename... Args>
  tl::unexpected<Error> Refuse(const char* name, int index, fmt::format_string<Args...> format, Args&&... args) const {
    const auto* field = values_.GetDescriptor()->FindFieldByName(name);
    const auto at = locations_.GetLocation(field, index);
    const std::string why = fmt::format(format, std::forward<Args>(args)...);
    if (at.line < 0) return InvalidArgument("{}: {} {}", what_, name, why);
    return InvalidArgument("{}:{}:{}: {} {}", what_, at.line + 1, at.column + 1, name, why);
  }

  struct Range {
    int64_t min;
    int64_t max;
  };
  Result<int64_t> Number(const char* name, int64_t value, Range range) const {
    if (value >= range.min && value <= range.max) return value;
    return Refuse(name, -1, "is {}; it must be from {} to {}", value, range.min, range.max);
  }

 private:
  const BatchingParameters& values_;
  const std::string& what_;
  const Locations& locations_;
};

// With splitting, max_batch_size limits a request, and max_execution_batch_size limits a batch.
Status ReadSplitting(const BatchingParameters& values, const Fields& fields, batching::Options* options) {
  if (!values.enable_large_batch_splitting().value()) return {};
  options->request_rows_max = options->max_batch_size;
  if (!values.has_max_execution_batch_size()) return {};
  const int64_t rows = values.max_execution_batch_size().value();
  ASSIGN_OR_RETURN(options->max_batch_size,
                   fields.Number("max_execution_batch_size", rows, {1, options->request_rows_max}));
  return {};
}

Status ReadSizes(const BatchingParameters& values, const Fields& fields, batching::Options* options) {
  int64_t before = 0;
  for (int i = 0; i < values.allowed_batch_sizes_size(); ++i) {
    const int64_t size = values.allowed_batch_sizes(i);
    if (size <= before)
      return fields.Refuse("allowed_batch_sizes", i, "{} is not above {}, the size before it", size, before);
    before = size;
    options->allowed_batch_sizes.push_back(static_cast<int>(std::min(size, kNumberMax)));
  }
  if (before == 0 || before == options->max_batch_size) return {};
  return fields.Refuse("allowed_batch_sizes", values.allowed_batch_sizes_size() - 1,
                       "ends with {}, but the last size must equal {}, which is {}", before,
                       options->request_rows_max > 0 ? "max_execution_batch_size" : "max_batch_size",
                       options->max_batch_size);
}

// Limits the full batches that wait. Also sets queue_max, so high that it admits every request that queue_batches_max
// admits: each request has at least one row.
void LimitBatches(int64_t batches, batching::Options* options) {
  options->queue_batches_max = static_cast<int>(batches);
  const int64_t rows = int64_t{options->queue_batches_max} * options->max_batch_size;
  options->queue_max = static_cast<int>(std::min<int64_t>(rows, std::numeric_limits<int>::max()));
}

Result<Batching> ToBatching(const BatchingParameters& values, const Fields& fields) {
  Batching batching{.options = DefaultBatching(), .threads = 0};
  if (values.has_max_batch_size()) {
    ASSIGN_OR_RETURN(batching.options.max_batch_size,
                     fields.Number("max_batch_size", values.max_batch_size().value(), {1, kNumberMax}));
  }
  if (values.has_batch_timeout_micros()) {
    ASSIGN_OR_RETURN(const int64_t micros, fields.Number("batch_timeout_micros", values.batch_timeout_micros().value(),
                                                         {0, std::numeric_limits<int64_t>::max()}));
    batching.options.max_delay = std::min<std::chrono::microseconds>(std::chrono::microseconds(micros), kDelayMax);
  }
  RETURN_IF_ERROR(ReadSplitting(values, fields, &batching.options));
  batching.options.pad_rows = values.pad_variable_length_inputs();
  int64_t batches = kBatchesDefault;
  if (values.has_max_enqueued_batches()) {
    ASSIGN_OR_RETURN(batches, fields.Number("max_enqueued_batches", values.max_enqueued_batches().value(),
                                            {1, std::numeric_limits<int64_t>::max()}));
  }
  LimitBatches(std::min(batches, kNumberMax), &batching.options);
  if (values.has_num_batch_threads()) {
    ASSIGN_OR_RETURN(batching.threads, fields.Number("num_batch_threads", values.num_batch_threads().value(),
                                                     {1, batching::kConcurrentRunsMax}));
  }
  RETURN_IF_ERROR(ReadSizes(values, fields, &batching.options));
  return batching;
}

}  // namespace

batching::Options DefaultBatching() {
  batching::Options options{.max_batch_size = kBatchSizeDefault};
  LimitBatches(kBatchesDefault, &options);
  return options;
}

Result<Batching> ParseBatching(std::string_view text, const std::string& what) {
  BatchingParameters values;
  Locations locations;
  RETURN_IF_ERROR(ParseTextProto(text, what, &values, &locations));
  return ToBatching(values, Fields(values, what, locations));
}

Result<Batching> ReadBatching(const Path& file) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kTextProtoBytesMax));
  return ParseBatching(text, file.string());
}

}  // namespace longshore::config
