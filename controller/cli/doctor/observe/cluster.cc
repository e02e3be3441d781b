#include "controller/cli/doctor/observe/cluster.h"

#include <deque>
#include <map>
#include <set>

#include "common/base/base64.h"
#include "common/json/path.h"
#include "common/net/http_client/client.h"
#include "controller/api/document.h"
#include "controller/cli/doctor/clocks.h"
#include "controller/cli/doctor/controller.h"
#include "controller/cli/doctor/crds.h"
#include "controller/cli/doctor/objects.h"
#include "controller/cli/doctor/observe/reads.h"
#include "controller/cli/doctor/observe/release.h"
#include "controller/cli/doctor/observe/stored.h"
#include "controller/cli/doctor/rights.h"
#include "controller/cli/doctor/workloads.h"
#include "controller/cli/watch/lease.h"
#include "controller/kube/api.h"
#include "controller/store/kube/kube_store.h"

namespace longshore::cli::doctor::observe {
namespace {

constexpr const char* kOfRelease = "?labelSelector=app.kubernetes.io/part-of%3Dlongshore";
constexpr const char* kControllerPods = "?labelSelector=app.kubernetes.io/name%3Dlongshore-controller";
constexpr const char* kOfFleets = "?labelSelector=longshore.dev/fleet";
constexpr const char* kController = "longshore-controller";  // The name of its ServiceAccount and of its pods' label.
constexpr const char* kReviews = "/apis/authorization.k8s.io/v1/";

Error NotAsked() { return {Code::kNotFound, "it was not asked"}; }

// One document of the API server, or why it could not be read.
struct Answer {
  std::string target;
  Result<Json> json = tl::make_unexpected(NotAsked());
};

struct Server {
  Result<Json> version = tl::make_unexpected(NotAsked());
  Result<TimePoint> answered_at = tl::make_unexpected(NotAsked());
  TimePoint asked_at{};  // By this machine's clock, in the middle of the question.
};

class Cluster {
 public:
  Cluster(const Examination& examination, const kube::Cluster& cluster, kube::Api& api, store::Store& store)
      : examination_(examination), cluster_(cluster), api_(api), store_(store) {}

  Findings Examine() {
    AskServer();
    // Otherwise every check would wait for the same server and give the same reason.
    if (!server_.version) return {CheckServer(cluster_.server, server_.version)};
    ReadFirst();
    FindLease();
    ReadSecond();
    return Check();
  }

 private:
  const std::string& Namespace() const { return examination_.namespace_; }
  std::string LeaseNamespace() const { return lease_.name.substr(0, lease_.name.find('/')); }
  std::string Account() const { return fmt::format("system:serviceaccount:{}:{}", LeaseNamespace(), kController); }

  Result<Json> Get(const std::string& target) {
    ASSIGN_OR_RETURN(const std::string body, api_.Send({.target = target}));
    return ParseJson(body);
  }

  // The reads of one round.
  Answer& Ask(const std::string& what, const std::string& target, std::vector<Read>& reads) {
    Answer& answer = answers_.emplace_back(Answer{target});
    reads.push_back({what, [this, &answer] { answer.json = Get(answer.target); }});
    return answer;
  }

  void AskServer() {
    server_.asked_at = examination_.clock.Now();
    const auto answer = SendToServer();
    server_.asked_at += (examination_.clock.Now() - server_.asked_at) / 2;
    server_.version = answer ? ParseJson(answer->body) : tl::make_unexpected(answer.error());
    if (!answer) {
      server_.answered_at = tl::make_unexpected(answer.error());
    } else {
      const auto date = answer->headers.find("date");
      server_.answered_at = ParseDate(date == answer->headers.end() ? "" : date->second);
    }
  }

  // Through its own client, because kube::Api does not return headers. Everybody may read /version.
  Result<http_client::Response> SendToServer() {
    ASSIGN_OR_RETURN(
        const auto client,
        http_client::Client::Make({.base_url = cluster_.server,
                                   .tls = [credentials = cluster_.credentials] { return credentials->Identity(); },
                                   .idle_max = examination_.limit}));
    http_client::Request request{.target = "/version"};
    ASSIGN_OR_RETURN(const std::string token, cluster_.credentials->Token(false));
    if (!token.empty()) request.headers["Authorization"] = "Bearer " + token;
    ASSIGN_OR_RETURN(const http_client::Response response, client->Send(request));
    if (response.status != 200) return Unavailable("it answered with the HTTP status {}", response.status);
    return response;
  }

  // Asks whether the user, or with `account` another one, has the right in the namespace. The server stores no object.
  Result<bool> Review(const Right& right, const std::string& account) {
    const size_t slash = right.resource.find('/');
    Json spec = {{"resourceAttributes",
                  {{"namespace", Namespace()},
                   {"verb", right.verb},
                   {"group", right.group},
                   {"resource", right.resource.substr(0, slash)},
                   {"subresource", slash == std::string::npos ? "" : right.resource.substr(slash + 1)}}}};
    if (!account.empty()) spec["user"] = account;
    const std::string kind = account.empty() ? "SelfSubjectAccessReview" : "SubjectAccessReview";
    const std::string resource = account.empty() ? "selfsubjectaccessreviews" : "subjectaccessreviews";
    const Json review = {{"apiVersion", "authorization.k8s.io/v1"}, {"kind", kind}, {"spec", spec}};
    ASSIGN_OR_RETURN(const std::string body,
                     api_.Send({.method = "POST", .target = kReviews + resource, .body = DumpJson(review)}));
    ASSIGN_OR_RETURN(const Json answer, ParseJson(body));
    return At(answer, {"status", "allowed"}) == Json(true);
  }

  void AskRights(const std::string& account, std::vector<AskedRight>& rights, std::vector<Read>& reads) {
    for (AskedRight& one : rights)
      reads.push_back({"a review of rights", [this, &one, account] { one.allowed = Review(one.right, account); }});
  }

  void ReadFirst() {
    std::vector<Read> reads = {{"fleets and models", [this] { stored_ = ReadStored(store_, Namespace()); }}};
    const std::string core = "/api/v1/namespaces/" + Namespace();
    for (const std::string_view text : kCrdFiles) {
      Json& crd = crds_.emplace_back(ParseCrd(text));
      stored_crds_.push_back(&Ask(
          "a CRD",
          "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + crd.at("metadata").at("name").get<std::string>(),
          reads));
    }
    controllers_ = &Ask("pods of the controller", std::string("/api/v1/pods") + kControllerPods, reads);
    pods_ = &Ask("pods", core + "/pods" + kOfFleets, reads);
    services_ = &Ask("Services", core + "/services" + kOfFleets, reads);
    slices_ =
        &Ask("EndpointSlices",
             fmt::format("/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices{}", Namespace(), kOfFleets), reads);
    policies_ = &Ask("network policies", PoliciesOf(Namespace()), reads);
    admission_ =
        &Ask("admission policies",
             std::string("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies") + kOfRelease, reads);
    monitors_ = &Ask("PodMonitors", std::string("/apis/monitoring.coreos.com/v1/podmonitors") + kOfRelease, reads);
    for (const Right& right : RightsOfUsers()) user_rights_.push_back({right, tl::make_unexpected(NotAsked())});
    AskRights("", user_rights_, reads);
    RunAll(reads, examination_.on_slow);
  }

  static Json ParseCrd(std::string_view text) {
    const auto documents = api::LoadYaml("crds", text, 1);
    CHECK(documents.has_value());  // A file of this release.
    return documents->front().root;
  }

  static std::string PoliciesOf(const std::string& namespace_) {
    return fmt::format("/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies", namespace_);
  }

  // The Lease is named by a fleet; without one, it is beside the controller's pod.
  void FindLease() {
    lease_.name = watch::LeaseOf(stored_.fleets);
    if (!controllers_->json) lease_.pods = tl::make_unexpected(controllers_->json.error());
    if (!lease_.name.empty() || !controllers_->json) return;
    const std::string namespace_ = TextAt(*controllers_->json, {"items", "0", "metadata", "namespace"});
    if (!namespace_.empty()) lease_.name = namespace_ + "/" + leader::kLeaseName;
  }

  void ReadLease() {
    leader::Presence presence;
    const auto watched = watch::WatchLease(api_, lease_.name, presence, examination_.clock);
    if (!watched) {
      lease_.read = tl::make_unexpected(watched.error());
    } else if (!watched->lease) {
      lease_.read = NotFound("Lease {} does not exist", lease_.name);
    } else {
      lease_.is_held = watched->is_held;
      lease_.holder = watched->lease->holder;
      lease_.renewed_at = watched->lease->renewed_at;
      lease_duration_ = watched->lease->duration;
    }
  }

  void ReadSecond() {
    std::vector<Read> reads;
    series_.resize(stored_.fleets.size(), Series{tl::make_unexpected(NotAsked()), tl::make_unexpected(NotAsked())});
    for (size_t i = 0; i < series_.size(); ++i) {
      const auto& autoscaling = stored_.fleets[i].spec.autoscaling;
      if (!autoscaling || autoscaling->prometheus_url.empty()) continue;
      reads.push_back({autoscaling->prometheus_url,
                       [this, i] { series_[i] = AskPrometheus(stored_.fleets[i], examination_.limit); }});
    }
    if (!lease_.name.empty()) {
      reads.push_back({"the controller's Lease", [this] { ReadLease(); }});
      reads.push_back(
          {"the Leases", [this] { unwatched_ = watch::FindUnwatched(api_, Namespace(), examination_.clock.Now()); }});
      ca_ = &Ask("the certificate authority",
                 fmt::format("/api/v1/namespaces/{}/secrets/longshore-controller-ca", LeaseNamespace()), reads);
      controller_policies_ = &Ask("network policies", PoliciesOf(LeaseNamespace()), reads);
      const auto needed = RightsInChart(std::string(kRbacTemplate));
      CHECK(needed.has_value());  // A file of this release.
      for (const Right& right : *needed) controller_rights_.push_back({right, tl::make_unexpected(NotAsked())});
      AskRights(Account(), controller_rights_, reads);
    }
    RunAll(reads, examination_.on_slow);
  }

  // The label app.kubernetes.io/version of the controller's pods, and the tags of the nodes' images; not of an image
  // that no node runs, for example because it cannot be pulled.
  Findings CheckProgramVersions() const {
    std::map<std::string, std::string> versions;
    if (controllers_->json) {
      for (const Json& pod : At(*controllers_->json, {"items"})) {
        const std::string version = TextAt(pod, {"metadata", "labels", "app.kubernetes.io/version"});
        if (!version.empty()) versions["controller"] = version;
      }
    }
    for (const api::ServingFleet& fleet : stored_.fleets) {
      if (fleet.status.ready_replicas == 0) continue;
      const std::string& image = fleet.status.image;
      const std::string tag = image.substr(image.find_last_of(":/") + 1);
      const bool is_version = image.find('@') == std::string::npos && !tag.empty() && tag[0] >= '0' && tag[0] <= '9';
      if (is_version) versions["the nodes of fleet " + fleet.metadata.name] = tag;
    }
    std::vector<ProgramVersion> programs;
    for (const auto& [program, version] : versions) programs.push_back({program, version});
    return CheckVersions(examination_.own_version, programs);
  }

  Findings CheckCertificates(TimePoint now) const {
    Findings findings;
    const auto identity = cluster_.credentials->Identity();
    if (identity && !identity->certificate.empty()) {
      findings.push_back(CheckCertificate(CertificateIn("of your kubeconfig", identity->certificate,
                                                        "ask an administrator of the cluster for a new kubeconfig"),
                                          now));
    }
    // Without the right to read the Secret, and with another source of the CA, this check is left out.
    if (ca_ == nullptr || !ca_->json) return findings;
    const auto pem = FromBase64(TextAt(*ca_->json, {"data", "tls.crt"}));
    findings.push_back(CheckCertificate(
        CertificateIn("of the controller's CA, Secret " + LeaseNamespace() + "/longshore-controller-ca",
                      pem ? *pem : "", "docs/install-cluster.md says how to replace the certificate authority"),
        now));
    return findings;
  }

  // The namespace of the controller's pods tells whether and where the chart is installed. If they may not be listed,
  // it is installed where the Lease is.
  std::string Helm() const {
    if (!controllers_->json) return HelmCommand(lease_.name.empty() ? "longshore" : LeaseNamespace());
    return HelmCommand(TextAt(*controllers_->json, {"items", "0", "metadata", "namespace"}));
  }

  Findings CheckNetwork() const {
    Findings findings;
    std::set<std::string> fleets;
    for (const api::ServingFleet& fleet : stored_.fleets) fleets.insert(fleet.metadata.name);
    Json labels = {{"app.kubernetes.io/name", "longshore-node"}};
    if (fleets.size() == 1) labels["longshore.dev/fleet"] = *fleets.begin();
    if (!fleets.empty()) Append(findings, CheckNetworkPolicies(Namespace(), "Egress", labels, policies_->json));
    if (controller_policies_ != nullptr) {
      Append(findings, CheckNetworkPolicies(LeaseNamespace(), "Ingress", {{"app.kubernetes.io/name", kController}},
                                            controller_policies_->json));
    }
    return findings;
  }

  Findings CheckKubernetes() const {
    Findings findings = {CheckServer(cluster_.server, server_.version)};
    for (size_t i = 0; i < crds_.size(); ++i) findings.push_back(CheckCrd(crds_[i], stored_crds_[i]->json));
    findings.push_back(CheckAdmission(admission_->json, Helm()));
    return findings;
  }

  Findings Check() const {
    const TimePoint now = examination_.clock.Now();
    Findings findings = CheckKubernetes();
    findings.push_back(CheckLeaseLife(lease_, now));
    Append(findings, CheckProgramVersions());
    Append(findings, CheckUserRights(Namespace(), user_rights_));
    if (unwatched_) {
      findings.push_back({doctor::kController, "Namespace " + Namespace(), Verdict::kFailure, unwatched_->why + ".",
                          unwatched_->cure});
    } else if (!controller_rights_.empty()) {
      findings.push_back(CheckControllerRights(Account(), Namespace(), controller_rights_, Helm()));
    }
    Append(findings, stored_.problems);
    const text::HostSeen seen{.fleets = stored_.to_observe};
    Append(findings, CheckFleets(stored_.fleets, seen, examination_.place));
    Append(findings, CheckModels(stored_.models, seen, examination_.place));
    Append(findings, CheckPods(Namespace(), pods_->json));
    Append(findings, CheckServices(Namespace(), services_->json, slices_->json));
    Append(findings, CheckNetwork());
    for (size_t i = 0; i < series_.size(); ++i)
      Append(findings, CheckPrometheus(stored_.fleets[i], series_[i], Reach::kOther, now));
    Append(findings, CheckMonitors(stored_.fleets, monitors_->json, Helm()));
    findings.push_back(CheckServerClock(server_.answered_at, server_.asked_at));
    Append(findings, CheckLeaseClock(lease_, lease_duration_, now));
    Append(findings, CheckCertificates(now));
    return findings;
  }

  const Examination& examination_;
  const kube::Cluster& cluster_;
  kube::Api& api_;
  store::Store& store_;
  std::deque<Answer> answers_;  // A deque: the reads keep references to its elements.
  Server server_;
  Stored stored_;
  std::deque<Json> crds_;  // Those of this release.
  std::vector<const Answer*> stored_crds_;
  const Answer* controllers_ = nullptr;
  const Answer* pods_ = nullptr;
  const Answer* services_ = nullptr;
  const Answer* slices_ = nullptr;
  const Answer* policies_ = nullptr;
  const Answer* admission_ = nullptr;
  const Answer* monitors_ = nullptr;
  const Answer* ca_ = nullptr;  // nullptr if the controller's namespace is not known.
  const Answer* controller_policies_ = nullptr;
  std::vector<AskedRight> user_rights_;
  std::vector<AskedRight> controller_rights_;
  LeaseLife lease_;
  Duration lease_duration_{0};
  std::optional<watch::Unwatched> unwatched_;
  std::vector<Series> series_;  // In the order of the fleets.
};

}  // namespace

Findings ExamineCluster(const Examination& examination, const kube::Cluster& cluster) {
  const SteadyClock timer;
  const kube::ApiOptions options{.request_idle_max = examination.limit};
  const auto api = kube::Api::Make(cluster, options, timer);
  const auto store =
      store::kube::KubeStore::Open(cluster, {.namespaces = {examination.namespace_}, .api = options}, timer);
  if (!api || !store) {
    const Error& error = api ? store.error() : api.error();
    return {CheckServer(cluster.server, tl::make_unexpected(error))};
  }
  return Cluster(examination, cluster, **api, **store).Examine();
}

}  // namespace longshore::cli::doctor::observe
