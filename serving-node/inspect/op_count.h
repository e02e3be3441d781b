// Counts the ops of a graph.
#pragma once

#include <string>
#include <vector>

#include "tensorflow/saved_model.pb.h"

namespace longshore::inspect {

struct OpCount {
  std::string op;
  int nodes = 0;
};

// Counts the nodes that the signatures, the initialiser and the restore of variables need, including those in all
// called functions. The nodes of a function count once, however often it is called. Calls of functions do not count as
// ops. The result is sorted by op.
std::vector<OpCount> CountOps(const tensorflow::MetaGraphDef& meta);

}  // namespace longshore::inspect
