#include "common/net/tls/authority.h"

#include <gtest/gtest.h>

#include "common/net/tls/identity.h"

namespace longshore::tls {
namespace {

using std::chrono::hours;

// This test makes no connections: the tests of common/net/http_client do, with certificates of Issue.
TEST(Authority, IssuesCertificatesForServers) {
  const auto authority = MakeAuthority("test", hours(1)).value();
  const auto pair = Issue(authority, {.name = "server", .dns_names = {"localhost"}}, hours(1)).value();
  EXPECT_NE(pair.key, Issue(authority, {.name = "server"}, hours(1))->key);
  EXPECT_TRUE(MakeServerContext({pair.certificate, pair.key, authority.certificate, true}));
  EXPECT_FALSE(MakeServerContext({pair.certificate, authority.key, authority.certificate, true}));
  EXPECT_FALSE(ValidityOf({pair.certificate, authority.key}));
}

TEST(Authority, ReportsValidityAndIssuesNothingThatOutlivesTheAuthority) {
  const auto authority = MakeAuthority("test", hours(2)).value();
  const auto left = [](const KeyPair& pair) { return ValidityOf(pair)->until - SystemClock().Now(); };
  EXPECT_LE(left(authority), hours(2));
  EXPECT_GT(left(authority), hours(2) - std::chrono::minutes(1));
  const auto shorter = Issue(authority, {.name = "server"}, hours(1)).value();
  EXPECT_LE(left(shorter), hours(1));
  EXPECT_LT(ValidityOf(shorter)->from, SystemClock().Now());
  EXPECT_EQ(ValidityOfCertificate(shorter.certificate).value(), ValidityOf(shorter).value());
  EXPECT_FALSE(ValidityOfCertificate("no certificate"));
  EXPECT_EQ(ValidityOf(Issue(authority, {.name = "server"}, hours(3)).value())->until, ValidityOf(authority)->until);
}

TEST(Authority, RejectsMalformedAuthoritiesAndNames) {
  const auto authority = MakeAuthority("test", hours(1)).value();
  const auto other = MakeAuthority("test", hours(1)).value();
  for (const KeyPair& wrong : {KeyPair{}, KeyPair{authority.certificate, ""}, KeyPair{"", authority.key},
                               KeyPair{authority.certificate, other.key}}) {
    EXPECT_EQ(Issue(wrong, {.name = "x"}, hours(1)).error().code, Code::kInvalidArgument);
  }
  for (const Subject& wrong : {Subject{.name = ""}, Subject{.name = "x", .dns_names = {"a,DNS:b"}},
                               Subject{.name = "x", .addresses = {"nowhere"}}, Subject{.name = "x", .dns_names = {""}},
                               Subject{.name = "x", .uris = {"spiffe://a,DNS:b"}}}) {
    EXPECT_EQ(Issue(authority, wrong, hours(1)).error().code, Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace longshore::tls
