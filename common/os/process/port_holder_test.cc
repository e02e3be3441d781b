#include "common/os/process/port_holder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common/os/process/descriptors.h"
#include "common/os/process/process.h"

namespace longshore::process {
namespace {

class PortHolderTest : public testing::Test {
 protected:
  ~PortHolderTest() override {
    if (!child_) return;
    (void)child_->Signal(SIGKILL);
    child_->Wait(std::chrono::seconds(10));
  }
  // Starts a program that has a listening socket, which this process then closes. Returns the port.
  int StartHolder(std::vector<std::string> argv) {
    Descriptor socket(ListenTcp("127.0.0.1", 0).value());
    const int port = LocalPort(socket.get()).value();
    child_ = Spawn({.argv = std::move(argv), .descriptors = {{3, socket.get()}}}).value();
    return port;
  }

  std::optional<Process> child_;
};

TEST_F(PortHolderTest, IsThisProcess) {
  const Descriptor socket(ListenTcp("::1", 0).value());
  const PortHolder holder = HolderOf(LocalPort(socket.get()).value());
  EXPECT_EQ(holder.pid, getpid());
  EXPECT_EQ(holder.text, "this process");
}

TEST_F(PortHolderTest, IsNamedByItsProgram) {
  const int port = StartHolder({"/bin/sleep", "600"});
  EXPECT_EQ(HolderOf(port).pid, child_->pid());
  EXPECT_EQ(HolderOf(port).text, fmt::format("sleep (process {})", child_->pid()));
}

TEST_F(PortHolderTest, IsNamedByItsNode) {
  const int port =
      StartHolder({"/bin/sh", "-c", "kill -STOP $$; :", "longshore-node", "--node=default.a-0", "--fleet=default/a"});
  EXPECT_EQ(HolderOf(port).text, fmt::format("node default.a-0 of fleet default/a (process {})", child_->pid()));
}

TEST_F(PortHolderTest, IsUnknownIfNoProcessListens) {
  int port = 0;
  {
    const Descriptor socket(ListenTcp("127.0.0.1", 0).value());
    port = LocalPort(socket.get()).value();
  }
  EXPECT_EQ(HolderOf(port).pid, 0);
  EXPECT_EQ(HolderOf(port).text, "another program");
}

}  // namespace
}  // namespace longshore::process
