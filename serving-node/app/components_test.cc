#include "serving-node/app/components.h"

#include <gtest/gtest.h>

#include <fstream>

#include "serving-node/app/security.h"
#include "serving-node/app/testing.h"

namespace longshore::app {
namespace {

class ComponentsTest : public NodeTest {};

// Without a controller, nothing else would write the desired state again.
TEST_F(ComponentsTest, TheDesiredStateIsNoProblemWhenItsFolderCanBeWrittenAgain) {
  BeManaged();
  const Security security = OpenSecurity(flags_).value();
  const auto components = BuildComponents(flags_, security, [](const auto&, const auto&) {}).value();
  components->desired_state_health.Report(Unavailable("no room"));
  EXPECT_EQ(components->storage->Problems().size(), 1u);
  std::filesystem::remove_all(flags_.state_dir);
  std::ofstream(flags_.state_dir) << "a file where the folder should be";
  components->storage->WriteAgain();
  EXPECT_EQ(components->storage->Problems().size(), 1u);
  std::filesystem::remove(flags_.state_dir);
  components->storage->WriteAgain();
  EXPECT_TRUE(components->storage->Problems().empty());
}

}  // namespace
}  // namespace longshore::app
