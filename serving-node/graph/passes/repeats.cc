#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "serving-node/graph/ops.h"
#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/passes/rewrite.h"

namespace longshore::graph::passes {
namespace {

bool IsFunction(const Node& node) {
  return FindOp(node.op).may_merge && !node.has_effect && node.values.empty() && node.then.empty();
}

class Merging {
 public:
  explicit Merging(const Graph& graph) : rewrite_(graph) {}

  Graph Run() {
    for (size_t i = 0; i < rewrite_.from().nodes.size(); ++i) Visit(i);
    return rewrite_.Take();
  }

 private:
  // A node is compared with at most this many earlier nodes that have the same op and inputs but other attributes. Real
  // models have fewer; the limit bounds the time for other graphs.
  static constexpr size_t kAlikeMax = 16;
  using Key = std::pair<std::string, std::vector<std::pair<int, int>>>;

  void Visit(size_t i) {
    const Node& node = rewrite_.from().nodes[i];
    if (!IsFunction(node)) {
      rewrite_.Keep(i);
      if (const std::string bytes = BytesOf(node); !bytes.empty()) NoteConst(bytes, rewrite_.Mapped(EdgeOf(i)).node);
      return;
    }
    std::vector<int>& alike = made_[KeyOf(node)];
    const auto same = std::ranges::find_if(alike, [&](int made) {
      return rewrite_.At({made, 0}).attributes == node.attributes;
    });
    if (same != alike.end()) return rewrite_.Replace(i, {Edge{*same, 0}});
    rewrite_.Keep(i);
    if (alike.size() < kAlikeMax) alike.push_back(rewrite_.Mapped(EdgeOf(i)).node);
  }

  static Edge EdgeOf(size_t node) { return {static_cast<int>(node), 0}; }

  // Small constants with equal values count as the same input.
  Key KeyOf(const Node& node) const {
    Key key{node.op, {}};
    for (const Edge& input : node.inputs) {
      const Edge mapped = rewrite_.Mapped(input);
      const auto other = equal_.find(mapped.node);
      key.second.emplace_back(other == equal_.end() ? mapped.node : other->second, mapped.output);
    }
    return key;
  }

  void NoteConst(const std::string& bytes, int node) {
    const auto [first, is_new] = constants_.emplace(bytes, node);
    if (!is_new) equal_[node] = first->second;
  }

  // Returns the type, shape and values of a small constant as a string, to be used as a key; "" for every other node.
  static std::string BytesOf(const Node& node) {
    constexpr size_t kBytesMax = 256;
    if (node.values.size() != 1) return "";
    const tensor::Tensor& value = node.values[0];
    if (tensor::ElementBytes(value.type()) == 0) return "";  // Handles and strings: the tensor holds only pointers.
    if (value.device() != tensor::Device{} || value.bytes() > kBytesMax) return "";
    const auto* data = reinterpret_cast<const char*>(value.data());
    return fmt::format("{} {} ", tensor::DTypeName(value.type()), tensor::ToString(value.shape())) +
           std::string(data, value.bytes());
  }

  Rewrite rewrite_;
  std::map<Key, std::vector<int>> made_;  // Nodes of the new graph, by KeyOf.
  std::map<std::string, int> constants_;  // By BytesOf: the first constant in the new graph with these bytes.
  std::map<int, int> equal_;              // Key: a later constant. Value: the first constant that is equal to it.
};

}  // namespace

Graph MergeRepeats(const Graph& graph) { return Merging(graph).Run(); }

}  // namespace longshore::graph::passes
