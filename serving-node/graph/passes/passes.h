// The passes, in the order in which they are run. Each takes a graph that CheckOutputs accepts and gives another that
// computes the same.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serving-node/graph/graph.h"
#include "serving-node/graph/types.h"

namespace longshore::graph::passes {

// Once, when the model is loaded. Constants are nodes with values. Of the nodes of one graph, a body or the whole one
// without its bodies:
Graph RemoveIdentities(const Graph& graph);  // Identity, StopGradient and the like: readers read what they read.
Graph MergeRepeats(const Graph& graph);      // What layers compute each for itself, and is the same: masks, sizes.
Graph SplitBatchNorms(const Graph& graph);   // FusedBatchNorm of a model that does not train: x * scale + shift.
Graph DrawInScales(const Graph& graph);      // Conv2D, MatMul, ... * scale + shift: other weights, and a bias.
Graph DrawInPads(const Graph& graph);        // Pad with zeros before a convolution: explicit padding.
// Of a whole graph:
Graph DrawInInvariants(const Graph& graph);  // What a body is given and is always the same: a body of its own.

inline constexpr std::string_view kInvariants = "invariants";  // After it there is more to fold.

struct LoadPass {
  std::string_view name;
  Graph (*run)(const Graph& graph);  // Of a whole graph, bodies included.
};
std::span<const LoadPass> LoadPasses();

// For shapes that are known. Nodes whose values follow from shapes become constants; what nothing else reads goes, and
// with it an error that its computing might have been.
std::optional<Graph> FillInKnown(const Graph& graph, const Types& types);
// Ops that no model has, for only the CPU engine computes them: Gelu, GeluTanh and Silu of x, LayerNorm of x, gamma and
// beta with "epsilon", AttentionWeights of scores and a mask with "scale" and "masked". nullopt where nothing was
// found.
std::optional<Graph> DrawTogetherGelus(const Graph& graph, const Types& types);
std::optional<Graph> DrawTogetherSilus(const Graph& graph, const Types& types);
std::optional<Graph> DrawTogetherLayerNorms(const Graph& graph, const Types& types);  // Over the last axis.
// Softmax over the last axis of scores, times a number, of which a mask keeps some or to which it is added.
std::optional<Graph> DrawTogetherAttentions(const Graph& graph, const Types& types);
// What an element-wise op does to a product's output is done by the product (Node::then), and chains are one node.
std::optional<Graph> DrawInElementwise(const Graph& graph, const Types& types);

bool IsOwn(std::string_view op);  // Whether it is one of those that no model has.

struct ShapePass {
  std::string_view name;
  std::optional<Graph> (*run)(const Graph& graph, const Types& types);  // Of one graph, its bodies being others.
};
std::span<const ShapePass> ShapePasses();

// No pass, but switched off as one: an engine may run a batch a few rows at a time.
inline constexpr std::string_view kSlices = "slices";

// The names of all passes, and kSlices, by which each can be switched off.
std::vector<std::string> Names();

}  // namespace longshore::graph::passes
