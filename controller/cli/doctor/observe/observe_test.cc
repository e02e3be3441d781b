#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <mutex>

#include "common/net/http/server.h"
#include "controller/api/document.h"
#include "controller/cli/doctor/crds.h"
#include "controller/cli/doctor/observe/asked.h"
#include "controller/cli/doctor/observe/processes.h"
#include "controller/cli/doctor/observe/reads.h"
#include "controller/cli/doctor/observe/release.h"
#include "controller/cli/doctor/rights.h"

namespace longshore::cli::doctor::observe {
namespace {

TEST(Processes, FlagsHaveBothForms) {
  const ProgramFlags flags = ParseFlags(
      {"controller", "--state_dir=/s", "--admin_port", "0", "--no-console", "--node_flag=a=b", "--node_flag=c"});
  EXPECT_EQ(FlagOf(flags, "state_dir", ""), "/s");
  EXPECT_EQ(FlagOf(flags, "admin_port", "8600"), "0");
  EXPECT_EQ(FlagOf(flags, "console_port", "8620"), "8620");
  EXPECT_TRUE(flags.contains("no-console"));
  EXPECT_EQ(flags.count("node_flag"), 2U);
}

TEST(Processes, FindsTheProcessThatListensOnAPort) {
  const auto server =
      http::Server::Start({.address = "127.0.0.1:0"}, [](const http::Request&, const http::Responder&) {}).value();
  const auto listeners = HoldersOf({server->port()});
  ASSERT_TRUE(listeners.contains(server->port()));
  EXPECT_EQ(listeners.at(server->port()).begin()->pid, getpid());
  EXPECT_THAT(HoldersOf({}), testing::IsEmpty());
}

TEST(Asked, FindsTheVersionInTheMetrics) {
  EXPECT_EQ(VersionIn("# HELP x\nlongshore_build_info{version=\"0.3.0\",compiler=\"12\"} 1\n"), "0.3.0");
  EXPECT_FALSE(VersionIn("other 1\n"));
}

TEST(Asked, ReadsTheDateOfAnAnswer) {
  EXPECT_EQ(ParseDate("Fri, 15 Jan 2027 08:00:00 GMT"), TimePoint(std::chrono::seconds(1'800'000'000)));
  EXPECT_FALSE(ParseDate("yesterday"));
}

TEST(Asked, AProgramThatDoesNotListenHasNoVersion) {
  EXPECT_EQ(AskVersion("127.0.0.1:1", std::chrono::seconds(2)).error().code, Code::kUnavailable);
}

TEST(Asked, AMissingFileIsNoCertificate) { EXPECT_FALSE(CertificateOfFile("/none.crt", "").until); }

TEST(Reads, RunsAllAndNamesTheSlowOnes) {
  std::vector<int> done(40, 0);
  std::vector<Read> reads;
  for (int& one : done) reads.push_back({"fast", [&one] { one = 1; }});
  std::mutex slow;
  slow.lock();  // Until the read was named.
  reads.push_back({"slow", [&slow] { const std::scoped_lock lock(slow); }});
  std::vector<std::string> named;
  RunAll(reads, [&](const std::string& what) {
    named.push_back(what);
    slow.unlock();
  });
  EXPECT_THAT(done, testing::Each(1));
  EXPECT_THAT(named, testing::ElementsAre("slow"));
}

TEST(Release, ContainsTheCrdsAndTheRights) {
  for (const std::string_view text : kCrdFiles) {
    const auto documents = api::LoadYaml("crd", text, 1);
    ASSERT_TRUE(documents) << documents.error().message;
    EXPECT_GT(FieldsOf(documents->front().root, "v1alpha1").value().size(), 50U);
  }
  EXPECT_TRUE(RightsInChart(std::string(kRbacTemplate)));
}

}  // namespace
}  // namespace longshore::cli::doctor::observe
