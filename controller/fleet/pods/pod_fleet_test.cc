// Runs against a real API server with the controllers of Kubernetes, which create the pods of Deployments;
// tests/cluster/control_plane.py starts them. The pods do not run because the cluster has no machines.
#include "controller/fleet/pods/pod_fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>

#include "controller/kube/testing.h"

namespace longshore::fleet::pods {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const SteadyClock kClock;
constexpr const char* kGroup = "/apis/longshore.dev/v1alpha1/namespaces/";

// A token of a service account, without a client certificate.
class TokenCredentials final : public kube::Credentials {
 public:
  TokenCredentials(std::string token, std::shared_ptr<Credentials> admin)
      : token_(std::move(token)), admin_(std::move(admin)) {}
  Result<std::string> Token(bool) override { return token_; }
  Result<tls::ClientIdentity> Identity() override {
    return tls::ClientIdentity{.server_ca = admin_->Identity()->server_ca, .certificate = {}, .key = {}};
  }

 private:
  const std::string token_;
  const std::shared_ptr<Credentials> admin_;
};

class PodFleetTest : public ::testing::Test {
 protected:
  PodFleetTest() {
    Send("POST", "/api/v1/namespaces",
         {{"apiVersion", "v1"},
          {"kind", "Namespace"},
          {"metadata", {{"name", namespace_}, {"labels", {{"pod-security.kubernetes.io/enforce", "restricted"}}}}}});
    fleet_.metadata.name = "cpu";
    fleet_.metadata.namespace_ = namespace_;
    fleet_.spec.pods.limits = {{"cpu", "2"}, {"nvidia.com/gpu", "2"}};
    fleet_.spec.pods.model_volumes = {
        {.name = "models", .mount_path = "/models", .claim_name = "models", .secret_name = {}}};
    MakeFleet();
    Start("longshore/node:1");
  }

  void MakeFleet() {
    const Json object = Send("POST", kGroup + namespace_ + "/servingfleets",
                             {{"apiVersion", "longshore.dev/v1alpha1"},
                              {"kind", "ServingFleet"},
                              {"metadata", {{"name", "cpu"}}},
                              {"spec", Json::object()}});
    fleet_.metadata.uid = object.at("metadata").at("uid");
  }

  void Start(const std::string& image, const MonotonicClock& clock = kClock,
             const kube::Cluster& cluster = kube::ClusterForTests()) {
    pods_.reset();
    PodFleetOptions options;
    options.settings = {
        .image = image, .controller = "dns:///nodes.longshore.svc:8610", .lease = "longshore/lease", .ca = "CA\n"};
    options.namespaces = {namespace_};
    pods_ = StartPodFleet(cluster, options, clock, [this](const std::string& fleet) {
              const std::lock_guard lock(mutex_);
              ++changes_[fleet];
              changed_.notify_all();
            }).value();
  }
  // Does what the reconciler does: writes the image into the status, and waits until the watch reports the Deployment.
  void Ensure() {
    const auto ensured = pods_->Ensure(fleet_);
    ASSERT_TRUE(ensured) << ensured.error().message;
    fleet_.status.image = ensured->pod_image;
    fleet_.status.image_from_spec = !fleet_.spec.pods.image.empty();
    ASSERT_TRUE(WaitUntil([&] { return std::ranges::count(pods_->Fleets(), Name()) == 1; }));
  }
  Json Send(const std::string& method, const std::string& path, const Json& body = {},
            const std::string& type = "application/json") {
    const auto answer =
        api_->Send({.method = method, .target = path, .body = body.is_null() ? "" : body.dump(), .content_type = type});
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? ParseJson(*answer).value() : Json();
  }
  Json Get(const std::string& what) { return Send("GET", PathIn(what)); }
  // `what`: for example "deployments/longshore-cpu".
  std::string PathIn(const std::string& what) const {
    const std::map<std::string, std::string> groups = {{"deployments", "/apis/apps/v1"},
                                                       {"roles", "/apis/rbac.authorization.k8s.io/v1"},
                                                       {"rolebindings", "/apis/rbac.authorization.k8s.io/v1"},
                                                       {"networkpolicies", "/apis/networking.k8s.io/v1"},
                                                       {"poddisruptionbudgets", "/apis/policy/v1"}};
    const auto group = groups.find(what.substr(0, what.find('/')));
    return fmt::format("{}/namespaces/{}/{}", group == groups.end() ? "/api/v1" : group->second, namespace_, what);
  }
  std::string ImageOfPods() {
    return Get("deployments/longshore-cpu")["spec"]["template"]["spec"]["containers"][0]["image"];
  }
  // Does what a scheduler and a kubelet do until the pod is ready. Kubernetes gives a Service only pods of a known
  // machine.
  void MakeReady(const std::string& pod, const std::string& ip) {
    Send("POST", "/api/v1/nodes", {{"kind", "Node"}, {"apiVersion", "v1"}, {"metadata", {{"name", namespace_}}}});
    Send("POST", PathIn("pods/" + pod + "/binding"),
         {{"kind", "Binding"},
          {"apiVersion", "v1"},
          {"metadata", {{"name", pod}}},
          {"target", {{"kind", "Node"}, {"name", namespace_}}}});
    Patch("pods/" + pod + "/status", {{"status",
                                       {{"phase", "Running"},
                                        {"podIP", ip},
                                        {"podIPs", Json::array({{{"ip", ip}}})},
                                        {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}});
  }
  void Patch(const std::string& what, const Json& patch) { Send("PATCH", PathIn(what), patch, kube::kMergePatch); }
  // Sets what the service account "reader" may list and watch.
  void LetReaderRead(const std::vector<std::pair<const char*, const char*>>& resources_of_groups) {
    Json rules = Json::array();
    for (const auto& [group, resource] : resources_of_groups) {
      rules.push_back({{"apiGroups", {group}}, {"resources", {resource}}, {"verbs", {"list", "watch"}}});
    }
    const Json role = {{"apiVersion", "rbac.authorization.k8s.io/v1"},
                       {"kind", "Role"},
                       {"metadata", {{"name", "reader"}}},
                       {"rules", rules}};
    Send("PATCH", PathIn("roles/reader") + "?fieldManager=test&force=true", role, kube::kApplyPatch);
  }
  // Returns the cluster with the credentials of the service account "reader".
  kube::Cluster ClusterOfReader() {
    const Json made = {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "reader"}}}};
    Send("POST", PathIn("serviceaccounts"), made);
    Send("POST", PathIn("rolebindings"),
         {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "RoleBinding"},
          {"metadata", {{"name", "reader"}}},
          {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", "reader"}}},
          {"subjects", Json::array({{{"kind", "ServiceAccount"}, {"name", "reader"}, {"namespace", namespace_}}})}});
    const Json token =
        Send("POST", PathIn("serviceaccounts/reader/token"),
             {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", Json::object()}});
    kube::Cluster cluster = kube::ClusterForTests();
    cluster.credentials =
        std::make_shared<TokenCredentials>(token.at("status").at("token").get<std::string>(), cluster.credentials);
    return cluster;
  }
  // Returns the fleet's objects without their status and without metadata that the server sets.
  std::map<std::string, Json> Contents() {
    std::map<std::string, Json> contents;
    for (const char* what : {"deployments/longshore-cpu", "services/longshore-cpu", "services/longshore-cpu-headless",
                             "serviceaccounts/longshore-cpu", "configmaps/longshore-cpu-ca",
                             "networkpolicies/longshore-cpu", "poddisruptionbudgets/longshore-cpu"}) {
      Json object = Get(what);
      object.erase("status");
      for (const char* key : {"managedFields", "resourceVersion", "generation"}) object["metadata"].erase(key);
      Json& annotations = object["metadata"]["annotations"];
      if (annotations.is_object()) annotations.erase("deployment.kubernetes.io/revision");
      contents[what] = object;
    }
    return contents;
  }
  template <typename Condition>
  bool WaitUntil(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), condition);
  }
  int ChangesSeen() {
    const std::lock_guard lock(mutex_);
    return changes_[Name()];
  }
  std::vector<std::string> Staying() {
    std::vector<std::string> names;
    for (const NodeInfo& node : pods_->Nodes(Name())) {
      if (!IsLeaving(node)) names.push_back(node.node);
    }
    return names;
  }
  std::string Name() const { return namespace_ + "/cpu"; }
  static std::string NameOfTest() {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    return name.substr(0, 60);
  }

  const SystemClock wall_;
  FakeMonotonicClock stopped_clock_;
  const std::string namespace_ = NameOfTest();
  std::unique_ptr<kube::Api> api_ = kube::ConnectForTests(kClock);
  api::ServingFleet fleet_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> changes_;
  std::unique_ptr<PodFleet> pods_;
};

TEST_F(PodFleetTest, PodsComplyWithTheRestrictedSecurityStandard) {
  Ensure();
  ASSERT_TRUE(pods_->Scale(Name(), 2, {}));
  EXPECT_TRUE(WaitUntil([&] { return Staying().size() == 2; })) << "a pod that violates the standard is not created";
  EXPECT_THAT(pods_->Fleets(), ElementsAre(Name()));
  const Json pod = Send("GET", PathIn("pods")).at("items").at(0);
  EXPECT_EQ(pod.at("spec").at("automountServiceAccountToken"), false);
  EXPECT_EQ(pod.at("spec").at("containers").at(0).at("resources").at("limits").at("nvidia.com/gpu"), "2");
  for (const auto& [what, object] : Contents()) {
    EXPECT_EQ(object.at("metadata").at("ownerReferences").at(0).at("uid"), fleet_.metadata.uid) << what;
  }
  const auto ensured = pods_->Ensure(fleet_).value();
  EXPECT_EQ(ensured.grpc, "longshore-cpu." + namespace_ + ".svc:8500");
  EXPECT_EQ(ensured.pod_image, "longshore/node:1");
  EXPECT_EQ(ensured.controller_lease, "longshore/lease");
}

TEST_F(PodFleetTest, ASecondEnsureOrANewControllerWritesNothing) {
  Ensure();
  ASSERT_TRUE(pods_->Scale(Name(), 1, {}));
  ASSERT_TRUE(WaitUntil([&] { return Staying().size() == 1; }));
  const auto versions = [&] {
    std::map<std::string, Json> seen;
    for (const char* what : {"services/longshore-cpu", "serviceaccounts/longshore-cpu", "configmaps/longshore-cpu-ca",
                             "networkpolicies/longshore-cpu"}) {
      seen[what] = Get(what).at("metadata").at("resourceVersion");
    }
    seen["deployment"] = Get("deployments/longshore-cpu").at("metadata").at("generation");
    return seen;
  };
  const auto before = versions();
  Ensure();
  ASSERT_TRUE(pods_->Scale(Name(), 1, {}));
  EXPECT_EQ(versions(), before);
  Start("longshore/node:2");
  Ensure();
  EXPECT_EQ(versions(), before) << "a fleet keeps its image";
}

TEST_F(PodFleetTest, ANewImageOfTheFleetChangesOnlyItsPods) {
  Ensure();
  const auto before = Contents();
  fleet_.spec.pods.image = "registry.example/node:3";
  Ensure();
  auto after = Contents();
  Json& deployment = after.at("deployments/longshore-cpu");
  EXPECT_EQ(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "registry.example/node:3");
  after.erase("deployments/longshore-cpu");
  for (const auto& [what, object] : after) EXPECT_EQ(object, before.at(what)) << what;
}

TEST_F(PodFleetTest, WithoutAnImageInItsSpecAFleetReturnsToTheDefaultImage) {
  Ensure();
  fleet_.spec.pods.image = "registry.example/no-such-image:1";
  ++fleet_.metadata.generation;
  Ensure();
  ASSERT_EQ(ImageOfPods(), "registry.example/no-such-image:1");
  fleet_.spec.pods.image.clear();
  ++fleet_.metadata.generation;
  Ensure();
  EXPECT_EQ(ImageOfPods(), "longshore/node:1");
  Start("longshore/node:2");
  Ensure();
  EXPECT_EQ(ImageOfPods(), "longshore/node:1") << "a new controller restarts no pods";
}

TEST_F(PodFleetTest, ItsAddressAnswersAMomentAfterItsServiceHasAReadyPod) {
  Start("longshore/node:1", stopped_clock_);
  Ensure();
  ASSERT_TRUE(pods_->Scale(Name(), 1, {}));
  ASSERT_TRUE(WaitUntil([&] { return Staying().size() == 1; }));
  EXPECT_THAT(pods_->ProgressOf(Name()).unreachable,
              AllOf(HasSubstr("Service longshore-cpu has 0 of "), HasSubstr("Z or before"),
                    HasSubstr("kubectl -n " + namespace_ + " describe pods -l longshore.dev/fleet=cpu")));
  EXPECT_EQ(pods_->ProgressOf(Name()).unreachable, pods_->ProgressOf(Name()).unreachable) << "it is part of a status";
  EXPECT_FALSE(pods_->ProgressOf(Name()).check_again_in) << "it waits for a call of OnChange";
  MakeReady(Staying()[0], "10.1.2.3");
  ASSERT_TRUE(WaitUntil([&] { return pods_->ProgressOf(Name()).check_again_in.has_value(); }));
  EXPECT_THAT(pods_->ProgressOf(Name()).unreachable, HasSubstr("kube-proxy may not know it yet"));
  stopped_clock_.Advance(*pods_->ProgressOf(Name()).check_again_in);
  EXPECT_EQ(pods_->ProgressOf(Name()).unreachable, "");
  EXPECT_FALSE(pods_->ProgressOf(Name()).check_again_in);
  Start("longshore/node:1", stopped_clock_);
  EXPECT_EQ(pods_->ProgressOf(Name()).unreachable, "") << "for a new controller, the pod is not new";
  Send("DELETE", PathIn("services/longshore-cpu"));
  EXPECT_TRUE(
      WaitUntil([&] { return pods_->ProgressOf(Name()).unreachable == "Service longshore-cpu does not exist yet"; }));
}

// A controller that is updated before the rights of its role.
TEST_F(PodFleetTest, WithoutTheRightToListEndpointSlicesItStartsAndSaysSo) {
  Ensure();
  std::vector<std::pair<const char*, const char*>> rights = {{"apps", "deployments"},
                                                             {"", "serviceaccounts"},
                                                             {"", "services"},
                                                             {"", "pods"},
                                                             {"policy", "poddisruptionbudgets"},
                                                             {"networking.k8s.io", "networkpolicies"}};
  LetReaderRead(rights);
  Start("longshore/node:1", kClock, ClusterOfReader());
  const Progress progress = pods_->ProgressOf(Name());
  EXPECT_EQ(progress.unreachable, "");
  EXPECT_THAT(progress.unchecked, HasSubstr("lacks the right to list endpointslices"));
  EXPECT_THAT(progress.unchecked, HasSubstr("Role longshore-controller.longshore"));
  rights.emplace_back("discovery.k8s.io", "endpointslices");
  LetReaderRead(rights);
  ASSERT_TRUE(WaitUntil([&] { return pods_->ProgressOf(Name()).unchecked.empty(); }));
  EXPECT_THAT(pods_->ProgressOf(Name()).unreachable, HasSubstr("Service longshore-cpu has 0 of "));
}

TEST_F(PodFleetTest, ItsPodsAreUnfinishedUntilTheyAreThoseOfTheSpec) {
  Ensure();
  ASSERT_TRUE(pods_->Scale(Name(), 1, {}));
  EXPECT_NE(pods_->ProgressOf(Name()).unfinished, "") << "Kubernetes has not processed the number of pods";
  ASSERT_TRUE(WaitUntil([&] { return pods_->ProgressOf(Name()).unfinished == "0 of 1 pods are ready for clients"; }));
  MakeReady(Staying()[0], "10.1.2.4");
  ASSERT_TRUE(WaitUntil([&] { return pods_->ProgressOf(Name()).unfinished.empty(); }));
  fleet_.spec.pods.image = "registry.example/node:3";
  ++fleet_.metadata.generation;
  Ensure();
  EXPECT_NE(pods_->ProgressOf(Name()).unfinished, "") << "Kubernetes has not processed the new image";
  EXPECT_TRUE(WaitUntil([&] { return pods_->ProgressOf(Name()).unfinished == "1 of 2 pods are of the newest spec"; }));
}

TEST_F(PodFleetTest, AFleetThatIsCreatedAgainUnderItsNameGetsNewNodes) {
  Ensure();
  ASSERT_TRUE(pods_->Scale(Name(), 1, {}));
  ASSERT_TRUE(WaitUntil([&] { return Staying().size() == 1; }));
  const std::string of_the_first = Staying()[0];
  // Deletes the fleet but not its Deployment, as if the fleet is created again before the garbage collector has run.
  const std::string path = kGroup + namespace_ + "/servingfleets/cpu";
  Send("DELETE", path + "?propagationPolicy=Orphan");
  while (api_->Send({.target = path})) {
  }
  MakeFleet();
  Ensure();
  ASSERT_TRUE(WaitUntil([&] { return Staying().size() == 1 && Staying()[0] != of_the_first; }))
      << "a new pod replaces that of the first fleet, which is not a node of this fleet";
  const Json labels = Get("pods/" + Staying()[0]).at("metadata").at("labels");
  EXPECT_EQ(labels.at(kFleetUidLabel), fleet_.metadata.uid);
}

TEST_F(PodFleetTest, ADeploymentOfAnotherFormWithTheSameInputsIsNotChanged) {
  Ensure();
  Patch("deployments/longshore-cpu",
        {{"metadata", {{"annotations", {{kFormAnnotation, "0"}}}}},
         {"spec", {{"template", {{"metadata", {{"annotations", {{"of", "an older controller"}}}}}}}}}});
  const auto before = Contents();
  Start("longshore/node:1");
  Ensure();
  EXPECT_EQ(Contents(), before);
  fleet_.spec.pods.log_level = "debug";
  ++fleet_.metadata.generation;
  Ensure();
  EXPECT_EQ(Get("deployments/longshore-cpu").at("metadata").at("annotations").at(kFormAnnotation), kForm);
}

TEST_F(PodFleetTest, NodesGetFlagsForTheirCacheItsLimitAndTheAuthorityOfArchives) {
  const auto arguments = [&] {
    Ensure();
    return Get("deployments/longshore-cpu")["spec"]["template"]["spec"]["containers"][0]["args"];
  };
  EXPECT_THAT(arguments(), testing::Contains(Json("--cache_dir=/var/cache/longshore")));
  EXPECT_THAT(arguments(), testing::Not(testing::Contains(
                               testing::Property(&Json::get<std::string>, testing::HasSubstr("--cache_bytes_max")))));
  fleet_.spec.pods.cache_size_limit = "1.5Gi";
  fleet_.spec.pods.source_ca_file = "/models/ca/ca.crt";
  ++fleet_.metadata.generation;
  EXPECT_THAT(arguments(), testing::IsSupersetOf(
                               {Json("--cache_bytes_max=1610612736"), Json("--source_ca_file=/models/ca/ca.crt")}));
}

TEST_F(PodFleetTest, RevertsForeignChangesToItsFieldsAndKeepsOtherFields) {
  Ensure();
  const auto before = Contents();
  Patch("services/longshore-cpu", {{"spec", {{"selector", {{kFleetLabel, "other"}}}}}});
  Patch("serviceaccounts/longshore-cpu", {{"metadata", {{"ownerReferences", Json::array()}}}});
  Patch("networkpolicies/longshore-cpu", {{"spec", {{"ingress", Json::array({Json::object()})}}}});
  Patch("deployments/longshore-cpu", {{"metadata", {{"labels", {{kFleetLabel, "other"}}}}}});
  Patch("configmaps/longshore-cpu-ca", {{"metadata", {{"annotations", {{"mine", "stays"}}}}}});
  Send("DELETE", PathIn("poddisruptionbudgets/longshore-cpu"));
  const auto is_reverted = [&] {
    return Get("services/longshore-cpu")["spec"]["selector"] ==
               before.at("services/longshore-cpu").at("spec").at("selector") &&
           !Get("serviceaccounts/longshore-cpu")["metadata"]["ownerReferences"].empty() &&
           Get("deployments/longshore-cpu")["metadata"]["labels"][kFleetLabel] == "cpu" &&
           Get("networkpolicies/longshore-cpu")["spec"] == before.at("networkpolicies/longshore-cpu").at("spec") &&
           api_->Send({.target = PathIn("poddisruptionbudgets/longshore-cpu")});
  };
  // Each change is reported on its own, so Ensure is called until it has seen all of them.
  for (int seen = ChangesSeen(); Ensure(), !is_reverted(); seen = ChangesSeen()) {
    ASSERT_TRUE(WaitUntil([&] { return changes_[Name()] > seen; }));
  }
  auto after = Contents();
  EXPECT_EQ(after.at("configmaps/longshore-cpu-ca").at("metadata").at("annotations").at("mine"), "stays");
  after.at("configmaps/longshore-cpu-ca")["metadata"].erase("annotations");
  auto wanted = before;
  wanted.at("configmaps/longshore-cpu-ca")["metadata"].erase("annotations");
  for (const char* key : {"uid", "creationTimestamp"}) {
    for (auto* contents : {&after, &wanted}) contents->at("poddisruptionbudgets/longshore-cpu")["metadata"].erase(key);
  }
  for (const auto& [what, object] : after) EXPECT_EQ(object, wanted.at(what)) << what;
}

TEST_F(PodFleetTest, TheTokenOfItsPodIdentifiesANode) {
  Ensure();
  ASSERT_TRUE(pods_->Scale(Name(), 1, {}));
  ASSERT_TRUE(WaitUntil([&] { return Staying().size() == 1; }));
  const std::string node = Staying()[0];
  const std::string uid = Get("pods/" + node).at("metadata").at("uid");
  const auto issuer = kube::Issuer::Start(kube::ConnectForTests(kClock), wall_).value();
  const NodeTokens tokens(*issuer, [&](const PodName& pod) { return pods_->NodeOf(pod); });
  const auto token = [&](const char* audience, const Json& bound) {
    Json spec = {{"audiences", Json::array({audience})}, {"expirationSeconds", 3600}};
    if (!bound.is_null()) spec["boundObjectRef"] = bound;
    const Json made = Send("POST", PathIn("serviceaccounts/longshore-cpu/token"),
                           {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", spec}});
    return "Bearer " + made.at("status").at("token").get<std::string>();
  };
  const Json bound = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", node}, {"uid", uid}};
  const std::string own_token = token(kTokenAudience, bound);
  const auto identity = tokens.Identify(own_token);
  ASSERT_TRUE(identity) << identity.error().message;
  EXPECT_EQ(identity->fleet, Name());
  EXPECT_EQ(identity->fleet_uid, fleet_.metadata.uid);
  EXPECT_EQ(identity->node, node);
  const auto error_of = [&](const std::string& authorization) {
    return tokens.Identify(authorization).error().message;
  };
  EXPECT_THAT(error_of(token("https://kubernetes.default.svc", bound)), HasSubstr("audience"));
  EXPECT_THAT(error_of(token(kTokenAudience, {})), HasSubstr("does not belong to a pod"));
  EXPECT_THAT(error_of(own_token + "x"), HasSubstr("not signed"));
  EXPECT_THAT(error_of(""), HasSubstr("must be sent as"));
  ASSERT_TRUE(pods_->Scale(Name(), 0, {}));
  ASSERT_TRUE(WaitUntil([&] { return Staying().empty() && pods_->Nodes(Name()).empty(); }));
  EXPECT_THAT(error_of(own_token), HasSubstr("not a node of a fleet")) << "the pod of this token was deleted";
}

// Each change makes the resourceVersion that Scale uses outdated.
TEST_F(PodFleetTest, ScalesADeploymentThatChangesConstantly) {
  Ensure();
  for (int i = 0; i < 20; ++i) {
    Patch("deployments/longshore-cpu", {{"metadata", {{"annotations", {{"mine", std::to_string(i)}}}}}});
    const int nodes = 1 + i % 2;
    const Status scaled = pods_->Scale(Name(), nodes, {});
    ASSERT_TRUE(scaled) << scaled.error().message;
    EXPECT_EQ(Get("deployments/longshore-cpu").at("spec").at("replicas"), nodes);
    EXPECT_EQ(pods_->Wanted(Name()), nodes) << "before the pods exist";
  }
}

TEST_F(PodFleetTest, RemovesTheNamedNodesFirstWhenItScalesIn) {
  Ensure();
  ASSERT_TRUE(pods_->Scale(Name(), 4, {}));
  ASSERT_TRUE(WaitUntil([&] { return Staying().size() == 4; }));
  const std::vector<std::string> nodes = Staying();
  ASSERT_TRUE(pods_->Scale(Name(), 2, {nodes[1], nodes[3], nodes[0], nodes[2]}));
  ASSERT_TRUE(WaitUntil([&] { return Staying().size() == 2; }));
  EXPECT_THAT(Staying(), ElementsAre(nodes[0], nodes[2]));
}

TEST_F(PodFleetTest, OnlyNamedNodesGetADeletionCost) {
  Ensure();
  ASSERT_TRUE(pods_->Scale(Name(), 3, {}));
  ASSERT_TRUE(WaitUntil([&] { return Staying().size() == 3; }));
  const std::string named = Staying()[1];
  ASSERT_TRUE(pods_->Scale(Name(), 1, {named}));
  ASSERT_TRUE(WaitUntil([&] { return Staying().size() == 1; }));
  EXPECT_NE(Staying()[0], named);
  const Json annotations = Get("pods/" + Staying()[0]).at("metadata").value("annotations", Json::object());
  EXPECT_FALSE(annotations.contains("controller.kubernetes.io/pod-deletion-cost"));
}

TEST_F(PodFleetTest, ReportsWhyPodsCannotBeCreated) {
  fleet_.spec.pods.priority_class = "no-such-class";
  Ensure();
  std::string error;
  ASSERT_TRUE(WaitUntil([&] {
    const Status scaled = pods_->Scale(Name(), 1, {});
    error = scaled ? "" : scaled.error().message;
    return !scaled;
  }));
  EXPECT_THAT(error, HasSubstr("no-such-class"));
}

TEST_F(PodFleetTest, DeletingAFleetDeletesAllItsObjects) {
  Ensure();
  ASSERT_TRUE(pods_->Scale(Name(), 2, {}));
  ASSERT_TRUE(WaitUntil([&] { return Staying().size() == 2; }));
  Send("DELETE", kGroup + namespace_ + "/servingfleets/cpu");
  EXPECT_TRUE(WaitUntil([&] { return pods_->Fleets().empty() && Staying().empty(); }));
  EXPECT_TRUE(pods_->Remove(Name()));
}

TEST_F(PodFleetTest, RemovesADeploymentThatLostItsOwner) {
  Ensure();
  Patch("deployments/longshore-cpu", {{"metadata", {{"ownerReferences", Json::array()}}}});
  ASSERT_TRUE(pods_->Remove(Name()));
  EXPECT_TRUE(WaitUntil([&] { return pods_->Fleets().empty(); }));
}

}  // namespace
}  // namespace longshore::fleet::pods
