// The C API: the only C boundary. Checks arguments, turns them into C++ values, lets no exception pass, keeps last errors.
#include "toric/comm/arguments.hpp"
#include "toric/comm/fork_guard.hpp"
#include "toric/comm/group.hpp"
#include "toric/toric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

/// What a toricComm_t points to.
struct toricComm {
  static constexpr std::uint64_t alive = 0x746f726963636f6dULL;
  explicit toricComm(std::unique_ptr<toric::Communicator> made) : communicator(std::move(made)) {}
  ~toricComm() { magic.store(0, std::memory_order_relaxed); }

  std::atomic<std::uint64_t> magic{alive};
  std::unique_ptr<toric::Communicator> communicator;
};

namespace {

using toric::Code;
using toric::Collective;
using toric::Communicator;
using toric::Status;

static_assert(sizeof(toric::UniqueIdBytes) == sizeof(toricUniqueId));
static_assert(static_cast<int>(Code::timeout) == toricTimeout && static_cast<int>(toric::RedOp::avg) == toricAvg);
static_assert(toric::data_type_count == toricNumTypes && static_cast<int>(toric::DataType::float8e5m2) == toricFloat8e5m2);
static_assert(static_cast<int>(toric::Operators::first_handle) >= toricNumOps);

std::string& thread_error() {
  static thread_local std::string text;
  return text;
}

toricResult_t keep(const Status& status) noexcept {
  try {
    thread_error() = status.text();
  } catch (...) {  // without its text the code still tells
  }
  return static_cast<toricResult_t>(status.code());
}

/// Runs `body`, which gives a Status; the thread's last error is kept.
template <typename Body>
toricResult_t guarded(const char* function, Body&& body) noexcept {
  try {
    const Status status = body();
    if (status.ok()) [[likely]]
      return toricSuccess;
    return keep(status);
  } catch (const std::bad_alloc&) {
    return keep({Code::system_error, std::string(function) + ": no memory left"});
  } catch (const std::exception& error) {
    return keep({Code::internal_error, std::string(function) + ": " + error.what()});
  } catch (...) {
    return keep({Code::internal_error, std::string(function) + ": an unknown exception"});
  }
}

Status check_comm(const char* function, const toricComm* comm) {
  if (comm != nullptr && comm->magic.load(std::memory_order_relaxed) == toricComm::alive) [[likely]]
    return {};
  return {Code::invalid_argument,
          fmt::format("{}: comm is {}", function,
                      comm == nullptr ? "NULL" : "not a communicator: destroyed or aborted already, or never made")};
}

template <typename Pointer>
Status check_pointer(const char* function, const char* argument, Pointer pointer) {
  if (pointer != nullptr) return {};
  return {Code::invalid_argument, fmt::format("{}: {} is NULL", function, argument)};
}

/// The number of a C enum, which may be none of its values: C++ must not even look at such a one.
template <typename Enum>
int number_of(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(int));
  int number;
  std::memcpy(&number, &value, sizeof(number));
  return number;
}

// --- starting -------------------------------------------------------------------------------------------------------

/// The fields the caller knows; those behind `size` keep their defaults.
Status take_config(const char* function, const toricConfig_t* given, Communicator::Options& options) {
  if (given == nullptr) return {};
  if (given->magic != TORIC_CONFIG_MAGIC || given->size < offsetof(toricConfig_t, algorithm))
    return {Code::invalid_argument, fmt::format("{}: config was not made from TORIC_CONFIG_INITIALIZER", function)};
  toricConfig_t config = TORIC_CONFIG_INITIALIZER;
  std::memcpy(&config, given, std::min(given->size, sizeof(config)));
  if (config.blocking != 1)
    return {Code::invalid_argument,
            fmt::format("{}: config->blocking is {}: only blocking communicators (1) are there yet", function, config.blocking)};
  if (config.algorithm != nullptr) options.algorithm = config.algorithm;
  if (config.commName != nullptr) options.name = config.commName;
  options.timeout_seconds = config.timeoutSeconds;
  return {};
}

Status check_rank(const char* function, int nranks, int rank) {
  if (nranks < 1) return {Code::invalid_argument, fmt::format("{}: nranks is {}: it takes at least 1", function, nranks)};
  if (rank < 0 || rank >= nranks)
    return {Code::invalid_argument, fmt::format("{}: rank {} is not one of 0 to {}", function, rank, nranks - 1)};
  return {};
}

toricResult_t init_rank(const char* function, toricComm_t* comm, int nranks, const toricUniqueId& id, int rank,
                        const toricConfig_t* config) {
  return guarded(function, [&]() -> Status {
    TORIC_TRY(check_pointer(function, "comm", comm));
    *comm = nullptr;
    TORIC_TRY(check_rank(function, nranks, rank));
    toric::PendingStart start;
    TORIC_TRY(take_config(function, config, start.options));
    std::memcpy(start.id.data(), id.internal, sizeof(id.internal));
    start.ranks = nranks;
    start.rank = rank;
    start.deliver = [comm](std::unique_ptr<Communicator> made) { *comm = new toricComm(std::move(made)); };
    if (toric::in_group()) {
      toric::group_add_start(std::move(start));
      return {};
    }
    auto made = toric::start_rank(start.id, nranks, rank, start.options);
    if (!made.ok()) return made.status();
    start.deliver(*std::move(made));
    return {};
  });
}

// --- collectives ----------------------------------------------------------------------------------------------------

Status refuse(Communicator& communicator, const Status& status) {
  communicator.note(status);
  if (toric::in_group()) toric::group_note(status);
  return status;
}

toricResult_t collective(const toric::RawCall& raw, toricComm_t comm) {
  return guarded(raw.function, [&]() -> Status {
    if (const Status valid = check_comm(raw.function, comm); !valid.ok()) {
      if (toric::in_group()) toric::group_note(valid);
      return valid;
    }
    Communicator& communicator = *comm->communicator;
    toric::CollectiveCall call;
    if (const Status valid = toric::check_call(raw, communicator, call); !valid.ok()) return refuse(communicator, valid);
    if (!toric::in_group()) [[likely]]
      return communicator.run(call);
    toric::group_add(communicator, call);
    return {};
  });
}

/// Takes the communicator for good, unless it stems from before a fork: the parent's is left alone, the child forgets it.
Status end(const char* function, toricComm_t comm, bool abort) {
  TORIC_TRY(check_comm(function, comm));
  Communicator& communicator = *comm->communicator;
  if (communicator.is_from_before_fork()) {
    comm->magic.store(0);
    return {};
  }
  if (toric::in_group())
    return refuse(communicator, {Code::invalid_usage, fmt::format("{}: not between toricGroupStart and toricGroupEnd", function)});
  TORIC_TRY(abort ? communicator.abort() : communicator.claim());
  delete comm;
  return {};
}

}  // namespace

extern "C" {

toricResult_t toricGetVersion(int* version) {
  return guarded("toricGetVersion", [&]() -> Status {
    TORIC_TRY(check_pointer("toricGetVersion", "version", version));
    *version = TORIC_VERSION_CODE;
    return {};
  });
}

const char* toricGetErrorString(toricResult_t result) {
  switch (number_of(result)) {
    case toricSuccess:
      return "no error";
    case toricUnhandledDeviceError:
      return "unhandled device error";
    case toricSystemError:
      return "system error (toricGetLastError tells which)";
    case toricInternalError:
      return "internal error of Toric";
    case toricInvalidArgument:
      return "invalid argument";
    case toricInvalidUsage:
      return "invalid usage";
    case toricRemoteError:
      return "another rank failed or left";
    case toricInProgress:
      return "in progress";
    case toricTimeout:
      return "timeout";
    default:
      return "unknown result code";
  }
}

const char* toricGetLastError(toricComm_t comm) {
  if (comm == nullptr || comm->magic.load(std::memory_order_relaxed) != toricComm::alive) return thread_error().c_str();
  try {
    static thread_local std::string text;
    text = comm->communicator->last_error();
    return text.c_str();
  } catch (...) {
    return "";
  }
}

toricResult_t toricGetUniqueId(toricUniqueId* uniqueId) {
  return guarded("toricGetUniqueId", [&]() -> Status {
    TORIC_TRY(check_pointer("toricGetUniqueId", "uniqueId", uniqueId));
    const auto id = toric::start_unique_id();
    if (!id.ok()) return id.status();
    std::memcpy(uniqueId->internal, (*id).data(), sizeof(uniqueId->internal));
    return {};
  });
}

toricResult_t toricCommInitRank(toricComm_t* comm, int nranks, toricUniqueId uniqueId, int rank) {
  return init_rank("toricCommInitRank", comm, nranks, uniqueId, rank, nullptr);
}

toricResult_t toricCommInitRankConfig(toricComm_t* comm, int nranks, toricUniqueId uniqueId, int rank, toricConfig_t* config) {
  return init_rank("toricCommInitRankConfig", comm, nranks, uniqueId, rank, config);
}

toricResult_t toricCommInitAll(toricComm_t* comms, int ndev, const int* devlist) {
  constexpr const char* function = "toricCommInitAll";
  return guarded(function, [&]() -> Status {
    TORIC_TRY(check_pointer(function, "comms", comms));
    TORIC_TRY(check_rank(function, ndev, 0));
    if (devlist != nullptr)
      return {Code::invalid_argument, "toricCommInitAll: devlist is for device memory, which is not there yet: pass NULL"};
    std::fill(comms, comms + ndev, nullptr);
    auto made = toric::start_all(ndev, {});
    if (!made.ok()) return made.status();
    for (int i = 0; i < ndev; ++i) comms[i] = new toricComm(std::move((*made)[static_cast<std::size_t>(i)]));
    return {};
  });
}

toricResult_t toricCommInitEnvironment(toricComm_t* comm, toricConfig_t* config) {
  constexpr const char* function = "toricCommInitEnvironment";
  return guarded(function, [&]() -> Status {
    TORIC_TRY(check_pointer(function, "comm", comm));
    *comm = nullptr;
    Communicator::Options options;
    TORIC_TRY(take_config(function, config, options));
    auto made = toric::start_from_environment(options);
    if (!made.ok()) return made.status();
    *comm = new toricComm(*std::move(made));
    return {};
  });
}

toricResult_t toricCommFinalize(toricComm_t comm) {
  return guarded("toricCommFinalize", [&]() -> Status {
    TORIC_TRY(check_comm("toricCommFinalize", comm));
    return comm->communicator->finalize();
  });
}

toricResult_t toricCommDestroy(toricComm_t comm) {
  if (comm == nullptr) return toricSuccess;
  return guarded("toricCommDestroy", [&] { return end("toricCommDestroy", comm, false); });
}

toricResult_t toricCommAbort(toricComm_t comm) {
  return guarded("toricCommAbort", [&] { return end("toricCommAbort", comm, true); });
}

toricResult_t toricCommGetAsyncError(toricComm_t comm, toricResult_t* asyncError) {
  constexpr const char* function = "toricCommGetAsyncError";
  return guarded(function, [&]() -> Status {
    TORIC_TRY(check_comm(function, comm));
    TORIC_TRY(check_pointer(function, "asyncError", asyncError));
    const bool usable = !comm->communicator->is_from_before_fork();
    *asyncError = usable ? static_cast<toricResult_t>(comm->communicator->async_error().code()) : toricInvalidUsage;
    return {};
  });
}

toricResult_t toricCommCount(const toricComm_t comm, int* count) {
  return guarded("toricCommCount", [&]() -> Status {
    TORIC_TRY(check_comm("toricCommCount", comm));
    TORIC_TRY(check_pointer("toricCommCount", "count", count));
    *count = comm->communicator->ranks();
    return {};
  });
}

toricResult_t toricCommUserRank(const toricComm_t comm, int* rank) {
  return guarded("toricCommUserRank", [&]() -> Status {
    TORIC_TRY(check_comm("toricCommUserRank", comm));
    TORIC_TRY(check_pointer("toricCommUserRank", "rank", rank));
    *rank = comm->communicator->rank();
    return {};
  });
}

toricResult_t toricRedOpCreatePreMulSum(toricRedOp_t* op, void* scalar, toricDataType_t datatype, toricScalarResidence_t residence,
                                        toricComm_t comm) {
  constexpr const char* function = "toricRedOpCreatePreMulSum";
  return guarded(function, [&]() -> Status {
    TORIC_TRY(check_comm(function, comm));
    TORIC_TRY(check_pointer(function, "op", op));
    TORIC_TRY(check_pointer(function, "scalar", scalar));
    toric::Operators::PreMulSum made;
    TORIC_TRY(toric::check_type(function, number_of(datatype), made.type));
    const int when = number_of(residence);
    if (when != toricScalarDevice && when != toricScalarHostImmediate)
      return {Code::invalid_argument,
              fmt::format("{}: residence {} is none: pass toricScalarDevice or toricScalarHostImmediate", function, when)};
    if (when == toricScalarHostImmediate)
      std::memcpy(made.factor.bytes, scalar, toric::size_of(made.type));
    else
      made.late_factor = scalar;
    const auto handle = comm->communicator->operators().add(made);
    if (!handle.ok()) return handle.status();
    *op = static_cast<toricRedOp_t>(*handle);
    return {};
  });
}

toricResult_t toricRedOpDestroy(toricRedOp_t op, toricComm_t comm) {
  return guarded("toricRedOpDestroy", [&]() -> Status {
    TORIC_TRY(check_comm("toricRedOpDestroy", comm));
    return comm->communicator->operators().remove(number_of(op));
  });
}

toricResult_t toricAllReduce(const void* sendbuff, void* recvbuff, size_t count, toricDataType_t datatype, toricRedOp_t op,
                             toricComm_t comm, toricStream_t stream) {
  return collective({__func__, Collective::all_reduce, sendbuff, recvbuff, count, number_of(datatype), number_of(op), -1, stream}, comm);
}

toricResult_t toricAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, toricDataType_t datatype, toricComm_t comm,
                             toricStream_t stream) {
  return collective({__func__, Collective::all_gather, sendbuff, recvbuff, sendcount, number_of(datatype), 0, -1, stream}, comm);
}

toricResult_t toricReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount, toricDataType_t datatype, toricRedOp_t op,
                                 toricComm_t comm, toricStream_t stream) {
  return collective({__func__, Collective::reduce_scatter, sendbuff, recvbuff, recvcount, number_of(datatype), number_of(op), -1, stream},
                    comm);
}

toricResult_t toricBroadcast(const void* sendbuff, void* recvbuff, size_t count, toricDataType_t datatype, int root, toricComm_t comm,
                             toricStream_t stream) {
  return collective({__func__, Collective::broadcast, sendbuff, recvbuff, count, number_of(datatype), 0, root, stream}, comm);
}

toricResult_t toricBcast(void* buff, size_t count, toricDataType_t datatype, int root, toricComm_t comm, toricStream_t stream) {
  return collective({__func__, Collective::broadcast, buff, buff, count, number_of(datatype), 0, root, stream}, comm);
}

toricResult_t toricBarrier(toricComm_t comm, toricStream_t stream) {
  return collective({__func__, Collective::barrier, nullptr, nullptr, 0, 0, 0, -1, stream}, comm);
}

toricResult_t toricGroupStart(void) {
  toric::group_start();
  return toricSuccess;
}

toricResult_t toricGroupEnd(void) {
  return guarded("toricGroupEnd", [] { return toric::group_end(); });
}

}  // extern "C"
