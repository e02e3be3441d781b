#include "common/net/http2/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/net/http2/testing.h"

namespace longshore::http2 {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

struct Seen {
  std::vector<std::string> paths;
  std::string body;
  int overloads = 0, answered = 0, cancelled = 0, referred = 0;
};

// Answers with the body of the request when it has ended, if `answers`.
class Echo final : public Stream {
 public:
  Echo(Seen& seen, bool answers, bool consumes) : seen_(seen), answers_(answers), consumes_(consumes) {}
  void Cancel() { Reset(NGHTTP2_CANCEL); }
  void Pause() { PauseReading(); }
  void EndAt(TimePoint deadline) { SetDeadline(deadline); }
  void AnswerWithoutEnd() {
    const Field fields[] = {{":status", "200", true}};
    SendHead(fields, false);
  }
  void Part(std::string body) {
    is_streaming_ = true;
    SendBody({}, Pieces(std::move(body)));
  }
  void Answer(const Pieces& body) {
    const Field fields[] = {{":status", "200", true}};
    SendHead(fields, false);
    SendBody({}, body);
    EndBody();
  }
  std::string more;  // Sent after Part.

 private:
  void OnHead() override { seen_.paths.emplace_back(head_too_large() ? "too large" : *head().Find(":path")); }
  void OnBody(std::string_view bytes, const std::shared_ptr<const void>& owner) override {
    if (owner) ++seen_.referred;
    if (consumes_) Consume(bytes.size());
    body_ += bytes;
    seen_.body += bytes;
  }
  void OnEnd() override {
    if (answers_) Answer(Pieces(body_));
  }
  void OnOverload() override {
    ++seen_.overloads;
    ReleaseBody(SIZE_MAX);
    Reset(NGHTTP2_ENHANCE_YOUR_CALM);
  }
  void OnNotified() override { Answer(Pieces(std::string("notified"))); }
  void OnBodyTaken() override {
    if (is_streaming_) return more.empty() ? void() : SendBody({}, Pieces(std::exchange(more, {})));
    const Field fields[] = {{"x-trailer", "t"}};
    SendTrailers(fields);
  }
  void OnClosed(bool is_answered) noexcept override { ++(is_answered ? seen_.answered : seen_.cancelled); }

  Seen& seen_;
  const bool answers_, consumes_;
  bool is_streaming_ = false;
  std::string body_;
};

struct SessionTest : testing::Test {
  MakeStream Make(bool answers = true, bool consumes = true) {
    return [this, answers, consumes](const auto&) {
      newest = std::make_shared<Echo>(seen, answers, consumes);
      return newest;
    };
  }
  Seen seen;
  std::shared_ptr<Echo> newest;
  Limits limits;
};

std::string Frame(char type, char flags, int32_t stream, std::string_view payload) {
  const auto size = static_cast<uint32_t>(payload.size());
  const char head[] = {
      static_cast<char>(size >> 16), static_cast<char>(size >> 8), static_cast<char>(size), type, flags, 0, 0, 0,
      static_cast<char>(stream)};
  return std::string(head, sizeof head) + std::string(payload);
}

TEST_F(SessionTest, AnswersARequestWithBodyAndTrailers) {
  TestConnection connection(limits, Make());
  const auto id = connection.client.Request("/x", "hello");
  connection.Run();
  const Received& got = connection.client.streams[id];
  EXPECT_EQ(got.body, "hello");
  EXPECT_TRUE(got.has_ended);
  EXPECT_THAT(got.fields, ElementsAre(testing::Pair(":status", "200"), testing::Pair("x-trailer", "t")));
  EXPECT_THAT(seen.paths, ElementsAre("/x"));
  EXPECT_EQ(seen.answered, 1);
  EXPECT_EQ(connection.session.streams(), 0);
  newest.reset();
  EXPECT_EQ(connection.pool->taken(), 0);
}

TEST_F(SessionTest, OnClosedComesAfterTheTrailersWereSent) {
  TestConnection connection(limits, Make());
  connection.client.Request("/x", "hello");
  connection.ToServer(connection.client.TakeSent());
  connection.session.Fill(connection.now);
  EXPECT_FALSE(connection.session.queue().empty());
  while (!connection.session.queue().empty()) {
    EXPECT_EQ(seen.answered, 0);
    connection.session.queue().Consume(1);
    connection.session.OnSent(connection.now);
  }
  EXPECT_EQ(seen.answered, 1);
}

TEST_F(SessionTest, LargePartsOfABodyAreNotCopied) {
  TestConnection connection(limits, Make());
  const std::string body(600000, 'b');
  connection.client.Request("/x", body);
  connection.Run();
  EXPECT_EQ(seen.body, body);
  EXPECT_GT(seen.referred, 30);
}

TEST_F(SessionTest, AnAnswerWaitsForTheWindowOfItsClient) {
  TestConnection connection(limits, Make());
  const std::string body(200000, 'b');
  const auto id = connection.client.Request("/x", body);
  connection.Run();
  EXPECT_EQ(connection.client.streams[id].body.size(), 65535);
  EXPECT_EQ(seen.answered, 0);
  for (size_t consumed = 0; consumed < body.size();) {
    const size_t all = connection.client.streams[id].body.size();
    connection.client.Consume(id, all - consumed);
    consumed = all;
    connection.Run();
  }
  EXPECT_EQ(connection.client.streams[id].body, body);
  EXPECT_EQ(seen.answered, 1);
}

TEST_F(SessionTest, AnUnreadAnswerIsResetAfterItsTime) {
  TestConnection connection(limits, Make());
  const auto id = connection.client.Request("/x", std::string(200000, 'b'));
  connection.Run();
  connection.now = connection.session.next_deadline();
  EXPECT_GE(connection.now, TimePoint(std::chrono::hours(1)) + limits.answer_time.grace);
  connection.session.CheckDeadlines(connection.now);
  connection.Run();
  EXPECT_EQ(connection.client.streams[id].reset, NGHTTP2_CANCEL);
  EXPECT_EQ(seen.cancelled, 1);
}

TEST_F(SessionTest, AnAnswerThatWaitsForOtherStreamsIsNotReset) {
  limits.answer_time = {.grace = seconds(1), .bytes_per_second_min = 10000};
  TestConnection connection(limits, Make());
  std::vector<int32_t> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(connection.client.Request("/x", std::string(200000, 'b')));
  connection.Run();
  // The client reads all streams in turn, together at five times the minimum rate.
  std::map<int32_t, size_t> read;
  for (int turns = 0; turns < 10000 && seen.answered + seen.cancelled < 20; ++turns) {
    const int32_t id = ids[static_cast<size_t>(turns) % ids.size()];
    const size_t bytes = connection.client.streams[id].body.size() - read[id];
    read[id] += bytes;
    connection.client.Consume(id, bytes);
    connection.now += milliseconds(bytes / 50);
    connection.session.CheckDeadlines(connection.now);
    connection.Run();
  }
  EXPECT_EQ(seen.answered, 20);
  EXPECT_EQ(seen.cancelled, 0);
}

TEST_F(SessionTest, AStreamedAnswerBeginsItsTimeWhenItIsWritten) {
  TestConnection connection(limits, Make(false));
  const auto id = connection.client.Request("/x", "");
  connection.Run();
  newest->AnswerWithoutEnd();
  newest->more = std::string(100000, 'm');
  newest->Part("p");
  connection.now += std::chrono::hours(1);
  connection.ToClient();  // Writes "p", after which the stream adds its next part.
  EXPECT_EQ(connection.client.streams[id].body.size(), 65535);
  connection.session.CheckDeadlines(connection.now);
  connection.Run();
  EXPECT_EQ(connection.client.streams[id].reset, -1);
}

TEST_F(SessionTest, AConsumerThatIsSlowStopsItsClientOnly) {
  TestConnection connection(limits, Make(true, false));
  connection.client.Request("/slow", std::string(3 << 20, 'b'));
  connection.Run();
  EXPECT_EQ(seen.body.size(), limits.stream_window_bytes);
  const auto id = connection.client.Request("/x", "hello");
  connection.Run();
  EXPECT_EQ(connection.client.streams[id].body, "hello");
}

TEST_F(SessionTest, TooLargeHeadersAreNotKept) {
  limits.header_bytes_max = 10000;
  TestConnection connection(limits, Make());
  connection.client.Request("/x", "", {{"x-a", std::string(8000, 'a')}, {"x-b", std::string(3000, 'b')}});
  connection.Run();
  EXPECT_THAT(seen.paths, ElementsAre("too large"));
}

TEST_F(SessionTest, AHeadFarAboveTheLimitIsNotDecodedFurther) {
  limits.header_bytes_max = 10000;
  TestConnection connection(limits, Make());
  connection.Run();
  // Adds ":authority: h" and a field with a value of 3,000 bytes to the table, and refers to the field 1,000 times.
  std::string head = "\x83\x86\x84\x41\x01h\x40\x03x-a\x7f\xb9\x16" + std::string(3000, 'a');
  head += std::string(1000, '\xbe');
  connection.ToServer(Frame(1, 4, 1, head));
  connection.ToClient();
  EXPECT_THAT(seen.paths, ElementsAre());
  EXPECT_EQ(seen.cancelled, 1);
  connection.ToServer(Frame(1, 5, 3, "\x83\x86\x84\xbf\xbe"));
  connection.ToClient();
  EXPECT_THAT(seen.paths, ElementsAre("/"));
}

TEST_F(SessionTest, HeadsCountAsMemory) {
  const TestClient::Fields large = {{"x-a", std::string(30000, 'a')}};
  for (const bool is_pool_small : {true, false}) {
    limits.heads_bytes_max = is_pool_small ? 8 << 20 : 70000;
    seen = {};
    TestConnection connection(limits, Make(false), is_pool_small ? 70000 : 1 << 30);
    for (int i = 0; i < 3; ++i) connection.client.Request("/x", "", large);
    connection.Run();
    EXPECT_EQ(seen.paths.size(), 2);
    EXPECT_EQ(seen.overloads, 1);
    connection.client.Reset(1);
    connection.Run();
    newest.reset();
    connection.client.Request("/x", "", large);
    connection.Run();
    EXPECT_EQ(seen.paths.size(), 3);
    connection.session.Close();
    newest.reset();
    EXPECT_EQ(connection.pool->taken(), 0);
  }
}

TEST_F(SessionTest, BodiesAboveTheLimitOfTheConnectionOverloadTheirStream) {
  limits.bytes_max = 100000;
  TestConnection connection(limits, Make(false));
  const auto first = connection.client.Request("/x", std::string(60000, 'b'));
  const auto second = connection.client.Request("/y", std::string(60000, 'b'));
  connection.Run();
  EXPECT_EQ(seen.overloads, 1);
  EXPECT_EQ(connection.client.streams[first].reset + connection.client.streams[second].reset,
            NGHTTP2_ENHANCE_YOUR_CALM - 1);
}

TEST_F(SessionTest, BodiesAboveTheLimitOfTheServerOverloadTheirStream) {
  TestConnection connection(limits, Make(false), 1000);
  connection.client.Request("/x", std::string(5000, 'b'));
  connection.Run();
  EXPECT_EQ(seen.overloads, 1);
  EXPECT_EQ(connection.pool->taken(), 0);
}

TEST_F(SessionTest, ACopiedBodyCountsUntilItsHandlerEnds) {
  TestConnection connection(limits, Make(false));
  const auto id = connection.client.Request("/x", "hello");
  connection.Run();
  connection.client.Reset(id);
  connection.Run();
  EXPECT_EQ(connection.session.streams(), 0);
  EXPECT_EQ(connection.pool->taken(), 5);
  newest.reset();
  EXPECT_EQ(connection.pool->taken(), 0);
}

TEST_F(SessionTest, AResetTellsTheStream) {
  TestConnection connection(limits, Make(false));
  const auto id = connection.client.Request("/x", "hello");
  connection.Run();
  connection.client.Reset(id);
  connection.Run();
  EXPECT_EQ(seen.cancelled, 1);
}

// Opens streams and resets each of them.
void OpenAndReset(TestConnection& connection, int count) {
  for (int i = 0; i < count && connection.client.goaways.empty(); ++i) {
    const auto id = connection.client.Request("/x", "");
    connection.Run();
    connection.client.Reset(id);
    connection.Run();
  }
}

// Frames that open a stream and reset it, for a client that ignores GOAWAY. Header fields in HPACK: ":method: POST",
// ":scheme: http", ":path: /", ":authority: h".
std::string OpenedAndReset(int32_t id) {
  return Frame(1, 4, id, "\x83\x86\x84\x41\x01h") + Frame(3, 0, id, {"\0\0\0\x08", 4});
}

TEST_F(SessionTest, TooManyResetsEndTheConnection) {
  limits.strikes_max = 50;
  TestConnection connection(limits, Make(false));
  connection.Run();
  for (int32_t id = 1; id < 256; id += 2) connection.ToServer(OpenedAndReset(id));
  connection.ToClient();
  EXPECT_THAT(connection.client.goaways, ElementsAre(NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_ENHANCE_YOUR_CALM));
  EXPECT_TRUE(connection.session.is_over());
}

TEST_F(SessionTest, TooManyResetsLetRunningStreamsFinish) {
  limits.strikes_max = 100;
  TestConnection connection(limits, Make(false));
  const auto id = connection.client.Request("/x", "");
  connection.Run();
  const auto running = newest;
  OpenAndReset(connection, 101);
  EXPECT_THAT(connection.client.goaways, ElementsAre(NGHTTP2_ENHANCE_YOUR_CALM));
  EXPECT_FALSE(connection.session.is_over());
  running->Notify();
  connection.session.RunNotified(connection.now);
  connection.Run();
  EXPECT_EQ(connection.client.streams[id].body, "notified");
  EXPECT_TRUE(connection.session.is_over());
}

TEST_F(SessionTest, AClientThatIgnoresTheEndIsAborted) {
  limits.strikes_max = 10;
  TestConnection connection(limits, Make(false));
  connection.client.Request("/x", "");
  connection.Run();
  connection.session.End();
  connection.Run();
  for (int32_t id = 3; id < 63; id += 2) {
    connection.ToServer(OpenedAndReset(id));
    connection.ToClient();
  }
  EXPECT_TRUE(connection.session.is_over());
}

TEST_F(SessionTest, ResetsOfAnsweredStreamsAreNoStrikes) {
  limits.strikes_max = 10;
  limits.stream_window_bytes = 1000;
  TestConnection connection(limits, Make(false, false));
  for (int i = 0; i < 50; ++i) {
    const auto id = connection.client.Request("/x", std::string(5000, 'b'));
    connection.Run();
    newest->AnswerWithoutEnd();
    connection.Run();
    connection.client.Reset(id);
    connection.Run();
  }
  EXPECT_EQ(seen.cancelled, 50);
  EXPECT_TRUE(connection.client.goaways.empty());
}

// Otherwise a client could let the server answer in vain: with an error, say, that needs no body of the request.
TEST_F(SessionTest, AResetBeforeTheAnswerWasSentIsAStrike) {
  limits.strikes_max = 10;
  TestConnection connection(limits, Make(false));
  connection.Run();
  for (int32_t id = 1; id < 63; id += 2) {
    const std::string frames = OpenedAndReset(id);
    connection.ToServer(frames.substr(0, 15));
    if (newest) newest->AnswerWithoutEnd();
    connection.ToServer(frames.substr(15));
  }
  connection.ToClient();
  EXPECT_TRUE(connection.session.is_over());
}

TEST_F(SessionTest, AnswersForgiveResets) {
  limits.strikes_max = 10;
  TestConnection connection(limits, Make());
  for (int i = 0; i < 50; ++i) {
    connection.client.Request("/x", "hello");
    connection.Run();
  }
  for (int32_t id = 101; id < 201; id += 2) connection.ToServer(OpenedAndReset(id));
  connection.ToClient();
  EXPECT_TRUE(connection.client.goaways.empty());
}

TEST_F(SessionTest, ResetsAtTheDeadlineAreNoStrikes) {
  limits.strikes_max = 10;
  TestConnection connection(limits, Make(false));
  for (int i = 0; i < 50; ++i) {
    const auto id = connection.client.Request("/x", "");
    connection.Run();
    newest->EndAt(connection.now + milliseconds(100));
    connection.now += milliseconds(95);
    connection.client.Reset(id);
    connection.Run();
  }
  EXPECT_EQ(seen.cancelled, 50);
  EXPECT_TRUE(connection.client.goaways.empty());
}

TEST_F(SessionTest, RefusedStreamsAreNoStrikes) {
  limits.streams_max = 2;
  limits.strikes_max = 20;
  TestConnection connection(limits, Make(false));
  std::vector<std::shared_ptr<Echo>> used;
  for (int i = 0; i < 4; ++i) {
    const auto id = connection.client.Request("/x", "");
    connection.Run();
    used.push_back(newest);
    connection.client.Reset(id);
    connection.Run();
  }
  for (int second = 0; second < 10; ++second, connection.now += seconds(1)) {
    for (int i = 0; i < 20; ++i) connection.client.Request("/x", "");
    connection.Run();
  }
  EXPECT_EQ(seen.paths.size(), 4);
  EXPECT_TRUE(connection.client.goaways.empty());
  for (int i = 0; i < 100; ++i) connection.client.Request("/x", "");  // At once.
  connection.Run();
  EXPECT_THAT(connection.client.goaways, testing::Contains(NGHTTP2_ENHANCE_YOUR_CALM));
}

TEST_F(SessionTest, TrailersOfAStreamThatTheServerHasResetAreIgnored) {
  TestConnection connection(limits, Make(false));
  connection.Run();
  connection.ToServer(Frame(1, 4, 1, "\x83\x86\x84\x41\x01h"));
  newest->Cancel();
  connection.ToClient();
  EXPECT_EQ(seen.cancelled, 1);
  connection.ToServer(Frame(1, 5, 1, {"\0\1x\1y", 5}));  // Trailers, "x: y", as a literal in HPACK.
  connection.ToClient();
  EXPECT_FALSE(connection.session.is_over());
}

// RFC 9113, section 5.1: such frames must be answered with STREAM_CLOSED, also after the stream is closed.
TEST_F(SessionTest, AFrameOfAStreamThatTheClientHasEndedIsAnsweredWithStreamClosed) {
  for (const bool is_answered : {false, true}) {
    for (const int type : {NGHTTP2_DATA, NGHTTP2_HEADERS}) {
      TestConnection connection(limits, Make(is_answered));
      const auto id = connection.client.Request("/x", "");
      connection.Run();
      EXPECT_EQ(connection.client.streams[id].has_ended, is_answered);
      connection.client.Raw(Frame(type, 5, id, "\x83\x86\x84\x41\x01h"));
      connection.Run();
      if (connection.client.streams[id].reset == NGHTTP2_STREAM_CLOSED) continue;
      EXPECT_THAT(connection.client.goaways, testing::Contains(NGHTTP2_STREAM_CLOSED))
          << "type " << type << (is_answered ? ", answered" : ", not answered");
    }
  }
}

TEST_F(SessionTest, AWindowUpdateStartsTheCountOfPingsAgain) {
  TestConnection connection(limits, Make(false));
  connection.client.Request("/x", std::string(2000000, 'b'));
  connection.Run();
  const std::string ping = Frame(6, 0, 0, "12345678");
  for (int i = 0; i < 3; ++i) {
    connection.client.Raw(ping + ping + ping);
    connection.Run();
    connection.client.Request("/x", std::string(1000000, 'b'));
    connection.Run();
  }
  EXPECT_TRUE(connection.client.goaways.empty());
}

TEST_F(SessionTest, AnInvalidFrameIsOneStrike) {
  limits.strikes_max = 20;
  limits.strikes_per_second = 0;
  TestConnection connection(limits, Make(false));
  int resets = 0;
  while (connection.client.goaways.empty() && resets < 100) {
    const auto id = connection.client.Request("/x", "");
    connection.Run();
    connection.client.Raw(Frame(8, 0, id, "\x7f\xff\xff\xff"));  // WINDOW_UPDATE.
    connection.Run();
    if (connection.client.streams[id].reset == NGHTTP2_FLOW_CONTROL_ERROR) ++resets;
  }
  EXPECT_GE(resets, 18);  // SETTINGS and its answer are strikes, too.
  EXPECT_LE(resets, 21);
}

// The invalid frame comes before the answer is sent: nghttp2 then drops the answer.
TEST_F(SessionTest, AnInvalidFrameBesideARequestIsOneStrike) {
  limits.strikes_max = 20;
  limits.strikes_per_second = 0;
  TestConnection connection(limits, Make());
  connection.Run();
  int requests = 0;
  for (int32_t id = 1; !connection.session.is_over() && requests < 60; id += 2, ++requests) {
    connection.ToServer(Frame(1, 5, id, "\x83\x86\x84\x41\x01h") + Frame(8, 0, id, "\x7f\xff\xff\xff"));
    connection.ToClient();
  }
  EXPECT_GE(requests, 18);
  EXPECT_LE(requests, 21);
}

TEST_F(SessionTest, AStreamThatIsUsedAfterItsResetCountsAsOpen) {
  limits.streams_max = 2;
  TestConnection connection(limits, Make(false));
  std::vector<std::shared_ptr<Echo>> used;
  for (int i = 0; i < 4; ++i) {
    const auto id = connection.client.Request("/x", "");
    connection.Run();
    used.push_back(newest);
    connection.client.Reset(id);
    connection.Run();
  }
  const auto id = connection.client.Request("/x", "");
  connection.Run();
  EXPECT_EQ(connection.client.streams[id].reset, NGHTTP2_REFUSED_STREAM);
}

TEST_F(SessionTest, TooManyPingsEndTheConnection) {
  TestConnection connection(limits, Make());
  const std::string ping = Frame(6, 0, 0, "12345678");
  connection.client.Raw(ping + ping + ping);
  connection.Run();
  EXPECT_FALSE(connection.session.is_over());
  connection.client.Request("/x", "");  // An answer starts the count again.
  connection.Run();
  connection.client.Raw(ping + ping + ping + ping);
  connection.Run();
  EXPECT_THAT(connection.client.goaways, ElementsAre(NGHTTP2_ENHANCE_YOUR_CALM));
}

TEST_F(SessionTest, UnsolicitedPingAnswersAreStrikes) {
  for (const char* payload : {"lastping", "\0\0\0\0\0\0\0"}) {
    limits.strikes_max = 100;
    TestConnection connection(limits, Make());
    connection.Run();
    std::string answers;
    for (int i = 0; i < 300; ++i) answers += Frame(6, 1, 0, {payload, 8});
    connection.ToServer(answers);
    EXPECT_LT(connection.session.waiting_frames(), 3);
    connection.ToClient();
    EXPECT_TRUE(connection.session.is_over());
    EXPECT_EQ(connection.client.goaways.back(), NGHTTP2_ENHANCE_YOUR_CALM);
  }
}

TEST_F(SessionTest, AnAnswerToAKeepalivePingIsNoStrike) {
  limits.strikes_max = 2;
  TestConnection connection(limits, Make());
  for (int i = 0; i < 10; ++i) {
    connection.session.Ping();
    connection.Run();
  }
  EXPECT_FALSE(connection.session.is_over());
}

TEST_F(SessionTest, AnEndIsAnnouncedOnlyOnce) {
  TestConnection connection(limits, Make(false));
  connection.client.Request("/x", "");
  connection.Run();
  connection.session.AnnounceEnd();
  connection.Run();
  for (int i = 0; i < 10; ++i) connection.session.End();
  connection.Run();
  EXPECT_THAT(connection.client.goaways, ElementsAre(NGHTTP2_NO_ERROR, NGHTTP2_NO_ERROR));
}

TEST_F(SessionTest, EmptyDataFramesAreLimited) {
  limits.strikes_max = 100;
  TestConnection connection(limits, Make(true));
  connection.Run();
  // Header fields in HPACK: ":method: POST", ":scheme: http", ":path: /", ":authority: h".
  std::string frames = Frame(1, 4, 1, "\x83\x86\x84\x41\x01h");
  for (int i = 0; i < 200; ++i) frames += Frame(0, 0, 1, "");
  connection.ToServer(frames);
  connection.ToClient();
  EXPECT_TRUE(connection.session.is_over());
  EXPECT_EQ(seen.paths.size(), 1);
  EXPECT_THAT(connection.client.goaways, ElementsAre(NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_ENHANCE_YOUR_CALM));
}

TEST_F(SessionTest, NotificationsFromOtherThreadsWakeTheStrandOnce) {
  TestConnection connection(limits, Make(false));
  std::vector<std::shared_ptr<Echo>> all;
  std::vector<int32_t> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(connection.client.Request("/x", ""));
    connection.Run();
    all.push_back(newest);
  }
  connection.waker->is_on_strand = false;
  for (const auto& each : all) each->Notify();
  EXPECT_EQ(connection.waker->wakes, 1);
  connection.session.RunNotified(connection.now);
  connection.Run();
  for (const int32_t id : ids) EXPECT_EQ(connection.client.streams[id].body, "notified");
}

TEST_F(SessionTest, AStreamMayAskForAPause) {
  TestConnection connection(limits, Make(false));
  connection.client.Request("/x", "hello");
  connection.Run();
  EXPECT_FALSE(connection.session.TakePause());
  newest->Pause();
  EXPECT_TRUE(connection.session.TakePause());
  EXPECT_FALSE(connection.session.TakePause()) << "the pause was taken";
  newest->Cancel();
  connection.Run();
  newest->Pause();
  EXPECT_FALSE(connection.session.TakePause()) << "the stream has ended";
}

TEST_F(SessionTest, AnAnnouncedEndLetsOpenStreamsFinish) {
  TestConnection connection(limits, Make(false));
  const auto id = connection.client.Request("/x", "");
  connection.Run();
  connection.session.AnnounceEnd();
  connection.Run();
  EXPECT_THAT(connection.client.goaways, ElementsAre(NGHTTP2_NO_ERROR, NGHTTP2_NO_ERROR));
  EXPECT_FALSE(connection.session.is_over());
  newest->Notify();
  connection.session.RunNotified(connection.now);
  connection.Run();
  EXPECT_EQ(connection.client.streams[id].body, "notified");
  EXPECT_TRUE(connection.session.is_over());
}

TEST_F(SessionTest, AClosedSessionEndsItsStreamsAndIgnoresNotifications) {
  {
    TestConnection connection(limits, Make(false));
    connection.client.Request("/x", "");
    connection.Run();
  }
  EXPECT_EQ(seen.cancelled, 1);
  newest->Notify();
}

}  // namespace
}  // namespace longshore::http2
