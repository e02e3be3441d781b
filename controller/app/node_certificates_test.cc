#include "controller/app/node_certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/net/tls/request.h"

namespace longshore::app {
namespace {

using std::chrono::hours;
using testing::HasSubstr;

const nodes::Identity kNode{.fleet = "vision/cpu", .fleet_uid = "7e1d", .node = "longshore-cpu-x"};

TEST(NodeCertificates, TheDnsNameDiffersBetweenFleets) {
  EXPECT_EQ(FleetDnsName(kNode), "7e1d.cpu.vision.fleet.longshore.internal");
  for (const nodes::Identity& other :
       {nodes::Identity{"vision/cpu", "8f2e", "longshore-cpu-x"}, nodes::Identity{"audio/cpu", "7e1d", "x"},
        nodes::Identity{"vision/gpu", "7e1d", "x"}, nodes::Identity{"audio/cpu.vision", "7e1d", "x"}}) {
    EXPECT_NE(FleetDnsName(other), FleetDnsName(kNode));
  }
}

TEST(NodeCertificates, AreValidForAYearButNotLongerThanTheAuthority) {
  const auto left = [](hours of_authority) {
    const auto authority = tls::MakeAuthority("test", of_authority).value();
    const auto request = tls::MakeRequest().value();
    const control::Certificate made = CertifyNode(authority, kNode, request.request).value();
    EXPECT_EQ(made.authorities(), authority.certificate);
    EXPECT_EQ(made.fleet_name(), FleetDnsName(kNode));
    const auto until = tls::ValidityOf({made.certificate(), request.key})->until;
    return std::chrono::round<hours>(until - SystemClock().Now());
  };
  EXPECT_EQ(left(hours(24 * 3650)), hours(24 * 365));
  EXPECT_EQ(left(hours(24)), hours(24));
}

TEST(NodeCertificates, AreNotIssuedWithoutAFleetUidOrForAMalformedRequest) {
  const auto authority = tls::MakeAuthority("test", hours(1)).value();
  const auto request = tls::MakeRequest().value();
  const nodes::Identity without{.fleet = "vision/cpu", .fleet_uid = "", .node = "a"};
  EXPECT_THAT(CertifyNode(authority, without, request.request).error().message, HasSubstr("older controller"));
  EXPECT_EQ(CertifyNode(authority, kNode, "please").error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace longshore::app
