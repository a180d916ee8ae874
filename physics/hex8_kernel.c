/* The three widths of the hex8 kernels; each is compiled for the processors that have such vectors, whatever the rest is compiled for. */
#include "hex8_kernel.h"
#include <string.h>

#define HEX8_A 0.78867513459481288225 /* (1 + 1/sqrt(3))/2 */
#define HEX8_B 0.21132486540518711775

/* Corner i + 2j + 4k of the tensor product in Exodus order, and back */
static const unsigned char Hex8Corner[8] = {0, 1, 3, 2, 4, 5, 7, 6};

#define HEX8_VL      2
#define HEX8_TARGET
#define HEX8_NAME(x) Hex8##x##2_Private
#include "hex8_kernel.h"

#if defined(__x86_64__)
  #define HEX8_VL      4
  #define HEX8_TARGET  __attribute__((target("avx2,fma")))
  #define HEX8_NAME(x) Hex8##x##4_Private
  #include "hex8_kernel.h"

  #define HEX8_VL      8
  #define HEX8_TARGET  __attribute__((target("avx512f,fma")))
  #define HEX8_NAME(x) Hex8##x##8_Private
  #include "hex8_kernel.h"

const ElementKernels Hex8Kernels = {
  "hex8", {Hex8Tangent2_Private, Hex8Tangent4_Private, Hex8Tangent8_Private}, {Hex8Energy2_Private, Hex8Energy4_Private, Hex8Energy8_Private}
};
#else
const ElementKernels Hex8Kernels = {"hex8", {Hex8Tangent2_Private, NULL, NULL}, {Hex8Energy2_Private, NULL, NULL}};
#endif
