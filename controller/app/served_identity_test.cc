#include "controller/app/served_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/os/file.h"

namespace longshore::app {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(HostOf, ReturnsTheHostOfAGrpcTarget) {
  EXPECT_EQ(HostOf("dns:///longshore-nodes.ops.svc:8610").value(), "longshore-nodes.ops.svc");
  EXPECT_EQ(HostOf("10.0.0.1:8610").value(), "10.0.0.1");
  EXPECT_EQ(HostOf("dns:///[fd00::1]:8610").value(), "fd00::1");
  EXPECT_EQ(HostOf("dns:longshore-nodes.ops.svc:8610").value(), "longshore-nodes.ops.svc");
  EXPECT_EQ(HostOf("ipv4:10.0.0.1:8610").value(), "10.0.0.1");
  for (const char* wrong :
       {"", ":8610", "dns:///longshore", "longshore:", "longshore:port", "http://host:80", "unix:a:1", "a:b:80"}) {
    EXPECT_EQ(HostOf(wrong).error().code, Code::kInvalidArgument) << wrong;
  }
}

class FakeClock final : public Clock {
 public:
  TimePoint Now() const override { return now; }
  TimePoint now = SystemClock().Now();
};

class ServedIdentityTest : public ::testing::Test {
 protected:
  ServedIdentityTest() {
    char name[] = "/tmp/longshore_served_XXXXXX";
    dir_ = mkdtemp(name);
    WriteAuthority();
    served_.emplace(dir_ / "tls.crt", dir_ / "tls.key", std::set<std::string>{"localhost"}, clock_,
                    [this](const std::string& certificate) { announced_.push_back(certificate); });
  }
  ~ServedIdentityTest() override { std::filesystem::remove_all(dir_); }

  tls::KeyPair WriteAuthority(hours lifetime = hours(24 * 365)) {
    const tls::KeyPair pair = tls::MakeAuthority("test", lifetime).value();
    Write(pair);
    return pair;
  }
  void Write(const tls::KeyPair& pair) const {
    EXPECT_TRUE(WriteFileAtomically(dir_ / "tls.crt", pair.certificate));
    EXPECT_TRUE(WriteFileAtomically(dir_ / "tls.key", pair.key));
  }

  Path dir_;
  FakeClock clock_;
  std::vector<std::string> announced_;
  std::optional<ServedIdentity> served_;
};

TEST_F(ServedIdentityTest, IsRenewedAfterADay) {
  const tls::Identity first = served_->Read().value();
  clock_.now += hours(23);
  EXPECT_EQ(served_->Read().value(), first);
  clock_.now += hours(2);
  EXPECT_NE(served_->Read().value().certificate, first.certificate);
  EXPECT_EQ(announced_.size(), 1) << "the authority did not change";
}

TEST_F(ServedIdentityTest, ANewAuthorityIsAnnouncedWithTheOldOneBeforeItIsUsed) {
  const tls::Identity shown = served_->Read().value();
  const std::string first = announced_.at(0);
  const std::string second = WriteAuthority().certificate;
  EXPECT_EQ(served_->Read().value(), shown);
  clock_.now += ServedIdentity::kUseAfter - seconds(1);
  EXPECT_EQ(served_->Read().value(), shown);
  EXPECT_THAT(announced_, ElementsAre(first, second + "\n" + first));
  clock_.now += seconds(1);
  EXPECT_NE(served_->Read().value().certificate, shown.certificate);
  EXPECT_TRUE(served_->Read());
  EXPECT_THAT(announced_, ElementsAre(first, second + "\n" + first, second));
}

TEST_F(ServedIdentityTest, EachNewAuthorityStartsTheWaitAgain) {
  const tls::Identity shown = served_->Read().value();
  WriteAuthority();
  ASSERT_TRUE(served_->Read());
  clock_.now += ServedIdentity::kUseAfter - seconds(1);
  const std::string third = WriteAuthority().certificate;
  EXPECT_EQ(served_->Read().value(), shown);
  clock_.now += seconds(2);
  EXPECT_EQ(served_->Read().value(), shown);
  EXPECT_EQ(announced_.back(), third + "\n" + announced_.front());
}

TEST_F(ServedIdentityTest, ARestoredAuthorityIsAnnouncedAsTheOnlyOne) {
  const tls::KeyPair first = WriteAuthority();
  const tls::Identity shown = served_->Read().value();
  WriteAuthority();
  ASSERT_TRUE(served_->Read());
  Write(first);
  EXPECT_EQ(served_->Read().value(), shown);
  EXPECT_EQ(announced_.back(), first.certificate);
}

TEST_F(ServedIdentityTest, AnExpiredAuthorityIsReplacedImmediately) {
  WriteAuthority(hours(1));
  const tls::Identity shown = served_->Read().value();
  clock_.now += hours(2);
  const std::string second = WriteAuthority(hours(24)).certificate;
  EXPECT_NE(served_->Read().value().certificate, shown.certificate);
  EXPECT_EQ(announced_.back(), second);
}

TEST_F(ServedIdentityTest, ErrorsNameTheFileThatIsMissingOrWrong) {
  ASSERT_TRUE(WriteFileAtomically(dir_ / "tls.key", tls::MakeAuthority("other", hours(1)).value().key));
  EXPECT_THAT(served_->Read().error().message, HasSubstr((dir_ / "tls.key").string()));
  std::filesystem::remove(dir_ / "tls.key");
  EXPECT_THAT(served_->Read().error().message, HasSubstr((dir_ / "tls.key").string()));
  WriteAuthority(hours(1));
  clock_.now += hours(2);
  EXPECT_THAT(served_->Read().error().message, HasSubstr("has expired"));
}

}  // namespace
}  // namespace longshore::app
