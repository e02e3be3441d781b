#include "tests/gtest_main/skips.h"

#include <algorithm>
#include <string_view>

namespace longshore::gtest_main {
namespace {

enum class Where { kEveryBuild, kSanitizers, kThreadSanitizer };

// `test` and `reason` are the beginnings of a test's name and of the reason for which it skips.
struct AllowedSkip {
  std::string_view test;
  std::string_view reason;
  Where where;
};

constexpr std::string_view kOperatorNew = "the sanitizer's operator new cannot be made to fail";
constexpr std::string_view kNoIpv6 = "this machine has no IPv6";
constexpr std::string_view kGrpc = "gRPC is not built with the thread sanitizer";

constexpr AllowedSkip kAllowed[] = {
    {"Thrown.ReportsAnErrorIfThereIsNoMemoryForItsMessage", kOperatorNew, Where::kSanitizers},
    {"NoMemory.", kOperatorNew, Where::kSanitizers},
    {"RunMemory.TakesBuffersBackWithoutAllocating", kOperatorNew, Where::kSanitizers},
    {"Pool.CallsNeitherWorkNorRefusalIfThereIsNoMemoryToQueueThem", kOperatorNew, Where::kSanitizers},
    {"HostEngine.EstimateFailsIfMemoryDoesNotSuffice", "the sanitizers abort a process", Where::kSanitizers},
    {"IndexTest.RejectsBlocksLargerThanTheMemory", "the sanitizers abort a process", Where::kSanitizers},
    {"HttpServer.ContinuesAfterRunningOutOfDescriptors", "the sanitizer opens descriptors", Where::kSanitizers},
    {"FleetTest.", kGrpc, Where::kThreadSanitizer},
    {"HomeSearchTest.", kGrpc, Where::kThreadSanitizer},
    {"Forwarder.", kGrpc, Where::kThreadSanitizer},
    {"MatchRulesOfCallers.", kGrpc, Where::kThreadSanitizer},
    {"PeerListenerTest.", kGrpc, Where::kThreadSanitizer},
    {"GrpcClientTest.", kGrpc, Where::kThreadSanitizer},
    {"GeneratorTest.", kGrpc, Where::kThreadSanitizer},
    {"ClientsTest.", kGrpc, Where::kThreadSanitizer},
    {"PeerListenerTest.ReportsAnIpv6AddressInBrackets", kNoIpv6, Where::kEveryBuild},
    {"AllAddresses.", kNoIpv6, Where::kEveryBuild},
    {"RegistryTest.NodesConnectOverIpv4AndIpv6", kNoIpv6, Where::kEveryBuild},
    {"RealPeerRules", "LONGSHORE_PEER_RULES is not set", Where::kEveryBuild},
    {"Kube/StoreContract.AnUnreadableObjectDoesNotHideTheOthers", "this backend does not store unreadable objects",
     Where::kEveryBuild},
};

// Samples, which the tests of this folder run in a process of their own.
constexpr std::string_view kAllowedDisabled[] = {"Sample.DISABLED_Skips"};

bool IsIn(Where where, Build build) {
  switch (where) {
    case Where::kEveryBuild: return true;
    case Where::kSanitizers: return build != Build::kPlain;
    case Where::kThreadSanitizer: return build == Build::kThreadSanitizer;
  }
  return false;
}

bool IsAllowed(const Skip& skip, Build build) {
  return std::any_of(std::begin(kAllowed), std::end(kAllowed), [&](const AllowedSkip& row) {
    return skip.test.starts_with(row.test) && skip.reason.starts_with(row.reason) && IsIn(row.where, build);
  });
}

}  // namespace

std::string FindFault(int tests, const std::vector<Skip>& skips, const std::vector<std::string>& disabled,
                      Build build) {
  if (tests == 0) return "No test has run: the program has none, or --gtest_filter matches none.\n";
  for (const std::string& test : disabled) {
    if (std::find(std::begin(kAllowedDisabled), std::end(kAllowedDisabled), test) == std::end(kAllowedDisabled)) {
      return "The test " + test + " is disabled: repair it or remove it.\n";
    }
  }
  std::string unlisted;
  for (const Skip& skip : skips) {
    if (!IsAllowed(skip, build)) unlisted += "  " + skip.test + ": " + skip.reason + "\n";
  }
  if (unlisted.empty()) return "";
  return "These tests were skipped, and tests/gtest_main/skips.cc does not allow it in this build:\n" + unlisted;
}

}  // namespace longshore::gtest_main
