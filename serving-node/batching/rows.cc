#include "serving-node/batching/rows.h"

#include <algorithm>

#include "serving-node/batching/padding.h"
#include "serving-node/engine/together.h"
#include "serving-node/tensor/info.h"

namespace longshore::batching {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

bool HasFreeRows(const tensorflow::TensorInfo& info) {
  const auto pattern = tensor::PatternOf(info);
  return !pattern || (!pattern->empty() && pattern->front() < 0);
}

// Whether the input may have any number of rows, and has the shape that the signature states.
bool FitsFreeRows(const Tensor& input, const tensorflow::TensorInfo& info) {
  return HasFreeRows(info) && tensor::Matches(input.shape(), tensor::PatternOf(info));
}

bool OutputsHaveFreeRows(const engine::Signatures& all, const tensorflow::SignatureDef& signature,
                         const engine::RunRequest& request) {
  const auto& own = signature.outputs();
  if (request.outputs.empty())
    return std::ranges::all_of(own, [](const auto& output) { return HasFreeRows(output.second); });
  return std::ranges::all_of(request.outputs, [&](const std::string& name) {
    if (const auto found = own.find(name); found != own.end()) return HasFreeRows(found->second);
    const auto other = engine::FindTogether(all, signature, name);
    const auto examples = request.inputs.find(engine::kExamplesInput);
    return other && examples != request.inputs.end() && HasFreeRows(*other->info) &&
           FitsFreeRows(examples->second, *other->examples);
  });
}

// Appends the length before the text, so that different requests never have the same key.
void AppendText(const std::string& text, std::string* key) { *key += fmt::format("{}:{};", text.size(), text); }

// A padded batch that is larger than kPaddedBytesMax and than kPaddingFactorMax times its unpadded size is refused, and
// the scheduler retries it in smaller parts: one request with a huge row must not make all rows of its batch huge.
constexpr size_t kPaddedBytesMax = size_t{64} << 20;
constexpr size_t kPaddingFactorMax = 4;

Status CheckPadding(const std::vector<const Tensor*>& parts, const Tensor& joined) {
  size_t bytes = 0;
  for (const Tensor* part : parts) bytes += part->bytes();
  if (joined.bytes() <= kPaddedBytesMax || joined.bytes() <= kPaddingFactorMax * bytes) return {};
  return ResourceExhausted(
      "padding would enlarge a batch from {} to {} bytes; above {} bytes, padding may enlarge a batch to at most {} "
      "times its size",
      bytes, joined.bytes(), kPaddedBytesMax, kPaddingFactorMax);
}

// Returns the part of the key for the shape of a row: the sizes that must be equal, and -1 where padding allows
// different sizes. Requires: the input has the shape that the signature states.
std::string RowKey(const Tensor& input, const tensorflow::TensorInfo& info, bool pad) {
  const Shape row(input.shape().begin() + 1, input.shape().end());
  if (!pad || input.elements() == 0) return tensor::ToString(row);
  Shape common = row;
  const auto pattern = tensor::PatternOf(info);
  for (size_t axis = 0; axis < row.size(); ++axis) {
    if (!pattern || pattern->at(axis + 1) < 0) common[axis] = -1;
  }
  return tensor::ToString(common);
}

Result<Tensor> JoinOne(const Batch& batch, const std::string& name, int64_t rows_padded) {
  std::vector<const Tensor*> parts;
  for (const Task& task : batch) parts.push_back(&task.request.inputs.at(name));
  Shape shape = LargestRow(parts);
  shape.insert(shape.begin(), rows_padded);
  ASSIGN_OR_RETURN(Tensor joined, Tensor::Make(parts.front()->type(), std::move(shape)));
  RETURN_IF_ERROR(CheckPadding(parts, joined));
  int64_t at_row = 0;
  for (const Tensor* part : parts) {
    CopyRows(*part, at_row, &joined);
    at_row += part->dim(0);
  }
  const Tensor filler = joined.Rows(0, 1);
  for (; at_row < rows_padded; ++at_row) CopyRows(filler, at_row, &joined);
  return joined;
}

Result<Tensor> WithRows(const Tensor& input, int64_t rows) {
  const int64_t own = input.dim(0);
  if (rows <= own) return rows == own ? input : input.Rows(0, rows);
  if (static_cast<int64_t>(input.bytes()) > static_cast<int64_t>(kPaddedBytesMax) / rows * own)
    return ResourceExhausted("{} rows of an input with {} bytes in {} rows need too much memory", rows, input.bytes(),
                             own);
  Shape shape = input.shape();
  shape[0] = rows;
  ASSIGN_OR_RETURN(Tensor repeated, Tensor::Make(input.type(), std::move(shape)));
  for (int64_t at = 0; at < rows; at += own) CopyRows(input.Rows(0, std::min(own, rows - at)), at, &repeated);
  return repeated;
}

}  // namespace

Result<engine::RunRequest> WithRows(engine::RunRequest request, int64_t rows) {
  for (auto& [name, input] : request.inputs) {
    ASSIGN_OR_RETURN(input, WithRows(input, rows));
  }
  return request;
}

std::optional<Batchable> FindBatchable(const engine::Signatures& signatures, const engine::RunRequest& request,
                                       bool pad) {
  const auto named = signatures.find(request.signature);
  if (named == signatures.end() || request.inputs.empty()) return std::nullopt;
  const tensorflow::SignatureDef& signature = named->second;
  if (!OutputsHaveFreeRows(signatures, signature, request)) return std::nullopt;
  Batchable found;
  AppendText(request.signature, &found.key);
  for (const auto& [name, input] : request.inputs) {
    const auto info = signature.inputs().find(name);
    if (info == signature.inputs().end() || !FitsFreeRows(input, info->second)) return std::nullopt;
    if (input.rank() < 1 || input.dim(0) < 1 || input.device() != tensor::Device{}) return std::nullopt;
    if (found.rows != 0 && found.rows != input.dim(0)) return std::nullopt;
    if (input.type() != DType::kString && tensor::ElementBytes(input.type()) == 0) return std::nullopt;
    found.rows = input.dim(0);
    AppendText(name, &found.key);
    found.key += fmt::format("{}{};", static_cast<int>(input.type()), RowKey(input, info->second, pad));
  }
  for (const std::string& output : request.outputs) AppendText(output, &found.key);
  return found;
}

int64_t RowsOf(std::span<const Task> tasks) {
  int64_t rows = 0;
  for (const Task& task : tasks) rows += task.rows;
  return rows;
}

int64_t PaddedRows(int64_t rows, const std::vector<int>& allowed_batch_sizes) {
  const auto next = std::lower_bound(allowed_batch_sizes.begin(), allowed_batch_sizes.end(), rows);
  return next == allowed_batch_sizes.end() ? rows : *next;
}

int64_t PaddedBytes(int64_t rows, int64_t bytes, const std::vector<int>& allowed_batch_sizes) {
  return rows == 0 ? bytes : bytes * PaddedRows(rows, allowed_batch_sizes) / rows;
}

Result<engine::RunRequest> Join(Batch& batch, int64_t rows_padded) {
  Task& first = batch.front();
  if (batch.size() == 1 && first.rows == rows_padded) {
    engine::RunRequest whole = std::move(first.request);
    first.request.signature = whole.signature;  // The batch still needs it.
    return whole;
  }
  engine::RunRequest joined{first.request.signature, {}, first.request.outputs};
  for (const auto& [name, input] : first.request.inputs) {
    ASSIGN_OR_RETURN(joined.inputs[name], JoinOne(batch, name, rows_padded));
  }
  return joined;
}

std::optional<std::vector<engine::TensorMap>> Split(engine::TensorMap outputs, const Batch& batch,
                                                    int64_t rows_padded) {
  std::vector<engine::TensorMap> parts(batch.size());
  if (batch.size() == 1 && batch.front().rows == rows_padded) {
    parts.front() = std::move(outputs);
    return parts;
  }
  for (const auto& [name, output] : outputs) {
    if (output.rank() < 1 || output.dim(0) != rows_padded) return std::nullopt;
  }
  int64_t begin = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    const int64_t end = begin + batch[i].rows;
    for (const auto& [name, output] : outputs) parts[i].emplace(name, output.Rows(begin, end));
    begin = end;
  }
  return parts;
}

}  // namespace longshore::batching
