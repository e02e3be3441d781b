// Sum, Mean and Max of floats over adjacent axes.
#include <algorithm>
#include <limits>
#include <optional>

#include "serving-node/engine/cpu/steps/loops.h"
#include "serving-node/engine/cpu/steps/parallel.h"
#include "serving-node/engine/cpu/steps/step.h"

namespace longshore::engine::cpu {
namespace {

// The input viewed as [outer, reduced, inner].
struct Extents {
  int64_t outer = 1;
  int64_t reduced = 1;
  int64_t inner = 1;
};

// Returns for each axis whether it is reduced; nullopt if an axis is given twice, which the kernel then rejects.
// Requires: all axes are within the rank.
std::optional<std::vector<bool>> AxesOf(const Tensor& axes, size_t rank) {
  std::vector<bool> reduced(rank);
  for (size_t i = 0; i < static_cast<size_t>(axes.elements()); ++i) {
    const int64_t axis = axes.type() == DType::kInt64 ? axes.values<int64_t>()[i] : axes.values<int32_t>()[i];
    auto place = reduced[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis)];
    if (place) return std::nullopt;
    place = true;
  }
  return reduced;
}

// Returns nullopt if the reduced axes are not adjacent.
std::optional<Extents> ExtentsOf(const Shape& shape, const std::vector<bool>& reduced) {
  const auto first = std::ranges::find(reduced, true);
  const auto end = std::find(first, reduced.end(), false);
  if (first == reduced.end() || std::find(end, reduced.end(), true) != reduced.end()) return std::nullopt;
  Extents extents;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto at = reduced.begin() + static_cast<std::ptrdiff_t>(i);
    (at < first ? extents.outer : at < end ? extents.reduced : extents.inner) *= shape[i];
  }
  return extents;
}

class ReductionStep final : public Step {
 public:
  ReductionStep(const std::string& op, Extents extents, ValueId in, ValueId out)
      : is_max_(op == "Max"),
        factor_(op == "Mean" ? 1.0F / static_cast<float>(extents.reduced) : 1.0F),
        extents_(extents),
        in_(in),
        out_(out) {}

  Status Run(Frame& frame) const override {
    const float* in = frame.As<const float>(in_);
    float* out = frame.As<float>(out_);
    ForParts(extents_.outer, extents_.reduced * extents_.inner, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* block = in + i * extents_.reduced * extents_.inner;
        extents_.inner == 1 ? Row(block, out + i) : Columns(block, out + i * extents_.inner);
      }
    });
    return {};
  }
  std::string how() const override { return "loops"; }

 private:
  void Row(const float* in, float* out) const {
    *out = is_max_ ? MaxOf(in, extents_.reduced) : SumOf(in, extents_.reduced) * factor_;
  }
  void Columns(const float* in, float* out) const {
    if (!is_max_) return SumColumns(in, extents_.reduced, extents_.inner, factor_, out);
    static const BinaryLoops* const kMaximum = FindBinaryLoops("Maximum");
    std::copy_n(in, extents_.inner, out);
    for (int64_t i = 1; i < extents_.reduced; ++i) kMaximum->both(out, in + i * extents_.inner, out, extents_.inner);
  }

  bool is_max_;
  float factor_;
  Extents extents_;
  ValueId in_, out_;
};

}  // namespace

StepPtr MakeReduction(const StepContext& context) {
  const Value& in = context.inputs[0];
  const Value& out = context.outputs[0];
  if (context.inputs.size() != 2 || !context.inputs[1].is_const() || !in.is_static() || !out.is_static())
    return nullptr;
  if (in.type.type != DType::kFloat || in.elements() == 0 || !context.node.then.empty()) return nullptr;
  const auto axes = AxesOf(*context.inputs[1].type.value, in.shape().size());
  if (!axes) return nullptr;
  const auto extents = ExtentsOf(in.shape(), *axes);
  if (!extents) return nullptr;
  return std::make_unique<ReductionStep>(context.node.op, *extents, in.id, out.id);
}

}  // namespace longshore::engine::cpu
