#include "common/base/pieces.h"

#include <gtest/gtest.h>

namespace longshore {
namespace {

TEST(Pieces, KeepTheirOwnersAlive) {
  const auto owner = std::make_shared<const std::string>("abc");
  Pieces pieces("xyz");
  pieces.Add(*owner, owner);
  pieces.Add("", owner);
  EXPECT_EQ(owner.use_count(), 2);
  EXPECT_EQ(pieces.size(), 6U);
  EXPECT_EQ(pieces.all().size(), 2U);
  EXPECT_EQ(pieces.ToString(), "xyzabc");
  EXPECT_TRUE(Pieces("").empty());
}

TEST(PiecesBuilder, JoinsWhatIsCopiedAndRefersToTheRest) {
  const auto large = std::make_shared<const std::string>("large");
  PiecesBuilder builder;
  builder.copied() += "head ";
  builder.copied() += "of ";
  builder.Refer(*large, large);
  builder.copied() += " tail";
  const Pieces built = builder.Build();
  EXPECT_EQ(built.ToString(), "head of large tail");
  ASSERT_EQ(built.all().size(), 3U);
  EXPECT_EQ(built.all()[1].bytes.data(), large->data());
  EXPECT_TRUE(builder.Build().empty());
}

}  // namespace
}  // namespace longshore
