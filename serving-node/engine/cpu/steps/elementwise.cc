// Ops of one float at a time, and of two of which one may be a number, a row, or a number per row; and what a pass has
// drawn into them. A chain goes over a block of the result at a time, which stays in the cache next to the processor.
#include <algorithm>
#include <optional>

#include "serving-node/engine/cpu/steps/loops.h"
#include "serving-node/engine/cpu/steps/parallel.h"
#include "serving-node/engine/cpu/steps/step.h"

namespace longshore::engine::cpu {
namespace {

using graph::Lies;

constexpr int64_t kBlock = 4096;  // 16 KiB of floats.

struct Operand {
  ValueId id = 0;
  Lies lies = Lies::kWhole;

  bool is_number() const { return lies == Lies::kNumber || lies == Lies::kPerRow; }
};

// One op of the chain: of what was computed so far, and perhaps of a second operand.
struct Link {
  UnaryLoop unary = nullptr;
  const BinaryLoops* binary = nullptr;
  Operand second = {};
};

class ElementwiseStep final : public Step {
 public:
  ElementwiseStep(Operand first, std::vector<Link> links, ValueId out, const Shape& shape)
      : first_(first), links_(std::move(links)), out_(out) {
    const int64_t count = tensor::ElementCount(shape).value_or(0);
    const bool by_rows = NeedsRows(first_) || std::ranges::any_of(links_, [](const Link& link) {
                           return link.binary != nullptr && NeedsRows(link.second);
                         });
    // Without rows, whatever is a good block is one.
    row_ = by_rows ? shape.back() : std::min(kBlock, count);
    rows_ = (count + row_ - 1) / row_;
    count_ = count;
  }

  Status Run(Frame& frame) const override {
    float* out = frame.As<float>(out_);
    ForParts(rows_, row_ * static_cast<int64_t>(links_.size()), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) DoRow(frame, row, out + row * row_);
    });
    return {};
  }
  std::string how() const override { return "loops"; }

 private:
  static bool NeedsRows(const Operand& operand) { return operand.lies == Lies::kRow || operand.lies == Lies::kPerRow; }

  const float* At(const Frame& frame, const Operand& operand, int64_t row) const {
    const float* data = frame.As<const float>(operand.id);
    switch (operand.lies) {
      case Lies::kWhole: return data + row * row_;
      case Lies::kPerRow: return data + row;
      default: return data;
    }
  }

  void DoRow(const Frame& frame, int64_t row, float* out) const {
    const int64_t count = std::min(row_, count_ - row * row_);
    const float* in = At(frame, first_, row);
    bool is_number = first_.is_number();
    for (const Link& link : links_) {
      if (link.unary != nullptr) {
        link.unary(in, out, count);
      } else {
        const float* second = At(frame, link.second, row);
        if (is_number) {
          link.binary->of_number(*in, second, out, count);
        } else if (link.second.is_number()) {
          link.binary->with_number(in, *second, out, count);
        } else {
          link.binary->both(in, second, out, count);
        }
      }
      in = out;
      is_number = false;
    }
  }

  Operand first_;
  std::vector<Link> links_;
  ValueId out_;
  int64_t row_ = 0;
  int64_t rows_ = 0;
  int64_t count_ = 0;
};

bool IsFloats(const Value& value) { return value.is_static() && value.type.type == DType::kFloat; }

std::optional<Operand> OperandOf(const Value& value, const Value& out) {
  if (!IsFloats(value)) return std::nullopt;
  const auto lies = graph::LiesBeside(value.shape(), out.shape());
  return lies ? std::optional(Operand{value.id, *lies}) : std::nullopt;
}

// nullopt when there is no loop, or the operand lies otherwise.
std::optional<Link> LinkOf(const std::string& op, const Value* second, const Value& out) {
  Link link;
  if (second == nullptr) {
    link.unary = FindUnaryLoop(op);
    return link.unary != nullptr ? std::optional(link) : std::nullopt;
  }
  link.binary = FindBinaryLoops(op);
  const auto operand = OperandOf(*second, out);
  if (link.binary == nullptr || !operand) return std::nullopt;
  link.second = *operand;
  return link;
}

}  // namespace

StepPtr MakeElementwise(const StepContext& context) {
  const Value& out = context.outputs[0];
  const size_t own = context.inputs.size() - context.operands_drawn_in();
  if (own < 1 || own > 2 || !IsFloats(out) || out.elements() == 0) return nullptr;
  const auto first = OperandOf(context.inputs[0], out);
  auto link = LinkOf(context.node.op, own == 2 ? &context.inputs[1] : nullptr, out);
  if (!first || !link || (first->is_number() && (own == 1 || link->second.is_number()))) return nullptr;
  std::vector<Link> links = {*link};
  for (const graph::Fused& fused : context.node.then) {
    link = LinkOf(fused.op, fused.operand < 0 ? nullptr : &context.inputs[static_cast<size_t>(fused.operand)], out);
    if (!link) return nullptr;
    links.push_back(*link);
  }
  return std::make_unique<ElementwiseStep>(*first, std::move(links), out.id, out.shape());
}

}  // namespace longshore::engine::cpu
