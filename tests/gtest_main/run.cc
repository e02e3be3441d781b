#include "tests/gtest_main/run.h"

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "tests/gtest_main/skips.h"

namespace longshore::gtest_main {
namespace {

class SkipListener final : public testing::EmptyTestEventListener {
 public:
  explicit SkipListener(std::vector<Skip>& skips) : skips_(skips) {}

 private:
  void OnTestEnd(const testing::TestInfo& test) override {
    for (int i = 0; i < test.result()->total_part_count(); ++i) {
      const testing::TestPartResult& part = test.result()->GetTestPartResult(i);
      if (part.skipped()) skips_.push_back({std::string(test.test_suite_name()) + "." + test.name(), part.message()});
    }
  }

  std::vector<Skip>& skips_;
};

// Returns the tests that have the prefix DISABLED_, or whose suite has it.
std::vector<std::string> DisabledTests() {
  std::vector<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const std::string name = std::string(suite.name()) + "." + suite.GetTestInfo(j)->name();
      if (name.find("DISABLED_") != std::string::npos) names.push_back(name);
    }
  }
  return names;
}

}  // namespace

int RunTests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::vector<Skip> skips;
  testing::UnitTest::GetInstance()->listeners().Append(new SkipListener(skips));  // gtest deletes it.
  const int code = RUN_ALL_TESTS();
  if (code != 0 || testing::GTEST_FLAG(list_tests)) return code;
  const std::string fault =
      FindFault(testing::UnitTest::GetInstance()->test_to_run_count(), skips, DisabledTests(), kThisBuild);
  if (!fault.empty()) std::cerr << fault;
  return fault.empty() ? 0 : 1;
}

}  // namespace longshore::gtest_main
