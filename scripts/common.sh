# shellcheck shell=bash
# Sourced by the scripts here and by regression/cases/common.py: the project's root, the environment of every run, how to launch on RANKS ranks.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# One thread per rank: bodies are small, and ranks share the cores.
export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1} OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
# OpenBLAS does not know every processor by name and then falls back to a slow kernel; the flags say what it can do.
if [ -z "${OPENBLAS_CORETYPE:-}" ] && [ -r /proc/cpuinfo ]; then
  case " $(grep -m1 '^flags' /proc/cpuinfo || true) " in
    *" avx512f "*) export OPENBLAS_CORETYPE=SkylakeX ;;
    *" avx2 "*) export OPENBLAS_CORETYPE=Haswell ;;
  esac
fi
# Open MPI: allow root and more ranks than cores, no process_vm_readv (containers forbid it).
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none

# mpi N: sets `launch` to the command prefix for N ranks, empty for one.
mpi() {
  case $1 in '' | *[!0-9]* | 0*) echo "RANKS=$1: must be a whole number from 1 on" >&2; exit 1 ;; esac
  launch=()
  [ "$1" = 1 ] || launch=(mpirun -q -n "$1")
}
