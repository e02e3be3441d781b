// Ops of one float at a time, and of two of which one may be a number, a row, or a number per row.
#include <optional>

#include "serving-node/engine/cpu/steps/loops.h"
#include "serving-node/engine/cpu/steps/parallel.h"
#include "serving-node/engine/cpu/steps/step.h"

namespace longshore::engine::cpu {
namespace {

class UnaryStep final : public Step {
 public:
  UnaryStep(UnaryLoop loop, ValueId in, ValueId out, int64_t count) : loop_(loop), in_(in), out_(out), count_(count) {}
  Status Run(Frame& frame) const override {
    const float* in = frame.As<const float>(in_);
    float* out = frame.As<float>(out_);
    ForParts(count_, 1, [&](int64_t begin, int64_t end) { loop_(in + begin, out + begin, end - begin); });
    return {};
  }
  std::string how() const override { return "loops"; }

 private:
  UnaryLoop loop_;
  ValueId in_, out_;
  int64_t count_;
};

// How an operand lies beside rows of the result.
enum class Lies { kWhole, kNumber, kRow, kPerRow };

// nullopt for every other way of broadcasting.
std::optional<Lies> LiesBeside(const Shape& operand, const Shape& result) {
  if (operand == result) return Lies::kWhole;
  const int64_t count = tensor::ElementCount(operand).value_or(0);
  if (count == 1) return Lies::kNumber;
  if (count == result.back() && operand.back() == result.back()) return Lies::kRow;
  Shape rows = result;
  rows.back() = 1;
  if (operand == rows) return Lies::kPerRow;
  return std::nullopt;
}

struct Operand {
  ValueId id = 0;
  Lies lies = Lies::kWhole;
};

class BinaryStep final : public Step {
 public:
  BinaryStep(const BinaryLoops* loops, Operand a, Operand b, ValueId out, const Shape& shape)
      : loops_(loops), a_(a), b_(b), out_(out), row_(shape.empty() ? 1 : shape.back()) {
    rows_ = tensor::ElementCount(shape).value_or(0) / std::max<int64_t>(row_, 1);
    const auto is_flat = [](Lies lies) { return lies == Lies::kWhole || lies == Lies::kNumber; };
    flat_ = is_flat(a.lies) && is_flat(b.lies);
  }

  Status Run(Frame& frame) const override {
    const float* a = frame.As<const float>(a_.id);
    const float* b = frame.As<const float>(b_.id);
    float* out = frame.As<float>(out_);
    if (flat_) {
      ForParts(rows_ * row_, 1, [&](int64_t begin, int64_t end) {
        Do(a_.lies == Lies::kWhole ? a + begin : a, b_.lies == Lies::kWhole ? b + begin : b, out + begin, end - begin);
      });
      return {};
    }
    ForParts(rows_, row_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Do(At(a_, a, i), At(b_, b, i), out + i * row_, row_);
    });
    return {};
  }
  std::string how() const override { return "loops"; }

 private:
  const float* At(const Operand& operand, const float* data, int64_t row) const {
    switch (operand.lies) {
      case Lies::kWhole: return data + row * row_;
      case Lies::kPerRow: return data + row;
      default: return data;
    }
  }
  static bool IsNumber(const Operand& operand) {
    return operand.lies == Lies::kNumber || operand.lies == Lies::kPerRow;
  }
  void Do(const float* a, const float* b, float* out, int64_t count) const {
    if (IsNumber(b_)) return loops_->with_number(a, *b, out, count);
    if (IsNumber(a_)) return loops_->of_number(*a, b, out, count);
    loops_->both(a, b, out, count);
  }

  const BinaryLoops* loops_;
  Operand a_, b_;
  ValueId out_;
  int64_t row_;
  int64_t rows_ = 0;
  bool flat_ = false;
};

bool IsFloats(const Value& value) { return value.is_static() && value.type.type == DType::kFloat; }

StepPtr MakeBinary(const StepContext& context, const BinaryLoops* loops) {
  const Value& a = context.inputs[0];
  const Value& b = context.inputs[1];
  const Value& out = context.outputs[0];
  if (!IsFloats(b) || !IsFloats(out) || out.elements() == 0 || out.shape().empty()) return nullptr;
  const auto a_lies = LiesBeside(a.shape(), out.shape()), b_lies = LiesBeside(b.shape(), out.shape());
  if (!a_lies || !b_lies) return nullptr;
  const auto is_number = [](Lies lies) { return lies == Lies::kNumber || lies == Lies::kPerRow; };
  if (is_number(*a_lies) && is_number(*b_lies)) return nullptr;
  return std::make_unique<BinaryStep>(loops, Operand{a.id, *a_lies}, Operand{b.id, *b_lies}, out.id, out.shape());
}

}  // namespace

StepPtr MakeElementwise(const StepContext& context) {
  if (context.inputs.empty() || !IsFloats(context.inputs[0]) || !context.node.then.empty()) return nullptr;
  if (const UnaryLoop loop = FindUnaryLoop(context.node.op); loop != nullptr && context.inputs.size() == 1) {
    return std::make_unique<UnaryStep>(loop, context.inputs[0].id, context.outputs[0].id, context.inputs[0].elements());
  }
  const BinaryLoops* loops = FindBinaryLoops(context.node.op);
  return loops != nullptr && context.inputs.size() == 2 ? MakeBinary(context, loops) : nullptr;
}

}  // namespace longshore::engine::cpu
