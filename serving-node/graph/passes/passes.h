// The optimisation passes, in the order in which they run. Each takes a graph that CheckOutputs accepts and returns a
// graph that computes the same.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serving-node/graph/graph.h"
#include "serving-node/graph/types.h"

namespace longshore::graph::passes {

// Load passes run once, when the model is loaded. In their input, constants are nodes with `values`. The next five
// passes each take one graph, a body or the main graph, and do not visit its bodies.
Graph RemoveIdentities(const Graph& graph);  // Readers of Identity, StopGradient, ... read the input of these instead.
Graph MergeRepeats(const Graph& graph);      // Merges equal nodes, such as masks that each layer computes again.
Graph SplitBatchNorms(const Graph& graph);   // FusedBatchNorm outside of training becomes x * scale + shift.
Graph FuseScales(const Graph& graph);        // Scales and shifts after a product move into its weights and bias.
Graph FusePads(const Graph& graph);          // A Pad of zeros before a convolution becomes the convolution's padding.
// This one takes the main graph with its bodies:
Graph FoldInvariants(const Graph& graph);  // Constant arguments of a body become constants in a copy of the body.

struct LoadPass {
  std::string_view name;
  Graph (*run)(const Graph& graph);  // Takes the main graph with its bodies.
  bool makes_constants = false;      // Nodes may have got constant inputs: fold constants again after this pass.
};
std::span<const LoadPass> LoadPasses();

// Shape passes run once for each combination of input shapes. They return nullopt if they changed nothing.
//
// FillInKnown turns nodes whose values follow from shapes into constants. It removes nodes that are then unused; the
// errors that these would have raised are not reported.
std::optional<Graph> FillInKnown(const Graph& graph, const Types& types);
// Each of the next four passes replaces several nodes by one fused op (Op::is_fused):
// Gelu, GeluTanh and Silu of x; LayerNorm of x, gamma and beta with the attribute "epsilon"; AttentionWeights of scores
// and a mask with the attributes "scale" and "masked".
std::optional<Graph> FuseGelus(const Graph& graph, const Types& types);
std::optional<Graph> FuseSilus(const Graph& graph, const Types& types);
std::optional<Graph> FuseLayerNorms(const Graph& graph, const Types& types);  // Normalisations over the last axis.
// Softmax over the last axis of scores * scale, with a boolean mask that selects scores or a mask that is added.
std::optional<Graph> FuseAttentions(const Graph& graph, const Types& types);
// Fuses element-wise ops into the product before them (Node::then), and chains of other element-wise ops into one node.
std::optional<Graph> FuseElementwise(const Graph& graph, const Types& types);

struct ShapePass {
  std::string_view name;
  std::optional<Graph> (*run)(const Graph& graph, const Types& types);  // Takes one graph and does not visit bodies.
};
std::span<const ShapePass> ShapePasses();

// With slices, the engine may run a large batch a few rows at a time. They are not a pass but can be switched off like
// one.
inline constexpr std::string_view kSlices = "slices";
// With parts, a graph is cut where shapes are known only in the run. They can be switched off, too.
inline constexpr std::string_view kParts = "parts";

// Returns everything that can be switched off by name: all passes, kSlices and kParts.
std::vector<std::string> Names();

}  // namespace longshore::graph::passes
