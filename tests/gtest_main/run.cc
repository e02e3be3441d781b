#include "tests/gtest_main/run.h"

#include <gtest/gtest.h>

#include <iostream>

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

}  // namespace

int RunTests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::vector<Skip> skips;
  testing::UnitTest::GetInstance()->listeners().Append(new SkipListener(skips));  // gtest deletes it.
  const int code = RUN_ALL_TESTS();
  if (code != 0 || testing::GTEST_FLAG(list_tests)) return code;
  const std::string fault = FindFault(testing::UnitTest::GetInstance()->test_to_run_count(), skips, kThisBuild);
  if (!fault.empty()) std::cerr << fault;
  return fault.empty() ? 0 : 1;
}

}  // namespace longshore::gtest_main
