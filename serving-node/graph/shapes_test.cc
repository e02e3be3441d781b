#include "serving-node/graph/shapes.h"

#include <gtest/gtest.h>

namespace longshore::graph {
namespace {

using tensor::Shape;

TEST(Broadcast, AddsAxesAndStretchesSizesOfOne) {
  EXPECT_EQ(Broadcast({2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(Broadcast({}, {5, 0}), (Shape{5, 0}));
  EXPECT_EQ(Broadcast({1}, {0}), (Shape{0}));
  EXPECT_EQ(Broadcast({2, 3}, {2}), std::nullopt);
  EXPECT_EQ(Broadcast({0}, {2}), std::nullopt);
}

// A size that is known and is not 1 is the size of the result, because the unknown one must fit it.
TEST(Broadcast, KnowsTheSizeBesideAnUnknownOneUnlessItIsOne) {
  EXPECT_EQ(Broadcast({-1}, {3}), (Shape{3}));
  EXPECT_EQ(Broadcast({3}, {-1}), (Shape{3}));
  EXPECT_EQ(Broadcast({-1}, {1}), (Shape{-1}));
  EXPECT_EQ(Broadcast({1}, {-1}), (Shape{-1}));
  EXPECT_EQ(Broadcast({-1, 4}, {-1, 1}), (Shape{-1, 4}));
}

TEST(EitherShape, HasUnknownSizesWhereTheShapesDiffer) {
  EXPECT_EQ(EitherShape(Shape{2, 3}, Shape{2, 3}), (Shape{2, 3}));
  EXPECT_EQ(EitherShape(Shape{2, 3}, Shape{4, 3}), (Shape{-1, 3}));
  EXPECT_EQ(EitherShape(Shape{-1, 3}, Shape{2, -1}), (Shape{-1, -1}));
  EXPECT_EQ(EitherShape(Shape{-1}, Shape{-1}), (Shape{-1}));
}

TEST(EitherShape, IsUnknownIfTheRanksDifferOrAreUnknown) {
  EXPECT_EQ(EitherShape(Shape{2}, Shape{2, 1}), std::nullopt);
  EXPECT_EQ(EitherShape(std::nullopt, Shape{2}), std::nullopt);
  EXPECT_EQ(EitherShape(Shape{2}, std::nullopt), std::nullopt);
}

// The result has the shape [2, 3, 4, 8].
std::optional<BroadcastKind> KindOf(const Shape& operand) { return BroadcastKindOf(operand, {2, 3, 4, 8}); }

TEST(BroadcastKindOf, TellsHowAnOperandIsRepeated) {
  EXPECT_EQ(KindOf({2, 3, 4, 8}), BroadcastKind::kFull);
  for (const Shape& scalar : {Shape{}, Shape{1}, Shape{1, 1, 1, 1}}) EXPECT_EQ(KindOf(scalar), BroadcastKind::kScalar);
  for (const Shape& trailing : {Shape{8}, Shape{1, 8}, Shape{4, 8}, Shape{1, 3, 4, 8}})
    EXPECT_EQ(KindOf(trailing), BroadcastKind::kTrailing) << tensor::ToString(trailing);
  EXPECT_EQ(KindOf({2, 3, 4, 1}), BroadcastKind::kPerRow);
  for (const Shape& middle : {Shape{2, 1, 1, 8}, Shape{2, 1, 4, 8}, Shape{2, 3, 1, 8}})
    EXPECT_EQ(KindOf(middle), BroadcastKind::kMiddle) << tensor::ToString(middle);
}

TEST(BroadcastKindOf, IsUnknownForOperandsThatAreRepeatedInTwoPlaces) {
  for (const Shape& other :
       {Shape{2, 1, 4, 1}, Shape{1, 3, 1, 8}, Shape{1, 3, 4, 1}, Shape{2, 1, 1, 1}, Shape{2, 3, 1, 1}})
    EXPECT_EQ(KindOf(other), std::nullopt) << tensor::ToString(other);
}

TEST(BroadcastKindOf, IsUnknownForOperandsThatDoNotFit) {
  EXPECT_EQ(KindOf({2, 3, 5, 8}), std::nullopt);
  EXPECT_EQ(KindOf({2, 3, 4, 5}), std::nullopt);
  EXPECT_EQ(BroadcastKindOf({2, 3, 8}, {2, 3, 1}), std::nullopt) << "the operand is larger than the result";
  EXPECT_EQ(KindOf({1, 2, 3, 4, 8}), std::nullopt) << "more axes than the result";
}

// An operand of the result's own shape is not repeated, even if it has only one element.
TEST(BroadcastKindOf, PrefersTheKindThatRepeatsNothing) {
  EXPECT_EQ(BroadcastKindOf({1}, {1}), BroadcastKind::kFull);
  EXPECT_EQ(BroadcastKindOf({}, {}), BroadcastKind::kFull);
  EXPECT_EQ(BroadcastKindOf({0}, {2, 0}), BroadcastKind::kTrailing);
}

}  // namespace
}  // namespace longshore::graph
