// Element-wise float ops with one or two operands, with the ops fused into them. An operand may be broadcast, see
// graph::BroadcastKind. A chain of ops is computed block by block, so that each block stays in the L1 cache.
#include <optional>

#include "serving-node/engine/cpu/steps/arena.h"
#include "serving-node/engine/cpu/steps/loops.h"
#include "serving-node/engine/cpu/steps/parallel.h"
#include "serving-node/engine/cpu/steps/rows.h"

namespace longshore::engine::cpu {
namespace {

// A short row repeated until it fills a block, because loops over short rows are slow. Filled anew in each run.
class Tile {
 public:
  static constexpr int64_t kNarrow = 64;

  Tile(const Operand& row, int64_t size, size_t offset) : row_(row), size_(size), offset_(offset) {}

  // Where the tile ends in the step's scratch memory, in bytes.
  size_t end() const { return offset_ + RoundedUp(static_cast<size_t>(size_) * sizeof(float)); }

  const float* In(const Frame& frame) const { return reinterpret_cast<const float*>(frame.scratch + offset_); }

  void Fill(const Frame& frame) const {
    const float* row = frame.As<const float>(row_.id);
    auto* to = reinterpret_cast<float*>(frame.scratch + offset_);
    for (int64_t at = 0; at < size_; at += row_.count) std::copy_n(row, row_.count, to + at);
  }

 private:
  Operand row_;
  int64_t size_;
  size_t offset_;
};

// One op of the chain. Its first operand is the result so far.
struct Link {
  UnaryLoop unary = nullptr;
  const BinaryLoops* binary = nullptr;
  Operand second = {};
  std::optional<Tile> tile;  // Set if the second operand is a short row.
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
      : first_(first), links_(std::move(links)), out_(out.id), rows_(out.shape(), OperandsOf(first_, links_)) {
    LayTiles();
  }

  Status Run(Frame& frame) const override {
    for (const Link& link : links_) {
      if (link.tile) link.tile->Fill(frame);
    }
    float* out = frame.As<float>(out_);
    ForParts(rows_.count(), rows_.size() * static_cast<int64_t>(links_.size()), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) DoRow(frame, row, out + row * rows_.size());
    });
    return {};
  }
  size_t scratch_bytes() const override { return scratch_bytes_; }
  std::string how() const override { return "loops"; }

 private:
  // If the only broadcast operands are scalars and short rows, such as the three colours of an image, replaces the rows
  // by tiles and uses larger blocks.
  void LayTiles() {
    if (first_.kind == graph::BroadcastKind::kTrailing) return;
    // The number of elements of the longest row. All rows are last axes of the result, so the shorter ones divide it.
    int64_t period = 0;
    for (const Operand& operand : OperandsOf(first_, links_)) {
      if (operand.kind == graph::BroadcastKind::kFull || operand.kind == graph::BroadcastKind::kScalar) continue;
      if (operand.kind != graph::BroadcastKind::kTrailing || operand.count >= Tile::kNarrow) return;
      period = std::max(period, operand.count);
    }
    if (period == 0 || rows_.total() < 4 * Rows::kBlock) return;
    const int64_t size = Rows::kBlock / period * period;
    for (Link& link : links_) {
      if (link.binary == nullptr || link.second.kind != graph::BroadcastKind::kTrailing) continue;
      link.tile.emplace(link.second, size, scratch_bytes_);
      scratch_bytes_ = link.tile->end();
    }
    rows_ = Rows(rows_.total(), size);
  }

  void DoRow(const Frame& frame, int64_t row, float* out) const {
    const int64_t count = rows_.size_of(row);
    const float* in = rows_.At<float>(frame, first_, row);
    bool is_number = first_.is_number();
    for (const Link& link : links_) {
      if (link.unary != nullptr) {
        link.unary(in, out, count);
      } else {
        const float* second = link.tile ? link.tile->In(frame) : rows_.At<float>(frame, link.second, row);
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
  size_t scratch_bytes_ = 0;
};

// Returns nullopt if the op has no loop, or if OperandOf does not support the second operand.
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
  const size_t own = context.inputs.size() - context.fused_operands();
  if (own < 1 || own > 2 || !out.is_static() || out.type.type != DType::kFloat || out.elements() == 0) return nullptr;
  if (context.node.attributes.Text("data_format", "NHWC") != "NHWC") return nullptr;  // A BiasAdd over axis 1.
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
