/* MatPartitioning type "parmetis": PETSc has one of this name, but Debian builds PETSc without it (licence), so we bring ours. */
#include "meshes/partition.h"

#if !defined(ASHLAR_HAVE_PARMETIS)

PetscErrorCode MatPartitioningRegisterAshlar(void)
{
  PetscFunctionBeginUser;
  PetscFunctionReturn(0);
}

#else
  #pragma GCC diagnostic push
  #pragma GCC diagnostic ignored "-Wunused-parameter" /* in PETSc's inline functions */
  #include <petsc/private/matimpl.h>
  #pragma GCC diagnostic pop
  #include <parmetis.h>

_Static_assert(sizeof(idx_t) == sizeof(PetscInt), "ParMETIS must have the integers of PETSc");

typedef struct {
  PetscReal itr;       /* how much communication in a run outweighs moving bodies once, for AdaptiveRepart */
  PetscReal imbalance; /* largest part over mean part that is let pass */
} MatPartitioning_Parmetis;

/* Calls ParMETIS on a graph without empty ranks; `where` comes in with the present parts if `improve`. */
static PetscErrorCode MatPartitioningCall_Parmetis(MatPartitioning part, Mat graph, PetscBool improve, idx_t where[])
{
  MatPartitioning_Parmetis *pm = (MatPartitioning_Parmetis *)part->data;
  MPI_Comm                  comm;
  PetscMPIInt               size;
  PetscInt                  n, k;
  const PetscInt           *ia, *ja, *range;
  PetscBool                 done;
  idx_t                    *distribution, *vsize = NULL, *adjwgt = NULL, flag, numflag = 0, ncon = (idx_t)PetscMax(1, part->ncon), nparts = (idx_t)part->n, cut = 0;
  idx_t                     options[4] = {1, 0, 15, PARMETIS_PSR_UNCOUPLED}; /* a fixed seed: the same input gives the same answer */
  real_t                   *target, *ub, itr = (real_t)pm->itr;
  int                       status;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetComm((PetscObject)graph, &comm));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetOwnershipRanges(graph, &range));
  PetscCall(MatGetRowIJ(graph, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscCheck(done, comm, PETSC_ERR_SUP, "parmetis needs the graph as a MATMPIADJ matrix");
  PetscCall(PetscMalloc3(size + 1, &distribution, ncon * nparts, &target, ncon, &ub));
  for (k = 0; k <= size; ++k) distribution[k] = (idx_t)range[k];
  for (k = 0; k < ncon * nparts; ++k) target[k] = part->part_weights ? (real_t)part->part_weights[k] : (real_t)(1. / nparts);
  for (k = 0; k < ncon; ++k) ub[k] = (real_t)pm->imbalance;
  if (part->use_edge_weights) {
    PetscCall(PetscMalloc1(ia[n] + 1, &adjwgt));
    PetscCall(MatGetOwnershipRange(graph, &k, NULL));
    for (PetscInt i = 0; i < n; ++i) {
      PetscInt           m;
      const PetscScalar *w;

      PetscCall(MatGetRow(graph, k + i, &m, NULL, &w));
      for (PetscInt j = 0; j < m; ++j) adjwgt[ia[i] + j] = w ? (idx_t)PetscRealPart(w[j]) : 1;
      PetscCall(MatRestoreRow(graph, k + i, &m, NULL, &w));
    }
  }
  flag = (part->vertex_weights ? 2 : 0) + (adjwgt ? 1 : 0);
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF)); /* as PETSc's own interfaces do */
  if (improve) {
    PetscCall(PetscMalloc1(n + 1, &vsize)); /* moving a body costs as much as it has unknowns */
    for (k = 0; k < n; ++k) vsize[k] = part->vertex_weights ? (idx_t)part->vertex_weights[k * ncon] : 1;
    status = ParMETIS_V3_AdaptiveRepart(distribution, (idx_t *)ia, (idx_t *)ja, (idx_t *)part->vertex_weights, vsize, adjwgt, &flag, &numflag, &ncon, &nparts, target, ub, &itr, options, &cut, where, &comm);
  } else status = ParMETIS_V3_PartKway(distribution, (idx_t *)ia, (idx_t *)ja, (idx_t *)part->vertex_weights, adjwgt, &flag, &numflag, &ncon, &nparts, target, ub, options, &cut, where, &comm);
  PetscCall(PetscFPTrapPop());
  PetscCheck(status == METIS_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "ParMETIS failed with code %d", status);
  PetscCall(MatRestoreRowIJ(graph, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscCall(PetscFree(vsize));
  PetscCall(PetscFree(adjwgt));
  PetscCall(PetscFree3(distribution, target, ub));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatPartitioningRun_Parmetis(MatPartitioning part, PetscBool improve, IS *partitioning)
{
  Mat       adj, graph;
  PetscInt  n, N;
  idx_t    *where;
  PetscBool adjacency, empty;
  MPI_Comm  comm;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetComm((PetscObject)part, &comm));
  PetscCall(PetscObjectTypeCompare((PetscObject)part->adj, MATMPIADJ, &adjacency));
  if (adjacency) {
    adj = part->adj;
    PetscCall(PetscObjectReference((PetscObject)adj));
  } else PetscCall(MatConvert(part->adj, MATMPIADJ, MAT_INITIAL_MATRIX, &adj));
  PetscCall(MatGetSize(adj, &N, NULL));
  PetscCall(MatGetLocalSize(adj, &n, NULL));
  PetscCall(PetscCalloc1(n + 1, &where));
  empty = (PetscBool)!n;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &empty, 1, MPIU_BOOL, MPI_LOR, comm));
  if (improve && !empty) {
    const PetscInt *now;

    PetscCall(ISGetIndices(*partitioning, &now));
    for (PetscInt i = 0; i < n; ++i) where[i] = (idx_t)now[i];
    PetscCall(ISRestoreIndices(*partitioning, &now));
  }
  if (improve) PetscCall(ISDestroy(partitioning));
  if (N && part->n > 1) { /* ParMETIS refuses ranks without vertices, and repartitions badly beside them: then from scratch */
    PetscCall(MatMPIAdjCreateNonemptySubcommMat(adj, &graph));
    if (graph) PetscCall(MatPartitioningCall_Parmetis(part, graph, (PetscBool)(improve && !empty), where));
    PetscCall(MatDestroy(&graph));
  }
  PetscCall(ISCreateGeneral(comm, n, (PetscInt *)where, PETSC_COPY_VALUES, partitioning));
  PetscCall(PetscFree(where));
  PetscCall(MatDestroy(&adj));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatPartitioningApply_Parmetis(MatPartitioning part, IS *partitioning)
{
  PetscFunctionBegin;
  PetscCall(MatPartitioningRun_Parmetis(part, PETSC_FALSE, partitioning));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatPartitioningImprove_Parmetis(MatPartitioning part, IS *partitioning)
{
  PetscFunctionBegin;
  PetscCall(MatPartitioningRun_Parmetis(part, PETSC_TRUE, partitioning));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatPartitioningSetFromOptions_Parmetis(MatPartitioning part, PetscOptionItems *PetscOptionsObject)
{
  MatPartitioning_Parmetis *pm = (MatPartitioning_Parmetis *)part->data;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "ParMETIS partitioning options");
  PetscCall(PetscOptionsReal("-mat_partitioning_parmetis_itr", "How much communication outweighs moving bodies (1e-6 to 1e6; small moves less)", "MatPartitioningImprove", pm->itr, &pm->itr, NULL));
  PetscCall(PetscOptionsReal("-mat_partitioning_parmetis_imbalance", "Largest part over mean part", "MatPartitioningApply", pm->imbalance, &pm->imbalance, NULL));
  PetscOptionsHeadEnd();
  PetscCheck(pm->itr >= 1e-6 && pm->itr <= 1e6, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "-mat_partitioning_parmetis_itr %.9g: must be between 1e-6 and 1e6", (double)pm->itr);
  PetscCheck(pm->imbalance > 1, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "-mat_partitioning_parmetis_imbalance %.9g: must be greater than 1", (double)pm->imbalance);
  PetscFunctionReturn(0);
}

static PetscErrorCode MatPartitioningView_Parmetis(MatPartitioning part, PetscViewer viewer)
{
  MatPartitioning_Parmetis *pm = (MatPartitioning_Parmetis *)part->data;
  PetscBool                 ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii) PetscCall(PetscViewerASCIIPrintf(viewer, "  ParMETIS: allowed imbalance %g, itr of repartitioning %g\n", (double)pm->imbalance, (double)pm->itr));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatPartitioningDestroy_Parmetis(MatPartitioning part)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(part->data));
  PetscFunctionReturn(0);
}

static PetscErrorCode MatPartitioningCreate_Parmetis(MatPartitioning part)
{
  MatPartitioning_Parmetis *pm;

  PetscFunctionBegin;
  PetscCall(PetscNew(&pm));
  pm->itr                   = 0.1; /* measured: moves a third of what ParMETIS's recommended 1000 moves */
  pm->imbalance             = 1.05;
  part->data                = pm;
  part->ops->apply          = MatPartitioningApply_Parmetis;
  part->ops->improve        = MatPartitioningImprove_Parmetis;
  part->ops->setfromoptions = MatPartitioningSetFromOptions_Parmetis;
  part->ops->view           = MatPartitioningView_Parmetis;
  part->ops->destroy        = MatPartitioningDestroy_Parmetis;
  PetscFunctionReturn(0);
}

PetscErrorCode MatPartitioningRegisterAshlar(void)
{
  PetscFunctionBeginUser;
  PetscCall(MatPartitioningRegister(MATPARTITIONINGPARMETIS, MatPartitioningCreate_Parmetis));
  PetscFunctionReturn(0);
}

#endif
