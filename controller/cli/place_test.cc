#include "controller/cli/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace longshore::cli {
namespace {

TEST(Place, NamesTheMissingFileOfKubeconfig) {
  const std::string missing = testing::TempDir() + "gone/kubeconfig";
  setenv("KUBECONFIG", missing.c_str(), 1);
  const auto cluster = ClusterOf({});
  unsetenv("KUBECONFIG");
  ASSERT_FALSE(cluster);
  EXPECT_THAT(cluster.error().message,
              testing::StartsWith("the variable KUBECONFIG names " + missing + ", which does not exist"));
  EXPECT_EQ(cluster.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace longshore::cli
