// Softmax and LogSoftmax of floats over the last axis, and AttentionWeights. Not by oneDNN, because its softmax turns
// NaN into zeros.
#include <cmath>

#include "serving-node/engine/cpu/steps/loops.h"
#include "serving-node/engine/cpu/steps/parallel.h"
#include "serving-node/engine/cpu/steps/rows.h"

namespace longshore::engine::cpu {
namespace {

constexpr int64_t kWorkOfExp = 8;

// `in` and `out` may be the same.
void Softmax(const float* in, float* out, int64_t classes) {
  ExpOf(in, MaxOf(in, classes), out, classes);
  static const BinaryLoops& div = *FindBinaryLoops("Div");
  div.with_number(out, SumOf(out, classes), out, classes);
}

void LogSoftmax(const float* in, float* out, int64_t classes) {
  const float largest = MaxOf(in, classes);
  ExpOf(in, largest, out, classes);
  const float log_sum = std::log(SumOf(out, classes));
  for (int64_t i = 0; i < classes; ++i) out[i] = (in[i] - largest) - log_sum;
}

class SoftmaxStep final : public Step {
 public:
  SoftmaxStep(bool of_logarithm, const Shape& shape, int64_t elements, ValueId in, ValueId out)
      : of_row_(of_logarithm ? LogSoftmax : Softmax),
        classes_(shape.back()),
        rows_(elements / shape.back()),
        in_(in),
        out_(out) {}

  // LogSoftmax reads the input again after writing to the output, so the two must not share memory; the arena ensures
  // that.
  Status Run(Frame& frame) const override {
    const float* in = frame.As<const float>(in_);
    float* out = frame.As<float>(out_);
    ForParts(rows_, classes_ * kWorkOfExp, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) of_row_(in + row * classes_, out + row * classes_, classes_);
    });
    return {};
  }
  std::string how() const override { return "loops"; }

 private:
  void (*of_row_)(const float* in, float* out, int64_t classes);
  int64_t classes_, rows_;
  ValueId in_, out_;
};

// Softmax of s, where s is scores * scale with masked-out elements replaced by `masked` (boolean mask), or
// scores * scale + mask (float mask).
class AttentionStep final : public Step {
 public:
  AttentionStep(const StepContext& context, const Operand& mask)
      : rows_(context.outputs[0].shape()),
        mask_(mask),
        is_of_bools_(context.inputs[1].type.type == DType::kBool),
        scale_(context.node.attributes.Float("scale", 1)),
        masked_(context.node.attributes.Float("masked", 0)),
        in_(context.inputs[0].id),
        out_(context.outputs[0].id) {}

  Status Run(Frame& frame) const override {
    const float* in = frame.As<const float>(in_);
    float* out = frame.As<float>(out_);
    ForParts(rows_.count(), rows_.size() * kWorkOfExp, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        float* weights = out + row * rows_.size();
        mul_.with_number(in + row * rows_.size(), scale_, weights, rows_.size());
        is_of_bools_ ? Keep(frame, row, weights) : Add(frame, row, weights);
        Softmax(weights, weights, rows_.size());
      }
    });
    return {};
  }
  std::string how() const override { return "loops"; }

 private:
  void Keep(const Frame& frame, int64_t row, float* weights) const {
    const auto* mask = rows_.At<uint8_t>(frame, mask_, row);
    if (!mask_.is_number()) return SelectOf(mask, {weights, 1}, {&masked_, 0}, weights, rows_.size());
    if (*mask == 0) std::fill_n(weights, rows_.size(), masked_);
  }

  void Add(const Frame& frame, int64_t row, float* weights) const {
    const float* mask = rows_.At<float>(frame, mask_, row);
    if (mask_.is_number()) return add_.with_number(weights, *mask, weights, rows_.size());
    add_.both(weights, mask, weights, rows_.size());
  }

  const BinaryLoops& mul_ = *FindBinaryLoops("Mul");
  const BinaryLoops& add_ = *FindBinaryLoops("Add");
  Rows rows_;
  Operand mask_;
  bool is_of_bools_;
  float scale_, masked_;
  ValueId in_, out_;
};

}  // namespace

// The pass that makes AttentionWeights, and HaveShapes in program.cc, ensure that the shapes are known.
StepPtr MakeAttention(const StepContext& context) {
  const auto mask = OperandOf(context.inputs[1], context.inputs[1].type.type, context.outputs[0]);
  return mask ? std::make_unique<AttentionStep>(context, *mask) : nullptr;
}

StepPtr MakeSoftmax(const StepContext& context) {
  const Value& in = context.inputs[0];
  if (!in.is_static() || in.type.type != DType::kFloat || in.shape().empty() || in.elements() == 0) return nullptr;
  if (!context.node.then.empty()) return nullptr;
  return std::make_unique<SoftmaxStep>(context.node.op == "LogSoftmax", in.shape(), in.elements(), in.id,
                                       context.outputs[0].id);
}

}  // namespace longshore::engine::cpu
