#include "serving-node/graph/passes/passes.h"

#include <set>

namespace longshore::graph::passes {
namespace {

using OfNodes = Graph (*)(const Graph& graph);

// Runs the pass on the main graph and on each of its bodies.
template <OfNodes kPass>
Graph Each(const Graph& whole) {
  Graph made = kPass(whole);
  for (const Graph& body : whole.bodies) made.bodies.push_back(kPass(body));
  return made;
}

}  // namespace

std::span<const LoadPass> LoadPasses() {
  static constexpr LoadPass kPasses[] = {{"identities", Each<RemoveIdentities>}, {"repeats", Each<MergeRepeats>},
                                         {kInvariants, FoldInvariants},          {"batch_norms", Each<SplitBatchNorms>},
                                         {"scales", Each<FuseScales>},           {"pads", Each<FusePads>}};
  return kPasses;
}

std::span<const ShapePass> ShapePasses() {
  static constexpr ShapePass kPasses[] = {{"known", FillInKnown},         {"gelus", FuseGelus},
                                          {"silus", FuseSilus},           {"layer_norms", FuseLayerNorms},
                                          {"attentions", FuseAttentions}, {"elementwise", FuseElementwise}};
  return kPasses;
}

bool IsFusedOp(std::string_view op) {
  static const std::set<std::string_view> kOps = {"AttentionWeights", "Gelu", "GeluTanh", "LayerNorm", "Silu"};
  return kOps.contains(op);
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const LoadPass& pass : LoadPasses()) names.emplace_back(pass.name);
  for (const ShapePass& pass : ShapePasses()) names.emplace_back(pass.name);
  names.emplace_back(kSlices);
  return names;
}

}  // namespace longshore::graph::passes
