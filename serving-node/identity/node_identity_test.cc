#include "serving-node/identity/node_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "common/os/file.h"

namespace longshore::identity {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr hours kYear{24 * 365};

class NodeIdentityTest : public testing::Test {
 protected:
  NodeIdentityTest() {
    std::string pattern = testing::TempDir() + "identityXXXXXX";
    dir_ = mkdtemp(pattern.data());
    Mount(authority_);
    Start();
  }
  ~NodeIdentityTest() override { std::filesystem::remove_all(dir_); }

  void Start() { identity_.emplace(Options{.file = dir_ / "identity.pb", .ca_file = dir_ / "ca.crt"}, clock_, timer_); }
  void Mount(const tls::KeyPair& authority) {
    EXPECT_TRUE(WriteFileAtomically(dir_ / "ca.crt", authority.certificate));
  }
  void Pass(Duration time) {
    clock_.Advance(time);
    timer_.Advance(time);
  }
  static control::Certificate Signed(const tls::KeyPair& authority, const std::string& request,
                                     hours lifetime = kYear) {
    control::Certificate certificate;
    certificate.set_certificate(
        tls::Sign(authority, request, {.name = "node", .dns_names = {"fleet.test"}}, lifetime).value());
    certificate.set_authorities(authority.certificate);
    certificate.set_fleet_name("fleet.test");
    return certificate;
  }
  // Creates a request, which must be due, and applies the certificate that `authority` signs for it.
  void Renew(const tls::KeyPair& authority, hours lifetime = kYear) {
    const auto request = identity_->RequestIfDue();
    ASSERT_TRUE(request);
    const Status taken = identity_->Take(Signed(authority, *request, lifetime));
    ASSERT_TRUE(taken) << taken.error().message;
  }

  Path dir_;
  const tls::KeyPair authority_ = tls::MakeAuthority("first", 2 * kYear).value();
  const tls::KeyPair another_ = tls::MakeAuthority("second", 2 * kYear).value();
  FakeClock clock_{SystemClock().Now()};
  FakeMonotonicClock timer_;
  std::optional<NodeIdentity> identity_;
};

TEST_F(NodeIdentityTest, HasNoIdentityBeforeTheFirstCertificate) {
  EXPECT_EQ(identity_->current(), nullptr);
  EXPECT_EQ(identity_->until(), std::nullopt);
  Renew(authority_);
  const auto current = identity_->current();
  EXPECT_EQ(identity_->until(), tls::ValidityOf(current->own)->until);
  EXPECT_EQ(current->fleet_name, "fleet.test");
  EXPECT_TRUE(tls::ValidityOf(current->own));
  EXPECT_FALSE(identity_->RequestIfDue());
}

TEST_F(NodeIdentityTest, RepeatsAnUnansweredRequestAfterAPause) {
  const auto first = identity_->RequestIfDue();
  EXPECT_FALSE(identity_->RequestIfDue());
  Pass(minutes(1));
  const auto second = identity_->RequestIfDue();
  ASSERT_TRUE(second);
  EXPECT_NE(*second, *first);
  EXPECT_FALSE(identity_->Take(Signed(authority_, *first))) << "only the key of the newest request is kept";
  EXPECT_EQ(identity_->current(), nullptr);
  EXPECT_TRUE(identity_->Take(Signed(authority_, *second)));
}

TEST_F(NodeIdentityTest, IsRenewedDailyWithAnotherKey) {
  Renew(authority_);
  const auto before = identity_->current();
  Pass(hours(23));
  EXPECT_FALSE(identity_->RequestIfDue());
  Pass(hours(1));
  Renew(authority_);
  EXPECT_NE(identity_->current()->own.key, before->own.key);
}

TEST_F(NodeIdentityTest, SurvivesARestartInAFileThatOnlyItsOwnerMayRead) {
  Renew(authority_);
  const PeerIdentity before = *identity_->current();
  Start();
  ASSERT_NE(identity_->current(), nullptr);
  EXPECT_EQ(*identity_->current(), before);
  EXPECT_FALSE(identity_->RequestIfDue());
  struct stat info {};
  ASSERT_EQ(stat((dir_ / "identity.pb").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(NodeIdentityTest, IsUsedAlthoughItCannotBeStoredAndIsStoredLater) {
  const Path aside = dir_.string() + ".aside";
  std::filesystem::rename(dir_, aside);
  Renew(authority_);
  ASSERT_NE(identity_->current(), nullptr);
  const PeerIdentity before = *identity_->current();
  EXPECT_EQ(identity_->health().Problems().size(), 1u);
  std::filesystem::rename(aside, dir_);
  identity_->WriteAgain();
  EXPECT_TRUE(identity_->health().Problems().empty());
  Start();
  ASSERT_NE(identity_->current(), nullptr);
  EXPECT_EQ(*identity_->current(), before);
}

TEST_F(NodeIdentityTest, IgnoresADamagedFileAndAnExpiredCertificate) {
  Renew(authority_, hours(1));
  Pass(hours(2));
  Start();
  EXPECT_EQ(identity_->current(), nullptr);
  ASSERT_TRUE(WriteFileAtomically(dir_ / "identity.pb", "damaged"));
  Start();
  EXPECT_EQ(identity_->current(), nullptr);
  EXPECT_TRUE(identity_->RequestIfDue());
}

TEST_F(NodeIdentityTest, KeepsItsIdentityAfterAnInvalidAnswer) {
  Renew(authority_);
  const auto before = identity_->current();
  Pass(hours(24));
  const std::string request = identity_->RequestIfDue().value();
  const control::Certificate good = Signed(authority_, request);
  const auto why = [&](const std::function<void(control::Certificate&)>& change) {
    control::Certificate answer = good;
    change(answer);
    const Status taken = identity_->Take(answer);
    EXPECT_EQ(identity_->current(), before);
    return taken ? "it was taken" : taken.error().message;
  };
  EXPECT_THAT(why([](auto& answer) { answer.set_error("no authority"); }), HasSubstr("no authority"));
  EXPECT_THAT(why([](auto& answer) { answer.set_certificate("none"); }), HasSubstr("PEM"));
  EXPECT_THAT(why([](auto& answer) { answer.set_authorities(""); }), HasSubstr("CA"));
  EXPECT_THAT(why([](auto& answer) { answer.set_fleet_name(""); }), HasSubstr("name of the fleet"));
  EXPECT_THAT(why([&](auto& answer) { answer = Signed(authority_, request, hours(1)); }), HasSubstr("expired"));
  EXPECT_TRUE(identity_->Take(good)) << "the request is still open";
}

TEST_F(NodeIdentityTest, TrustsANewAuthorityAtOnceAndPresentsItsCertificateLater) {
  Renew(authority_);
  const tls::KeyPair before = identity_->current()->own;
  Mount(another_);
  Pass(minutes(2));
  Renew(another_);
  EXPECT_EQ(identity_->current()->own, before);
  for (const auto* trusted : {&authority_, &another_})
    EXPECT_THAT(identity_->current()->authorities, HasSubstr(trusted->certificate));
  Pass(minutes(5));
  const PeerIdentity now = *identity_->current();
  EXPECT_NE(now.own, before);
  EXPECT_THAT(now.authorities, HasSubstr(authority_.certificate))
      << "other nodes may still present certificates of the old authority";
  Start();
  EXPECT_EQ(*identity_->current(), now);
  Pass(hours(24));
  Renew(another_);
  EXPECT_THAT(identity_->current()->authorities, testing::Not(HasSubstr(authority_.certificate)));
}

TEST_F(NodeIdentityTest, DoesNotRenewIfTheControllerKnewTheNewAuthorityFirst) {
  Renew(another_);
  Pass(minutes(2));
  EXPECT_FALSE(identity_->RequestIfDue());
  Mount(another_);
  Pass(minutes(2));
  EXPECT_FALSE(identity_->RequestIfDue());
  Mount(authority_);
  Pass(minutes(2));
  EXPECT_TRUE(identity_->RequestIfDue());
}

TEST_F(NodeIdentityTest, DoesNotPresentAnExpiredCertificateAfterAChangeOfTheAuthority) {
  Renew(authority_, hours(1));
  Pass(hours(2));
  Renew(another_);
  EXPECT_EQ(identity_->RequestIfDue(), std::nullopt);
  EXPECT_GT(tls::ValidityOf(identity_->current()->own)->until, clock_.Now());
}

}  // namespace
}  // namespace longshore::identity
