#include "controller/cli/text/offers.h"

#include <gtest/gtest.h>

namespace longshore::cli::text {
namespace {

// After an undo from one of the versions to the other.
std::string WayBack(int64_t left, int64_t serves) {
  api::Model model;
  model.metadata.name = "digits";
  api::ModelStatus& status = model.status;
  status.stable_version = serves;
  status.rollout.phase = api::RolloutPhase::kCompleted;
  status.rollout.stable = left;
  status.rollout.candidate = serves;
  status.nodes.emplace_back();
  status.history = {{TimePoint{}, left, "Promoted", ""}, {TimePoint{}, serves, "Undone", ""}};
  return OffersText(model, "", TimePoint{});
}

TEST(Offers, TheWayBackAfterAnUndoNamesItsDirection) {
  const std::string how = " again, at once; it stays loaded for 10 min more\n";
  EXPECT_EQ(WayBack(3, 2), "  longshore undo digits --to 3   go forward to version 3" + how);
  EXPECT_EQ(WayBack(2, 3), "  longshore undo digits --to 2   go back to version 2" + how);
}

}  // namespace
}  // namespace longshore::cli::text
