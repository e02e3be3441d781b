// Steps that only copy elements: Pad, ConcatV2 and Split.
#include <cstring>

#include "serving-node/engine/cpu/steps/parallel.h"
#include "serving-node/engine/cpu/steps/step.h"

namespace longshore::engine::cpu {
namespace {

// A part of a tensor along one axis. Each row of the whole tensor consists of one row of every part, in order.
struct Part {
  ValueId id = 0;
  size_t row_bytes = 0;
};

// Copies parts to the whole tensor, or the whole tensor to its parts.
class ConcatSplitStep final : public Step {
 public:
  enum class Mode { kJoin, kSplit };
  ConcatSplitStep(Mode mode, std::vector<Part> parts, int64_t rows, ValueId whole, size_t whole_row_bytes)
      : mode_(mode), parts_(std::move(parts)), rows_(rows), whole_(whole), row_bytes_(whole_row_bytes) {}
  Status Run(Frame& frame) const override {
    ForParts(rows_, static_cast<int64_t>(row_bytes_ / sizeof(float)), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) CopyRow(frame, static_cast<size_t>(row));
    });
    return {};
  }
  std::string how() const override { return "copies"; }

 private:
  void CopyRow(const Frame& frame, size_t row) const {
    std::byte* whole = frame.data[whole_] + row * row_bytes_;
    for (const Part& part : parts_) {
      std::byte* own = frame.data[part.id] + row * part.row_bytes;
      if (mode_ == Mode::kJoin) {
        std::memcpy(whole, own, part.row_bytes);
      } else {
        std::memcpy(own, whole, part.row_bytes);
      }
      whole += part.row_bytes;
    }
  }
  Mode mode_;
  std::vector<Part> parts_;
  int64_t rows_;
  ValueId whole_;
  size_t row_bytes_ = 0;
};

// Pads the height and width of images with zeros.
class PadStep final : public Step {
 public:
  PadStep(const Shape& in, const Shape& out, int64_t top, int64_t left, ValueId from, ValueId to)
      : in_(in), out_(out), top_(top), left_(left), from_(from), to_(to) {}
  Status Run(Frame& frame) const override {
    const auto pixel = static_cast<size_t>(in_[3]) * sizeof(float);
    ForParts(out_[0] * out_[1], out_[2] * out_[3], [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) CopyLine(frame, line, pixel);
    });
    return {};
  }
  std::string how() const override { return "copies"; }

 private:
  void CopyLine(const Frame& frame, int64_t line, size_t pixel) const {
    const int64_t image = line / out_[1], row = line % out_[1] - top_;
    const size_t width = static_cast<size_t>(out_[2]) * pixel;
    std::byte* to = frame.data[to_] + static_cast<size_t>(line) * width;
    if (row < 0 || row >= in_[1]) {
      std::memset(to, 0, width);
      return;
    }
    const size_t before = static_cast<size_t>(left_) * pixel, inner = static_cast<size_t>(in_[2]) * pixel;
    const std::byte* from = frame.data[from_] + static_cast<size_t>(image * in_[1] + row) * inner;
    std::memset(to, 0, before);
    std::memcpy(to + before, from, inner);
    std::memset(to + before + inner, 0, width - before - inner);
  }
  Shape in_, out_;
  int64_t top_, left_;
  ValueId from_, to_;
};

// Returns element `i` of the value; nullopt if the value is not an integer constant with more than `i` elements.
std::optional<int64_t> IntAt(const Value& value, int64_t i) {
  if (!value.is_const() || i >= value.type.value->elements()) return std::nullopt;
  const Tensor& tensor = *value.type.value;
  if (tensor.type() == DType::kInt64) return tensor.values<int64_t>()[static_cast<size_t>(i)];
  if (tensor.type() == DType::kInt32) return tensor.values<int32_t>()[static_cast<size_t>(i)];
  return std::nullopt;
}

StepPtr MakeConcatSplit(const StepContext& context, ConcatSplitStep::Mode mode, std::span<const Value> values,
                        const Value& whole, const Value& axis_value) {
  const size_t element = tensor::ElementBytes(whole.type.type);
  const std::optional<int64_t> given = IntAt(axis_value, 0);
  if (!whole.is_static() || element == 0 || !given || !context.node.then.empty()) return nullptr;
  if (whole.elements() == 0) return nullptr;  // A client can send any number of empty rows; do not loop over them.
  const auto axis = static_cast<size_t>(*given < 0 ? *given + std::ssize(whole.shape()) : *given);
  if (axis >= whole.shape().size()) return nullptr;
  int64_t rows = 1;
  for (size_t i = 0; i < axis; ++i) rows *= whole.shape()[i];
  if (rows == 0) return nullptr;
  std::vector<Part> parts;
  for (const Value& value : values) {
    if (!value.is_static()) return nullptr;
    parts.push_back({value.id, static_cast<size_t>(value.elements() / rows) * element});
  }
  const auto row_bytes = static_cast<size_t>(whole.elements() / rows) * element;
  return std::make_unique<ConcatSplitStep>(mode, std::move(parts), rows, whole.id, row_bytes);
}

}  // namespace

StepPtr MakeConcat(const StepContext& context) {
  const auto parts = std::span(context.inputs).first(context.inputs.size() - 1);
  return MakeConcatSplit(context, ConcatSplitStep::Mode::kJoin, parts, context.outputs[0], context.inputs.back());
}

// context.outputs does not have the last outputs of the node if nothing reads them.
StepPtr MakeSplit(const StepContext& context) {
  if (context.inputs.size() != 2) return nullptr;
  return MakeConcatSplit(context, ConcatSplitStep::Mode::kSplit, context.outputs, context.inputs[1], context.inputs[0]);
}

StepPtr MakePad(const StepContext& context) {
  const Value& in = context.inputs[0];
  const Value& out = context.outputs[0];
  if (!in.is_static() || !out.is_static() || in.type.type != DType::kFloat || in.shape().size() != 4) return nullptr;
  const std::optional<int64_t> top = IntAt(context.inputs[1], 2), left = IntAt(context.inputs[1], 4);
  if (!top || !left || !context.node.then.empty() || in.elements() == 0) return nullptr;
  if (in.shape()[0] != out.shape()[0] || in.shape()[3] != out.shape()[3]) return nullptr;
  return std::make_unique<PadStep>(in.shape(), out.shape(), *top, *left, in.id, out.id);
}

}  // namespace longshore::engine::cpu
