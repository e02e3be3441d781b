#include "serving-node/graph/ops.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace longshore::graph {
namespace {

TEST(Ops, HaveOneRowEach) {
  std::set<std::string_view> seen;
  for (const Op& op : AllOps()) {
    EXPECT_TRUE(seen.insert(op.name).second) << op.name << " has two rows";
    EXPECT_EQ(&FindOp(op.name), &op);
  }
  EXPECT_GT(seen.size(), 100U);
}

TEST(Ops, UnknownOpsGetAnEmptyRow) {
  const Op& op = FindOp("NoSuchOp");
  EXPECT_EQ(op.name, "");
  EXPECT_EQ(op.type, nullptr);
  EXPECT_EQ(op.rows, nullptr);
  EXPECT_FALSE(op.has_effect);
}

// The pass `elementwise` relies on these properties.
TEST(Ops, HaveOperandsExactlyIfTheyAreFusedIntoOthers) {
  for (const Op& op : AllOps()) {
    const Fusing& fusing = op.fusing;
    EXPECT_EQ(fusing.operands == 1 || fusing.operands == 2, fusing.into_product() || fusing.into_chain) << op.name;
    EXPECT_TRUE(fusing.operands == 2 || !fusing.is_symmetric) << op.name;
    EXPECT_TRUE(fusing.operands == 2 || fusing.part != ProductPart::kSum) << op.name;
    EXPECT_TRUE(fusing.operands == 1 || fusing.part != ProductPart::kActivation) << op.name;
    EXPECT_TRUE(fusing.operands == 0 || fusing.part != ProductPart::kProduct) << op.name;
  }
}

}  // namespace
}  // namespace longshore::graph
