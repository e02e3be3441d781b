// The op table says which ops the pass `elementwise` fuses. These tests compare it with what the steps can compute.
#include <gtest/gtest.h>

#include "serving-node/engine/cpu/steps/loops.h"
#include "serving-node/engine/cpu/steps/onednn.h"
#include "serving-node/graph/ops.h"

namespace longshore::engine::cpu {
namespace {

using graph::ProductPart;

TEST(Fusing, ActivationsAreExactlyThoseOfOneDnn) {
  for (const graph::Op& op : graph::AllOps()) {
    EXPECT_EQ(op.fusing.part == ProductPart::kActivation, HasActivation(op.name)) << op.name;
  }
}

// MakePostOps computes each of these ops as an addition.
TEST(Fusing, SumsAreAdditions) {
  int sums = 0;
  for (const graph::Op& op : graph::AllOps()) {
    if (op.fusing.part != ProductPart::kSum) continue;
    ++sums;
    ASSERT_NE(FindBinaryLoops(op.name), nullptr) << op.name;
    EXPECT_EQ(FindBinaryLoops(op.name), FindBinaryLoops("AddV2")) << op.name << " is not computed by the loop of AddV2";
  }
  EXPECT_EQ(sums, 3) << "Add, AddV2 and BiasAdd";
}

TEST(Fusing, ChainsHaveExactlyTheOpsWithALoop) {
  for (const graph::Op& op : graph::AllOps()) {
    const bool is_unary = FindUnaryLoop(op.name) != nullptr, is_binary = FindBinaryLoops(op.name) != nullptr;
    EXPECT_EQ(op.fusing.into_chain, is_unary || is_binary) << op.name;
    EXPECT_TRUE(!is_unary || op.fusing.operands == 1) << op.name;
    EXPECT_TRUE(!is_binary || op.fusing.operands == 2) << op.name;
  }
}

}  // namespace
}  // namespace longshore::engine::cpu
