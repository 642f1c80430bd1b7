/* The C API of Toric. Argument order, enum values and in-place rules are NCCL's, under the prefix toric.
 *
 * Threads: calls on different communicators may run at the same time from any threads. On one communicator, one thread
 * makes collective calls; toricCommGetAsyncError, toricCommAbort, toricGetLastError, toricCommCount and
 * toricCommUserRank may be called from any thread at any time.
 * Streams: a communicator over host memory takes NULL; the call returns when the result is there.
 * A thread that owns several ranks of one communicator must put their calls between toricGroupStart and toricGroupEnd.
 * Buffers are the caller's, must stay valid until the call has returned (inside a group: until toricGroupEnd has), and
 * may have any alignment. The send buffer is never written, unless it is also the receive buffer (in place).
 * Every wait has a deadline: see TORIC_TIMEOUT in `toric env`. */
#ifndef TORIC_TORIC_H_
#define TORIC_TORIC_H_

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define TORIC_MAJOR 0
#define TORIC_MINOR 1
#define TORIC_PATCH 0
#define TORIC_VERSION_CODE (TORIC_MAJOR * 10000 + TORIC_MINOR * 100 + TORIC_PATCH)

#if defined(__GNUC__)
#define TORIC_EXPORT __attribute__((visibility("default")))
#else
#define TORIC_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct toricComm* toricComm_t;
typedef struct toricStream* toricStream_t;

#define TORIC_UNIQUE_ID_BYTES 128
typedef struct {
  char internal[TORIC_UNIQUE_ID_BYTES];
} toricUniqueId;

typedef enum {
  toricSuccess = 0,
  toricUnhandledDeviceError = 1,
  toricSystemError = 2,
  toricInternalError = 3,
  toricInvalidArgument = 4,
  toricInvalidUsage = 5,
  toricRemoteError = 6, /* another rank failed or left: the text names it */
  toricInProgress = 7,
  toricTimeout = 8,
  toricNumResults = 9
} toricResult_t;

typedef enum {
  toricInt8 = 0,
  toricChar = 0,
  toricUint8 = 1,
  toricInt32 = 2,
  toricInt = 2,
  toricUint32 = 3,
  toricInt64 = 4,
  toricUint64 = 5,
  toricFloat16 = 6,
  toricHalf = 6,
  toricFloat32 = 7,
  toricFloat = 7,
  toricFloat64 = 8,
  toricDouble = 8,
  toricBfloat16 = 9,
  toricFloat8e4m3 = 10,
  toricFloat8e5m2 = 11,
  toricNumTypes = 12
} toricDataType_t;

typedef enum {
  toricSum = 0,
  toricProd = 1,
  toricMax = 2,
  toricMin = 3,
  toricAvg = 4,
  toricNumOps = 5,
  toricMaxRedOp = 0x7fffffff /* operators made by toricRedOpCreatePreMulSum lie between */
} toricRedOp_t;

typedef enum {
  toricScalarDevice = 0,       /* the scalar is read when the collective runs */
  toricScalarHostImmediate = 1 /* the scalar is read now */
} toricScalarResidence_t;

/* What a communicator may be told when it is made. Fields are only ever appended; `size` and `version` say which the
 * caller knows. Start from TORIC_CONFIG_INITIALIZER. */
typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;          /* 1 (default); 0 arrives with non-blocking communicators */
  const char* algorithm; /* wish, as TORIC_ALGO takes it; NULL: the library chooses. Rank 0's counts */
  double timeoutSeconds; /* a late peer is an error after that long; 0: never; negative: TORIC_TIMEOUT or its default */
  const char* commName;  /* appears in errors and logs; NULL: none */
} toricConfig_t;
#define TORIC_CONFIG_MAGIC 0x70121c0du
#define TORIC_CONFIG_INITIALIZER \
  { sizeof(toricConfig_t), TORIC_CONFIG_MAGIC, TORIC_VERSION_CODE, 1, NULL, -1.0, NULL }

/* --- library --- */

/* The version of the library, as TORIC_VERSION_CODE. */
TORIC_EXPORT toricResult_t toricGetVersion(int* version);
/* A fixed text for a code, never NULL. */
TORIC_EXPORT const char* toricGetErrorString(toricResult_t result);
/* The text of the last error on `comm`, or with NULL of the last error of this thread; "" if none, never NULL.
 * Owned by the library, valid until the next failing call on this thread (or communicator). */
TORIC_EXPORT const char* toricGetLastError(toricComm_t comm);

/* --- communicators --- */

/* Makes an id that ranks on any host can meet under; the calling process answers for it until all have met.
 * Any process may make it, not only the one of rank 0. Send it to the others by your own means. */
TORIC_EXPORT toricResult_t toricGetUniqueId(toricUniqueId* uniqueId);
/* Blocks until all `nranks` ranks have called, or TORIC_INIT_TIMEOUT passes: the error lists the missing ranks. */
TORIC_EXPORT toricResult_t toricCommInitRank(toricComm_t* comm, int nranks, toricUniqueId uniqueId, int rank);
TORIC_EXPORT toricResult_t toricCommInitRankConfig(toricComm_t* comm, int nranks, toricUniqueId uniqueId, int rank, toricConfig_t* config);
/* `ndev` ranks in this process, one a caller's thread or all by one thread in groups. devlist is for device memory: NULL. */
TORIC_EXPORT toricResult_t toricCommInitAll(toricComm_t* comms, int ndev, const int* devlist);
/* From RANK, WORLD_SIZE, MASTER_ADDR and TORIC_PORT (or MASTER_PORT), as torchrun sets them. Rank 0's process listens. */
TORIC_EXPORT toricResult_t toricCommInitEnvironment(toricComm_t* comm, toricConfig_t* config);
/* Completes what is under way; the communicator then only takes toricCommDestroy. */
TORIC_EXPORT toricResult_t toricCommFinalize(toricComm_t comm);
/* Frees the communicator after a bounded flush. Local: needs no peer. NULL is fine. */
TORIC_EXPORT toricResult_t toricCommDestroy(toricComm_t comm);
/* Ends everything under way here at once and tells the peers, whose calls fail naming this rank. Frees the communicator.
 * From any thread; bounded, whatever state the peers are in. */
TORIC_EXPORT toricResult_t toricCommAbort(toricComm_t comm);
/* Success, or the sticky error of the communicator. Never blocks. */
TORIC_EXPORT toricResult_t toricCommGetAsyncError(toricComm_t comm, toricResult_t* asyncError);
TORIC_EXPORT toricResult_t toricCommCount(const toricComm_t comm, int* count);
TORIC_EXPORT toricResult_t toricCommUserRank(const toricComm_t comm, int* rank);

/* --- reduction operators --- */

/* An operator that multiplies this rank's input by *scalar (of `datatype`) and sums. Each rank may have its own scalar. */
TORIC_EXPORT toricResult_t toricRedOpCreatePreMulSum(toricRedOp_t* op, void* scalar, toricDataType_t datatype,
                                                     toricScalarResidence_t residence, toricComm_t comm);
TORIC_EXPORT toricResult_t toricRedOpDestroy(toricRedOp_t op, toricComm_t comm);

/* --- collectives: counts are elements; every rank gives the same count, type, operator and root --- */

/* recvbuff[i] = sum (or op) over ranks of sendbuff[i]. In place: sendbuff == recvbuff. */
TORIC_EXPORT toricResult_t toricAllReduce(const void* sendbuff, void* recvbuff, size_t count, toricDataType_t datatype, toricRedOp_t op,
                                          toricComm_t comm, toricStream_t stream);
/* Rank r's sendcount elements appear at recvbuff + r*sendcount everywhere. In place: sendbuff == recvbuff + rank*sendcount. */
TORIC_EXPORT toricResult_t toricAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, toricDataType_t datatype,
                                          toricComm_t comm, toricStream_t stream);
/* recvbuff on rank r = block r (recvcount elements) of the reduced nranks*recvcount elements. In place: recvbuff == sendbuff +
 * rank*recvcount. */
TORIC_EXPORT toricResult_t toricReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount, toricDataType_t datatype,
                                              toricRedOp_t op, toricComm_t comm, toricStream_t stream);
/* recvbuff everywhere = sendbuff of root; sendbuff is read on root only. */
TORIC_EXPORT toricResult_t toricBroadcast(const void* sendbuff, void* recvbuff, size_t count, toricDataType_t datatype, int root,
                                          toricComm_t comm, toricStream_t stream);
/* The in-place form: buff is source on root, destination elsewhere. */
TORIC_EXPORT toricResult_t toricBcast(void* buff, size_t count, toricDataType_t datatype, int root, toricComm_t comm, toricStream_t stream);
/* Returns on no rank before it was called on every rank. */
TORIC_EXPORT toricResult_t toricBarrier(toricComm_t comm, toricStream_t stream);

/* --- groups: calls between start and end are issued together; several ranks of one thread need this --- */

TORIC_EXPORT toricResult_t toricGroupStart(void);
/* Runs them and, on host communicators, returns when all are done. The first error wins. */
TORIC_EXPORT toricResult_t toricGroupEnd(void);

#ifdef __cplusplus
}
#endif

#endif
