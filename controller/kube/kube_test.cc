// Tests requests, credentials, lists and watches against a server whose answers the test sets. The tests in store/kube
// use a real API server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <condition_variable>
#include <future>

#include "common/base/base64.h"
#include "common/base/text.h"
#include "common/net/http_client/testing.h"
#include "common/os/file.h"
#include "controller/kube/api.h"
#include "controller/kube/cache.h"
#include "controller/kube/line_splitter.h"
#include "controller/kube/reflector.h"

namespace longshore::kube {
namespace {

using http_client::RawServer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using Peer = RawServer::Peer;

const SteadyClock kClock;

class Tokens final : public Credentials {
 public:
  Result<std::string> Token(bool was_rejected) override { return std::string(was_rejected ? "fresh" : "stale"); }
  Result<tls::ClientIdentity> Identity() override { return tls::ClientIdentity{}; }
};

std::unique_ptr<Api> ApiOf(const RawServer& server, const ApiOptions& options = {}) {
  return Api::Make({.server = server.url(), .namespace_ = "default", .credentials = std::make_shared<Tokens>()},
                   options, kClock)
      .value();
}

std::string StatusText(int code, const std::string& reason, const std::string& message) {
  return Json{{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", message}}.dump();
}

// ---------------------------------------------------------------------------------------------------- lines and rates

TEST(LineSplitter, ReturnsTheSameLinesWhereverThePiecesEnd) {
  const std::string text = "one\n\ntwo\nthree\n";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    LineSplitter lines(10);
    std::vector<std::string> seen;
    const auto take = [&](std::string_view line) {
      seen.emplace_back(line);
      return Status();
    };
    ASSERT_TRUE(lines.Feed(std::string_view(text).substr(0, cut), take));
    ASSERT_TRUE(lines.Feed(std::string_view(text).substr(cut), take));
    EXPECT_THAT(seen, ElementsAre("one", "two", "three")) << cut;
    EXPECT_TRUE(lines.End());
  }
}

TEST(LineSplitter, RejectsALineThatIsTooLongOrIncomplete) {
  const auto take = [](std::string_view) { return Status(); };
  EXPECT_EQ(LineSplitter(10).Feed("12345678901", take).error().code, Code::kResourceExhausted);
  EXPECT_EQ(LineSplitter(10).Feed("12345678901\n", take).error().code, Code::kResourceExhausted);
  LineSplitter cut(10);
  ASSERT_TRUE(cut.Feed("half", take));
  EXPECT_EQ(cut.End().error().code, Code::kDataLoss);
}

TEST(RateLimit, AllowsABurstAndThenOneRequestAtATime) {
  RateLimit limit(10, 3);
  const MonotonicPoint now{seconds(100)};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.Take(now), Duration(0));
  EXPECT_EQ(limit.Take(now), milliseconds(100));
  EXPECT_EQ(limit.Take(now), milliseconds(200)) << "requests wait in order";
  EXPECT_EQ(limit.Take(now + seconds(10)), Duration(0));
}

TEST(RateLimit, DelaysRequestsAsLongAsTheServerAsks) {
  RateLimit limit(10, 3);
  const MonotonicPoint now{seconds(100)};
  limit.BlockUntil(now + seconds(5));
  EXPECT_EQ(limit.Take(now), seconds(5));
  EXPECT_EQ(limit.Take(now + seconds(5)), Duration(0));
}

// ---------------------------------------------------------------------------------------------------- requests

TEST(Api, DoesNotWriteWhenMayWriteReturnsFalse) {
  std::atomic<int> requests = 0;
  const RawServer server([&](const std::string&, const Peer& peer) {
    ++requests;
    peer.Answer(200, "{}");
    return true;
  });
  std::atomic<bool> may = true;
  ApiOptions options;
  options.may_write = [&] { return may.load(); };
  const auto api = ApiOf(server, options);
  EXPECT_TRUE(api->Send({.method = "PATCH", .target = "/a", .body = "{}"}));
  may = false;
  EXPECT_EQ(api->Send({.method = "PATCH", .target = "/a", .body = "{}"}).error().code, Code::kFailedPrecondition);
  EXPECT_TRUE(api->Send({.target = "/a"})) << "reads are still allowed";
  EXPECT_EQ(requests, 2);
}

TEST(Api, ADenialByARuleOfTheClusterBecomesASentence) {
  const auto error = [](const std::string& message) {
    return ErrorOf({403, "Forbidden", message, std::nullopt}, "PATCH /apis/apps/v1/x").message;
  };
  EXPECT_EQ(
      error("deployments.apps \"cpu-serving\" is forbidden: ValidatingAdmissionPolicy 'images' with binding 'all' "
            "denied request: images come from our registry."),
      "the ValidatingAdmissionPolicy 'images' of the cluster forbids it: images come from our registry; change the "
      "manifest, or have the rule changed");
  EXPECT_EQ(error("admission webhook \"images.example.com\" denied the request: not ours"),
            "the admission webhook \"images.example.com\" of the cluster forbids it: not ours; change the manifest, or "
            "have the rule changed");
  for (const std::string message :
       {"access denied by request: x", "the request was denied", "ValidatingAdmissionPolicy"})
    EXPECT_EQ(error(message), "PATCH /apis/apps/v1/x: status 403: " + message);
}

TEST(Api, AnErrorAnswerBecomesAnErrorWithTheServersMessage) {
  std::atomic<int> status = 0;
  std::string reason;
  const RawServer server([&](const std::string&, const Peer& peer) {
    peer.Answer(status, StatusText(status, reason, "the server's message"));
    return true;
  });
  const auto api = ApiOf(server);
  const auto code = [&](int answer_status, const char* answer_reason = "") {
    status = answer_status;
    reason = answer_reason;
    const auto answer = api->Send({.method = "PUT", .target = "/api/v1/x?limit=1"});
    EXPECT_THAT(answer.error().message, HasSubstr("PUT /api/v1/x: status"));
    EXPECT_THAT(answer.error().message, HasSubstr("the server's message"));
    return answer.error().code;
  };
  EXPECT_EQ(code(404), Code::kNotFound);
  EXPECT_EQ(code(409, "AlreadyExists"), Code::kAlreadyExists);
  EXPECT_EQ(code(409, "Conflict"), Code::kAborted);
  EXPECT_EQ(code(410, "Expired"), Code::kOutOfRange);
  EXPECT_EQ(code(422, "Invalid"), Code::kInvalidArgument);
  EXPECT_EQ(code(403), Code::kPermissionDenied);
  EXPECT_EQ(code(500), Code::kUnavailable);
  EXPECT_EQ(code(503), Code::kUnavailable);
}

TEST(Api, SaysThatTheCustomResourcesAreNotInstalled) {
  const RawServer server([](const std::string&, const Peer& peer) {
    peer.Answer(404, "404 page not found\n");
    return true;
  });
  const auto answer = ApiOf(server)->Send({.method = "GET", .target = "/apis/longshore.dev/v1alpha1/models"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(answer.error().message, HasSubstr("does not have the custom resources of Longshore"));
  EXPECT_THAT(answer.error().message, HasSubstr("helm show crds CHART | kubectl apply"));
}

TEST(Api, ShowsTheStartOfAnErrorAnswerThatIsNotAStatus) {
  const RawServer server([](const std::string&, const Peer& peer) {
    peer.Answer(502, "<html>" + std::string(1000, 'x'));
    return true;
  });
  const auto answer = ApiOf(server)->Send({.target = "/"});
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  EXPECT_THAT(answer.error().message, HasSubstr("<html>xx"));
  EXPECT_LT(answer.error().message.size(), 300U);
}

TEST(Api, CutsAnErrorAnswerBetweenCharacters) {
  for (const char* character : {"ж", "模", "\xFF"}) {
    for (std::string body = "a"; body.size() < 5; body += "a") {
      std::string text = body;
      while (text.size() < 300) text += character;
      const std::string message = RefusalOf({.status = 502, .headers = {}, .body = text}).message;
      EXPECT_EQ(ValidUtf8(message), message);
      EXPECT_LE(message.size(), 200U);
      EXPECT_THAT(message, testing::EndsWith("..."));
    }
  }
}

TEST(Api, ReadsARejectedTokenAgainOnce) {
  std::vector<std::string> tokens;
  const RawServer server([&](const std::string& request, const Peer& peer) {
    const bool fresh = request.find("Bearer fresh") != std::string::npos;
    tokens.emplace_back(fresh ? "fresh" : "stale");
    peer.Answer(fresh && tokens.size() < 3 ? 200 : 401, "{}");
    return true;
  });
  const auto api = ApiOf(server);
  EXPECT_TRUE(api->Send({.target = "/"}));
  EXPECT_THAT(tokens, ElementsAre("stale", "fresh"));
  EXPECT_EQ(api->Send({.target = "/"}).error().code, Code::kUnauthenticated);
  EXPECT_EQ(tokens.size(), 4U);
  std::optional<Refusal> refusal;
  const auto ignore = [](std::string_view) { return Status(); };
  EXPECT_EQ(api->Watch("/", ignore, &refusal).error().code, Code::kUnauthenticated);
  EXPECT_EQ(tokens.size(), 6U) << "a watch as well";
}

TEST(Api, CancelEndsTheWaitThatTheServerAskedFor) {
  std::atomic<int> requests = 0;
  const RawServer server([&](const std::string&, const Peer& peer) {
    ++requests;
    peer.Answer(429, StatusText(429, "TooManyRequests", "later"), "Retry-After: 30\r\n");
    return true;
  });
  const auto api = ApiOf(server);
  EXPECT_EQ(api->Send({.target = "/"}).error().code, Code::kResourceExhausted);
  std::thread waiting([&] { EXPECT_EQ(api->Send({.target = "/"}).error().code, Code::kCancelled); });
  api->Cancel();
  waiting.join();
  EXPECT_EQ(requests, 1);
}

TEST(Api, AStopEndsTheWaitForTheRateLimitButNotSentRequests) {
  std::promise<void> asked;
  std::promise<void> stopped;
  std::atomic<int> requests = 0;
  const RawServer server([&](const std::string& request, const Peer& peer) {
    if (request.starts_with("GET /busy"))
      return peer.Answer(429, StatusText(429, "TooManyRequests", "later"), "Retry-After: 30\r\n"), true;
    ++requests;
    asked.set_value();
    stopped.get_future().wait();
    peer.Answer(200, "{}");
    return true;
  });
  std::stop_source stop;
  ApiOptions options;
  options.stopped = stop.get_token();
  const auto api = ApiOf(server, options);
  std::thread sent([&] { EXPECT_TRUE(api->Send({.target = "/slow"})); });
  asked.get_future().wait();
  EXPECT_EQ(api->Send({.target = "/busy"}).error().code, Code::kResourceExhausted);
  std::thread waiting([&] { EXPECT_EQ(api->Send({.target = "/slow"}).error().code, Code::kCancelled); });
  stop.request_stop();
  waiting.join();
  stopped.set_value();
  sent.join();
  EXPECT_EQ(api->Send({.target = "/slow"}).error().code, Code::kCancelled);
  EXPECT_EQ(requests, 1);
}

// ---------------------------------------------------------------------------------------------------- credentials

class Kubeconfig : public ::testing::Test {
 protected:
  Kubeconfig() {
    char name[] = "/tmp/longshore_kube_XXXXXX";
    dir_ = mkdtemp(name);
  }
  ~Kubeconfig() override { std::filesystem::remove_all(dir_); }
  Result<Cluster> Read(const std::string& cluster, const std::string& user, const std::string& context = "") {
    const std::string text = fmt::format(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
        "contexts: [{{name: here, context: {{cluster: c, user: u, namespace: vision}}}}]\n"
        "clusters: [{{name: c, cluster: {{{}}}}}]\nusers: [{{name: u, user: {{{}}}}}]\n",
        cluster, user);
    EXPECT_TRUE(WriteFileAtomically(dir_ / "config", text));
    return FromKubeconfig(dir_ / "config", context);
  }
  Path dir_;
};

TEST_F(Kubeconfig, ReadsTheServerTheNamespaceAndTheFilesThatItNames) {
  ASSERT_TRUE(WriteFileAtomically(dir_ / "ca.pem", "CA"));
  ASSERT_TRUE(WriteFileAtomically(dir_ / "token", "secret\n"));
  const auto cluster = Read("server: \"https://x:1\", certificate-authority: ca.pem", "tokenFile: token");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->server, "https://x:1");
  EXPECT_EQ(cluster->namespace_, "vision");
  EXPECT_EQ(cluster->credentials->Identity()->server_ca, "CA");
  EXPECT_EQ(cluster->credentials->Token(false).value(), "secret");
  ASSERT_TRUE(WriteFileAtomically(dir_ / "token", "rotated"));
  EXPECT_EQ(cluster->credentials->Token(false).value(), "rotated");
}

TEST_F(Kubeconfig, ReadsEmbeddedCertificates) {
  const auto cluster =
      Read(fmt::format("server: \"https://x\", certificate-authority-data: {}", ToBase64("CA")),
           fmt::format("client-certificate-data: {}, client-key-data: {}", ToBase64("C"), ToBase64("K")));
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->credentials->Identity().value(), (tls::ClientIdentity{"CA", "C", "K"}));
  EXPECT_EQ(cluster->credentials->Token(false).value(), "");
}

TEST_F(Kubeconfig, RejectsUnsupportedSettingsByName) {
  EXPECT_THAT(Read("server: \"https://x\", insecure-skip-tls-verify: true", "token: t").error().message,
              HasSubstr("insecure-skip-tls-verify"));
  EXPECT_THAT(Read("server: \"https://x\"", "username: a, password: b").error().message, HasSubstr("username"));
  EXPECT_THAT(Read("server: \"https://x\"", "client-certificate: a").error().message, HasSubstr("client-key"));
  EXPECT_THAT(Read("certificate-authority: a", "token: t").error().message, HasSubstr("no server"));
  EXPECT_EQ(Read("server: \"https://x\"", "token: t", "elsewhere").error().code, Code::kNotFound);
  EXPECT_EQ(FromKubeconfig(dir_ / "none", "").error().code, Code::kNotFound);
  ASSERT_TRUE(WriteFileAtomically(dir_ / "config", "[]"));
  EXPECT_EQ(FromKubeconfig(dir_ / "config", "").error().code, Code::kInvalidArgument);
}

TEST_F(Kubeconfig, RunsAPluginAgainWhenItsAnswerExpiresOrIsRejected) {
  const auto plugin = [&](const std::string& expires) {
    const std::string program = fmt::format(
        "#!/bin/sh\necho x >> {0}/calls\n"
        "echo '{{\"kind\": \"ExecCredential\", \"status\": {{\"token\": \"'$1-$NAME'\", \"expirationTimestamp\": "
        "\"{1}\"}}}}'\n",
        dir_.string(), expires);
    ASSERT_TRUE(WriteFileAtomically(dir_ / "plugin", program));
    std::filesystem::permissions(dir_ / "plugin", std::filesystem::perms::owner_all);
  };
  const char* exec = "exec: {command: ./plugin, args: [hello], env: [{name: NAME, value: you}]}";
  plugin("2999-01-01T00:00:00Z");
  const auto lasting = Read("server: \"https://x\"", exec).value();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(lasting.credentials->Token(false).value(), "hello-you");
  EXPECT_EQ(ReadFile(dir_ / "calls").value(), "x\n");
  EXPECT_TRUE(lasting.credentials->Token(true));
  EXPECT_EQ(ReadFile(dir_ / "calls").value(), "x\nx\n");
  plugin("2001-01-01T00:00:00Z");
  const auto expired = Read("server: \"https://x\"", exec).value();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(expired.credentials->Token(false));
  EXPECT_EQ(ReadFile(dir_ / "calls").value(), "x\nx\nx\nx\n");
}

TEST_F(Kubeconfig, ReportsWhatIsWrongWithAPlugin) {
  const auto token = [&](const std::string& exec) {
    return Read("server: \"https://x\"", exec).value().credentials->Token(false).error();
  };
  const Error missing = token("exec: {command: no-such-plugin, installHint: \"get it from us\"}");
  EXPECT_EQ(missing.code, Code::kFailedPrecondition);
  EXPECT_THAT(missing.message, HasSubstr("no-such-plugin is not installed. get it from us"));
  EXPECT_THAT(token("exec: {command: \"false\"}").message, HasSubstr("exited with code 1"));
  EXPECT_THAT(token("exec: {command: echo, args: [hi]}").message, HasSubstr("did not print an ExecCredential"));
  EXPECT_THAT(Read("server: \"https://x\"", "exec: {}").error().message, HasSubstr("command"));
}

TEST_F(Kubeconfig, InAPodTheCredentialsAreThoseOfItsServiceAccount) {
  unsetenv("KUBERNETES_SERVICE_HOST");
  EXPECT_EQ(FromPod(dir_).error().code, Code::kFailedPrecondition);
  setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
  setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  EXPECT_EQ(FromPod(dir_).error().code, Code::kNotFound);
  for (const auto& [file, text] : {std::pair("namespace", "longshore"), {"token", "t\n"}, {"ca.crt", "CA"}}) {
    ASSERT_TRUE(WriteFileAtomically(dir_ / file, text));
  }
  const auto cluster = FromPod(dir_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->server, "https://[fd00::1]:443");
  EXPECT_EQ(cluster->namespace_, "longshore");
  EXPECT_EQ(cluster->credentials->Token(false).value(), "t");
  unsetenv("KUBERNETES_SERVICE_HOST");
}

// ---------------------------------------------------------------------------------------------------- the mirror

Json Thing(const std::string& name, int version, int value) {
  return {{"metadata",
           {{"namespace", "n"},
            {"name", name},
            {"resourceVersion", std::to_string(version)},
            {"managedFields", Json::array({"long"})}}},
          {"value", value}};
}
std::string Event(const std::string& type, const Json& object) {
  return Json{{"type", type}, {"object", object}}.dump() + "\n";
}
Json Bookmark(int version) { return {{"metadata", {{"resourceVersion", std::to_string(version)}}}}; }
std::string ListText(const std::vector<Json>& items, int version, const std::string& token = "") {
  return Json{{"items", items}, {"metadata", {{"resourceVersion", std::to_string(version)}, {"continue", token}}}}
      .dump();
}
bool IsWatch(const std::string& request) { return request.find("watch=1") != std::string::npos; }
bool Contains(const std::string& request, const std::string& words) { return request.find(words) != std::string::npos; }

// A server with one collection, and a reflector that mirrors the collection into a cache.
class MirrorTest : public ::testing::Test {
 protected:
  static Result<int> Decode(const Json& object) {
    EXPECT_FALSE(object.at("metadata").contains("managedFields"));
    if (!object.contains("value")) return DataLoss("no value");
    return object.at("value").get<int>();
  }
  void Start(RawServer::Script script, ApiOptions options = {}) {
    server_ = std::make_unique<RawServer>(std::move(script));
    reflector_ =
        std::make_unique<Reflector>(ApiOf(*server_, options), Collection{.path = "/apis/x/v1/things"}, kClock, cache_);
  }
  // Returns the contents of the cache: "a=1 b=2".
  std::string Contents() const {
    std::string out;
    cache_.ForEach([&](const Name& name, const Result<int>& value) {
      out += (out.empty() ? "" : " ") + name.name + "=" + (value ? std::to_string(*value) : "?");
    });
    return out;
  }
  bool WaitFor(const std::string& contents) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(20), [&] { return Contents() == contents; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int changes_ = 0;
  Cache<int> cache_{Decode, [this](const Name&, const Result<int>&) {
                      const std::lock_guard lock(mutex_);
                      ++changes_;
                      changed_.notify_all();
                    }};
  std::unique_ptr<RawServer> server_;
  std::unique_ptr<Reflector> reflector_;  // Last, so that it is destroyed before the server.
};

TEST_F(MirrorTest, ListsPageByPageThenFollowsTheWatch) {
  Start([](const std::string& request, const Peer& peer) {
    if (Contains(request, "continue=next")) {
      peer.Answer(200, ListText({Thing("b", 2, 2)}, 10));
    } else if (!IsWatch(request)) {
      peer.Answer(200, ListText({Thing("a", 1, 1)}, 10, "next"));
    } else {
      EXPECT_TRUE(Contains(request, "resourceVersion=10"));
      peer.BeginChunks();
      peer.Chunk(Event("MODIFIED", Thing("a", 11, 5)) + Event("DELETED", Thing("b", 12, 2)));
      peer.Chunk(Event("ADDED", Thing("c", 13, 3)) + Event("BOOKMARK", Bookmark(20)));
      peer.WaitForEnd();
    }
    return true;
  });
  EXPECT_TRUE(WaitFor("a=5 c=3")) << Contents();
  EXPECT_TRUE(cache_.WaitUntilComplete(milliseconds(0)));
  EXPECT_EQ(reflector_->lists(), 1);
}

TEST_F(MirrorTest, ReadsTheSameEventsWhereverTheBodyBreaksOff) {
  const std::string events = Event("ADDED", Thing("a", 11, 1)) + Event("ADDED", Thing("b", 12, 2));
  std::atomic<size_t> cut = 1;
  Start([&](const std::string& request, const Peer& peer) {
    if (!IsWatch(request)) {
      peer.Answer(200, ListText({}, 10));
      return true;
    }
    // The body of a watch ends after `cut` bytes. `cut` grows from watch to watch, and the last watch is complete.
    peer.BeginChunks();
    peer.Chunk(events.substr(0, cut));
    cut += events.size() / 5;
    if (cut <= events.size() + events.size() / 5) return false;
    peer.WaitForEnd();
    return true;
  });
  EXPECT_TRUE(WaitFor("a=1 b=2")) << Contents();
  EXPECT_EQ(reflector_->lists(), 1);
}

TEST_F(MirrorTest, AfterGarbageTheWatchContinuesFromTheLastVersion) {
  std::atomic<int> watches = 0;
  Start([&](const std::string& request, const Peer& peer) {
    if (!IsWatch(request)) {
      peer.Answer(200, ListText({Thing("a", 1, 1)}, 10));
      return true;
    }
    peer.BeginChunks();
    switch (++watches) {
      case 1: peer.Chunk(Event("MODIFIED", Thing("a", 11, 2)) + "{\"type\": nonsense}\n"); break;
      case 2: peer.Chunk("[1, 2]\n"); break;
      case 3: peer.Chunk(std::string("\0\xff\xfe\n", 4)); break;
      default: EXPECT_TRUE(Contains(request, "resourceVersion=11")); peer.Chunk(Event("MODIFIED", Thing("a", 12, 3)));
    }
    peer.WaitForEnd();
    return false;
  });
  EXPECT_TRUE(WaitFor("a=3")) << Contents();
  EXPECT_EQ(reflector_->lists(), 1);
}

TEST_F(MirrorTest, AGoneVersionCausesANewListWhoseMissingObjectsAreDeleted) {
  std::atomic<int> lists = 0;
  Start([&](const std::string& request, const Peer& peer) {
    if (!IsWatch(request)) {
      peer.Answer(
          200, ++lists == 1 ? ListText({Thing("a", 1, 1), Thing("b", 2, 2)}, 10) : ListText({Thing("b", 30, 9)}, 40));
    } else if (Contains(request, "resourceVersion=10")) {
      peer.BeginChunks();
      peer.Chunk(Event("BOOKMARK", Bookmark(11)));
      peer.Chunk(Event("ERROR", {{"kind", "Status"}, {"code", 410}, {"reason", "Expired"}}));
      peer.LastChunk();
    } else {
      EXPECT_TRUE(Contains(request, "resourceVersion=40"));
      peer.BeginChunks();
      peer.WaitForEnd();
    }
    return true;
  });
  EXPECT_TRUE(WaitFor("b=9")) << Contents();
  EXPECT_EQ(reflector_->lists(), 2);
}

TEST_F(MirrorTest, AWatchAnsweredWithStatus410CausesANewList) {
  std::atomic<int> watches = 0;
  Start([&](const std::string& request, const Peer& peer) {
    if (!IsWatch(request)) {
      peer.Answer(200, ListText({Thing("a", 1, watches + 1)}, 10 + watches));
    } else if (++watches == 1) {
      peer.Answer(410, StatusText(410, "Expired", "too old"));
    } else {
      peer.BeginChunks();
      peer.Chunk(Event("MODIFIED", Thing("a", 50, 7)));
      peer.WaitForEnd();
    }
    return true;
  });
  EXPECT_TRUE(WaitFor("a=7")) << Contents();
  EXPECT_EQ(reflector_->lists(), 2);
}

TEST_F(MirrorTest, AWatchThatTimesOutIsRestarted) {
  std::atomic<int> watches = 0;
  Start(
      [&](const std::string& request, const Peer& peer) {
        if (!IsWatch(request)) {
          peer.Answer(200, ListText({}, 10));
          return true;
        }
        peer.BeginChunks();
        if (++watches > 1) peer.Chunk(Event("ADDED", Thing("a", 11, 1)));
        peer.WaitForEnd();
        return false;
      },
      {.watch_idle_max = milliseconds(1000)});
  EXPECT_TRUE(WaitFor("a=1")) << Contents();
  EXPECT_EQ(reflector_->lists(), 1);
}

TEST_F(MirrorTest, IgnoresRepeatedAndOutdatedEvents) {
  Start([&](const std::string& request, const Peer& peer) {
    if (!IsWatch(request)) {
      peer.Answer(200, ListText({Thing("a", 9, 9)}, 10));
      return true;
    }
    peer.BeginChunks();
    peer.Chunk(Event("MODIFIED", Thing("a", 20, 20)) + Event("MODIFIED", Thing("a", 15, 15)) +
               Event("DELETED", Thing("a", 16, 16)) + Event("MODIFIED", Thing("a", 20, 99)));
    peer.Chunk(Event("ADDED", Thing("b", 21, 1)));
    peer.WaitForEnd();
    return false;
  });
  EXPECT_TRUE(WaitFor("a=20 b=1")) << Contents();
  EXPECT_EQ(reflector_->replayed(), 3);
}

TEST_F(MirrorTest, AnUnreadableObjectDoesNotHideTheOthers) {
  Start([&](const std::string& request, const Peer& peer) {
    if (IsWatch(request)) {
      peer.BeginChunks();
      peer.WaitForEnd();
      return false;
    }
    Json bad = Thing("bad", 2, 0);
    bad.erase("value");
    peer.Answer(200, ListText({Thing("a", 1, 1), bad, Thing("z", 3, 3)}, 10));
    return true;
  });
  EXPECT_TRUE(WaitFor("a=1 bad=? z=3")) << Contents();
}

TEST_F(MirrorTest, ReportsWhyTheFirstListFails) {
  Start([&](const std::string&, const Peer& peer) {
    peer.Answer(403, StatusText(403, "Forbidden", "things is forbidden: no rights"));
    return true;
  });
  const Status waited = cache_.WaitUntilComplete(milliseconds(500));
  EXPECT_EQ(waited.error().code, Code::kUnavailable);
  EXPECT_THAT(waited.error().message, HasSubstr("no rights"));
}

TEST_F(MirrorTest, AnOlderListOrEventDoesNotUndoAnOwnWrite) {
  cache_.PutOwnWrite([] {
    Json thing = Thing("mine", 30, 1);
    thing.at("metadata").erase("managedFields");
    return thing;
  }());
  Start([&](const std::string& request, const Peer& peer) {
    if (!IsWatch(request)) {
      peer.Answer(200, ListText({Thing("a", 1, 1)}, 10));
      return true;
    }
    peer.BeginChunks();
    peer.Chunk(Event("ADDED", Thing("mine", 29, 0)) + Event("MODIFIED", Thing("a", 40, 2)));
    peer.WaitForEnd();
    return false;
  });
  EXPECT_TRUE(WaitFor("a=2 mine=1")) << Contents();
}

TEST_F(MirrorTest, ALateAnswerToAWriteDoesNotRestoreADeletedObject) {
  const auto thing = [](const std::string& name, int version) {
    Json json = Thing(name, version, version);
    json.at("metadata").erase("managedFields");
    return json;
  };
  cache_.BeginList();
  cache_.EndList("9");
  cache_.Put(thing("a", 10));
  cache_.Delete(thing("a", 11));
  cache_.PutOwnWrite(thing("a", 10));
  EXPECT_EQ(Contents(), "");
  cache_.PutOwnWrite(thing("b", 12));
  EXPECT_EQ(Contents(), "b=12") << "the watch has not reached this version";
  cache_.PutOwnWrite(thing("b", 13));
  cache_.PutOwnWrite(thing("b", 12));
  EXPECT_EQ(Contents(), "b=13");
}

}  // namespace
}  // namespace longshore::kube
