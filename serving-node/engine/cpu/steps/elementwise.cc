// Ops of one float at a time, and of two of which one may be a number, repeat, or be a number per row; and what a pass
// has drawn into them. A chain goes over a block of the result at a time, which stays in the cache next to the
// processor.
#include <optional>

#include "serving-node/engine/cpu/steps/loops.h"
#include "serving-node/engine/cpu/steps/parallel.h"
#include "serving-node/engine/cpu/steps/rows.h"

namespace longshore::engine::cpu {
namespace {

// One op of the chain: of what was computed so far, and perhaps of a second operand.
struct Link {
  UnaryLoop unary = nullptr;
  const BinaryLoops* binary = nullptr;
  Operand second = {};
};

std::vector<Operand> OperandsOf(const Operand& first, const std::vector<Link>& links) {
  std::vector<Operand> operands = {first};
  for (const Link& link : links) {
    if (link.binary != nullptr) operands.push_back(link.second);
  }
  return operands;
}

class ElementwiseStep final : public Step {
 public:
  ElementwiseStep(Operand first, std::vector<Link> links, const Value& out)
      : first_(first), links_(std::move(links)), out_(out.id), rows_(out.shape(), OperandsOf(first_, links_)) {}

  Status Run(Frame& frame) const override {
    float* out = frame.As<float>(out_);
    ForParts(rows_.count(), rows_.size() * static_cast<int64_t>(links_.size()), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) DoRow(frame, row, out + row * rows_.size());
    });
    return {};
  }
  std::string how() const override { return "loops"; }

 private:
  void DoRow(const Frame& frame, int64_t row, float* out) const {
    const int64_t count = rows_.size_of(row);
    const float* in = rows_.At<float>(frame, first_, row);
    bool is_number = first_.is_number();
    for (const Link& link : links_) {
      if (link.unary != nullptr) {
        link.unary(in, out, count);
      } else {
        const float* second = rows_.At<float>(frame, link.second, row);
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
  Rows rows_;
};

// nullopt when there is no loop, or the operand lies otherwise.
std::optional<Link> LinkOf(const std::string& op, const Value* second, const Value& out) {
  Link link;
  if (second == nullptr) {
    link.unary = FindUnaryLoop(op);
    return link.unary != nullptr ? std::optional(link) : std::nullopt;
  }
  link.binary = FindBinaryLoops(op);
  const auto operand = OperandOf(*second, DType::kFloat, out);
  if (link.binary == nullptr || !operand) return std::nullopt;
  link.second = *operand;
  return link;
}

}  // namespace

StepPtr MakeElementwise(const StepContext& context) {
  const Value& out = context.outputs[0];
  const size_t own = context.inputs.size() - context.operands_drawn_in();
  if (own < 1 || own > 2 || !out.is_static() || out.type.type != DType::kFloat || out.elements() == 0) return nullptr;
  if (context.node.attributes.Text("data_format", "NHWC") != "NHWC") return nullptr;  // BiasAdd.
  const auto first = OperandOf(context.inputs[0], DType::kFloat, out);
  auto link = LinkOf(context.node.op, own == 2 ? &context.inputs[1] : nullptr, out);
  if (!first || !link || (first->is_number() && (own == 1 || link->second.is_number()))) return nullptr;
  std::vector<Link> links = {*link};
  for (const graph::Fused& fused : context.node.then) {
    link = LinkOf(fused.op, fused.operand < 0 ? nullptr : &context.inputs[static_cast<size_t>(fused.operand)], out);
    if (!link) return nullptr;
    links.push_back(*link);
  }
  return std::make_unique<ElementwiseStep>(*first, std::move(links), out);
}

}  // namespace longshore::engine::cpu
