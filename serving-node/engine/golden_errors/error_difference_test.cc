#include "serving-node/engine/golden_errors/error_difference.h"

#include <gmock/gmock.h>

namespace longshore::engine::golden_errors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Subjects, AreWordsNumbersAndShapes) {
  EXPECT_THAT(SubjectsOf("segmentIds must not be -7 or 2 of the dims (3, 40)"),
              ElementsAre("-7", "40", "[3,40]", "ids", "rank", "segment"));
  EXPECT_TRUE(ShareASubject("Dimension -1 must be >= 0", "the shape [-1] has a negative size"));
  EXPECT_TRUE(ShareASubject("indices[1] == 5 out of range", "indices[1] = 5 is out of range"));
  EXPECT_FALSE(ShareASubject("input must be a tensor with 2 values", "the input is invalid: 2 values are expected"));
}

// Each message of this engine begins with the op's name, which TensorFlow's message may have, too. The name must not
// count as a shared subject.
TEST(Subjects, AreNotInThePlaceOfAnError) {
  EXPECT_FALSE(ShareASubject("Einsum failed", R"(op "Einsum" (node "Einsum"): a label is missing)"));
  EXPECT_FALSE(ShareASubject("Rint failed", R"(unsupported ops: "Rint" of DT_HALF (node "Rint"))"));
}

Json Case(const std::string& code, const std::string& error) {
  return {{"op", "Sum"}, {"code", code}, {"error", error}};
}

TEST(ErrorRows, RequireTheSameCodeAndASharedSubject) {
  ErrorRows rows(Json::array());
  const Json wanted = Case("INVALID_ARGUMENT", "axis 7 is too large");
  EXPECT_EQ(rows.Difference(wanted, {Code::kInvalidArgument, "no axis 9"}), "");
  EXPECT_THAT(rows.Difference(wanted, {Code::kInternal, "no axis 7"}),
              HasSubstr("INTERNAL: no axis 7 instead of INVALID"));
  EXPECT_THAT(rows.Difference(wanted, {Code::kInvalidArgument, "the width is wrong"}), HasSubstr("instead of"));
  EXPECT_THAT(rows.Difference(Case("UNIMPLEMENTED", "axis"), {Code::kUnimplemented, "axis"}), HasSubstr("instead of"));
}

TEST(ErrorRows, JustifyDifferencesAndReportTheUnused) {
  const Json row = {{"op", "Sum|Max"}, {"tensorflow", "^axis"}, {"ours", "width"}, {"reason", "an example"}};
  Json unimplemented = row;
  unimplemented["code"] = "UNIMPLEMENTED";
  ErrorRows rows(Json::array({row, unimplemented}));
  const Json wanted = Case("INVALID_ARGUMENT", "axis 7 is too large");
  EXPECT_EQ(rows.Difference(wanted, {Code::kInvalidArgument, "the width is wrong"}), "");
  EXPECT_THAT(rows.Unused(), ElementsAre(unimplemented.dump()));
  EXPECT_EQ(rows.Difference(wanted, {Code::kUnimplemented, "the width is wrong"}), "");
  EXPECT_THAT(rows.Unused(), IsEmpty());
  EXPECT_NE(rows.Difference(Case("INVALID_ARGUMENT", "no axis"), {Code::kInvalidArgument, "the width is wrong"}), "");
}

}  // namespace
}  // namespace longshore::engine::golden_errors
