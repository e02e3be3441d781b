#include "controller/cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/testing.h"

namespace longshore::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class Completion : public StoreTest {
 protected:
  Completion() {
    StoreDigits();
    store::Object fleet;
    fleet.kind = api::kServingFleetKind;
    fleet.metadata.name = "main";
    fleet.spec = Json::object();
    EXPECT_TRUE(store_->Apply(fleet));
    fleet.metadata.namespace_ = "vision";
    fleet.metadata.name = "gpu";
    EXPECT_TRUE(store_->Apply(fleet));
  }

  std::string Words(const std::vector<std::string>& words) {
    return Complete(words, [&](const Options& options) -> Result<Place> {
      if (options.manifests != dir_) return NotFound("another place");
      Place place;
      ASSIGN_OR_RETURN(place.store, store::local::LocalStore::Open({.dir = dir_}));
      return place;
    });
  }
  // The same for a command line that names the test's place.
  std::string There(std::vector<std::string> words) {
    words.insert(words.begin(), {"--manifests", dir_.string()});
    return Words(words);
  }
};

TEST_F(Completion, CompletesCommandsWithTheirDescriptions) {
  EXPECT_EQ(Words({"prom"}), "promote\tGo to the next step of the rollout now\n:4\n");
  EXPECT_EQ(Words({"doc"}), "doctor\tCheck the installation, and say what to do about each problem\n:4\n");
  EXPECT_EQ(Words({"-n", "x", "ge"}), "get\tList models and fleets\n:4\n");
  EXPECT_THAT(Words({""}), HasSubstr("status\t"));
  EXPECT_THAT(Words({"import", ""}), HasSubstr("kserve\t"));
  EXPECT_EQ(Words({"completion", "b"}), "bash\n:4\n");
}

TEST_F(Completion, CompletesFlagsOfTheCommandAndGlobalOnes) {
  EXPECT_THAT(Words({"get", "--"}), HasSubstr("--selector\t"));
  EXPECT_THAT(Words({"get", "--"}), HasSubstr("--namespace\t"));
  EXPECT_THAT(Words({"get", "--"}), Not(HasSubstr("--wait")));
  EXPECT_EQ(Words({"get", "models", "-o", "js"}), "json\njsonpath=\n:4\n");
  EXPECT_EQ(Words({"get", "models", "--output=y"}), "--output=yaml\n:4\n");
}

TEST_F(Completion, CompletesKindsAndNamesOfLiveObjects) {
  EXPECT_EQ(Words({"get", "mo"}), "model\nmodel/\nmodels\n:4\n");
  EXPECT_EQ(There({"get", "model", ""}), "digits\n:4\n");
  EXPECT_EQ(There({"get", "model", "digits", ""}), ":4\n") << "it is in the command line already";
  EXPECT_EQ(There({"delete", "fleet/"}), "fleet/main\n:4\n");
  EXPECT_EQ(There({"get", "fleets", "-n", "vision", ""}), "gpu\n:4\n");
  EXPECT_EQ(There({"promote", "d"}), "digits\n:4\n");
  EXPECT_EQ(There({"logs", "-f", ""}), "controller\nfleet/main\n:4\n");
  EXPECT_EQ(There({"promote", "digits", ""}), ":4\n");
  EXPECT_EQ(There({"status", "-n", ""}), "default\nvision\n:4\n");
}

TEST_F(Completion, CompletesTheCommandsOfModelAndGolden) {
  EXPECT_EQ(Words({"golden", "from-"}), "from-csv\nfrom-log\nfrom-model\n:4\n");
  EXPECT_EQ(Words({"model", "s"}), "show\n:4\n");
  EXPECT_EQ(Words({"model", "show", "/mod"}), ":0\n") << "then files";
  EXPECT_EQ(Words({"golden", "check", "--model", "/mod"}), ":0\n");
}

TEST_F(Completion, WithoutAPlaceThereAreNoNames) { EXPECT_EQ(Words({"get", "model", ""}), ":4\n"); }

TEST_F(Completion, LeavesFilesToTheShell) {
  EXPECT_EQ(Words({"apply", "-f", "di"}), ":0\n");
  EXPECT_EQ(Words({"--kubeconfig=x"}), ":0\n");
  EXPECT_EQ(Words({"import", "kserve", ""}), ":0\n");
  EXPECT_EQ(Words({"check-version", "exp"}), ":0\n");
  EXPECT_EQ(Words({"check-version", "export/5", "--golden", "g"}), ":0\n");
  EXPECT_EQ(Words({"check-version", "export/5", "--stable=/m"}), ":0\n");
}

}  // namespace
}  // namespace longshore::cli
