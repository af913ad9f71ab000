/* The one arithmetic on the device: the CPU backend's own source of exp, log,
 * tanh, sigmoid, erf, relu and the 16-lane sums, compiled here with one lane,
 * so that there is one definition of every bit. V is float. */
#ifndef CUDA_MATH_CUH
#define CUDA_MATH_CUH

#include "cuda/cuda_kernel.h"

#define ISA_SCALAR
#define AI __device__ static inline
#include "nn/cpu/cpu_vmath.h"

/* float64 is for checks: the same formulas over CUDA's libm. */
AI double v_exp(double x)
{
    return exp(x);
}
AI double v_log(double x)
{
    return log(x);
}
AI double v_log1p(double x)
{
    return log1p(x);
}
AI double v_tanh(double x)
{
    return tanh(x);
}
AI double v_erf(double x)
{
    return erf(x);
}
AI double v_sigmoid(double x)
{
    double e = exp(-fabs(x));

    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}
AI double v_fma(double a, double b, double c)
{
    return fma(a, b, c);
}
AI double v_sqrt(double x)
{
    return sqrt(x);
}

#endif
