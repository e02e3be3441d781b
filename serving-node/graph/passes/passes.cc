#include "serving-node/graph/passes/passes.h"

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
  static constexpr LoadPass kPasses[] = {
      {.name = "identities", .run = Each<RemoveIdentities>},
      {.name = "repeats", .run = Each<MergeRepeats>},
      {.name = "invariants", .run = FoldInvariants, .makes_constants = true},
      {.name = "batch_norms", .run = Each<SplitBatchNorms>},
      {.name = "scales", .run = Each<FuseScales>},
      {.name = "pads", .run = Each<FusePads>},
  };
  return kPasses;
}

std::span<const ShapePass> ShapePasses() {
  static constexpr ShapePass kPasses[] = {
      {.name = "known", .run = FillInKnown},         {.name = "gelus", .run = FuseGelus},
      {.name = "silus", .run = FuseSilus},           {.name = "layer_norms", .run = FuseLayerNorms},
      {.name = "attentions", .run = FuseAttentions}, {.name = "elementwise", .run = FuseElementwise},
  };
  return kPasses;
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const LoadPass& pass : LoadPasses()) names.emplace_back(pass.name);
  for (const ShapePass& pass : ShapePasses()) names.emplace_back(pass.name);
  names.emplace_back(kSlices);
  names.emplace_back(kParts);
  return names;
}

}  // namespace longshore::graph::passes
