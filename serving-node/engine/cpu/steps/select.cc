// SelectV2 of floats, used for attention masks and tf.where.
#include <array>

#include "serving-node/engine/cpu/steps/loops.h"
#include "serving-node/engine/cpu/steps/parallel.h"
#include "serving-node/engine/cpu/steps/rows.h"

namespace longshore::engine::cpu {
namespace {

class SelectStep final : public Step {
 public:
  SelectStep(Operand condition, Operand yes, Operand no, const Value& out)
      : condition_(condition),
        yes_(yes),
        no_(no),
        out_(out.id),
        rows_(out.shape(), std::array<Operand, 3>{condition, yes, no}) {}

  Status Run(Frame& frame) const override {
    ForParts(rows_.count(), rows_.size(), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) DoRow(frame, row);
    });
    return {};
  }
  std::string how() const override { return "loops"; }

 private:
  static Choice ChoiceOf(const float* values, const Operand& operand) { return {values, operand.is_number() ? 0 : 1}; }

  void DoRow(const Frame& frame, int64_t row) const {
    const auto* condition = rows_.At<uint8_t>(frame, condition_, row);
    const Choice yes = ChoiceOf(rows_.At<float>(frame, yes_, row), yes_);
    const Choice no = ChoiceOf(rows_.At<float>(frame, no_, row), no_);
    float* out = frame.As<float>(out_) + row * rows_.size();
    const int64_t count = rows_.size_of(row);
    if (!condition_.is_number()) return SelectOf(condition, yes, no, out, count);
    const Choice& taken = *condition != 0 ? yes : no;
    for (int64_t i = 0; i < count; ++i) out[i] = taken.values[i * taken.step];
  }

  Operand condition_, yes_, no_;
  ValueId out_;
  Rows rows_;
};

}  // namespace

StepPtr MakeSelect(const StepContext& context) {
  const Value& out = context.outputs[0];
  if (context.inputs.size() != 3 || !context.node.then.empty()) return nullptr;
  if (!out.is_static() || out.type.type != DType::kFloat || out.elements() == 0) return nullptr;
  const auto condition = OperandOf(context.inputs[0], DType::kBool, out);
  const auto yes = OperandOf(context.inputs[1], DType::kFloat, out);
  const auto no = OperandOf(context.inputs[2], DType::kFloat, out);
  if (!condition || !yes || !no) return nullptr;
  return std::make_unique<SelectStep>(*condition, *yes, *no, out);
}

}  // namespace longshore::engine::cpu
