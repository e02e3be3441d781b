// How often a graph uses which op.
#pragma once

#include <string>
#include <vector>

#include "tensorflow/saved_model.pb.h"

namespace longshore::inspect {

struct OpCount {
  std::string op;
  int nodes = 0;
};

// What the signatures, the initialiser and the restoring of variables reach, through all functions they call, however
// deep; each function's nodes count once. Calls of functions themselves are no ops. Sorted by op.
std::vector<OpCount> CountOps(const tensorflow::MetaGraphDef& meta);

}  // namespace longshore::inspect
