// What the commands say about objects that do not exist on a cluster, against a fake API server.
#include "controller/cli/absent.h"

#include <gmock/gmock.h>

#include <sstream>

#include "common/os/file.h"
#include "controller/cli/program.h"
#include "controller/cli/testing_cluster.h"
#include "controller/store/kube/kube_store.h"

namespace longshore::cli {
namespace {

using testing::HasSubstr;

// The only namespace is "default", and it has no objects. Namespace "vision" has the Model "digits".
http::Response Answer(const http::Request& request) {
  if (request.target == "/apis/coordination.k8s.io/v1/leases?fieldSelector=metadata.name%3Dlongshore-controller")
    return {.status = 403, .body = R"({"kind": "Status", "reason": "Forbidden", "message": "no"})"};
  static const std::string kModels = "/apis/longshore.dev/v1alpha1/models?";
  if (request.target == "/api/v1/namespaces/default") return {.body = "{}"};
  if (request.target.starts_with(kModels))
    return {.body = R"({"items": [{"apiVersion": "longshore.dev/v1alpha1", "metadata":
                       {"name": "digits", "namespace": "vision", "uid": "u", "resourceVersion": "1"}, "spec": {}}]})"};
  if (request.target.find('?') != std::string::npos) return {.body = R"({"items": []})"};
  return {.status = 404, .body = R"({"kind": "Status", "reason": "NotFound", "message": "not found"})"};
}

class Absent : public testing::Test {
 protected:
  Absent() {
    place_.home = api::Home::kCluster;
    place_.cluster = api_server_.cluster();
    options_.namespace_ = "default";
  }
  Result<int> Run(Options options) {
    place_.store = store::kube::KubeStore::Open(*place_.cluster, {.namespaces = {options.namespace_}}, timer_).value();
    out_.str("");
    return cli::Run(std::move(options), place_, SystemClock(), out_);
  }
  std::string TextOf(const Options& options) {
    EXPECT_EQ(Run(options).value(), kExitOk);
    return out_.str();
  }

  const SteadyClock timer_;
  FakeCluster api_server_{Answer};
  Place place_;
  Options options_;
  std::ostringstream out_;
};

TEST_F(Absent, AnAnswerWithoutObjectsNamesTheNamespace) {
  options_.verb = Verb::kGet;
  EXPECT_THAT(TextOf(options_), HasSubstr("No models and no fleets in namespace default. Apply a manifest"));
  options_.targets = {{api::kModelKind, ""}};
  EXPECT_THAT(TextOf(options_), HasSubstr("No models in namespace default."));
  options_.namespace_ = "defualt";
  EXPECT_EQ(TextOf(options_), "Namespace defualt does not exist.\n");
}

TEST_F(Absent, StatusAndEventsNameTheNamespaceToo) {
  options_.verb = Verb::kStatus;
  EXPECT_THAT(TextOf(options_), HasSubstr("No models and no fleets in namespace default."));
  options_.verb = Verb::kEvents;
  EXPECT_THAT(TextOf(options_), HasSubstr("No models in namespace default."));
  options_.namespace_ = "defualt";
  EXPECT_EQ(TextOf(options_), "Namespace defualt does not exist.\n");
}

constexpr const char* kHeld =
    R"({"holderIdentity": "a_1", "leaseDurationSeconds": 15, "renewTime": "2200-01-01T00:00:00.000000Z"})";

// With one Lease, whose holder watches these namespaces.
http::Response AnswerWithLease(const http::Request& request, const std::string& namespaces,
                               const std::string& spec = kHeld) {
  if (request.target.starts_with("/apis/coordination"))
    return {.body = R"({"items": [{"metadata": {"annotations": {"longshore.dev/watched-namespaces": ")" + namespaces +
                    R"("}}, "spec": )" + spec + "}]}"};
  return Answer(request);
}

TEST_F(Absent, AnAnswerWithoutObjectsSaysThatNoControllerWatchesTheNamespace) {
  const auto text = [&](const std::string& namespaces, const std::string& spec = kHeld) {
    const FakeCluster cluster([=](const http::Request& request) { return AnswerWithLease(request, namespaces, spec); });
    place_.cluster = cluster.cluster();
    options_.verb = Verb::kStatus;
    return TextOf(options_);
  };
  EXPECT_EQ(
      text("longshore,vision"),
      "No models and no fleets in namespace default. No controller watches namespace default: use -n with one that "
      "is watched (longshore, vision), or add default to watchNamespaces of the chart\n");
  for (const char* watched : {"default", "a,default", "*", ""})
    EXPECT_THAT(text(watched), HasSubstr("Apply a manifest")) << watched;
  const std::string expired =
      R"({"holderIdentity": "a_1", "leaseDurationSeconds": 15, "renewTime": "2020-01-01T00:00:00.000000Z"})";
  for (const std::string& spec : {std::string(R"({"holderIdentity": ""})"), expired})
    EXPECT_THAT(text("longshore", spec), HasSubstr("Apply a manifest")) << "no controller runs there either: " << spec;
}

TEST_F(Absent, ApplyWarnsOfANamespaceThatNoControllerWatches) {
  const FakeCluster cluster([](const http::Request& request) {
    if (request.method != "PATCH") return AnswerWithLease(request, "longshore");
    return http::Response{.body = request.body};
  });
  place_.cluster = cluster.cluster();
  options_.verb = Verb::kApply;
  options_.files = {testing::TempDir() + "fleet.yaml"};
  ASSERT_TRUE(WriteFileAtomically(
      options_.files[0], "apiVersion: longshore.dev/v1alpha1\nkind: ServingFleet\nmetadata: {name: cpu}\nspec: {}\n"));
  EXPECT_THAT(TextOf(options_), HasSubstr("Warning: no controller watches namespace default: use -n with one"));
}

TEST_F(Absent, TheConsoleSaysWhetherAControllerIsMissingOrDoesNotRun) {
  options_.verb = Verb::kConsole;
  EXPECT_EQ(
      Run(options_).error().message,
      "no controller is installed in namespace default: it has no Lease longshore-controller; if it is in another "
      "namespace, name that one with -n");
  const FakeCluster released([](const http::Request& request) {
    return request.target.find("/leases/") == std::string::npos ? Answer(request)
                                                                : http::Response{.body = R"({"spec": {}})"};
  });
  place_.cluster = released.cluster();
  EXPECT_EQ(Run(options_).error().message,
            "no controller is running: none holds the Lease default/longshore-controller");
}

TEST_F(Absent, AnErrorSaysInWhichNamespaceThereIsAnObjectOfThisName) {
  options_.verb = Verb::kExplain;
  options_.name = "digits";
  const auto explained = Run(options_);
  ASSERT_FALSE(explained);
  EXPECT_EQ(explained.error().message,
            "Model default/digits does not exist; namespace default has no models; there is one in namespace "
            "vision");
  options_.name = "words";
  EXPECT_EQ(Run(options_).error().message, "Model default/words does not exist; namespace default has no models");
}

}  // namespace
}  // namespace longshore::cli
