#include "serving-node/batching/rows.h"

#include <algorithm>
#include <cstring>

namespace longshore::batching {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

bool HasFreeRows(const tensorflow::TensorInfo& info) {
  const auto& shape = info.tensor_shape();
  return shape.unknown_rank() || (shape.dim_size() > 0 && shape.dim(0).size() < 0);
}

bool OutputsHaveFreeRows(const tensorflow::SignatureDef& signature, const std::vector<std::string>& names) {
  return std::all_of(signature.outputs().begin(), signature.outputs().end(), [&](const auto& output) {
    const bool asked = names.empty() || std::find(names.begin(), names.end(), output.first) != names.end();
    return !asked || HasFreeRows(output.second);
  });
}

// Lengths before texts, so that no two different requests give one key.
void AppendText(const std::string& text, std::string* key) { *key += fmt::format("{}:{};", text.size(), text); }

void CopyRows(const Tensor& from, int64_t at_element, Tensor* to) {
  if (from.type() == DType::kString) {
    const auto values = from.values<std::string>();
    std::copy(values.begin(), values.end(), to->mutable_values<std::string>().begin() + at_element);
  } else if (from.bytes() > 0) {
    std::memcpy(to->mutable_data() + static_cast<size_t>(at_element) * ElementBytes(from.type()), from.data(),
                from.bytes());
  }
}

Result<Tensor> JoinOne(const Batch& batch, const std::string& name, int64_t rows_padded) {
  const Tensor& first = batch.front().request.inputs.at(name);
  Shape shape = first.shape();
  shape[0] = rows_padded;
  ASSIGN_OR_RETURN(Tensor joined, Tensor::Make(first.type(), std::move(shape)));
  int64_t at_element = 0;
  for (const Task& task : batch) {
    const Tensor& part = task.request.inputs.at(name);
    CopyRows(part, at_element, &joined);
    at_element += part.elements();
  }
  const Tensor filler = first.Rows(0, 1);
  for (; at_element < joined.elements(); at_element += filler.elements()) CopyRows(filler, at_element, &joined);
  return joined;
}

}  // namespace

std::optional<Batchable> FindBatchable(const tensorflow::SignatureDef& signature, const engine::RunRequest& request) {
  if (request.inputs.empty() || !OutputsHaveFreeRows(signature, request.outputs)) return std::nullopt;
  Batchable found;
  AppendText(request.signature, &found.key);
  for (const auto& [name, input] : request.inputs) {
    const auto info = signature.inputs().find(name);
    if (info == signature.inputs().end() || !HasFreeRows(info->second)) return std::nullopt;
    if (input.rank() < 1 || input.dim(0) < 1 || input.device() != tensor::Device{}) return std::nullopt;
    if (found.rows != 0 && found.rows != input.dim(0)) return std::nullopt;
    if (input.type() != DType::kString && tensor::ElementBytes(input.type()) == 0) return std::nullopt;
    found.rows = input.dim(0);
    AppendText(name, &found.key);
    const Shape row(input.shape().begin() + 1, input.shape().end());
    found.key += fmt::format("{}{};", static_cast<int>(input.type()), tensor::ToString(row));
  }
  for (const std::string& output : request.outputs) AppendText(output, &found.key);
  return found;
}

int64_t PaddedRows(int64_t rows, const std::vector<int>& allowed_batch_sizes) {
  const auto next = std::lower_bound(allowed_batch_sizes.begin(), allowed_batch_sizes.end(), rows);
  return next == allowed_batch_sizes.end() ? rows : *next;
}

Result<engine::RunRequest> Join(const Batch& batch, int64_t rows_padded) {
  const Task& first = batch.front();
  if (batch.size() == 1 && first.rows == rows_padded) return first.request;
  engine::RunRequest joined{first.request.signature, {}, first.request.outputs};
  for (const auto& [name, input] : first.request.inputs) {
    ASSIGN_OR_RETURN(joined.inputs[name], JoinOne(batch, name, rows_padded));
  }
  return joined;
}

std::optional<std::vector<engine::TensorMap>> Split(const engine::TensorMap& outputs, const Batch& batch,
                                                    int64_t rows_padded) {
  if (batch.size() == 1 && batch.front().rows == rows_padded) return std::vector{outputs};
  for (const auto& [name, output] : outputs) {
    if (output.rank() < 1 || output.dim(0) != rows_padded) return std::nullopt;
  }
  std::vector<engine::TensorMap> parts(batch.size());
  int64_t begin = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    const int64_t end = begin + batch[i].rows;
    for (const auto& [name, output] : outputs) parts[i].emplace(name, output.Rows(begin, end));
    begin = end;
  }
  return parts;
}

}  // namespace longshore::batching
