#include "serving-node/graph/build.h"

#include "serving-node/graph/builder.h"
#include "serving-node/graph/prune.h"

namespace longshore::graph {

Result<Graph> Build(const tensorflow::GraphDef& def, const Wanted& wanted) {
  ASSIGN_OR_RETURN(Graph graph, Builder(def, wanted).Run());
  return Prune(MarkEffects(std::move(graph)));
}

}  // namespace longshore::graph
