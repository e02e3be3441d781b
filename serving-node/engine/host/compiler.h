// The functions with which another engine compiles the graphs of a model that the host has loaded.
#pragma once

#include <functional>
#include <memory>

#include "serving-node/graph/graph.h"

namespace longshore::engine::interpreter {
class Executable;
}  // namespace longshore::engine::interpreter

namespace longshore::engine::host {

// Computes the nodes that depend only on constants. For passes that make new constants.
using Fold = std::function<graph::Graph(graph::Graph graph)>;
// Makes another engine's executable for the graph of a signature. Called for each signature of one model.
using MakeExecutable = std::function<std::unique_ptr<interpreter::Executable>(graph::Graph graph, const Fold& fold)>;

}  // namespace longshore::engine::host
