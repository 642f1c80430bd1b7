#include "plain_c.h"

toricResult_t all_reduce_with(const void* send, void* receive, size_t count, int type, int op, toricComm_t comm) {
  return toricAllReduce(send, receive, count, (toricDataType_t)type, (toricRedOp_t)op, comm, NULL);
}

toricResult_t all_gather_with(const void* send, void* receive, size_t count, int type, toricComm_t comm) {
  return toricAllGather(send, receive, count, (toricDataType_t)type, comm, NULL);
}

toricResult_t create_with(toricRedOp_t* op, void* scalar, int type, int residence, toricComm_t comm) {
  return toricRedOpCreatePreMulSum(op, scalar, (toricDataType_t)type, (toricScalarResidence_t)residence, comm);
}

const char* error_string_of(int code) { return toricGetErrorString((toricResult_t)code); }
