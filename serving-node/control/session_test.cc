#include "serving-node/control/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/net/grpc_server/call.h"
#include "common/net/grpc_server/server.h"
#include "common/net/tls/authority.h"
#include "common/os/file.h"

namespace longshore::control {
namespace {

using std::chrono::hours;
using testing::HasSubstr;

// A TLS controller that ends each stream with an error. The message of the error is the authorization header that the
// controller received, or "nothing".
class SecureController {
 public:
  explicit SecureController(const tls::KeyPair& pair) {
    const auto service = std::make_shared<grpc_server::Service>();
    service->Add(
        "/longshore.control.NodeControl/Attach",
        {.kind = grpc_server::Method::Kind::kStreaming, .handler = [](const std::shared_ptr<grpc_server::Call>& call) {
           call->Finish(Aborted("{}", call->Metadata("authorization").value_or("nothing")));
         }});
    const tls::Identity own{pair.certificate, pair.key, {}, false};
    auto identities = tls::Identities::Start("the certificate of the test", [own] { return own; }, {}).value();
    server_ = grpc_server::Start({.address = "127.0.0.1:0", .tls = std::move(identities)}, service).value();
  }
  std::string target() const { return "127.0.0.1:" + std::to_string(server_->port()); }

 private:
  std::unique_ptr<http2::Server> server_;
};

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    char name[] = "/tmp/longshore_session_XXXXXX";
    dir_ = mkdtemp(name);
    Write("ca", authority_.certificate);
    Write("token", "first\n");
  }
  ~SessionTest() override { std::filesystem::remove_all(dir_); }
  void Write(const char* file, const std::string& text) { ASSERT_TRUE(WriteFileAtomically(dir_ / file, text)); }
  // Dials and returns the status with which the session ends.
  static ::grpc::Status EndOf(const DialOptions& options) {
    const auto session = Session::Dial(options);
    if (!session) return {::grpc::StatusCode::UNKNOWN, session.error().message};
    FromController message;
    while ((*session)->Read(&message)) {
    }
    return (*session)->Finish();
  }

  Path dir_;
  const tls::KeyPair authority_ = tls::MakeAuthority("test", hours(1)).value();
  const SecureController controller_{
      tls::Issue(authority_, {.name = "controller", .addresses = {"127.0.0.1"}}, hours(1)).value()};
};

TEST_F(SessionTest, SendsItsTokenToATrustedControllerAndReadsItAgainForEachSession) {
  const DialOptions options{controller_.target(), dir_ / "ca", dir_ / "token"};
  EXPECT_EQ(EndOf(options).error_message(), "Bearer first");
  Write("token", "second");
  EXPECT_EQ(EndOf(options).error_message(), "Bearer second");
  EXPECT_EQ(EndOf({controller_.target(), dir_ / "ca", {}}).error_message(), "nothing");
}

TEST_F(SessionTest, DoesNotConnectToAnUntrustedController) {
  Write("ca", tls::MakeAuthority("stranger", hours(1))->certificate);
  EXPECT_EQ(EndOf({controller_.target(), dir_ / "ca", dir_ / "token"}).error_code(), ::grpc::StatusCode::UNAVAILABLE);
}

TEST_F(SessionTest, NamesAMissingFile) {
  EXPECT_THAT(EndOf({controller_.target(), dir_ / "none", {}}).error_message(), HasSubstr((dir_ / "none").string()));
  EXPECT_THAT(EndOf({controller_.target(), dir_ / "ca", dir_ / "nor this"}).error_message(), HasSubstr("nor this"));
}

}  // namespace
}  // namespace longshore::control
