#include "controller/app/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longshore::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<std::optional<Flags>> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "longshore-controller");
  return ParseFlags(static_cast<int>(words.size()), words.data());
}

std::string ErrorOf(const std::vector<const char*>& words) {
  const auto parsed = Parse(words);
  return parsed ? "" : parsed.error().message;
}

const std::vector<const char*> kOnCluster = {"--kubernetes", "--node_image=node:1", "--advertised_address=dns:///a:1",
                                             "--ca_cert_file=/ca/tls.crt", "--ca_key_file=/ca/tls.key"};
std::vector<const char*> OnClusterWith(const char* word) {
  std::vector<const char*> words = kOnCluster;
  words.push_back(word);
  return words;
}

TEST(Flags, ReadsTheFlagsForOneHost) {
  const Flags flags = Parse({"--state_dir=/s", "--manifests=/m", "--admin_port=0"}).value().value();
  EXPECT_EQ(flags.verb, Flags::Verb::kHost);
  EXPECT_EQ(flags.host.state_dir, "/s");
  EXPECT_EQ(flags.host.manifests, "/m");
  EXPECT_EQ(flags.host.admin.address, "127.0.0.1:0");
  EXPECT_EQ(Parse({"--state_dir=/s", "--stop-fleets"}).value()->verb, Flags::Verb::kStopFleets);
}

TEST(Flags, TheConsoleIsOnUnlessItIsTurnedOff) {
  const std::vector<const char*> on_host = {"--state_dir=/s", "--manifests=/m"};
  const auto with = [&](std::initializer_list<const char*> words) {
    std::vector<const char*> all = on_host;
    all.insert(all.end(), words);
    return Parse(all).value()->host.console;
  };
  EXPECT_EQ(with({}).address, "127.0.0.1:8620");
  EXPECT_EQ(with({"--console_host=::1", "--console_port=0"}).address, "[::1]:0");
  EXPECT_EQ(with({"--no-console"}).address, "");
  EXPECT_THAT(with({"--console_allowed_hosts=One.test,two.test"}).allowed_hosts, ElementsAre("one.test", "two.test"));
  EXPECT_EQ(Parse(OnClusterWith("--console_port=1")).value()->cluster.console.address, "127.0.0.1:1");
  EXPECT_EQ(Parse(OnClusterWith("--no-console")).value()->cluster.console.address, "");
}

TEST(Flags, TokensOfTheConsoleAreNotReadOverAnUnencryptedNetwork) {
  const std::vector<const char*> tokens = {"--state_dir=/s", "--manifests=/m", "--console_tokens=/t"};
  EXPECT_EQ(Parse(tokens).value()->host.console_tokens, "/t");
  std::vector<const char*> open = tokens;
  open.push_back("--console_host=0.0.0.0");
  EXPECT_THAT(ErrorOf(open), HasSubstr("--console_tokens needs --console_host=127.0.0.1"));
  EXPECT_THAT(ErrorOf(OnClusterWith("--console_tokens=/t")), HasSubstr("--console_tokens is for one host"));
}

TEST(Flags, AnAdminOfTheConsoleMayAlsoReadIt) {
  std::vector<const char*> words = OnClusterWith("--console_readers=a,b");
  words.push_back("--console_admins=b");
  words.push_back("--console_service_address=[::]:8630");
  const ConsoleServiceOptions service = Parse(words).value()->cluster.console_service;
  EXPECT_EQ(service.subjects, (console::Subjects{{"a", console::Right::kRead}, {"b", console::Right::kCommand}}));
  EXPECT_EQ(service.address, "[::]:8630");
  EXPECT_EQ(service.audience, "longshore-console");
  words.push_back("--no-console");
  EXPECT_THAT(ErrorOf(words), HasSubstr("exclude each other"));
}

TEST(Flags, ReadsTheFlagsForKubernetes) {
  const Flags flags = Parse(OnClusterWith("--watch_namespaces=a,b")).value().value();
  EXPECT_EQ(flags.verb, Flags::Verb::kCluster);
  EXPECT_THAT(flags.cluster.watch_namespaces, ElementsAre("a", "b"));
  EXPECT_EQ(flags.cluster.lease.lease_duration, std::chrono::seconds(15));
  EXPECT_EQ(flags.cluster.node_address, "[::]:8610") << "all addresses of IPv6 and IPv4";
  EXPECT_EQ(Parse(OnClusterWith("--admin_host=::")).value()->cluster.admin.address, "[::]:8600");
  EXPECT_EQ(Parse(OnClusterWith("--lease_retry_period=500ms")).value()->cluster.lease.retry_period,
            std::chrono::milliseconds(500));
}

TEST(Flags, NamesTheMissingOrWrongFlag) {
  EXPECT_THAT(ErrorOf({}), HasSubstr("--state_dir is required"));
  EXPECT_THAT(ErrorOf({"--state_dir=/s"}), HasSubstr("--manifests is required"));
  EXPECT_THAT(ErrorOf({"--kubernetes"}), HasSubstr("--node_image is required"));
  EXPECT_THAT(ErrorOf({"--state_dir=/s", "--manifests=/m", "--node_image=a"}),
              HasSubstr("--node_image needs --kubernetes"));
  EXPECT_THAT(ErrorOf(OnClusterWith("--manifests=/m")), HasSubstr("--manifests is for one host"));
  EXPECT_THAT(ErrorOf(OnClusterWith("--lease_duration=soon")), HasSubstr("--lease_duration"));
  EXPECT_THAT(ErrorOf(OnClusterWith("--lease_duration=1s")), HasSubstr("lease duration must be above"));
  EXPECT_THAT(ErrorOf({"--color=red"}), HasSubstr("--color"));
}

TEST(Flags, APrometheusTokenNeedsOneReceiverWithHttps) {
  const std::vector<const char*> on_host = {"--state_dir=/s", "--manifests=/m", "--prometheus_ca_file=/ca.crt"};
  EXPECT_EQ(Parse(on_host).value()->host.prometheus.ca_file, "/ca.crt");
  const auto with = [](std::vector<const char*> words) {
    words.insert(words.end(), kOnCluster.begin(), kOnCluster.end());
    return words;
  };
  const auto both = with({"--prometheus_token_file=/token", "--prometheus_token_for=https://prometheus.test"});
  EXPECT_EQ(Parse(both).value()->cluster.prometheus,
            (signals::PrometheusTrust{"", "/token", "https://prometheus.test"}));
  EXPECT_THAT(ErrorOf(with({"--prometheus_token_file=/token"})), HasSubstr("must be used together"));
  EXPECT_THAT(ErrorOf(with({"--prometheus_token_for=https://prometheus.test"})), HasSubstr("must be used together"));
  EXPECT_THAT(ErrorOf(with({"--prometheus_token_file=/token", "--prometheus_token_for=http://prometheus.test"})),
              HasSubstr("https only"));
  EXPECT_THAT(ErrorOf(with({"--prometheus_token_file=/token", "--prometheus_token_for=prometheus.test"})),
              HasSubstr("--prometheus_token_for"));
}

}  // namespace
}  // namespace longshore::app
