// What goes wrong, and what the texts say: arguments, calls that do not match, forgotten groups.
#include "plain_c.h"
#include "world.hpp"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <chrono>
#include <limits>

namespace toric::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

using Seconds = std::chrono::duration<double>;
double now() { return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// --- arguments ------------------------------------------------------------------------------------------------------

class Arguments : public ::testing::Test {
 protected:
  World world_{1};
  toricComm_t comm_ = world_.comm(0);
  std::array<float, 64> in_{}, out_{};

  static void refused(toricResult_t result, const std::string& part, toricResult_t code = toricInvalidArgument) {
    EXPECT_EQ(result, code) << part;
    EXPECT_THAT(toricGetLastError(nullptr), HasSubstr(part));
  }
};

TEST_F(Arguments, NullBuffersAreRefusedUnlessTheCountIsZero) {
  refused(toricAllReduce(nullptr, out_.data(), 1, toricFloat, toricSum, comm_, nullptr), "toricAllReduce: sendbuff is NULL");
  refused(toricAllReduce(in_.data(), nullptr, 1, toricFloat, toricSum, comm_, nullptr), "recvbuff is NULL");
  refused(toricAllGather(nullptr, out_.data(), 1, toricFloat, comm_, nullptr), "toricAllGather: sendbuff is NULL");
  refused(toricReduceScatter(in_.data(), nullptr, 1, toricFloat, toricSum, comm_, nullptr), "toricReduceScatter: recvbuff is NULL");
  refused(toricBroadcast(nullptr, out_.data(), 1, toricFloat, 0, comm_, nullptr), "toricBroadcast: sendbuff is NULL");
  refused(toricBcast(nullptr, 1, toricFloat, 0, comm_, nullptr), "NULL");
  EXPECT_TRUE(ok(toricAllReduce(nullptr, nullptr, 0, toricFloat, toricSum, comm_, nullptr)));
  EXPECT_TRUE(ok(toricAllGather(nullptr, nullptr, 0, toricFloat, comm_, nullptr)));
  EXPECT_TRUE(ok(toricReduceScatter(nullptr, nullptr, 0, toricFloat, toricSum, comm_, nullptr)));
  EXPECT_TRUE(ok(toricBroadcast(nullptr, nullptr, 0, toricFloat, 0, comm_, nullptr)));
}

TEST_F(Arguments, EnumsOutOfRangeAreRefused) {
  for (const int type : {-1, static_cast<int>(toricNumTypes), 1000}) {
    refused(all_reduce_with(in_.data(), out_.data(), 1, type, toricSum, comm_), "datatype");
    refused(all_gather_with(in_.data(), out_.data(), 1, type, comm_), "datatype");
  }
  for (const int op : {-1, static_cast<int>(toricNumOps), 12345, static_cast<int>(toricMaxRedOp)})
    refused(all_reduce_with(in_.data(), out_.data(), 1, toricFloat, op, comm_), "op");
  for (const int root : {-1, 1, 1000}) refused(toricBcast(out_.data(), 1, toricFloat, root, comm_, nullptr), "root");
}

TEST_F(Arguments, CountsBeyondMemoryAreRefused) {
  for (const std::size_t count : {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() / 4,
                                  static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / 4 + 1}) {
    refused(toricAllReduce(in_.data(), out_.data(), count, toricFloat, toricSum, comm_, nullptr), "count");
    refused(toricAllGather(in_.data(), out_.data(), count, toricFloat, comm_, nullptr), "count");
    refused(toricReduceScatter(in_.data(), out_.data(), count, toricFloat, toricSum, comm_, nullptr), "count");
    refused(toricBcast(out_.data(), count, toricFloat, 0, comm_, nullptr), "count");
  }
}

TEST_F(Arguments, StreamsAreRefused) {
  refused(toricBarrier(comm_, reinterpret_cast<toricStream_t>(&out_)), "toricBarrier: stream is not NULL");
}

TEST_F(Arguments, PartlyOverlappingBuffersAreRefused) {
  refused(toricAllReduce(in_.data(), in_.data() + 1, 2, toricFloat, toricSum, comm_, nullptr), "overlap");
  refused(toricBroadcast(in_.data(), in_.data() + 1, 2, toricFloat, 0, comm_, nullptr), "overlap");
  EXPECT_TRUE(ok(toricAllReduce(in_.data(), in_.data() + 2, 2, toricFloat, toricSum, comm_, nullptr)));
  World two(2);
  two.on_each([](int rank, toricComm_t comm) {
    std::array<float, 16> data{};
    EXPECT_EQ(toricAllGather(data.data() + (1 - rank) * 4, data.data(), 4, toricFloat, comm, nullptr), toricInvalidArgument);
    EXPECT_THAT(toricGetLastError(comm), HasSubstr("sendbuff = recvbuff + rank*sendcount"));
    EXPECT_EQ(toricReduceScatter(data.data(), data.data() + (1 - rank) * 4, 4, toricFloat, toricSum, comm, nullptr), toricInvalidArgument);
    EXPECT_THAT(toricGetLastError(comm), HasSubstr("recvbuff = sendbuff + rank*recvcount"));
    EXPECT_TRUE(ok(toricBarrier(comm, nullptr)));  // refused arguments leave the communicator as it was
  });
}

TEST_F(Arguments, OtherThingsThanCommunicatorsAreRefused) {
  alignas(64) std::array<char, 4096> garbage{};
  const auto none = reinterpret_cast<toricComm_t>(garbage.data());
  int number = 0;
  toricResult_t state = toricSuccess;
  for (toricComm_t comm : {static_cast<toricComm_t>(nullptr), none}) {
    refused(toricBarrier(comm, nullptr), "toricBarrier: comm is");
    refused(toricCommCount(comm, &number), "toricCommCount: comm is");
    refused(toricCommUserRank(comm, &number), "toricCommUserRank: comm is");
    refused(toricCommGetAsyncError(comm, &state), "toricCommGetAsyncError: comm is");
    refused(toricCommFinalize(comm), "toricCommFinalize: comm is");
    refused(toricCommAbort(comm), "toricCommAbort: comm is");
  }
  refused(toricCommDestroy(none), "toricCommDestroy: comm is");
  EXPECT_TRUE(ok(toricCommDestroy(nullptr)));
  refused(toricCommCount(comm_, nullptr), "count is NULL");
  refused(toricCommUserRank(comm_, nullptr), "rank is NULL");
  refused(toricCommGetAsyncError(comm_, nullptr), "asyncError is NULL");
}

TEST_F(Arguments, OfStartsAreChecked) {
  toricComm_t comm = nullptr;
  toricUniqueId id{};
  refused(toricGetVersion(nullptr), "version");
  refused(toricGetUniqueId(nullptr), "uniqueId");
  refused(toricCommInitRank(nullptr, 1, id, 0), "comm is NULL");
  refused(toricCommInitRank(&comm, 0, id, 0), "nranks");
  refused(toricCommInitRank(&comm, 2, id, 2), "rank 2");
  refused(toricCommInitRank(&comm, 2, id, -1), "rank -1");
  EXPECT_NE(toricCommInitRank(&comm, 1, id, 0), toricSuccess);  // an id that nobody made
  EXPECT_NE(std::string(toricGetLastError(nullptr)), "");
  EXPECT_EQ(comm, nullptr);
  refused(toricCommInitAll(nullptr, 1, nullptr), "comms is NULL");
  refused(toricCommInitAll(&comm, 0, nullptr), "nranks");
  const int device = 0;
  refused(toricCommInitAll(&comm, 1, &device), "devlist");
  toricConfig_t config = TORIC_CONFIG_INITIALIZER;
  config.magic = 1;
  refused(toricCommInitRankConfig(&comm, 1, id, 0, &config), "TORIC_CONFIG_INITIALIZER");
  config = TORIC_CONFIG_INITIALIZER;
  config.blocking = 0;
  refused(toricCommInitRankConfig(&comm, 1, id, 0, &config), "blocking");
}

TEST_F(Arguments, OfOperatorsAreChecked) {
  toricRedOp_t op;
  double two = 2;
  refused(toricRedOpCreatePreMulSum(nullptr, &two, toricDouble, toricScalarHostImmediate, comm_), "op is NULL");
  refused(toricRedOpCreatePreMulSum(&op, nullptr, toricDouble, toricScalarHostImmediate, comm_), "scalar is NULL");
  refused(create_with(&op, &two, toricNumTypes, toricScalarHostImmediate, comm_), "datatype");
  refused(create_with(&op, &two, toricDouble, 2, comm_), "residence");
  ASSERT_TRUE(ok(toricRedOpCreatePreMulSum(&op, &two, toricDouble, toricScalarHostImmediate, comm_)));
  refused(toricAllReduce(in_.data(), out_.data(), 1, toricFloat, op, comm_, nullptr), "was made for double");
  refused(toricRedOpDestroy(toricSum, comm_), "is none of this communicator's");
  EXPECT_TRUE(ok(toricRedOpDestroy(op, comm_)));
  refused(toricRedOpDestroy(op, comm_), "is none of this communicator's");
}

TEST_F(Arguments, GroupsMustBeBalancedAndReturnTheFirstError) {
  refused(toricGroupEnd(), "toricGroupEnd without toricGroupStart", toricInvalidUsage);
  ASSERT_TRUE(ok(toricGroupStart()));
  refused(toricAllReduce(in_.data(), nullptr, 1, toricFloat, toricSum, comm_, nullptr), "recvbuff is NULL");
  refused(toricCommDestroy(comm_), "not between", toricInvalidUsage);
  refused(toricGroupEnd(), "recvbuff is NULL");
  EXPECT_TRUE(ok(toricBarrier(comm_, nullptr)));
}

TEST(Library, TellsVersionAndCodes) {
  int version = 0;
  EXPECT_TRUE(ok(toricGetVersion(&version)));
  EXPECT_EQ(version, TORIC_VERSION_CODE);
  for (int code = -1; code <= toricNumResults; ++code) EXPECT_NE(error_string_of(code), nullptr);
  std::thread([] { EXPECT_STREQ(toricGetLastError(nullptr), ""); }).join();  // a thread's own: no error there yet
}

// --- calls that do not match ----------------------------------------------------------------------------------------

using RankCall = std::function<toricResult_t(int rank, toricComm_t comm, float* in, float* out)>;

/// Everybody makes `call`; all ranks must end with an error, in `within` seconds, whose text holds `parts`.
void all_fail(int ranks, const RankCall& call, const std::vector<std::string>& parts, double within = 5) {
  World world(ranks);
  const double begin = now();
  std::vector<std::string> texts(static_cast<std::size_t>(ranks));
  world.on_each([&](int rank, toricComm_t comm) {
    std::vector<float> in(4096), out(4096 * static_cast<std::size_t>(ranks));
    // A rank whose own call ended well before the mistake showed gets the error from one of its next calls.
    toricResult_t result = toricBarrier(comm, nullptr);
    if (result == toricSuccess) result = call(rank, comm, in.data(), out.data());
    while (result == toricSuccess && now() - begin < within) result = toricBarrier(comm, nullptr);
    EXPECT_NE(result, toricSuccess) << "rank " << rank;
    texts[static_cast<std::size_t>(rank)] = toricGetLastError(comm);
    toricResult_t state = toricSuccess;
    EXPECT_TRUE(ok(toricCommGetAsyncError(comm, &state)));
    EXPECT_EQ(state, result);
    EXPECT_EQ(toricAllReduce(in.data(), out.data(), 1, toricFloat, toricSum, comm, nullptr), result);  // it stays
    EXPECT_EQ(toricGetLastError(comm), texts[static_cast<std::size_t>(rank)]);
  });
  EXPECT_LT(now() - begin, within);
  for (const std::string& text : texts) {
    EXPECT_EQ(text, texts.front());  // everybody tells the same
    for (const std::string& part : parts) EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Mismatch, OfCountsNamesBoth) {
  for (const int ranks : {2, 4})
    all_fail(ranks,
             [](int rank, toricComm_t comm, float* in, float* out) {
               return toricAllReduce(in, out, rank == 1 ? 200 : 100, toricFloat, toricSum, comm, nullptr);
             },
             {"all_reduce", "100", "200", "rank 1", "#2"});
}

TEST(Mismatch, OfSmallCountsIsNotATailThatIsWrong) {
  all_fail(2,
           [](int rank, toricComm_t comm, float* in, float* out) {
             return toricAllReduce(in, out, rank == 1 ? 2 : 1, toricFloat, toricSum, comm, nullptr);
           },
           {"count 1", "count 2"});
}

TEST(Mismatch, OfCollectivesNamesBoth) {
  all_fail(3,
           [](int rank, toricComm_t comm, float* in, float* out) {
             return rank == 2 ? toricAllGather(in, out, 64, toricFloat, comm, nullptr)
                              : toricAllReduce(in, out, 64, toricFloat, toricSum, comm, nullptr);
           },
           {"all_reduce", "all_gather", "rank 2"});
}

TEST(Mismatch, OfTypesNamesBoth) {
  all_fail(2,
           [](int rank, toricComm_t comm, float* in, float* out) {
             return toricAllReduce(in, out, 64, rank == 0 ? toricFloat : toricInt32, toricSum, comm, nullptr);
           },
           {"float", "int32"});
}

TEST(Mismatch, OfOperatorsNamesBoth) {
  all_fail(2,
           [](int rank, toricComm_t comm, float* in, float* out) {
             return toricAllReduce(in, out, 64, toricFloat, rank == 0 ? toricSum : toricMax, comm, nullptr);
           },
           {"sum", "max"});
}

TEST(Mismatch, OfRootsNamesBoth) {
  all_fail(4,
           [](int rank, toricComm_t comm, float* in, float* out) {
             return toricBroadcast(in, out, 64, toricFloat, rank == 3 ? 2 : 1, comm, nullptr);
           },
           {"broadcast", "root 1", "root 2"});
}

TEST(Mismatch, OfZeroAgainstSomethingNamesBoth) {
  all_fail(2,
           [](int rank, toricComm_t comm, float* in, float* out) {
             return toricAllReduce(in, out, rank == 0 ? 0 : 64, toricFloat, toricSum, comm, nullptr);
           },
           {"count 0", "count 64"});
}

TEST(Mismatch, OfZeroCountsEverywhereIsNone) {
  World world(3);
  world.on_each([](int, toricComm_t comm) {
    std::vector<float> out(3, 7.0f);
    for (int round = 0; round < 100; ++round) {
      EXPECT_TRUE(ok(toricAllReduce(out.data(), out.data(), 0, toricFloat, toricSum, comm, nullptr)));
      EXPECT_TRUE(ok(toricAllGather(nullptr, out.data(), 0, toricFloat, comm, nullptr)));
    }
    EXPECT_EQ(out, std::vector<float>(3, 7.0f));
    EXPECT_TRUE(ok(toricBarrier(comm, nullptr)));
  });
}

// --- late and absent ranks ------------------------------------------------------------------------------------------

TEST(Late, PeerIsAnErrorAfterTheTimeoutThatNamesIt) {
  toricConfig_t config = TORIC_CONFIG_INITIALIZER;
  config.timeoutSeconds = 0.5;
  config.commName = "gradients";
  World world(3, config);
  const double begin = now();
  world.on_each([&](int rank, toricComm_t comm) {
    float value = 1;
    if (rank == 2) return;
    EXPECT_EQ(toricAllReduce(&value, &value, 1, toricFloat, toricSum, comm, nullptr), toricTimeout);
    EXPECT_THAT(toricGetLastError(comm),
                AllOf(HasSubstr("rank 2"), HasSubstr("all_reduce #1"), HasSubstr("TORIC_TIMEOUT"), HasSubstr("gradients")));
  });
  EXPECT_GT(now() - begin, 0.4);
  EXPECT_LT(now() - begin, 5);
}

TEST(Late, PeerWithinTheTimeoutIsNoError) {
  toricConfig_t config = TORIC_CONFIG_INITIALIZER;
  config.timeoutSeconds = 20;
  World world(2, config);
  world.on_each([](int rank, toricComm_t comm) {
    float value = 1;
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(700));
    EXPECT_TRUE(ok(toricAllReduce(&value, &value, 1, toricFloat, toricSum, comm, nullptr)));
    EXPECT_EQ(value, 2);
  });
}

TEST(Late, RankOfTheSameThreadIsAForgottenGroup) {
  World world(2);
  float value = 1;
  const double begin = now();
  EXPECT_EQ(toricAllReduce(&value, &value, 1, toricFloat, toricSum, world.comm(0), nullptr), toricInvalidUsage);
  EXPECT_THAT(toricGetLastError(nullptr), AllOf(HasSubstr("rank 1"), HasSubstr("toricGroupStart")));
#if defined(__SANITIZE_THREAD__)
  EXPECT_LT(now() - begin, 15);  // the sanitizer's own thread might drive rank 1, for all that can be seen
#else
  EXPECT_LT(now() - begin, 2);  // this program has no other thread that could drive rank 1
#endif
}

TEST(Late, RankThatWasDestroyedIsNamed) {
  World world(2);
  EXPECT_TRUE(ok(toricCommDestroy(world.comm(1))));
  world.comm(1) = nullptr;
  float value = 1;
  std::thread([&] {
    const double begin = now();
    EXPECT_NE(toricAllReduce(&value, &value, 1, toricFloat, toricSum, world.comm(0), nullptr), toricSuccess);
    EXPECT_THAT(toricGetLastError(world.comm(0)), AllOf(HasSubstr("rank 1"), HasSubstr("has left")));
    EXPECT_LT(now() - begin, 5);
  }).join();
}

TEST(Wishes, ThatAreImpossibleFailEverywhereWithWhatFits) {
  toricUniqueId id;
  ASSERT_TRUE(ok(toricGetUniqueId(&id)));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      toricConfig_t config = TORIC_CONFIG_INITIALIZER;
      if (rank == 0) config.algorithm = "barrier=ring";
      toricComm_t comm = nullptr;
      EXPECT_EQ(toricCommInitRankConfig(&comm, 2, id, rank, &config), toricInvalidArgument);
      EXPECT_THAT(toricGetLastError(nullptr), HasSubstr("dissemination"));
      EXPECT_EQ(comm, nullptr);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace toric::testing
