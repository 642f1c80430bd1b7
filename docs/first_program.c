#include <stdio.h>
#include <stdlib.h>
#include <toric/toric.h>

static void check(toricResult_t result) {
  if (result == toricSuccess) return;
  fprintf(stderr, "%s: %s\n", toricGetErrorString(result), toricGetLastError(NULL));
  exit(1);
}

int main(void) {
  toricComm_t comm;
  int rank, ranks;
  check(toricCommInitEnvironment(&comm, NULL));
  check(toricCommUserRank(comm, &rank));
  check(toricCommCount(comm, &ranks));

  float gradient[1000];
  for (int i = 0; i < 1000; ++i) gradient[i] = (float)(rank + 1);
  check(toricAllReduce(gradient, gradient, 1000, toricFloat, toricSum, comm, NULL));

  printf("rank %d of %d: the sum is %g\n", rank, ranks, gradient[999]);
  check(toricCommDestroy(comm));
  return 0;
}
